"""What the use cases need from the outside. Adapters implement these; tests use fakes of them.

Every method raises only errors from `no_undo.domain.errors`: an adapter translates at its border.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Protocol

from no_undo.domain.approval import ApprovalLink
from no_undo.domain.approver_policy import ApproverPolicy
from no_undo.domain.audit_chain import AuditEvent, AuditRecord
from no_undo.domain.audit_export import ExportHead, Manifest
from no_undo.domain.canary import Canary, Withdrawal
from no_undo.domain.card import Card, FormState
from no_undo.domain.checkpoint import Checkpoint
from no_undo.domain.documents import DocumentRef
from no_undo.domain.envelope import ActivityHistory, Envelope, SendAnswer, SignedDocument
from no_undo.domain.fence import Fence
from no_undo.domain.floors import Floors
from no_undo.domain.instruction import Contact
from no_undo.domain.invoice import Invoice
from no_undo.domain.ledger import Attempt, LedgerEntry, Pause, Prepared
from no_undo.domain.mail import MailMessage
from no_undo.domain.notices import ApprovalNotice, RequesterNotice
from no_undo.domain.pii import Finding
from no_undo.domain.plan import FollowUp, Plan
from no_undo.domain.rebuilt_document import RebuiltDocument
from no_undo.domain.receipt import Anchor
from no_undo.domain.recipients import Recipient
from no_undo.domain.reconciliation import LookUpAnswer
from no_undo.domain.redaction import ChannelVerdict, RedactionTarget
from no_undo.domain.request import Request
from no_undo.domain.results import Result
from no_undo.domain.waiting import Wait, WaitKind
from no_undo.domain.words import Word


class Clock(Protocol):
    """Time, injected so that tests own it."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait; a test clock only advances."""
        ...


class TokenSource(Protocol):
    """Randomness, injected so that tests own it."""

    def token(self) -> str:
        """Return 256 random bits as 43 URL-safe characters."""
        ...

    def uid(self) -> str:
        """Return a fresh identifier of 26 or fewer URL-safe characters."""
        ...


class DocumentStore(Protocol):
    """Versioned, encrypted storage for documents."""

    def put(self, key: str, content: bytes, content_type: str) -> DocumentRef:
        """Store bytes under a key; returns the version just written."""
        ...

    def get(self, ref: DocumentRef) -> bytes:
        """Return exactly that version.

        Raises:
            TamperedError: The stored bytes do not have the reference's SHA-256.
            NotFoundError: There is no such object.
        """
        ...

    def get_upload(self, key: str, *, max_bytes: int) -> bytes:
        """Return an uploaded object by key alone.

        Raises:
            NotFoundError: Nothing was uploaded there.
            InvalidRequestError: It is larger than `max_bytes`.
        """
        ...

    def delete_upload(self, key: str) -> None:
        """Remove an uploaded object; no error when it is gone already."""
        ...

    def upload_url(self, key: str, *, expires_seconds: int) -> str:
        """Return a URL that accepts one PUT of a PDF under this key."""
        ...

    def download_url(self, ref: DocumentRef, *, filename: str, expires_seconds: int) -> str:
        """Return a URL that serves this version as a PDF or picture for a short time."""
        ...


@dataclass(frozen=True, slots=True)
class EnvelopeDraft:
    """What `create_draft` asks the vendor for.

    Attributes:
        name: Envelope name; the caller has put the plan id into it.
        file_name: Name of the document inside, ends in `.pdf`.
        recipients: In signing order; party n signs at tag n.
    """

    name: str
    file_name: str
    recipients: tuple[Recipient, ...]


