"""Lambda adapter for Export Audit, on a schedule."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from no_undo.bootstrap import dependencies
from no_undo.entrypoint.handling import state_handler
from no_undo.entrypoint.observability import publish_export
from no_undo.use_cases.export_audit import export_audit


@state_handler
def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    report = export_audit(
        dependencies().exporting, lambda: context.get_remaining_time_in_millis() / 1000
    )
    publish_export(report)
    return {"checkpoints": report.checkpoints, "records": report.records}
