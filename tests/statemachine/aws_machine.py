"""The same machine with the product's own AWS adapters on an account in memory.

The executions alone stay with the small driver, so that time is ours; what the adapters of the
state machine and of the resumer would call is noted where they are asked.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from random import Random
from typing import Any, Final

import boto3
import pytest
from botocore import handlers
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError

from no_undo.adapters.aws_config import client_config, state_client_config
from no_undo.adapters.dynamodb_rows import TableNames
from no_undo.adapters.dynamodb_state_store import DynamoDbStateStore
from no_undo.adapters.dynamodb_transactions import Backoff
from no_undo.bootstrap import Dependencies
from no_undo.domain.audit_chain import Provenance
from no_undo.domain.plan import plan_id_of
from no_undo.lab.pipeline import Pipeline
from no_undo.ports import StateStore
from no_undo.settings import Settings
from tests.statemachine.account import HINT_SECRET, create_resources
from tests.statemachine.definition import Json
from tests.statemachine.deployment import environment
from tests.statemachine.machine import Machine, MemoryDependencies, paper_verification
from tests.statemachine.permissions import PIPELINE, Call, calls_of

_RUNNING: Final[ContextVar[str]] = ContextVar("running", default="")
"""Which function runs now; calls made outside of one are the test's own."""


class CallLog:
    """Notes what every function asks AWS for.

    Attributes:
        calls: By function.
        mails: Receiver and text of every mail handed to the mail service, oldest first.
        lose_mails: How many of the next mails find no connection.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        """Listen to every session that is made from now on."""
        self.calls: defaultdict[str, set[Call]] = defaultdict(set)
        self.mails: list[tuple[str, str]] = []
        self.lose_mails = 0
        listening = [*handlers.BUILTIN_HANDLERS, ("provide-client-params.*.*", self._note)]
        patch.setattr(handlers, "BUILTIN_HANDLERS", listening)
        patch.setattr(boto3, "DEFAULT_SESSION", None)

    def note(self, call: Call) -> None:
        """Note a call of the function that runs now."""
        if _RUNNING.get():
            self.calls[_RUNNING.get()].add(call)

    def _note(self, params: Json, model: Any, **_more: object) -> None:  # noqa: ANN401 - SDK type
        if not _RUNNING.get():
            return
        for call in calls_of(str(model.service_model.service_name), model.name, params):
            self.note(call)
        if model.name == "SendEmail":
            if self.lose_mails:
                self.lose_mails -= 1
                raise EndpointConnectionError(endpoint_url="https://email.example")
            text = params["Content"]["Simple"]["Body"]["Text"]["Data"]
            self.mails.append((params["Destination"]["ToAddresses"][0], text))


class AwsDependencies(MemoryDependencies):
    """The product's composition on AWS; functions share clients, which take long to make."""

    def __init__(self, settings: Settings, clients: dict[tuple[str, int], Any]) -> None:
        """Take the clients made so far."""
        super().__init__(settings)
        self._clients = clients

    def _client(self, service: str, configure: Callable[[str], Config] = client_config) -> Any:  # noqa: ANN401 - a client of any service
        key = (service, id(configure))
        if key not in self._clients:
            self._clients[key] = super()._client(service, configure)
        return self._clients[key]


class NotedExecutions:
    """Implements `ports.Executions` by the driver, noting what Step Functions would be asked."""

    def __init__(self, pipeline: Pipeline, log: CallLog) -> None:
        """Take the driver."""
        self._pipeline = pipeline
        self._log = log

    def start(self, name: str, request_id: str) -> None:
        """Start an execution."""
        self._log.note(Call("states:StartExecution", PIPELINE))
        self._pipeline.start(name, request_id)

    def is_running(self, name: str) -> bool:
        """Look at an execution."""
        self._log.note(
            Call(
                "states:DescribeExecution", f"execution:${{AWS::StackName}}-signing-pipeline:{name}"
            )
        )
        return self._pipeline.is_running(name)

    def answer(self, task_token: str, outcome: str) -> bool:
        """Answer a token."""
        self._log.note(Call("states:SendTaskSuccess", "*"))
        return self._pipeline.answer(task_token, outcome)