class ESignGateway(Protocol):
    """The e-sign vendor. `send_draft` is the only irreversible call in the system."""

    def create_draft(self, draft: EnvelopeDraft, document: bytes) -> str:
        """Create a draft and return its envelope id. Nobody is contacted.

        Raises:
            VendorRefusedError: The vendor said no, HTTP 200 with an error body included.
            VendorContractError: The answer has the wrong shape.
            InDoubtError: The draft may exist: a timeout, a dropped answer or a 5xx.
            NothingSentError: No connection was made.
        """
        ...

    def find_envelopes(self, first: date, last: date, status: str | None = None) -> tuple[str, ...]:
        """Return envelope ids created in these days (inclusive), lowest first.

        Args:
            first: First day.
            last: Last day.
            status: One of our `EnvelopeStatus` names to filter by, or None for all.
        """
        ...

    def send_draft(self, envelope_id: str) -> SendAnswer:
        """Send the draft: exactly one HTTP request, no retry, no redirect.

        Returns:
            What the vendor answered. It is evidence, not proof (P3).

        Raises:
            InDoubtError: The call may have taken effect: read timeout, 5xx, odd answer.
            NothingSentError: It is certain that no request left (connection refused, DNS).
        """
        ...

    def read_envelope(self, envelope_id: str) -> Envelope:
        """Ask the system of record about one envelope.

        Raises:
            TransientError: No usable answer this time (timeout, 5xx, throttled).
            VendorContractError: An answer without a folder; never to be read as DRAFT.
        """
        ...

    def activity_history(self, envelope_id: str) -> ActivityHistory:
        """Ask the vendor's activity log, the second oracle; an odd answer is UNKNOWN."""
        ...

    def download_signed(self, envelope_id: str) -> SignedDocument:
        """Download a fully signed envelope; accepts bodies by their first bytes only.

        Raises:
            TransientError: Not executed yet, or no usable answer.
            VendorContractError: Neither a PDF nor a ZIP with one.
        """
        ...

    def cancel(self, envelope_id: str, reason: str) -> None:
        """Void a sent envelope. The mails are out; only an operator asks for this.

        Raises:
            VendorRefusedError: The vendor said no.
            InDoubtError: It may have been cancelled.
        """
        ...


class PdfService(Protocol):
    """Turns HTML into PDF at a vendor."""

    def render_html(self, html: str, *, name: str) -> bytes:
        """Return a PDF of self-contained HTML; what the vendor stored is deleted again.

        Raises:
            TransientError: Throttled, timed out, or still working at the deadline.
            VendorRefusedError: The conversion failed or credentials were refused.
            VendorContractError: The answer was not a PDF.
        """
        ...


@dataclass(frozen=True, slots=True)
class ExtractionAnswer:
    """One extraction response as received, with its response fingerprint.

    Attributes:
        body: Parsed JSON of the whole answer.
        data: `output.data`, `{}` when absent.
        metadata: `output.metadata`, `{}` when absent.
        mode: The mode asked for.
        fingerprint: Stable text over the answer's shape: label set, score granularity, number and
            id formats, engine header; changes when the vendor drifts, not with the document.
        points_per_unit: PDF points in one unit of the answer's coordinates.
    """

    body: Mapping[str, Any]
    data: Mapping[str, Any]
    metadata: Mapping[str, Any]
    mode: str
    fingerprint: str
    points_per_unit: float


class ExtractionService(Protocol):
    """Reads typed fields out of a document at a vendor."""

    def extract(self, document: bytes, schema: Mapping[str, Any], *, mode: str) -> ExtractionAnswer:
        """Extract fields with citations. `mode` is `structure`, `understand` or `agentic`."""
        ...

    def parse_words(self, document: bytes, *, mode: str) -> tuple[Word, ...]:
        """Read the document's words with their own confidences."""
        ...


class RedactionService(Protocol):
    """Removes targets from a copy of a document at a vendor."""

    def redact(
        self, document: bytes, targets: Sequence[RedactionTarget], *, operation_id: str
    ) -> bytes:
        """Return a redacted copy; success says nothing about what was removed (P8).

        Args:
            document: PDF bytes; the caller keeps the original.
            targets: What to remove.
            operation_id: Digest of document and targets, the idempotency key where supported.
        """
        ...


@dataclass(frozen=True, slots=True)
class PageText:
    """The text one reader sees on one page; `page_index` counts from 0."""

    page_index: int
    text: str


@dataclass(frozen=True, slots=True)
class PdfFacts:
    """What the door needs to know about a PDF.

    Attributes:
        page_count: At least 1.
        active_content: Names of active features found, such as `javascript`; reported, not run.
        signed: True when a digital signature is present (redaction would kill it).
        has_text: True when a text layer exists on at least one page.
    """

    page_count: int
    active_content: tuple[str, ...]
    signed: bool
    has_text: bool


