"""Lambda adapter for Check Canaries, on a schedule that is off by default."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from no_undo.bootstrap import dependencies
from no_undo.entrypoint.handling import state_handler
from no_undo.entrypoint.observability import publish_canaries
from no_undo.use_cases.check_canaries import check_canaries


@state_handler
def handler(_event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    counts = check_canaries(dependencies().canary_check)
    publish_canaries(counts)
    return counts
