"""Lambda adapter for the Await Settlement state."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from no_undo.bootstrap import dependencies
from no_undo.entrypoint.handling import state_handler
from no_undo.entrypoint.inputs import WaitInput
from no_undo.use_cases.await_settlement import await_settlement
from no_undo.use_cases.current_plan import current_plan_id


@state_handler
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    request = WaitInput.model_validate(event)
    deps = dependencies()
    plan_id = current_plan_id(request.request_id, deps.store)
    await_settlement(plan_id, request.task_token, deps.gate, deps.waits)
    return {"planId": plan_id}
