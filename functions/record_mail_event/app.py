"""Lambda adapter for what SES says became of a mail."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from no_undo.bootstrap import dependencies
from no_undo.entrypoint.handling import state_handler
from no_undo.entrypoint.mail_events import mail_event
from no_undo.use_cases.record_mail_event import record_mail_event


@state_handler
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    deps = dependencies()
    return {"recorded": record_mail_event(mail_event(event), deps.gate, deps.telling)}
