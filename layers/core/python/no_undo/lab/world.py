"""Everything around one request, in memory: stores, vendor, state machine, people, time.

The functions of the gate are the real use cases; each runs as an invocation of its own, with its
own time limit, and may die at any port call without taking anything else with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from no_undo.actions.esign_send import KIND, ESignSend
from no_undo.domain.approval import ApprovalLink, token_sha256
from no_undo.domain.approver_policy import ApproverPolicy
from no_undo.domain.audit_chain import AuditEvent, AuditRecord, Provenance
from no_undo.domain.card import (
    FIELD_CONFIRMED,
    FIELD_CORRECTED,
    correction_input_name,
    field_input_name,
)
from no_undo.domain.confirmation import words_for
from no_undo.domain.ledger import Attempt
from no_undo.domain.plan import Plan
from no_undo.domain.recipients import Recipient
from no_undo.domain.request import Assembly, Request, RequestState, Source, Stage, execution_name
from no_undo.lab.fake_esign import Behaviour, FakeESign, SecondSend
from no_undo.lab.fixed_clock import FixedClock
from no_undo.lab.memory_documents import MemoryDocumentStore
from no_undo.lab.memory_mailer import MemoryMailer
from no_undo.lab.memory_store import MemoryStateStore, R
from no_undo.lab.memory_waits import MemoryWaits
from no_undo.lab.paper import (
    BluntEraser,
    NoDetector,
    PaperInspector,
    PaperPress,
    PaperReaders,
    PaperVerifier,
)
from no_undo.lab.pipeline import Handler, JsonMap, Pipeline, load_definition
from no_undo.lab.seeded_tokens import SeededTokens
from no_undo.lab.stand_ins import AcceptingValidator, FixedHasher, FixedPolicies, PlainPages
from no_undo.lab.watched import NobodyWatches, Watcher, watched
from no_undo.ports import Change, DocumentStore, ESignGateway, Save
from no_undo.use_cases.approval_card import card_for, card_sources
from no_undo.use_cases.archive_signed_document import Archiving, archive_signed_document
from no_undo.use_cases.assemble_document import Assembly as PaperAssembly
from no_undo.use_cases.assemble_document import assemble_document
from no_undo.use_cases.await_settlement import await_settlement
from no_undo.use_cases.await_signature import await_signature
from no_undo.use_cases.close_request import Closing, Telling, close_request
from no_undo.use_cases.create_draft import Drafting, create_draft
from no_undo.use_cases.current_plan import current_plan_id
from no_undo.use_cases.detection import Detection
from no_undo.use_cases.gate import Gate, GateSettings
from no_undo.use_cases.reassign_approver import Reassignment, reassign_approver
from no_undo.use_cases.reconcile_sends import reconcile_sends
from no_undo.use_cases.record_decision import DecisionForm, Reply, record_decision
from no_undo.use_cases.redact_document import Redaction, redact_document
from no_undo.use_cases.redaction_proof import Proving
from no_undo.use_cases.request_approval import Asking, Mailing, request_approval
from no_undo.use_cases.resume_execution import resume_execution
from no_undo.use_cases.send_envelope import SendResult, send_envelope
from no_undo.use_cases.send_reminders import send_reminders
from no_undo.use_cases.show_approval import Showing, show_card
from no_undo.use_cases.stage import PDF, Stages, put_json
from no_undo.use_cases.verify_redaction import Verification, verify_redaction
from no_undo.use_cases.withdraw_request import withdraw_request

TENANT: Final = "acme"
CALLER: Final = "arn:aws:iam::123456789012:user/carol"
REQUESTER: Final = "carol@example.com"
APPROVERS: Final = ("dave@example.com", "erin@example.com")
LINK_BASE: Final = "https://no-undo.example"
RECIPIENTS: Final = (
    Recipient("Alice Example", "alice@example.com", 1),
    Recipient("Bob Example", "bob@example.com", 2),
)
FIELDS: Final[tuple[Mapping[str, Any], ...]] = tuple(
    {
        "path": path,
        "label": path.replace("_", " ").capitalize(),
        "value": value,
        "route": "human",
        "reason": "Please compare.",
        "witnesses": [{"name": "text layer", "says": says}],
        "page": 1,
    }
    for path, value, says in (
        ("invoice_number", "INV-7", "agrees"),
        ("total_amount", "86.26", "disagrees"),
    )
)
"""What was read from a document whose total is misread, as Extract Fields stores it."""
CORRECTIONS: Final[Mapping[str, str]] = {"total_amount": "86.86"}
DEADLINE: Final = timedelta(hours=4)
INVOCATION: Final = timedelta(seconds=120)
"""How long one invocation of the sending function or the sweep may run."""
HORIZON: Final = timedelta(hours=5)
"""How long a run goes on at most: well past the deadline."""
POLICY: Final = ApproverPolicy(
    eligible=("@example.com",),
    smallest_quorum=1,
    recipients_may_approve=False,
    escalation=(),
    default_approvers=APPROVERS,
    deadline_hours=4,
    callers={CALLER: REQUESTER},
)
SETTINGS: Final = GateSettings(
    lease=INVOCATION + timedelta(seconds=30),
    call_budget=timedelta(seconds=40),
    settle_time=timedelta(minutes=30),
    max_attempts=3,
    retry_after_release=True,
    read_back_interval=timedelta(seconds=20),
    poll_interval=timedelta(minutes=1),
    driver_interval=timedelta(minutes=30),
    look_budget=timedelta(seconds=20),
)


class StreamingStore(MemoryStateStore):
    """The store, with the stream of changed plans that wakes `resume_execution`.

    Attributes:
        stream: Plan ids of changes not yet delivered, oldest first.
        commits: How many transitions were written.
    """

    def __init__(self, provenance: Provenance) -> None:
        super().__init__(provenance)
        self.stream: deque[str] = deque()
        self.commits = 0

    def commit(self, change: Change) -> AuditRecord:
        """Write a transition; tell the stream about its plan."""
        record = super().commit(change)
        self.commits += 1
        for one in change.writes:
            if isinstance(one, Save) and isinstance(one.row, Plan):
                self.stream.append(one.row.plan_id)
        return record

    def rows(self, row_type: type[R]) -> list[R]:
        """Return every row of one kind, in the order in which they were first stored."""
        return self._all(row_type)

    def chain_ids(self) -> tuple[str, ...]:
        """Return the id of every audit chain."""
        return tuple(self._chains)


@dataclass(frozen=True, slots=True)
class Promise:
    """A send call as it left: what the ledger durably held at that moment (P1)."""

    plan_id: str
    attempt_id: str
    durable: bool


class RecordingAction(ESignSend):
    """The real action, noting at each send call what the ledger held.

    Attributes:
        promises: One per send call.
    """

    def __init__(
        self, esign: ESignGateway, documents: DocumentStore, store: MemoryStateStore
    ) -> None:
        super().__init__(esign, documents)
        self.promises: list[Promise] = []
        self._store = store

    def execute(self, plan: Plan, attempt: Attempt) -> str:
        """Send; first note whether this attempt's entry is stored."""
        entry = self._store.entry(plan.plan_id)
        known = () if entry is None else tuple(one.attempt_id for one in entry.attempts)
        durable = attempt.attempt_id in known
        self.promises.append(Promise(plan.plan_id, attempt.attempt_id, durable))
        return super().execute(plan, attempt)