@dataclass(frozen=True, slots=True)
class VisibleText:
    """The part of a text layer that a person sees on the page.

    Attributes:
        page_texts: Visible text of every page, one printed row per line.
        complete: True when no page shows anything that could be text and is not in the text layer
            (pictures, outlines instead of text).
        hidden_words: Words of the text layer that do not show: white, tiny, covered, off the page,
            invisible. Nobody signs what nobody sees, so they are evidence for nothing.
    """

    page_texts: tuple[str, ...]
    complete: bool
    hidden_words: int


class DocumentInspector(Protocol):
    """Opens untrusted PDFs: in a child process, under memory and time limits."""

    def inspect(self, document: bytes) -> PdfFacts:
        """Open a PDF and say what it is.

        Raises:
            InvalidRequestError: Empty, broken, encrypted, or over the limits; says which.
        """
        ...

    def page_texts(self, document: bytes) -> tuple[PageText, ...]:
        """Return the text layer of every page as the main reader sees it."""
        ...

    def words(self, document: bytes) -> tuple[Word, ...]:
        """Return the words of the text layer with positions; confidence is 1.0."""
        ...

    def visible_text(self, document: bytes) -> VisibleText:
        """Return what of the text layer shows on the pages, decided by rendering them."""
        ...

    def page_pictures(self, document: bytes, *, dpi: int) -> tuple[bytes, ...]:
        """Render every page as PNG."""
        ...

    def signature_tags(self, document: bytes) -> tuple[int, ...]:
        """Return the party numbers of the signature text tags found, sorted, with repeats."""
        ...


@dataclass(frozen=True, slots=True)
class TextReading:
    """What one reader saw in one document.

    Attributes:
        reader: Name and version.
        pages: The pages that it read.
        unread: Indexes of pages that it should have read and did not get to.
        failure: Why it gave no answer at all, without the document's text; empty when it did.
        by_ocr: True for a reader of pictures.
    """

    reader: str
    pages: tuple[PageText, ...] = ()
    unread: tuple[int, ...] = ()
    failure: str = ""
    by_ocr: bool = False


class TextReaders(Protocol):
    """Every reader of page text: two text engines, and OCR where a page depends on pictures."""

    def read(self, document: bytes) -> tuple[TextReading, ...]:
        """Return one reading per reader; one that fails says so and stops no other."""
        ...


class RedactionVerifier(Protocol):
    """Independent readers that look for values in every channel of a PDF."""

    def verify(
        self, before: bytes, after: bytes, values: Mapping[str, str], *, signature_fields: int
    ) -> tuple[ChannelVerdict, ...]:
        """Look for every value in the output, and, as positive control, in the input.

        Args:
            before: The document before redaction.
            after: The redacted document.
            values: Value to its PII kind; never written anywhere.
            signature_fields: How many distinct party tags must survive.

        Returns:
            One row per channel and reader. An empty `values` yields a not-proven row.
        """
        ...


class PiiDetector(Protocol):
    """Finds personal data nobody listed."""

    def findings(self, text: str, *, regions: Sequence[str] = ()) -> tuple[Finding, ...]:
        """Return what is found in one page's text, in reading order.

        Args:
            text: As a reader gave it.
            regions: ISO 3166 hints for numbers written without a country code.
        """
        ...


class SignatureValidator(Protocol):
    """Validates the digital signatures of an executed PDF."""

    def validate(self, signed: bytes) -> tuple[str, ...]:
        """Return one line per problem; empty means every signature is intact and valid."""
        ...

    def same_content(self, approved: bytes, signed: bytes) -> tuple[str, ...]:
        """Return one line per difference between what was approved and what was signed (P7)."""
        ...


class DocumentAssembler(Protocol):
    """Makes an uploaded PDF ready for signing."""

    def append_signature_page(
        self, document: bytes, recipients: Sequence[Recipient], *, title: str
    ) -> bytes:
        """Append a page with one signature tag per recipient, in order; nothing else changes."""
        ...


Row = Request | Plan | LedgerEntry | Fence | ApprovalLink | Pause
"""What the state store holds, each in a table of its own; every row carries its revision."""


