"""Lambda adapter for the Close Request state."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from no_undo.bootstrap import dependencies
from no_undo.domain.request import RequestState
from no_undo.entrypoint.handling import state_handler
from no_undo.entrypoint.inputs import CloseInput
from no_undo.entrypoint.observability import Incident, publish_incident
from no_undo.use_cases.close_request import close_request


@state_handler
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    request = CloseInput.model_validate(event)
    deps = dependencies()
    state = close_request(request.request_id, request.closing(), deps.gate, deps.telling)
    unarchived = state is RequestState.SIGNED_NOT_ARCHIVED
    publish_incident(Incident.SIGNED_NOT_ARCHIVED, happened=unarchived)
    return {"requestId": request.request_id, "state": state.value}
