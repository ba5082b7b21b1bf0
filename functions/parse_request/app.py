"""Lambda adapter for the Parse Request state."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from no_undo.bootstrap import dependencies
from no_undo.entrypoint.handling import state_handler
from no_undo.entrypoint.inputs import StageInput
from no_undo.use_cases.parse_request import parse_request


@state_handler
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    request = StageInput.model_validate(event)
    deps = dependencies()
    parse_request(request.request_id, deps.stages, deps.policies, deps.contacts)
    return {"requestId": request.request_id}