@dataclass(frozen=True, slots=True)
class Save:
    """Write a row on the condition that it still has the revision it was read with.

    `row.revision` is the revision as read (0: the row must not exist yet); it is stored plus one.
    """

    row: Row


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Condition without a write: the row still has this revision (0: it does not exist)."""

    row_type: type[Request | Plan | LedgerEntry | Fence | Pause]
    key: str
    revision: int


@dataclass(frozen=True, slots=True)
class NotWithdrawn:
    """Condition without a write: the request exists and was not taken back."""

    request_id: str


@dataclass(frozen=True, slots=True)
class Change:
    """One transition: all of it, with its audit record, or nothing (P9).

    Attributes:
        chain_id: The audit chain that records it.
        event: What happened.
        writes: Rows and conditions; may be empty for something that only has to be recorded.
    """

    chain_id: str
    event: AuditEvent
    writes: tuple[Save | Unchanged | NotWithdrawn, ...] = ()


class StateStore(Protocol):
    """All state that decides, in one transactional store. Every read is consistent."""

    def request(self, request_id: str) -> Request | None:
        """Return a request, or None."""
        ...

    def plan(self, plan_id: str) -> Plan | None:
        """Return a plan, or None."""
        ...

    def entry(self, plan_id: str) -> LedgerEntry | None:
        """Return a ledger entry, or None when no attempt was ever made."""
        ...

    def fence(self, fence_key: str) -> Fence:
        """Return a fence; a fresh one (revision 0) when nobody ever took it."""
        ...

    def link(self, token_sha256: str) -> ApprovalLink | None:
        """Return an approval link by the hash of its token, or None."""
        ...

    def pause(self) -> Pause | None:
        """Return the pause row, or None when nobody ever paused."""
        ...

    def commit(self, change: Change) -> AuditRecord:
        """Write a transition and its audit record in one transaction.

        Conflicts and throttling are repeated inside, bounded, with the same client token; a moved
        chain head is read again. After InDoubtError the caller cannot know whether the transition
        was stored: read back and look for its own ids.

        Raises:
            StaleError: A row or condition is not as it was read; nothing was written.
            TransientError: Still throttled or conflicting at the bound; nothing was written.
            InDoubtError: The answer was lost; it may have been written.
        """
        ...

    def reschedule(self, row: Request | Plan) -> None:
        """Store only when a row is looked at next (`due_kind`, `due_at`; `check_at`, `drafts_...`).

        A schedule is a hint, not state: no audit record, no new revision, but conditional on the
        revision as read; a row that moved on meanwhile is left alone, without an error.
        """
        ...

    def due_plans(self, now: datetime, *, limit: int) -> tuple[str, ...]:
        """Return ids of plans due at or before now, soonest first; a hint, may lag or repeat."""
        ...

    def plans_in_doubt(self, *, limit: int) -> tuple[str, ...]:
        """Return ids of plans that are EXECUTING or RELEASED; a hint, may lag."""
        ...

    def reschedule_mail(self, plan: Plan) -> None:
        """Store only when a plan's mail is looked at next (`mail_at`); otherwise as `reschedule`.

        Apart from `reschedule`, so that a reminder never moves what the sweep has to do.
        """
        ...

    def plans_to_mail(self, now: datetime, *, limit: int) -> tuple[str, ...]:
        """Return ids of waiting plans whose mail is due, soonest first; a hint, may lag."""
        ...

    def open_requests(self, now: datetime, *, limit: int) -> tuple[str, ...]:
        """Return ids of requests whose driver is to be checked; a hint, may lag or repeat."""
        ...

    def due_drafts(self, now: datetime, *, limit: int) -> tuple[str, ...]:
        """Return ids of requests whose abandoned drafts are to be looked at; a hint."""
        ...

    def requests_with_drafts(self, *, limit: int) -> tuple[str, ...]:
        """Return ids of requests with abandoned drafts, where all were sent first; a hint."""
        ...

    def requests_of(self, tenant: str, caller: str, *, limit: int) -> tuple[Request, ...]:
        """Return a caller's own requests, newest first."""
        ...

    def chain(self, chain_id: str) -> tuple[AuditRecord, ...]:
        """Return all records of an audit chain, in order."""
        ...

    def record_open(self, request_id: str, approver: str, at: datetime) -> None:
        """Record that a link was opened, on the chain of opens; beyond 20 a link only counted."""
        ...


class WaitStore(Protocol):
    """Parked task tokens."""

    def put(self, wait: Wait) -> None:
        """Store a token; replaces an older one of the same wait."""
        ...

    def get(self, plan_id: str, kind: WaitKind) -> Wait | None:
        """Return the newest token of a wait, or None."""
        ...

    def delete(self, wait: Wait) -> None:
        """Forget a token that was answered; no effect when a newer one has replaced it."""
        ...


