"""Executions of the state machine, and the callback that answers a wait."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pytest

from no_undo.adapters.stepfunctions_executions import StepFunctionsExecutions, execution_arn
from no_undo.domain.errors import TransientError
from tests.integration.aws.clients import client_of
from tests.integration.aws.scripted_client import service_error

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:pipeline"
DEFINITION = {"StartAt": "Rest", "States": {"Rest": {"Type": "Pass", "End": True}}}


class ScriptedSfn:
    """Keeps callbacks and fails as told."""

    def __init__(self, error: Exception | None = None, status: str = "RUNNING") -> None:
        self.answers: list[tuple[str, str]] = []
        self.started: list[tuple[str, str, str]] = []
        self._error = error
        self._status = status

    def send_task_success(self, *, taskToken: str, output: str) -> None:  # noqa: N803 - SDK names
        self._fail()
        self.answers.append((taskToken, output))

    def start_execution(self, *, stateMachineArn: str, name: str, input: str) -> None:  # noqa: N803, A002 - SDK names
        self._fail()
        self.started.append((stateMachineArn, name, input))

    def describe_execution(self, *, executionArn: str) -> dict[str, str]:  # noqa: N803 - SDK names
        self._fail()
        return {"executionArn": executionArn, "status": self._status}

    def _fail(self) -> None:
        if self._error is not None:
            raise self._error


def executions(sfn: ScriptedSfn) -> StepFunctionsExecutions:
    return StepFunctionsExecutions(cast("SFNClient", sfn), MACHINE)


@pytest.fixture
def machine(aws: None) -> StepFunctionsExecutions:
    client: SFNClient = client_of("stepfunctions")
    created = client.create_state_machine(
        name="pipeline",
        definition=json.dumps(DEFINITION),
        roleArn="arn:aws:iam::123456789012:role/machine",
    )
    return StepFunctionsExecutions(client, created["stateMachineArn"])


def test_an_execution_that_was_started_is_running(machine: StepFunctionsExecutions) -> None:
    machine.start("r1", "r1")

    assert machine.is_running("r1")
    assert not machine.is_running("r1-r1")


def test_starting_the_same_name_again_is_no_error(machine: StepFunctionsExecutions) -> None:
    machine.start("r1", "r1")

    machine.start("r1", "r1")

    assert machine.is_running("r1")


def test_an_execution_is_given_the_request_id_alone() -> None:
    sfn = ScriptedSfn()

    executions(sfn).start("r1-r2", "r1")

    assert sfn.started == [(MACHINE, "r1-r2", '{"requestId": "r1"}')]


@pytest.mark.parametrize(
    ("status", "running"),
    [
        ("RUNNING", True),
        ("PENDING_REDRIVE", True),
        ("SUCCEEDED", False),
        ("FAILED", False),
        ("TIMED_OUT", False),
        ("ABORTED", False),
    ],
)
def test_only_an_execution_that_goes_on_drives_a_request(status: str, *, running: bool) -> None:
    assert executions(ScriptedSfn(status=status)).is_running("r1") is running


def test_a_parked_token_is_answered_with_the_outcome() -> None:
    sfn = ScriptedSfn()

    assert executions(sfn).answer("a-token", "approved") is True
    assert sfn.answers == [("a-token", '{"outcome": "approved"}')]


@pytest.mark.parametrize("code", ["TaskTimedOut", "TaskDoesNotExist", "InvalidToken"])
def test_a_token_that_nobody_waits_on_is_told_apart_from_trouble(code: str) -> None:
    assert executions(ScriptedSfn(service_error(code))).answer("a-token", "approved") is False


def test_trouble_is_passing_and_told_without_the_token() -> None:
    machine = executions(ScriptedSfn(service_error("ThrottlingException")))

    for call in (
        lambda: machine.start("r1", "r1"),
        lambda: machine.is_running("r1"),
        lambda: machine.answer("a-token", "approved"),
    ):
        with pytest.raises(TransientError, match="ThrottlingException") as caught:
            call()
        assert "a-token" not in str(caught.value)


@pytest.mark.parametrize("suffix", ["", ":live", ":7"])
def test_an_execution_belongs_to_the_machine_whatever_alias_started_it(suffix: str) -> None:
    assert execution_arn(MACHINE + suffix, "r1") == (
        "arn:aws:states:us-east-1:123456789012:execution:pipeline:r1"
    )
