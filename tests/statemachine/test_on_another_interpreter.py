"""A second opinion on the driver of the other tests: moto's interpreter of the same definition.

moto's state machines run in threads of their own and in real time, so only a few ways are taken
here; both interpreters must enter the same states in the same order.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from queue import Queue
from threading import Event
from typing import Final

import pytest
from moto import mock_aws
from moto.awslambda_simple.models import LambdaSimpleBackend
from moto.core.config import DefaultConfig
from moto.stepfunctions.parser.asl.parse.asl_parser import (
    AmazonStateLanguageParser,
    ASLParserException,
)

from no_undo.adapters.stepfunctions_executions import StepFunctionsExecutions, execution_arn
from no_undo.domain.errors import NoUndoError, TransientError, VendorRefusedError
from no_undo.domain.request import Stage
from tests.infrastructure.template import folder_of
from tests.statemachine.account import client
from tests.statemachine.definition import Json, text
from tests.statemachine.deployment import ACCOUNT, MACHINE_ARN, REGION
from tests.statemachine.machine import APPROVERS, Machine
from tests.statemachine.test_the_way_through import TO_APPROVAL, TO_SIGNATURE, TO_THE_END

PATIENCE_SECONDS: Final = 30
"""How long a test waits for the other thread before it fails."""


def deployed() -> str:
    """Return the definition with its placeholders filled in."""

    def stands_for(found: re.Match[str]) -> str:
        name = found.group(1)
        if name == "RequestsTableName":
            return "RequestsTable"
        return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name.removesuffix('Arn')}"

    return re.sub(r"\$\{(\w+)\}", stands_for, text())


class OtherInterpreter:
    """The machine's handlers, driven by moto.

    Attributes:
        machine: The handlers and their ports.
        invoked: Folder of every function that ran to its end, in order.
    """

    def __init__(self, machine: Machine, patch: pytest.MonkeyPatch) -> None:
        """Create the state machine and the table that it reads by itself."""
        self.machine = machine
        self.invoked: Queue[str] = Queue()
        patch.setattr(LambdaSimpleBackend, "invoke", self._invoke)
        self._client = client("stepfunctions")
        self._client.create_state_machine(
            name=MACHINE_ARN.rpartition(":")[2],
            definition=deployed(),
            roleArn=f"arn:aws:iam::{ACCOUNT}:role/machine",
        )
        client("dynamodb").create_table(
            TableName="RequestsTable",
            KeySchema=[{"AttributeName": "request_id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "request_id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        self._executions = StepFunctionsExecutions(self._client, MACHINE_ARN)
        resuming = importlib.import_module("functions.resume_execution.app").dependencies()
        vars(resuming)["answers"] = self._executions

    def start(self, request_id: str) -> None:
        """Start an execution of a request that is to be parsed next."""
        item = {"request_id": {"S": request_id}, "stage": {"S": Stage.PARSE.value}}
        client("dynamodb").put_item(TableName="RequestsTable", Item=item)
        self._executions.start(request_id, request_id)

    def until(self, function: str) -> None:
        """Wait until a function has run."""
        while self.invoked.get(timeout=PATIENCE_SECONDS) != function:
            pass

    def entered(self, request_id: str) -> list[str]:
        """Wait for an execution's end; return the states that it entered, in order."""
        arn = execution_arn(MACHINE_ARN, request_id)
        for _ in range(PATIENCE_SECONDS * 50):
            if self._client.describe_execution(executionArn=arn)["status"] != "RUNNING":
                break
            Event().wait(0.02)  # the thread of the execution ends on its own
        history = self._client.get_execution_history(executionArn=arn, maxResults=1000)
        return [
            event["stateEnteredEventDetails"]["name"]
            for event in history["events"]
            if "stateEnteredEventDetails" in event
        ]

    def _invoke(self, function_name: str, _qualifier: str, body: str, *headers: Json) -> bytes:
        try:
            answer = self.machine.invoke(folder_of(function_name), json.loads(body))
        except NoUndoError as error:
            headers[-1]["x-amz-function-error"] = "Unhandled"
            answer = {"errorType": type(error).__name__, "errorMessage": str(error)}
        self.invoked.put(folder_of(function_name))
        return json.dumps(answer).encode()


@pytest.fixture
def other(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Iterator[OtherInterpreter]:
    """Moto's interpreter over the same handlers."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    config: DefaultConfig = {
        "lambda": {"use_docker": False},
        "stepfunctions": {"execute_state_machine": True},
    }
    with mock_aws(config=config):
        yield OtherInterpreter(machine, monkeypatch)


def test_a_parser_that_is_not_ours_reads_the_definition() -> None:
    AmazonStateLanguageParser.parse(deployed())


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('"TimeoutSeconds": 30', '"TimeoutSecond": 30'),
        ('"Type": "Choice"', '"Type": "Chance"'),
    ],
)
def test_that_parser_would_find_a_mistake(right: str, wrong: str) -> None:
    with pytest.raises(ASLParserException):
        AmazonStateLanguageParser.parse(deployed().replace(right, wrong))


def test_the_whole_way_is_the_same(other: OtherInterpreter) -> None:
    machine = other.machine
    request_id = machine.submit()
    other.start(request_id)
    other.until("request_approval")
    machine.approve()
    machine.deliver_all()
    other.until("await_signature")
    machine.deliver_all()
    machine.clock.advance(timedelta(minutes=20))
    machine.sweep_once()
    machine.deliver_all()
    other.until("close_request")

    assert other.entered(request_id) == [*TO_APPROVAL, *TO_SIGNATURE, *TO_THE_END]
    assert machine.ended(request_id) == ("COMPLETED", "Archive Signed Document", "completed")
    assert len(machine.esign.sends) == 1


def test_a_stage_that_fails_for_good_is_caught_by_name(other: OtherInterpreter) -> None:
    machine = other.machine
    machine.failing["assemble_document"] = [VendorRefusedError("it is no invoice")]
    request_id = machine.submit()
    other.start(request_id)
    other.until("close_request")

    assert other.entered(request_id)[-4:] == [
        "Assemble Document",
        "Note Failure In Assemble Document",
        "Close Request",
        "Finished",
    ]
    ending = machine.request(request_id).ending
    assert ending is not None
    assert (ending.code, ending.reason) == ("vendor_refused", "it is no invoice")


def test_a_sender_that_fails_is_not_called_again_before_it_is_settled(
    other: OtherInterpreter,
) -> None:
    machine = other.machine
    machine.failing["send_envelope"] = [TransientError("throttled")]
    request_id = machine.submit()
    other.start(request_id)
    other.until("request_approval")
    machine.approve()
    machine.deliver_all()
    other.until("await_settlement")
    machine.withdraw(request_id)
    machine.deliver_all()
    other.until("close_request")

    assert other.entered(request_id)[-6:] == [
        "Send Envelope",
        "Await Settlement",
        "Act On Settlement",
        "Note Settlement",
        "Close Request",
        "Finished",
    ]
    assert machine.ended(request_id) == ("WITHDRAWN", "Send Envelope", "withdrawn")
    assert machine.esign.sends == []


def test_a_rejection_ends_it(other: OtherInterpreter) -> None:
    machine = other.machine
    request_id = machine.submit()
    other.start(request_id)
    other.until("request_approval")
    machine.decide(APPROVERS[0], "reject", "The amount is wrong.")
    machine.deliver_all()
    other.until("close_request")

    assert other.entered(request_id) == [
        *TO_APPROVAL,
        "Act On Approval",
        "Note Decision",
        "Close Request",
        "Finished",
    ]
