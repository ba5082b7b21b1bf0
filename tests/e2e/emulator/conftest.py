"""The fixture template, deployed once."""

import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from local.stack.aws import Aws
from local.stack.build import build, runtime
from local.stack.deploy import Deployed, deploy
from tests.e2e.conftest import Emulator

FIXTURE = Path(__file__).parent / "fixture"
STACK_NAME = "emulator-tests"
_WAIT_SECONDS = 20.0

T = TypeVar("T")


@dataclass(frozen=True)
class Probe:
    """The deployed fixture template and what tests do with it.

    Attributes:
        aws: Clients of the emulator's root key.
        outputs: The template's outputs.
    """

    aws: Aws
    outputs: dict[str, str]

    def invoke(self, event: object, function: str = "ProbeFunction") -> dict[str, Any]:
        """Invoke a function; returns the answer with ``Payload`` decoded."""
        answer: dict[str, Any] = self.aws.client("lambda").invoke(
            FunctionName=self.outputs[function], Payload=json.dumps(event)
        )
        answer["Payload"] = json.loads(answer["Payload"].read() or "null")
        return answer

    def start(self, states: dict[str, Any], *, role: str = "MachineRoleArn", name: str = "") -> str:
        """Start an execution of a new machine with the given states; returns its ARN."""
        client = self.aws.client("stepfunctions")
        machine = client.create_state_machine(
            name=name or f"probe-{uuid.uuid4().hex[:12]}",
            definition=json.dumps({"StartAt": next(iter(states)), "States": states}),
            roleArn=self.outputs[role],
        )
        arn: str = client.start_execution(stateMachineArn=machine["stateMachineArn"], input="{}")[
            "executionArn"
        ]
        return arn

    def finish(self, execution_arn: str) -> dict[str, Any]:
        """Wait for an execution and return its description."""
        client = self.aws.client("stepfunctions")

        def ended() -> dict[str, Any] | None:
            found: dict[str, Any] = client.describe_execution(executionArn=execution_arn)
            return None if found["status"] == "RUNNING" else found

        return until(ended)

    def history(self, execution_arn: str) -> list[str]:
        """Return the types of an execution's events, in order."""
        events = self.aws.client("stepfunctions").get_execution_history(
            executionArn=execution_arn, maxResults=1000
        )["events"]
        return [event["type"] for event in events]

    def item(self, key: str, table: str = "ProbeTable") -> dict[str, Any] | None:
        """Read one row consistently."""
        found: dict[str, Any] | None = (
            self.aws.client("dynamodb")
            .get_item(TableName=self.outputs[table], Key={"id": {"S": key}}, ConsistentRead=True)
            .get("Item")
        )
        return found

    def parked_token(self, key: str) -> str:
        """Wait until the probe function has written down the task token of a wait."""
        row = until(lambda: self.item(key))
        token: str = row["token"]["S"]
        return token


def until(look: Callable[[], T | None], seconds: float = _WAIT_SECONDS) -> T:
    """Return the first answer that is not None; fails when there is none in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found is not None:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{look} gave nothing in {seconds:.0f} seconds")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixture template, built."""
    return build(tmp_path_factory.mktemp("build"), FIXTURE)


@pytest.fixture(scope="session")
def deployed(emulator: Emulator, built: Path) -> Deployed:
    """The fixture template, deployed."""
    return deploy(
        built,
        client=emulator.aws.client,
        stack_name=STACK_NAME,
        parameters={"Runtime": runtime()},
    )


@pytest.fixture(scope="session")
def probe(emulator: Emulator, deployed: Deployed) -> Probe:
    """The deployed fixture template."""
    return Probe(emulator.aws, deployed.outputs)
