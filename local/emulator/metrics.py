"""Metrics of Step Functions.

Gap: no ``AWS/States`` metrics, so an alarm on failed executions never fires.
AWS: ``ExecutionsStarted``, ``...Succeeded``, ``...Failed``, ``...TimedOut`` and ``...Aborted``, by
    ``StateMachineArn`` (Step Functions guide, "Execution metrics").
Correction: counted when an execution starts and ends; alarms are evaluated then.
"""

from collections.abc import Callable
from typing import Any

from local.emulator import pins

_METRIC_BY_STATUS = {
    "SUCCEEDED": "ExecutionsSucceeded",
    "FAILED": "ExecutionsFailed",
    "TIMED_OUT": "ExecutionsTimedOut",
    "ABORTED": "ExecutionsAborted",
}


def install() -> None:
    """Count executions."""
    service, cloudwatch = pins.module("services.stepfunctions"), pins.module("services.cloudwatch")

    def count(execution: dict[str, Any], metric: str) -> None:
        dimensions = {"StateMachineArn": execution["stateMachineArn"]}
        cloudwatch.record_metric("AWS/States", metric, 1, "Count", dimensions)
        cloudwatch._evaluate_all_alarms()

    def around(run_execution: Callable[[str], None]) -> Callable[[str], None]:
        def run(execution_arn: str) -> None:
            execution = service._executions.get(execution_arn)
            if execution:
                count(execution, "ExecutionsStarted")
            run_execution(execution_arn)
            if execution and execution["status"] in _METRIC_BY_STATUS:
                count(execution, _METRIC_BY_STATUS[execution["status"]])

        return run

    pins.pinned(cloudwatch, "record_metric", "7f777bfbe523")
    pins.pinned(cloudwatch, "_evaluate_all_alarms", "f83f88e57f1c")
    pins.replace(service, "_run_execution", "996dff84e0e0", around)
