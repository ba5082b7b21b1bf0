"""The real definition with the real handlers, in one process and in memory.

Everything between a state and a port is the product's own: the definition, the handlers, their
inputs and answers, the use cases. Only the ports are stand-ins, and time moves when it is told to.
"""

from __future__ import annotations

import importlib
import json
from collections import deque
from collections.abc import Callable, Mapping
from datetime import timedelta
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any, Final, cast
from urllib.parse import urlencode

import pytest

from no_undo.bootstrap import Dependencies
from no_undo.domain.approval import token_sha256
from no_undo.domain.approver_policy import ApproverPolicy
from no_undo.domain.audit_chain import AuditRecord, Provenance
from no_undo.domain.confirmation import words_for
from no_undo.domain.plan import Plan, plan_id_of
from no_undo.domain.request import Request
from no_undo.lab.fake_esign import FakeESign
from no_undo.lab.fixed_clock import FixedClock
from no_undo.lab.memory_documents import MemoryDocumentStore
from no_undo.lab.memory_mailer import MemoryMailer
from no_undo.lab.memory_store import MemoryStateStore
from no_undo.lab.memory_waits import MemoryWaits
from no_undo.lab.paper import (
    BluntEraser,
    NoDetector,
    PaperInspector,
    PaperPress,
    PaperReader,
    PaperReaders,
    PaperVerifier,
)
from no_undo.lab.pipeline import Execution, Pipeline
from no_undo.lab.seeded_tokens import SeededTokens
from no_undo.lab.stand_ins import (
    AcceptingValidator,
    FixedContacts,
    FixedHasher,
    FixedPolicies,
    PlainPages,
)
from no_undo.ports import (
    Change,
    DocumentInspector,
    KeyedHasher,
    Save,
    StateStore,
)
from no_undo.settings import Settings
from no_undo.use_cases.archive_signed_document import Archiving
from no_undo.use_cases.assemble_document import Assembly
from no_undo.use_cases.detection import Detection
from no_undo.use_cases.extract_fields import Extraction
from no_undo.use_cases.redact_document import Redaction
from no_undo.use_cases.redaction_proof import Proving
from no_undo.use_cases.verify_redaction import Verification
from tests.fakes.extraction import FixedFloors, MemoryCanaries, ScriptedExtraction
from tests.infrastructure.template import ROOT, folder_of, functions
from tests.statemachine.definition import Json, definition, function_of, tasks
from tests.statemachine.deployment import ACCOUNT, environment

CAROL: Final = f"arn:aws:iam::{ACCOUNT}:user/carol"
APPROVERS: Final = ("dave@example.com", "erin@example.com")
POLICY: Final = ApproverPolicy(
    eligible=("@example.com",),
    smallest_quorum=1,
    recipients_may_approve=False,
    escalation=(),
    default_approvers=APPROVERS,
    deadline_hours=4,
    callers={CAROL: "carol@example.com"},
)
DEADLINE: Final = timedelta(hours=4)
_INVOCATION: Final = timedelta(seconds=90)
_MOST_STEPS: Final = 500


class MemoryDependencies(Dependencies):
    """The product's composition with other ports."""

    @property
    def inspector(self) -> DocumentInspector:
        """Reads sheets of paper."""
        return PaperInspector()

    @property
    def detection(self) -> Detection:
        """Detects nothing by itself."""
        return Detection(PaperReaders(), NoDetector())


def paper_verification(hasher: KeyedHasher) -> Verification:
    """Return what proves redactions of paper."""
    proving = Proving(PaperVerifier(), Detection(PaperReaders(), NoDetector()))
    return Verification(proving, PaperInspector(), hasher)


