"""Lambda adapter for Reconcile Sends, the scheduled sweep."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from no_undo.bootstrap import dependencies
from no_undo.entrypoint.handling import state_handler
from no_undo.entrypoint.observability import publish_sweep
from no_undo.use_cases.list_in_doubt import oldest_doubt
from no_undo.use_cases.reconcile_sends import reconcile_sends


@state_handler
def handler(_event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    deps = dependencies()
    counts = reconcile_sends(deps.gate, deps.action, deps.resumer, deps.executions)
    publish_sweep(counts, oldest_doubt(deps.store, deps.clock))
    return counts
