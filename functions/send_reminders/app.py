"""Lambda adapter for Send Reminders, on a schedule."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from no_undo.bootstrap import dependencies
from no_undo.entrypoint.handling import state_handler
from no_undo.use_cases.send_reminders import send_reminders


@state_handler
def handler(_event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    deps = dependencies()
    return dict(send_reminders(deps.gate, deps.mailing))