class StreamingStore(MemoryStateStore):
    """The store, telling the table's stream which plans changed."""

    def __init__(self, stream: deque[str]) -> None:
        """Start empty."""
        super().__init__(Provenance("test", "0" * 16))
        self._stream = stream

    def commit(self, change: Change) -> AuditRecord:
        """Write, then tell the stream."""
        record = super().commit(change)
        for one in change.writes:
            if isinstance(one, Save) and isinstance(one.row, Plan):
                self._stream.append(one.row.plan_id)
        return record


class StreamResumer:
    """Implements `ports.Resumer` by the same stream."""

    def __init__(self, stream: deque[str]) -> None:
        """Take the stream."""
        self._stream = stream

    def resume(self, plan_id: str) -> None:
        """Ask for a plan."""
        self._stream.append(plan_id)


class NoSweeper:
    """Implements `ports.Sweeper`; the next sweep comes anyway."""

    def sweep(self) -> None:
        """Lose the wish."""


def a_submission(**changes: object) -> Json:
    """Return the body of a submission: an invoice for Alice and Bob, to be approved by two."""
    invoice = ROOT / "fixtures/documents/freight_invoice.json"
    return {
        "prompt": "Send this freight invoice to Alice and Bob for signature, no redaction.",
        "document": {"invoice": json.loads(invoice.read_text(encoding="utf-8"))},
        "recipients": [
            {"name": "Alice Example", "email": "alice@example.com"},
            {"name": "Bob Example", "email": "bob@example.com"},
        ],
        "quorum": 2,
        **changes,
    }