class AskingResumer:
    """Implements `ports.Resumer`: what it is asked for is done a little later."""

    def __init__(self, asked: deque[str]) -> None:
        self._asked = asked

    def resume(self, plan_id: str) -> None:
        """Ask for one plan to be looked at soon."""
        self._asked.append(plan_id)


class World:
    """One request and everything around it.

    Attributes:
        clock: Time; moves only when told to.
        store: State and audit; its methods here are not watched.
        esign: The vendor; not watched.
        function: Which function runs now, for naming port calls.
        asked: Plan ids that `resume_execution` was asked to look at, oldest first.
        stream_delivers: False: the stream is broken and only the sweep resumes.
    """

    def __init__(  # noqa: PLR0913 - a world has this many facts
        self,
        *,
        behaviour: Behaviour = Behaviour.NORMAL,
        second_send: SecondSend = SecondSend.REFUSES,
        settings: GateSettings = SETTINGS,
        watcher: Watcher | None = None,
        definition: JsonMap | None = None,
        seed: int = 0,
    ) -> None:
        """Make an empty world.

        Args:
            behaviour: How the vendor treats sends.
            second_send: What the vendor does with a second send.
            settings: The gate's times and bounds.
            watcher: Stands around every port call.
            definition: The parsed state machine, to read it once for many worlds.
            seed: Of all tokens and ids.
        """
        self.clock = FixedClock()
        self.store = StreamingStore(Provenance("lab", "0" * 16))
        self.waits = MemoryWaits()
        self.documents = MemoryDocumentStore()
        self.mailer = MemoryMailer()
        self.esign = FakeESign(self.clock, behaviour, second_send)
        self.validator = AcceptingValidator()
        self.policies = FixedPolicies({TENANT: POLICY})
        self.function = ""
        self.asked: deque[str] = deque()
        self.stream_delivers = True
        self.settings = settings
        self.watcher = watcher or NobodyWatches()
        self.pipeline = Pipeline(
            definition or load_definition(), self._handlers(), self.store, self.clock
        )
        self._wire(SeededTokens(seed))

    def _wire(self, tokens: SeededTokens) -> None:
        watch = self.watcher
        store = watched(self.store, "store", watch)
        documents = watched(self.documents, "documents", watch)
        esign = watched(self.esign, "esign", watch)
        mailer = watched(self.mailer, "mailer", watch)
        waits = watched(self.waits, "waits", watch)
        self.executions = watched(self.pipeline, "executions", watch)
        self.gate = Gate(store, self.policies, self.clock, tokens, self.settings)
        self.action = RecordingAction(esign, documents, self.store)
        self.mailing = Mailing(PlainPages(), mailer, LINK_BASE)
        self.asking = Asking(waits, self.mailing, FixedHasher())
        self.showing = Showing(store, documents, self.clock, LINK_BASE)
        self.stages = Stages(store, documents, self.clock)
        self.drafting = Drafting(esign, KIND)
        inspector, press = PaperInspector(), PaperPress()
        self.assembly = PaperAssembly(inspector, press, press, PlainPages())
        detection = Detection(PaperReaders(), NoDetector())
        self.redaction = Redaction(BluntEraser(), detection)
        proving = Proving(PaperVerifier(), detection)
        self.verification = Verification(proving, inspector, self.asking.hasher)
        self.telling = Telling(PlainPages(), mailer)
        self.archiving = Archiving(esign, self.validator)
        self.resumer = watched(AskingResumer(self.asked), "resumer", watch)

    # What happens

    def submit(  # noqa: PLR0913 - each has a default
        self,
        request_id: str = "r1",
        *,
        source: bytes = b"%PDF-1.7 source",
        repeat_of: str = "",
        quorum: int = 2,
        deadline: timedelta = DEADLINE,
        start: bool = True,
        fields: Sequence[Mapping[str, Any]] = (),
        assembly: Assembly = Assembly.ATTACH,
    ) -> Request:
        """Store a request whose document is ready, and start its execution.

        Args:
            request_id: Its id.
            source: The source bytes.
            repeat_of: Plan that is knowingly repeated.
            quorum: Needed approvals.
            deadline: How long after now it ends undecided.
            start: Whether an execution drives it.
            fields: What was read from the document, as Extract Fields stores it.
            assembly: How the document is made when it is made again.
        """
        source_ref = self.documents.put(f"requests/{request_id}/source.pdf", source, PDF)
        assembled = self.documents.put(f"requests/{request_id}/round-1/final.pdf", source, PDF)
        artefacts = {"assembled": assembled}
        if fields:
            key = f"requests/{request_id}/round-1/fields.json"
            artefacts["fields"] = put_json(self.documents, key, {"fields": list(fields)})
        now = self.clock.now()
        request = Request(
            request_id=request_id,
            tenant=TENANT,
            caller=CALLER,
            caller_email=REQUESTER,
            prompt="Send this to Alice and Bob for signature.",
            source=Source.UPLOAD,
            source_document=source_ref,
            created_at=now,
            assembly=assembly,
            repeat_of=repeat_of,
            stage=Stage.DRAFT,
            title="Freight invoice",
            instruction="Please sign.",
            recipients=RECIPIENTS,
            approvers=APPROVERS,
            quorum=quorum,
            deadline=now + deadline,
            artefacts=artefacts,
            check_at=now + self.settings.driver_interval,
        )
        event = AuditEvent(kind="request.submitted", actor=CALLER, at=now)
        self.store.commit(Change(request_id, event, (Save(request),)))
        if start:
            self.pipeline.start(execution_name(request_id, 0), request_id)
        return replace(request, revision=1)

    def send(self, plan_id: str) -> SendResult:
        """Invoke the sending function once, with its whole time limit."""
        remaining_seconds = self._time_limit()
        with self.invocation("send_envelope"):
            return send_envelope(plan_id, self.gate, self.action, remaining_seconds)

    def sweep(self) -> dict[str, int]:
        """Invoke the sweep once, with its whole time limit."""
        remaining_seconds = self._time_limit()
        with self.invocation("reconcile_sends"):
            return reconcile_sends(
                self.gate, self.action, self.resumer, self.executions, remaining_seconds
            )

    def _time_limit(self) -> Callable[[], float]:
        ends = self.clock.now() + INVOCATION

        def remaining_seconds() -> float:
            return (ends - self.clock.now()).total_seconds()

        return remaining_seconds

    def resume(self, plan_id: str) -> int:
        """Invoke the resuming function for one plan."""
        with self.invocation("resume_execution"):
            return resume_execution(plan_id, self.gate, self.asking.waits, self.executions)

    def withdraw(self, request_id: str) -> None:
        """Take a request back, as its caller."""
        with self.invocation("withdraw_request"):
            withdraw_request(request_id, TENANT, CALLER, self.gate, self.resumer)

    def remind(self) -> dict[str, int]:
        """Invoke the function that mails what is due once."""
        with self.invocation("send_reminders"):
            return send_reminders(self.gate, self.mailing)

    def reassign(self, approver: str, to: str, request_id: str = "r1") -> None:
        """Give one approver's place to another, as the caller."""
        wanted = Reassignment(approver, to, "on holiday")
        with self.invocation("reassign_approver"):
            reassign_approver(request_id, TENANT, CALLER, wanted, self.gate)

    def open_card(self, token: str) -> Any:  # noqa: ANN401 - a card or a result
        """Open a link."""
        with self.invocation("show_approval"):
            return show_card(token, self.showing)

    def decide(self, token: str, decision: str = "approve", reason: str = "") -> Reply:
        """Post a decision with the right words, as a person who read the card does."""
        return self.post(token, self.form(token, decision, reason))

    def correct(self, token: str, corrections: Mapping[str, str]) -> Reply:
        """Post corrections, by path."""
        return self.post(token, self.form(token, "correct", corrections=corrections))

    def form(
        self,
        token: str,
        decision: str = "approve",
        reason: str = "",
        *,
        corrections: Mapping[str, str] | None = None,
    ) -> DecisionForm:
        """Return the form of a card as it is now; what is not corrected is confirmed."""
        link = self.link_behind(token)
        plan, request = self.store.plan(link.plan_id), self.store.request(link.request_id)
        if plan is None or request is None:
            raise LookupError("no such plan")
        card = card_for(plan, card_sources(request, self.documents), link.approver, LINK_BASE)
        answers = {field_input_name(index): FIELD_CONFIRMED for index, _ in card.fields_to_answer}
        for index, one in enumerate(card.fields):
            if corrections and one.path in corrections:
                answers[field_input_name(index)] = FIELD_CORRECTED
                answers[correction_input_name(index)] = corrections[one.path]
        return DecisionForm(
            plan_digest=plan.digest,
            card_digest=card.digest,
            decision=decision,
            reason=reason,
            confirmation=" ".join(words_for(plan.digest, link.approver)),
            answers=answers,
        )

    def post(self, token: str, form: DecisionForm) -> Reply:
        """Post a form."""
        with self.invocation("record_decision"):
            return record_decision(token, form, self.gate, self.showing, self.asking.hasher)

    def link_behind(self, token: str) -> ApprovalLink:
        """Return the stored link of a token."""
        link = self.store.link(token_sha256(token))
        if link is None:
            raise LookupError("no such link")
        return link

    def tokens_mailed_to(self, approver: str) -> list[str]:
        """Return the link tokens that a person got by mail, oldest first."""
        prefix = f"{LINK_BASE}/approvals/"
        return [
            one.message.text.removeprefix(prefix)
            for one in self.mailer.sent
            if one.to == approver and one.message.text.startswith(prefix)
        ]

    @contextmanager
    def invocation(self, function: str) -> Generator[None]:
        """Name the function that runs, for the watcher."""
        before, self.function = self.function, function
        try:
            yield
        finally:
            self.function = before

    # The functions, one invocation each

    def assemble(self, request_id: str) -> None:
        """Invoke Assemble Document."""
        with self.invocation("assemble_document"):
            assemble_document(request_id, self.stages, self.assembly)

    def redact(self, request_id: str) -> None:
        """Invoke Redact Document."""
        with self.invocation("redact_document"):
            redact_document(request_id, self.stages, self.redaction)

    def verify(self, request_id: str) -> None:
        """Invoke Verify Redaction."""
        with self.invocation("verify_redaction"):
            verify_redaction(request_id, self.stages, self.verification)

    def create_draft(self, request_id: str) -> None:
        """Invoke Create Draft."""
        with self.invocation("create_draft"):
            create_draft(request_id, self.stages, self.drafting)

    def request_approval(self, request_id: str, task_token: str) -> None:
        """Invoke Request Approval."""
        with self.invocation("request_approval"):
            request_approval(request_id, task_token, self.gate, self.asking)

    def await_settlement(self, request_id: str, task_token: str) -> None:
        """Invoke Await Settlement."""
        with self.invocation("await_settlement"):
            plan_id = current_plan_id(request_id, self.gate.store)
            await_settlement(plan_id, task_token, self.gate, self.asking.waits)

    def await_signature(self, request_id: str, task_token: str) -> None:
        """Invoke Await Signature."""
        with self.invocation("await_signature"):
            plan_id = current_plan_id(request_id, self.gate.store)
            await_signature(plan_id, task_token, self.gate, self.asking.waits)

    def archive(self, request_id: str) -> None:
        """Invoke Archive Signed Document."""
        with self.invocation("archive_signed_document"):
            archive_signed_document(request_id, self.stages, self.archiving)

    def close(self, request_id: str, closing: Closing) -> RequestState:
        """Invoke Close Request."""
        with self.invocation("close_request"):
            return close_request(request_id, closing, self.gate, self.telling)

    def _handlers(self) -> dict[str, Handler]:
        """Return the functions as the state machine calls them."""
        return {
            "AssembleDocumentFunctionArn": _for_request(self.assemble),
            "RedactDocumentFunctionArn": _for_request(self.redact),
            "VerifyRedactionFunctionArn": _for_request(self.verify),
            "CreateDraftFunctionArn": _for_request(self.create_draft),
            "RequestApprovalFunctionArn": _for_wait(self.request_approval),
            "SendEnvelopeFunctionArn": self._send_envelope,
            "AwaitSettlementFunctionArn": _for_wait(self.await_settlement),
            "AwaitSignatureFunctionArn": _for_wait(self.await_signature),
            "ArchiveSignedDocumentFunctionArn": _for_request(self.archive),
            "CloseRequestFunctionArn": self._close_request,
        }

    def _send_envelope(self, event: JsonMap) -> JsonMap:
        with self.invocation("send_envelope"):
            plan_id = current_plan_id(event["requestId"], self.gate.store)
        result = self.send(plan_id)
        return {"outcome": result.outcome.value, "code": result.code, "planId": plan_id}

    def _close_request(self, event: JsonMap) -> JsonMap:
        ending = event["ending"]
        failed = ending["outcome"] in ("failed", "not_archived")
        error = event.get("error", {}).get("Error", "") if failed else ""
        code = ending.get("code") or error
        closing = Closing(outcome=ending["outcome"], stage=ending["stage"], code=code)
        return {"state": self.close(event["requestId"], closing).value}


def _for_request(do: Callable[[str], None]) -> Handler:
    def handle(event: JsonMap) -> JsonMap:
        do(event["requestId"])
        return {}

    return handle


def _for_wait(do: Callable[[str, str], None]) -> Handler:
    def handle(event: JsonMap) -> JsonMap:
        do(event["requestId"], event["taskToken"])
        return {}

    return handle