class Executions(Protocol):
    """The state machine."""

    def start(self, name: str, request_id: str) -> None:
        """Start an execution; the same name again is no error (it runs or ran already)."""
        ...

    def is_running(self, name: str) -> bool:
        """Return whether the execution of this name is running."""
        ...

    def answer(self, task_token: str, outcome: str) -> bool:
        """Answer a parked token with `{"outcome": ...}`; False when nobody waits on it any more."""
        ...


class Resumer(Protocol):
    """Asks for waits to be answered; the asking role itself cannot answer them (design 14)."""

    def resume(self, plan_id: str) -> None:
        """Ask `resume_execution` to look at a plan soon; may be lost, the sweep asks again."""
        ...


class Sweeper(Protocol):
    """Asks for a sweep outside its schedule."""

    def sweep(self) -> None:
        """Ask for one sweep soon; may be lost, the schedule comes anyway."""
        ...


class PolicySource(Protocol):
    """The tenants' approver policies, written only at deployment."""

    def policy(self, tenant: str) -> ApproverPolicy | None:
        """Return the tenant's policy, or None when it has none."""
        ...


class FloorsSource(Protocol):
    """The floors of the walk with their evidence, written only at deployment."""

    def floors(self, document_type: str) -> Floors:
        """Return the floors of a document type; built-in ones, without evidence, by default.

        Raises:
            RefusedError: The deployed document cannot be used; names what is wrong with it.
            TransientError: It could not be read this time.
        """
        ...


class ContactSource(Protocol):
    """The tenants' contact lists, written by operators."""

    def contacts(self, tenant: str) -> tuple[Contact, ...]:
        """Return the tenant's contact list, empty when it has none.

        Raises:
            RefusedError: The list cannot be used; names what is wrong with it.
            TransientError: It could not be read this time.
        """
        ...


class CanaryStore(Protocol):
    """Canaries, and what they withdrew."""

    def canaries(self) -> tuple[Canary, ...]:
        """Return every canary.

        Raises:
            RefusedError: One cannot be used; names it.
            TransientError: They could not be read this time.
        """
        ...

    def withdrawal(self, document_type: str) -> Withdrawal | None:
        """Return what was withdrawn for a document type, or None."""
        ...

    def withdraw(self, withdrawal: Withdrawal) -> None:
        """Store a withdrawal in place of an earlier one."""
        ...


class HtmlPage(Protocol):
    """One rendered page."""

    @property
    def html(self) -> str:
        """The whole document."""
        ...

    @property
    def style_source(self) -> str:
        """CSP source of its one inline stylesheet."""
        ...


class Pages(Protocol):
    """Renders pages, mails and the documents that are made from data."""

    def approval_page(self, card: Card, form: FormState | None = None) -> HtmlPage:
        """Render the card with its form."""
        ...

    def result_page(self, result: Result) -> HtmlPage:
        """Render what became of a click."""
        ...

    def approval_mail(self, notice: ApprovalNotice) -> MailMessage:
        """Render the mail that asks one approver to decide."""
        ...

    def requester_mail(self, notice: RequesterNotice) -> MailMessage:
        """Render a mail that tells the requester where a request stands."""
        ...

    def invoice_html(self, invoice: Invoice, recipients: Sequence[Recipient]) -> str:
        """Render a freight invoice with one signature tag per recipient."""
        ...

    def rebuilt_html(self, document: RebuiltDocument, recipients: Sequence[Recipient]) -> str:
        """Render a document that is made again from fields, with one signature tag per recipient.

        Raises:
            InvalidRequestError: A value cannot be printed beside signature tags.
        """
        ...


class Mailer(Protocol):
    """Sends one mail to one person."""

    def send(self, to: str, message: MailMessage, *, tag: str, link: str = "") -> None:
        """Hand a message to the mail service.

        Args:
            to: One address.
            message: Subject, text and HTML.
            tag: Request id, to relate what becomes of the mail.
            link: SHA-256 of the approval token inside, likewise; empty when there is none.

        Raises:
            TransientError: Not accepted this time.
            VendorRefusedError: The mail service will not take it (bad address, not verified).
        """
        ...


class KeyedHasher(Protocol):
    """Turns a value into something that can be compared but not read (P10)."""

    def digest(self, scope: str, value: str) -> str:
        """Return the HMAC-SHA-256 (64 hex digits) of a value under the scope's subkey."""
        ...


