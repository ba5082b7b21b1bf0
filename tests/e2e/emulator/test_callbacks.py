"""Waits for a task token: failures, heartbeats, timeouts, tokens."""

import json
import time
import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.stack.aws import error_code
from tests.e2e.emulator.conftest import Probe, until


def wait_state(probe: Probe, key: str, **fields: object) -> dict[str, Any]:
    """Return a state that hands its token to the probe function and waits."""
    return {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
        "Parameters": {
            "FunctionName": probe.outputs["ProbeFunctionArn"],
            "Payload": {"action": "park", "id": key, "token.$": "$$.Task.Token"},
        },
        "TimeoutSeconds": 30,
        "End": True,
    } | fields


@pytest.fixture
def key() -> str:
    return f"wait-{uuid.uuid4().hex}"


def refusal(probe: Probe, token: str) -> str:
    """Return the error code that an answer for this token gets."""
    with pytest.raises(ClientError) as caught:
        probe.aws.client("stepfunctions").send_task_success(taskToken=token, output="{}")
    return error_code(caught.value)


def test_an_answer_resumes_the_wait_with_its_output(probe: Probe, key: str) -> None:
    execution = probe.start({"Wait": wait_state(probe, key)})
    token = probe.parked_token(key)

    probe.aws.client("stepfunctions").send_task_success(taskToken=token, output='{"ok": true}')

    assert json.loads(probe.finish(execution)["output"]) == {"ok": True}


def test_a_failure_ends_the_wait_under_its_error_name(probe: Probe, key: str) -> None:
    execution = probe.start({"Wait": wait_state(probe, key)})
    token = probe.parked_token(key)

    probe.aws.client("stepfunctions").send_task_failure(
        taskToken=token, error="Declined", cause="as asked"
    )

    assert probe.finish(execution)["error"] == "Declined"


def test_a_failing_request_fails_the_wait_at_once(probe: Probe, key: str) -> None:
    state = wait_state(probe, key)
    state["Parameters"]["Payload"]["action"] = "raise"

    ended = probe.finish(probe.start({"Wait": state}))

    assert ended["error"] == "ProbeError"


@pytest.mark.parametrize("name", ["States.HeartbeatTimeout", "States.Timeout"])
def test_a_missed_heartbeat_is_caught_under_either_name(probe: Probe, key: str, name: str) -> None:
    states = {
        "Wait": wait_state(
            probe,
            key,
            HeartbeatSeconds=1,
            Catch=[{"ErrorEquals": [name], "Next": "Caught", "ResultPath": "$.error"}],
        ),
        "Caught": {"Type": "Succeed"},
    }

    ended = probe.finish(probe.start(states))

    assert json.loads(ended["output"])["error"]["Error"] == "States.Timeout"


def test_a_heartbeat_keeps_the_wait_alive(probe: Probe, key: str) -> None:
    client = probe.aws.client("stepfunctions")
    execution = probe.start({"Wait": wait_state(probe, key, HeartbeatSeconds=2)})
    token = probe.parked_token(key)

    beats_until = time.monotonic() + 3

    def beat() -> bool | None:
        client.send_task_heartbeat(taskToken=token)
        return time.monotonic() > beats_until or None

    until(beat)
    client.send_task_success(taskToken=token, output="{}")

    assert probe.finish(execution)["status"] == "SUCCEEDED"


@pytest.mark.parametrize("fields", [{"TimeoutSeconds": 1}, {"TimeoutSecondsPath": "$.seconds"}])
def test_a_wait_times_out_and_says_so_in_its_history(
    probe: Probe, key: str, fields: dict[str, Any]
) -> None:
    wait = wait_state(probe, key, **fields)
    if "TimeoutSecondsPath" in fields:
        del wait["TimeoutSeconds"]
    states = {
        "Prepare": {"Type": "Pass", "Result": {"seconds": 1}, "Next": "Wait"},
        "Wait": wait,
    }

    execution = probe.start(states)

    assert probe.finish(execution)["error"] == "States.Timeout"
    assert "TaskTimedOut" in probe.history(execution)


def test_a_token_is_used_up_by_its_answer(probe: Probe, key: str) -> None:
    execution = probe.start({"Wait": wait_state(probe, key)})
    token = probe.parked_token(key)
    probe.aws.client("stepfunctions").send_task_success(taskToken=token, output="{}")
    probe.finish(execution)

    assert refusal(probe, token) == "TaskTimedOut"


def test_the_token_of_a_stopped_execution_is_dead(probe: Probe, key: str) -> None:
    execution = probe.start({"Wait": wait_state(probe, key)})
    token = probe.parked_token(key)

    probe.aws.client("stepfunctions").stop_execution(executionArn=execution)

    assert refusal(probe, token) == "TaskTimedOut"


def test_an_unknown_token_is_invalid(probe: Probe) -> None:
    assert refusal(probe, "never-issued") == "InvalidToken"


def test_output_that_is_not_json_is_refused_and_leaves_the_wait_open(
    probe: Probe, key: str
) -> None:
    client = probe.aws.client("stepfunctions")
    execution = probe.start({"Wait": wait_state(probe, key)})
    token = probe.parked_token(key)

    with pytest.raises(ClientError, match="InvalidOutput"):
        client.send_task_success(taskToken=token, output="not json")

    client.send_task_success(taskToken=token, output="{}")
    assert probe.finish(execution)["status"] == "SUCCEEDED"


def test_each_attempt_of_a_retried_wait_has_its_own_token(probe: Probe, key: str) -> None:
    retry = {"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 1, "MaxAttempts": 1}
    wait = wait_state(probe, key, TimeoutSeconds=2, Retry=[retry])

    execution = probe.start({"Wait": wait})
    first = probe.parked_token(key)
    second = until(lambda: None if probe.parked_token(key) == first else probe.parked_token(key))
    code = refusal(probe, first)
    probe.aws.client("stepfunctions").send_task_success(taskToken=second, output="{}")

    assert code == "TaskTimedOut"
    assert probe.finish(execution)["status"] == "SUCCEEDED"
