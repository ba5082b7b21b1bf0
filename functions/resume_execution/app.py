"""Lambda adapter for Resume Execution: by the stream of plans, or asked for by plan id."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from no_undo.bootstrap import dependencies
from no_undo.entrypoint.handling import state_handler
from no_undo.entrypoint.plan_stream import failures_answer, plan_changes
from no_undo.use_cases.resume_execution import resume_execution


@state_handler
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    deps = dependencies()
    return failures_answer(
        plan_changes(event),
        lambda plan_id: resume_execution(plan_id, deps.gate, deps.waits, deps.answers),
    )