class Machine:
    """One deployment, in memory.

    Attributes:
        clock: Time.
        stream: Ids of plans that changed and that nobody looked at yet.
        store: State and audit.
        esign: The e-sign vendor.
        eraser: The redaction vendor.
        validator: Checks signed documents.
        policies: The tenants' approver policies.
        mailer: What was mailed.
        pipeline: The executions.
        failing: Errors that a function raises next, by its folder, instead of running.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        """Put the handlers on stand-ins for as long as the patch lasts."""
        self.clock = FixedClock()
        self.tokens = SeededTokens()
        self.stream: deque[str] = deque()
        self.store: StateStore = self._store()
        self.esign = FakeESign(self.clock)
        self.eraser = BluntEraser()
        self.validator = AcceptingValidator()
        self.policies = FixedPolicies({ACCOUNT: POLICY})
        self.mailer = MemoryMailer()
        self.waits = MemoryWaits()
        self.documents = MemoryDocumentStore()
        self.failing: dict[str, list[Exception]] = {}
        self._handlers = {one: _handler(one) for one in functions()}
        self.pipeline = Pipeline(
            definition(), {one: self._invoker(one) for one in _called()}, self.store, self.clock
        )
        self._wire(patch)

    def _wire(self, patch: pytest.MonkeyPatch) -> None:
        outside = self._outside()
        for folder in functions():
            deps = self._dependencies(Settings(self._environment(folder)))
            vars(deps).update(outside)
            vars(deps).update(self._services(deps))
            patch.setattr(f"functions.{folder}.app.dependencies", lambda deps=deps: deps)

    def _dependencies(self, settings: Settings) -> Dependencies:
        return MemoryDependencies(settings)

    def _environment(self, folder: str) -> dict[str, str]:
        return environment(folder)

    def _store(self) -> StateStore:
        return StreamingStore(self.stream)

    def _outside(self) -> dict[str, object]:
        """Return time, people, vendors and the state machine."""
        inspector, press, pages = PaperInspector(), PaperPress(), PlainPages()
        floors = FixedFloors()
        return {
            "clock": self.clock,
            "tokens": self.tokens,
            "executions": self.pipeline,
            "answers": self.pipeline,
            "resumer": StreamResumer(self.stream),
            "sweeper": NoSweeper(),
            "pages": pages,
            "esign": self.esign,
            "extraction": Extraction(
                PaperReader(), inspector, floors, MemoryCanaries(), second_readings=False
            ),
            "extraction_service": ScriptedExtraction({"understand": {"total_amount": 1.0}}),
            "assembly": Assembly(inspector, press, press, pages),
            "redaction": Redaction(self.eraser, Detection(PaperReaders(), NoDetector())),
            "archiving": Archiving(self.esign, self.validator),
        }

    def _services(self, deps: Dependencies) -> dict[str, object]:  # noqa: ARG002 - for AWS
        """Return what AWS provides."""
        return {
            "store": self.store,
            "waits": self.waits,
            "documents": self.documents,
            "policies": self.policies,
            "contacts": FixedContacts(),
            "floors": FixedFloors(),
            "canaries": MemoryCanaries(),
            "hasher": FixedHasher(),
            "mailer": self.mailer,
            "verification": paper_verification(FixedHasher()),
        }

    # What people and services outside do

    def submit(self, **changes: object) -> str:
        """Submit an invoice for Alice and Bob; return the request's id."""
        answer = self.call("submit_request", "POST /requests", body=a_submission(**changes))
        return str(answer["request_id"])

    def call(self, function: str, route: str, *, body: Json | None = None, **path: str) -> Json:
        """Call a route as Carol; return the JSON of a good answer."""
        answer = self.ask(function, route, path, body=body)
        assert answer["statusCode"] < HTTPStatus.MULTIPLE_CHOICES, answer["body"]
        return cast("Json", json.loads(answer["body"]))

    def ask(
        self,
        function: str,
        route: str,
        path: Mapping[str, str] | None = None,
        *,
        body: Json | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        """Call a route as Carol; return the answer as the gateway gets it."""
        event = self._http(function, route, path or {})
        event["headers"].update(headers or {})
        event["body"] = json.dumps(body or {})
        return self.invoke(function, event)

    def withdraw(self, request_id: str) -> None:
        """Take a request back."""
        self.call("withdraw_request", "POST /requests/{id}/withdraw", id=request_id)

    def decide(
        self, approver: str, decision: str = "approve", reason: str = "", **answers: str
    ) -> Json:
        """Post the form behind an approver's newest link, as a person who read the card."""
        token = self.tokens_of(approver)[-1]
        plan = self.plan_behind(token)
        event = self._http("record_decision", "POST /approvals/{token}", {"token": token})
        event["headers"]["content-type"] = "application/x-www-form-urlencoded"
        looking = self._http("show_approval", "GET /approvals/{token}", {"token": token})
        shown = self.invoke("show_approval", looking)["body"]
        event["body"] = urlencode(
            {
                **answers,
                "plan_digest": plan.digest,
                "card_digest": shown.rpartition(" ")[2],
                "decision": decision,
                "reason": reason,
                "confirmation": " ".join(words_for(plan.digest, approver)),
            }
        )
        return self.invoke("record_decision", event)

    def plan_behind(self, token: str) -> Plan:
        """Return the plan that a link is about."""
        link = self.store.link(token_sha256(token))
        assert link is not None
        plan = self.store.plan(link.plan_id)
        assert plan is not None
        return plan

    def approve(self) -> None:
        """Let everybody who has a link approve."""
        for approver in APPROVERS:
            self.decide(approver)

    def settle(self, plan_id: str, outcome: str) -> None:
        """Settle an attempt as an operator."""
        body = {"outcome": outcome, "reason": "I asked.", "evidence": "Ticket 4711"}
        self.call("settle_plan", "POST /operations/plans/{id}/settle", body=body, id=plan_id)

    def tokens_of(self, approver: str) -> list[str]:
        """Return the tokens of the links that an approver was mailed, oldest first."""
        return [
            one.message.text.rpartition("/")[2] for one in self.mailer.sent if one.to == approver
        ]

    # Time, the stream and the sweep

    def run(self) -> None:
        """Go on until nothing can happen without time passing; short retry pauses pass by."""
        for _ in range(_MOST_STEPS):
            if self.stream:
                self._deliver()
            elif self.pipeline.ready():
                self.pipeline.step(self.pipeline.ready()[0])
            elif (later := self.pipeline.next_ready()) is not None:
                self.clock.set(later)
            else:
                return
        raise AssertionError("the machine never comes to rest")

    def sweep(self) -> None:
        """Run the sweep, then everything that follows from it."""
        self.sweep_once()
        self.run()

    def sweep_once(self) -> None:
        """Run the sweep."""
        event = json.loads((ROOT / "events/reconcile_sends.json").read_text())
        self.invoke("reconcile_sends", event)

    def remind(self) -> None:
        """Mail what is due."""
        event = json.loads((ROOT / "events/send_reminders.json").read_text())
        self.invoke("send_reminders", event)

    def mail_event(self, sample: str, request_id: str, token: str = "") -> None:
        """Let SES say what became of a mail."""
        event = json.loads((ROOT / f"events/mail/{sample}.json").read_text())
        tags = event["detail"]["mail"]["tags"]
        tags["request_id"] = [request_id]
        if token:
            tags["link"] = [token_sha256(token)]
        self.invoke("record_mail_event", event)

    def deliver_all(self) -> None:
        """Let the stream be heard to its end."""
        while self.stream:
            self._deliver()

    def wait(self, by: timedelta, *, sweeps: int = 4) -> None:
        """Let time pass, with a few sweeps on the way."""
        for _ in range(sweeps):
            self.clock.advance(by / sweeps)
            self.run()
            self.sweep()

    def invoke(self, function: str, event: Json) -> Json:
        """Invoke a function: its event and its answer pass as JSON, its time is limited."""
        failing = self.failing.get(function, [])
        if failing:
            raise failing.pop(0)
        ends = self.clock.now() + _INVOCATION

        def remaining() -> int:
            return int((ends - self.clock.now()).total_seconds() * 1000)

        context = SimpleNamespace(get_remaining_time_in_millis=remaining)
        answer = self._handlers[function](json.loads(json.dumps(event)), context)
        return cast("Json", json.loads(json.dumps(answer)))

    def _invoker(self, placeholder: str) -> Callable[[Json], Json]:
        folder = folder_of(placeholder.removesuffix("Arn"))
        return lambda event: self.invoke(folder, event)

    def _deliver(self) -> None:
        keys = {"plan_id": {"S": self.stream.popleft()}}
        self.invoke(
            "resume_execution", {"Records": [{"dynamodb": {"Keys": keys, "SequenceNumber": "1"}}]}
        )

    # What came of it

    def request(self, request_id: str) -> Request:
        """Return a request's row."""
        found = self.store.request(request_id)
        assert found is not None
        return found

    def plan(self, request_id: str) -> Plan:
        """Return the plan of a request's current round."""
        found = self.store.plan(plan_id_of(request_id, self.request(request_id).round))
        assert found is not None
        return found

    def execution(self, request_id: str, recovery: int = 0) -> Execution:
        """Return the first execution of a request, or a recovery."""
        return self.pipeline.executions[f"{request_id}-r{recovery}" if recovery else request_id]

    def ended(self, request_id: str) -> tuple[str, str, str]:
        """Return state, stage and code of a request's ending."""
        request = self.request(request_id)
        assert request.ending is not None
        return request.state.value, request.ending.stage, request.ending.code

    def _http(self, function: str, route: str, path: Mapping[str, str]) -> Json:
        event: Json = json.loads((ROOT / f"events/{function}.json").read_text())
        event["headers"].pop("idempotency-key", None)  # its store is AWS's own
        method = route.partition(" ")[0]
        event["requestContext"]["http"]["method"] = method
        return {**event, "routeKey": route, "pathParameters": dict(path)}


def _handler(folder: str) -> Any:  # noqa: ANN401 - two shapes of handlers
    return importlib.import_module(f"functions.{folder}.app").handler


def _called() -> set[str]:
    return {function_of(one) for one in tasks().values()} - {""}