class IrreversibleAction(Protocol):
    """One kind of irreversible action; the gate knows nothing else about it (design 6)."""

    kind: str

    def read_back(self, plan: Plan) -> Prepared:
        """Read what exists now, inside and outside, and compare it with the plan (P7).

        Raises:
            TransientError: The outside gave no usable answer; nothing was decided.
        """
        ...

    def execute(self, plan: Plan, attempt: Attempt) -> str:
        """Make exactly one vendor call, never retried; return the vendor's answer in our words.

        Raises:
            NothingSentError: It is certain that nothing left.
            InDoubtError: It may have taken effect.
        """
        ...

    def look_up(self, plan: Plan) -> LookUpAnswer:
        """Ask the system of record whether the effect has happened; an odd answer is UNKNOWN."""
        ...

    def look_up_abandoned(self, target: str) -> LookUpAnswer:
        """Ask whether something prepared and given up took effect nevertheless; one question.

        Raises:
            TransientError: The outside gave no usable answer.
        """
        ...

    def follow_up(self, plan: Plan) -> FollowUp:
        """Ask what became of an executed plan; NONE while nothing final happened or is known."""
        ...

    def void(self, plan: Plan, reason: str) -> None:
        """Recall what was sent; only an operator asks for this."""
        ...


class PublicKey(Protocol):
    """An Ed25519 public key."""

    @property
    def raw(self) -> bytes:
        """The key's 32 bytes (RFC 8032)."""
        ...

    @property
    def pem(self) -> bytes:
        """The key as PEM (SubjectPublicKeyInfo), in its one form."""
        ...

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Return whether this key signed the message."""
        ...


class ExportedFiles(Protocol):
    """An export of the audit as somebody holds it."""

    def names(self) -> Sequence[str]:
        """Return the names of all files, with `/` between folder and file."""
        ...

    def read(self, name: str, limit: int) -> bytes | None:
        """Return at most the first `limit` bytes of a file, or None when there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Claim:
    """A checkpoint that was claimed and may not be written completely: whoever comes repeats it."""

    manifest: Manifest
    segments: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class ExportState:
    """How far the export has come.

    Attributes:
        revision: Of the stored row; 0 before the first claim.
        head: The newest checkpoint that is written completely.
        claim: The next one, once it is claimed.
    """

    revision: int = 0
    head: ExportHead = field(default_factory=ExportHead)
    claim: Claim | None = None


class AuditOutbox(Protocol):
    """The records that are not exported yet, and how far the export has come."""

    def state(self) -> ExportState:
        """Return how far the export has come."""
        ...

    def pending(self, *, limit: int) -> tuple[AuditRecord, ...]:
        """Return records that are not exported, each chain's without a gap and in order.

        Raises:
            TamperedError: A stored line does not have the hash that its transaction noted.
        """
        ...

    def claim(self, state: ExportState, claim: Claim) -> ExportState:
        """Claim the next checkpoint.

        Raises:
            StaleError: Another run claimed or finished one meanwhile.
        """
        ...

    def keep_anchors(self, anchors: Sequence[Anchor]) -> None:
        """Keep the proofs that receipts are made of; the same again changes nothing."""
        ...

    def clear(self, records: Iterable[tuple[str, int]]) -> None:
        """Forget that these records (chain and number) are to be exported; again is no error."""
        ...

    def advance(self, state: ExportState, head: ExportHead) -> None:
        """Note that the claimed checkpoint is written completely.

        Raises:
            StaleError: Another run noted it already.
        """
        ...


class AnchorSource(Protocol):
    """The proofs that receipts are made of."""

    def anchor(self, request_id: str) -> Anchor | None:
        """Return the newest anchor of a request's ending, or None before it is exported."""
        ...


class AuditArchive(Protocol):
    """Where exported files are kept for good: each name is written once."""

    def put_once(self, name: str, content: bytes) -> bytes:
        """Store a file under a name that nobody used; return what is stored there now.

        Returns:
            The content, or what an earlier run stored under this name.
        """
        ...


class CheckpointSigner(Protocol):
    """Signs checkpoints with a key that never leaves its place."""

    def sign(self, checkpoint: Checkpoint) -> bytes:
        """Return the signed note of a checkpoint."""
        ...