class NotedResumer:
    """Implements `ports.Resumer`, noting which function would be invoked."""

    def __init__(self, log: CallLog) -> None:
        """Take the log."""
        self._log = log

    def resume(self, plan_id: str) -> None:  # noqa: ARG002 - every change is delivered anyway
        """Ask for a plan."""
        self._log.note(Call("lambda:InvokeFunction", "ResumeExecutionFunction"))


class NotedSweeper:
    """Implements `ports.Sweeper`, noting which function would be invoked."""

    def __init__(self, log: CallLog) -> None:
        """Take the log."""
        self._log = log

    def sweep(self) -> None:
        """Ask for a sweep."""
        self._log.note(Call("lambda:InvokeFunction", "ReconcileSendsFunction"))


class LateHasher:
    """Implements `ports.KeyedHasher` by the product's own, made when it is needed."""

    def __init__(self, deps: Dependencies) -> None:
        """Take whose."""
        self._deps = deps

    def digest(self, scope: str, value: str) -> str:
        """Hash a value."""
        return self._deps.hasher.digest(scope, value)


class AwsMachine(Machine):
    """The machine on AWS adapters.

    Attributes:
        log: What every function asked AWS for.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        """Make the resources, then put the handlers on them."""
        self.log = CallLog(patch)
        self._hash_key_id = create_resources()
        self._newest = ""
        self._clients: dict[tuple[str, int], Any] = {}
        super().__init__(patch)

    def submit(self, **changes: object) -> str:
        """Submit, and remember the request for the stream."""
        self._newest = super().submit(**changes)
        return self._newest

    def invoke(self, function: str, event: Json) -> Json:
        """Invoke a function under its own name; afterwards the stream tells of the newest plan."""
        with _running(function):
            answer = super().invoke(function, event)
        if function != "resume_execution" and self._newest:
            rounds = self.request(self._newest).round
            self.stream.extend(plan_id_of(self._newest, one + 1) for one in range(rounds))
        return answer

    def hint(self, plan_id: str) -> None:
        """Say, as the vendor does, that something happened to a plan's envelope."""
        body = json.dumps({"data": {"folder": {"folderName": f"Freight invoice [{plan_id}]"}}})
        mac = hmac.new(HINT_SECRET.encode(), body.encode(), hashlib.sha256).digest()
        event = self._http("receive_webhook", "POST /webhooks/esign", {})
        event["queryStringParameters"] = {"signature": base64.b64encode(mac).decode("ascii")}
        answer = self.invoke("receive_webhook", {**event, "body": body})
        assert json.loads(answer["body"]) == {"used": True}

    def tokens_of(self, approver: str) -> list[str]:
        """Return the tokens of the links that an approver was mailed, oldest first."""
        return [
            text.rpartition("/")[2]
            for to, text in self.log.mails
            if to == approver and "/approvals/" in text
        ]

    def _store(self) -> StateStore:
        tables = TableNames(
            requests="RequestsTable",
            plans="PlansTable",
            ledger="LedgerTable",
            fences="FenceTable",
            approvals="ApprovalsTable",
            audit="AuditTable",
            audit_heads="AuditHeadsTable",
            audit_outbox="AuditOutboxTable",
        )
        return DynamoDbStateStore(
            boto3.client("dynamodb", config=state_client_config("test")),  # pyright: ignore[reportUnknownMemberType] # stubs of other services are missing
            tables,
            Provenance("test", "0" * 16),
            tokens=self.tokens,
            backoff=Backoff(self.clock, Random(0).random),  # noqa: S311 - repeatable on purpose
        )

    def _dependencies(self, settings: Settings) -> Dependencies:
        return AwsDependencies(settings, self._clients)

    def _environment(self, folder: str) -> dict[str, str]:
        return {**environment(folder), "HASH_KEY_ID": self._hash_key_id}

    def _outside(self) -> dict[str, object]:
        executions = NotedExecutions(self.pipeline, self.log)
        noted = {
            "executions": executions,
            "answers": executions,
            "resumer": NotedResumer(self.log),
            "sweeper": NotedSweeper(self.log),
        }
        return {**super()._outside(), **noted}

    def _services(self, deps: Dependencies) -> dict[str, object]:
        """Leave the product's own adapters; only paper is proven in another way."""
        return {"verification": paper_verification(LateHasher(deps))}


@contextmanager
def _running(function: str) -> Generator[None]:
    token = _RUNNING.set(function)
    try:
        yield
    finally:
        _RUNNING.reset(token)
