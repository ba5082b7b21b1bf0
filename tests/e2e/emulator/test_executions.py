"""Starting an execution twice."""

import uuid
from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from local.stack.aws import error_code
from tests.e2e.emulator.conftest import Probe

_WAIT = {"Wait": {"Type": "Wait", "Seconds": 3600, "End": True}}


@pytest.fixture
def waiting(probe: Probe) -> Iterator[dict[str, str]]:
    """The arguments that started an execution which still runs."""
    client = probe.aws.client("stepfunctions")
    first = client.describe_execution(executionArn=probe.start(_WAIT))
    arguments = {
        "stateMachineArn": first["stateMachineArn"],
        "name": uuid.uuid4().hex,
        "input": '{"a": 1}',
    }
    arn = client.start_execution(**arguments)["executionArn"]
    yield arguments
    for execution in (arn, first["executionArn"]):
        client.stop_execution(executionArn=execution)


def test_the_same_start_answers_with_the_running_execution(
    probe: Probe, waiting: dict[str, str]
) -> None:
    client = probe.aws.client("stepfunctions")

    again = client.start_execution(**waiting)
    executions = client.list_executions(stateMachineArn=waiting["stateMachineArn"])["executions"]

    assert again["executionArn"].endswith(waiting["name"])
    assert [found["name"] for found in executions].count(waiting["name"]) == 1


def test_a_start_with_another_input_is_refused(probe: Probe, waiting: dict[str, str]) -> None:
    with pytest.raises(ClientError) as caught:
        probe.aws.client("stepfunctions").start_execution(**(waiting | {"input": '{"a": 2}'}))

    assert error_code(caught.value) == "ExecutionAlreadyExists"


def test_a_start_after_the_end_is_refused(probe: Probe, waiting: dict[str, str]) -> None:
    client = probe.aws.client("stepfunctions")
    running = client.start_execution(**waiting)["executionArn"]
    client.stop_execution(executionArn=running)

    with pytest.raises(ClientError) as caught:
        client.start_execution(**waiting)

    assert error_code(caught.value) == "ExecutionAlreadyExists"
