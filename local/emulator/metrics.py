"""Metrics of Step Functions.

Gap: no ``AWS/States`` metrics, so an alarm on failed executions never fires; an alarm adds up every
    metric of its name, whatever its dimensions.
AWS: ``ExecutionsStarted``, ``...Succeeded``, ``...Failed``, ``...TimedOut`` and ``...Aborted``, by
    ``StateMachineArn`` (Step Functions guide, "Execution metrics"); an alarm watches one metric, of
    exactly its dimensions (CloudWatch guide, "Dimensions").
Correction: counted when an execution starts and ends; alarms are evaluated then, each on its own
    metric.
"""

# ruff: noqa: SLF001 -- corrections reach into private parts of the emulator; pins guard them

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from local.emulator import pins

_METRIC_BY_STATUS = {
    "SUCCEEDED": "ExecutionsSucceeded",
    "FAILED": "ExecutionsFailed",
    "TIMED_OUT": "ExecutionsTimedOut",
    "ABORTED": "ExecutionsAborted",
}


Points = list[dict[str, Any]]


def points_of(alarm: dict[str, Any], metrics: Mapping[Any, Points]) -> dict[Any, Points]:
    """Return the metrics, each with only the points whose dimensions are the alarm's."""
    wanted = {entry["Name"]: entry["Value"] for entry in alarm.get("Dimensions", [])}
    return {
        key: [point for point in points if point.get("Dimensions", {}) == wanted]
        for key, points in metrics.items()
    }


def _by_dimensions(evaluate: Any) -> Callable[[dict[str, Any]], None]:  # noqa: ANN401
    """Evaluate an alarm on a view of the metrics: the same code, other globals."""

    def run(alarm: dict[str, Any]) -> None:
        shared = evaluate.__globals__
        view = shared | {"_metrics": points_of(alarm, shared["_metrics"])}
        FunctionType(evaluate.__code__, view)(alarm)

    return run


def install() -> None:
    """Count executions and watch them."""
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

    pins.replace(cloudwatch, "_evaluate_alarm", "a0b0acd3d432", _by_dimensions)
    pins.pinned(cloudwatch, "record_metric", "7f777bfbe523")
    pins.pinned(cloudwatch, "_evaluate_all_alarms", "f83f88e57f1c")
    pins.replace(service, "_run_execution", "996dff84e0e0", around)
