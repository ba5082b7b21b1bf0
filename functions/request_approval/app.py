"""Lambda adapter for the Request Approval state."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from no_undo.bootstrap import dependencies
from no_undo.entrypoint.handling import state_handler
from no_undo.entrypoint.inputs import WaitInput
from no_undo.use_cases.request_approval import request_approval


@state_handler
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    request = WaitInput.model_validate(event)
    deps = dependencies()
    request_approval(request.request_id, request.task_token, deps.gate, deps.asking)
    return {"requestId": request.request_id}
