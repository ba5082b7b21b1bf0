"""Throttles and asynchronous events."""

import json
import threading
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from tests.e2e.emulator.conftest import Probe, until


@contextmanager
def busy(probe: Probe, seconds: float) -> Generator[None]:
    """Keep the function that runs once at a time busy; inside, it is known to have started."""
    key = f"busy-{uuid.uuid4().hex}"
    event = {"action": "count", "id": key, "seconds": seconds}
    thread = threading.Thread(target=probe.invoke, args=(event, "SerialFunction"))
    thread.start()
    until(lambda: probe.item(key))
    yield
    thread.join()


def test_a_throttle_reaches_a_state_machine_under_its_aws_name(probe: Probe) -> None:
    states: dict[str, Any] = {
        "Call": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {"FunctionName": probe.outputs["SerialFunctionArn"], "Payload": {}},
            "End": True,
        }
    }

    with busy(probe, 2):
        ended = probe.finish(probe.start(states))

    assert ended["error"] == "Lambda.TooManyRequestsException"


def test_a_throttled_asynchronous_event_is_kept_and_runs_later(probe: Probe) -> None:
    key = f"queued-{uuid.uuid4().hex}"

    with busy(probe, 1.5):
        probe.aws.client("lambda").invoke(
            FunctionName=probe.outputs["SerialFunction"],
            InvocationType="Event",
            Payload=json.dumps({"action": "count", "id": key}),
        )

    assert until(lambda: probe.item(key))["seen"] == {"N": "1"}


def test_an_event_without_retries_runs_once_and_then_goes_to_the_dead_letter_queue(
    probe: Probe,
) -> None:
    key = f"failed-{uuid.uuid4().hex}"
    queue = probe.aws.client("sqs")

    probe.aws.client("lambda").invoke(
        FunctionName=probe.outputs["ProbeFunction"],
        InvocationType="Event",
        Payload=json.dumps({"action": "count-and-raise", "id": key}),
    )

    def failed() -> bool | None:
        found = queue.receive_message(QueueUrl=probe.outputs["FailedEventsUrl"], WaitTimeSeconds=1)
        return any(key in message["Body"] for message in found.get("Messages", [])) or None

    assert until(failed)
    row = probe.item(key)
    assert row is not None
    assert row["seen"] == {"N": "1"}


def test_a_change_of_the_table_reaches_the_function_with_its_keys_only(probe: Probe) -> None:
    key = f"changed-{uuid.uuid4().hex}"

    probe.aws.client("dynamodb").put_item(
        TableName=probe.outputs["ProbeTable"], Item={"id": {"S": key}, "secret": {"S": "unseen"}}
    )

    seen = until(lambda: probe.item(key, table="SeenTable"))
    assert seen["event"] == {"S": "INSERT"}
    assert seen["image"] == {"BOOL": False}
