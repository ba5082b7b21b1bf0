"""Lambda adapter for Reconcile Sends, the scheduled sweep."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from no_undo.bootstrap import dependencies
from no_undo.entrypoint.handling import state_handler
from no_undo.entrypoint.observability import publish_sweep, publish_waiting
from no_undo.use_cases.list_in_doubt import waiting
from no_undo.use_cases.reconcile_sends import reconcile_sends


@state_handler
def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    deps = dependencies()
    # First: what waits is told even if the sweep then runs out of time or fails.
    publish_waiting(waiting(deps.gate))
    counts = reconcile_sends(
        deps.gate,
        deps.action,
        deps.resumer,
        deps.executions,
        lambda: context.get_remaining_time_in_millis() / 1000,
    )
    publish_sweep(counts)
    return counts
