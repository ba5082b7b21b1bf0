"""Lambda adapter for the Send Envelope state."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from no_undo.bootstrap import dependencies
from no_undo.entrypoint.handling import state_handler
from no_undo.entrypoint.inputs import StageInput
from no_undo.entrypoint.observability import Incident, publish_incident
from no_undo.use_cases.current_plan import current_plan_id
from no_undo.use_cases.send_envelope import INCIDENTS, send_envelope


@state_handler
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    request = StageInput.model_validate(event)
    deps = dependencies()
    plan_id = current_plan_id(request.request_id, deps.store)
    result = send_envelope(
        plan_id, deps.gate, deps.action, lambda: context.get_remaining_time_in_millis() / 1000
    )
    publish_incident(Incident.SEND, happened=result.code in INCIDENTS)
    return {"outcome": result.outcome.value, "code": result.code, "planId": plan_id}
