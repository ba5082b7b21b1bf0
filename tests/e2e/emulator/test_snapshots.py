"""What survives when the emulator is killed."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from local.stack import stack
from local.stack.build import runtime
from local.stack.deploy import deploy
from local.stack.stack import RunningStack
from tests.e2e.emulator.conftest import Probe, until

_SNAPSHOT_FILE = "emulator/state/dynamodb.json"


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """A data folder of its own; what runs in it is stopped at the end."""
    yield tmp_path
    stack.stop(tmp_path)


def saved_again(data: Path) -> None:
    """Wait for a whole save after this call: services are saved in turn, so two of one of them."""
    file = data / _SNAPSHOT_FILE
    for _ in range(2):
        asked = time.time()
        until(partial(_saved_after, file, asked))


def _saved_after(file: Path, asked: float) -> bool | None:
    return (file.exists() and file.stat().st_mtime > asked) or None


def start(data: Path) -> RunningStack:
    return stack.start(data, parts=("emulator",))


def test_a_killed_emulator_comes_back_on_its_port_with_what_was_saved(
    data: Path, built: Path
) -> None:
    first = start(data)
    deployed = deploy(
        built, client=first.aws.client, stack_name="kept", parameters={"Runtime": runtime()}
    )
    before = Probe(first.aws, deployed.outputs)
    before.invoke({"action": "count", "id": "kept"})
    first.aws.client("s3").put_object(
        Bucket=deployed.outputs["EvidenceBucket"], Key="kept", Body=b"kept"
    )
    saved_again(data)

    stack.kill(data, "emulator")
    second = start(data)

    after = Probe(second.aws, deployed.outputs)
    found = second.aws.client("s3").get_object(
        Bucket=deployed.outputs["EvidenceBucket"], Key="kept"
    )
    assert second.ports == first.ports
    assert after.item("kept") == {"id": {"S": "kept"}, "seen": {"N": "1"}}
    assert found["Body"].read() == b"kept"
    assert after.invoke({"action": "layer"})["Payload"] == "hello from the layer"
    assert after.aws.client("kms").describe_key(KeyId=deployed.outputs["SigningKey"])


def test_an_execution_that_ran_when_the_emulator_was_killed_is_failed_afterwards(
    data: Path, built: Path
) -> None:
    first = start(data)
    deployed = deploy(
        built, client=first.aws.client, stack_name="kept", parameters={"Runtime": runtime()}
    )
    wait = {"Wait": {"Type": "Wait", "Seconds": 3600, "End": True}}
    execution = Probe(first.aws, deployed.outputs).start(wait)
    saved_again(data)

    stack.kill(data, "emulator")
    second = start(data)

    ended = Probe(second.aws, deployed.outputs).finish(execution)
    assert (ended["status"], ended["error"]) == ("FAILED", "States.ServiceRestart")
