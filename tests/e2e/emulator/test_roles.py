"""A state machine may do what its role allows, and not more."""

import pytest

from tests.e2e.emulator.conftest import Probe


def call_state(probe: Probe) -> dict[str, object]:
    return {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Parameters": {"FunctionName": probe.outputs["ProbeFunctionArn"], "Payload": {"a": 1}},
        "End": True,
    }


def table_state(probe: Probe, operation: str) -> dict[str, object]:
    field = "Item" if operation == "putItem" else "Key"
    return {
        "Type": "Task",
        "Resource": f"arn:aws:states:::dynamodb:{operation}",
        "Parameters": {"TableName": probe.outputs["ProbeTable"], field: {"id": {"S": "role"}}},
        "End": True,
    }


def test_a_role_that_may_invoke_the_function_invokes_it(probe: Probe) -> None:
    ended = probe.finish(probe.start({"Call": call_state(probe)}))

    assert ended["status"] == "SUCCEEDED"


def test_a_role_that_may_not_invoke_the_function_fails_the_task(probe: Probe) -> None:
    ended = probe.finish(probe.start({"Call": call_state(probe)}, role="PowerlessRoleArn"))

    assert ended["error"] == "Lambda.AccessDeniedException"


def test_a_role_that_may_read_the_table_reads_it(probe: Probe) -> None:
    ended = probe.finish(probe.start({"Read": table_state(probe, "getItem")}))

    assert ended["status"] == "SUCCEEDED"


@pytest.mark.parametrize("operation", ["putItem", "deleteItem"])
def test_a_role_that_may_only_read_the_table_does_not_write_it(
    probe: Probe, operation: str
) -> None:
    ended = probe.finish(probe.start({"Write": table_state(probe, operation)}))

    assert ended["error"] == "DynamoDB.AccessDeniedException"
    assert probe.item("role") is None
