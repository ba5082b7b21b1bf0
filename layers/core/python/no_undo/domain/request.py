"""The request: what a caller asked for, which stage comes next, and how it ended.

Rules:
1. `stage` names the next stage to run; recovery enters the state machine there. From APPROVE on the
   plan and the ledger are the truth and the stage is only the door to enter by.
2. A withdrawal sets `withdrawn`; every later commit of the request is conditional on it.
3. After the effect has happened no ending is called failed.
4. Every change raises `revision` by one; a write names the revision it read.
5. A correction starts the next round at assembly: what was made from wrong values is made again,
   and the draft of the round before will not be sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from no_undo.domain.corrections import Correction
from no_undo.domain.documents import DocumentRef
from no_undo.domain.recipients import Recipient
from no_undo.domain.redaction import OnResidual, RedactionTarget


class Stage(StrEnum):
    """The stage that runs next; the state machine enters by this word."""

    PARSE = "PARSE"
    EXTRACT = "EXTRACT"
    ASSEMBLE = "ASSEMBLE"
    REDACT = "REDACT"
    VERIFY = "VERIFY"
    DRAFT = "DRAFT"
    APPROVE = "APPROVE"
    CLOSED = "CLOSED"


class RequestState(StrEnum):
    """Where a request stands, in words a caller understands."""

    PREPARING = "PREPARING"
    AWAITING_APPROVAL = "AWAITING_APPROVAL"
    SENDING = "SENDING"
    AWAITING_SIGNATURE = "AWAITING_SIGNATURE"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    REJECTED = "REJECTED"
    EXPIRED = "EXPIRED"
    WITHDRAWN = "WITHDRAWN"
    DECLINED = "DECLINED"
    CANCELLED = "CANCELLED"
    SIGNATURE_EXPIRED = "SIGNATURE_EXPIRED"
    SIGNED_NOT_ARCHIVED = "SIGNED_NOT_ARCHIVED"
    SENT_UNSIGNED = "SENT_UNSIGNED"


ENDED = frozenset(
    {
        RequestState.COMPLETED,
        RequestState.FAILED,
        RequestState.REJECTED,
        RequestState.EXPIRED,
        RequestState.WITHDRAWN,
        RequestState.DECLINED,
        RequestState.CANCELLED,
        RequestState.SIGNATURE_EXPIRED,
    }
)
"""Endings that nothing moves any more; not SIGNED_NOT_ARCHIVED or SENT_UNSIGNED."""

ENDED_UNSENT = frozenset(
    {
        RequestState.FAILED,
        RequestState.REJECTED,
        RequestState.EXPIRED,
        RequestState.WITHDRAWN,
    }
)
"""Endings that say nothing was sent; a late success leads out of them, to SENT_UNSIGNED."""


class Source(StrEnum):
    """What the document is made from."""

    INVOICE = "invoice"
    """Structured invoice data, rendered to PDF."""
    UPLOAD = "upload"
    """A PDF that the caller uploaded."""


class Assembly(StrEnum):
    """How the document to be signed comes about (design 10)."""

    ATTACH = "attach"
    REBUILD = "rebuild"


@dataclass(frozen=True, slots=True)
class Ending:
    """How and where a request ended.

    Attributes:
        stage: Stage in words, such as `Verify Redaction`.
        code: Error code or outcome, such as `redaction_unproven`.
        reason: One sentence; no values.
    """

    stage: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Request:
    """One request.

    Attributes:
        request_id: Fresh id.
        tenant: From the authorizer.
        caller: Identity from the authorizer.
        caller_email: The caller's mapped mail address, or empty.
        prompt: The caller's sentence, at most 10,000 characters.
        source: What the document is made from.
        source_document: The stored source bytes (invoice JSON or PDF).
        assembly: How the document is made.
        extraction: False when the caller asked to go without (said on the card).
        created_at: UTC.
        requested_recipients: Names and addresses that came with the request.
        requested_approvers: Approvers the caller chose, or empty for the policy's defaults.
        requested_quorum: The quorum the caller asked for, or 0.
        requested_redaction: Kinds, literal values and patterns that came with the request.
        redact_keep: Values that stay although they are of a kind that is removed.
        on_residual: What becomes of personal data that is left; None for the default.
        repeat_of: Plan id that this request knowingly repeats, or empty.
        state: Where it stands.
        stage: The next stage (rule 1).
        round: 1-based.
        title: Folder name, set by Parse Request.
        instruction: What the recipients are asked to do, set by Parse Request.
        recipients: Resolved, in signing order, set by Parse Request.
        approvers: Normalised addresses, set by Parse Request from the policy.
        quorum: Needed approvals, set by Parse Request.
        deadline: Moment by which approvers have to decide, or None for the policy's hours.
        deadline_hours: How long approvers have when no moment is given.
        redaction: What shall be removed, set by Parse Request.
        artefacts: Stage results by name (`fields`, `assembled`, `redacted`, `signed`, ...).
        pages: Page pictures of the final document, in order.
        page_sizes: Width and height of each picture in pixels.
        notes: Sentences for the card that stages left: no extraction, what detectors cannot see.
        corrections: What approvers have corrected, oldest first.
        draft_begun_at: When this round's draft was first asked for, or None; after a crash it says
            that a draft may exist, and from when.
        envelope_id: The draft at the e-sign vendor, or empty.
        abandoned_drafts: Envelope ids that will not be sent.
        sent_drafts: Those of them that the vendor has shown as sent: an incident each.
        drafts_since: When the sweep first looked at them, or None.
        drafts_check_at: When it looks again; None before the first look and after the last one.
        withdrawn: Rule 2.
        ending: How it ended, or None.
        executions: How many recovery executions were started for it.
        check_at: When the sweep shall look whether an execution still drives it; None when ended.
        revision: 0 before it is first stored.
    """

    request_id: str
    tenant: str
    caller: str
    caller_email: str
    prompt: str
    source: Source
    source_document: DocumentRef
    created_at: datetime
    assembly: Assembly = Assembly.ATTACH
    extraction: bool = True
    requested_recipients: tuple[Recipient, ...] = ()
    requested_approvers: tuple[str, ...] = ()
    requested_quorum: int = 0
    requested_redaction: tuple[RedactionTarget, ...] = ()
    redact_keep: tuple[str, ...] = ()
    on_residual: OnResidual | None = None
    repeat_of: str = ""
    state: RequestState = RequestState.PREPARING
    stage: Stage = Stage.PARSE
    round: int = 1
    title: str = ""
    instruction: str = ""
    recipients: tuple[Recipient, ...] = ()
    approvers: tuple[str, ...] = ()
    quorum: int = 0
    deadline: datetime | None = None
    deadline_hours: int = 0
    redaction: tuple[RedactionTarget, ...] = ()
    artefacts: Mapping[str, DocumentRef] = field(default_factory=dict[str, DocumentRef])
    pages: tuple[DocumentRef, ...] = ()
    page_sizes: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()
    corrections: tuple[Correction, ...] = ()
    draft_begun_at: datetime | None = None
    envelope_id: str = ""
    abandoned_drafts: tuple[str, ...] = ()
    sent_drafts: tuple[str, ...] = ()
    drafts_since: datetime | None = None
    drafts_check_at: datetime | None = None
    withdrawn: bool = False
    ending: Ending | None = None
    executions: int = 0
    check_at: datetime | None = None
    revision: int = 0


_MADE_EACH_ROUND = frozenset({"assembled", "redacted", "targets", "verdict"})


def next_round(
    request: Request, corrections: tuple[Correction, ...], approvers: tuple[str, ...]
) -> Request:
    """Return the request at the start of its next round (rule 5), its draft abandoned.

    Args:
        request: In a round that waits for its approvers.
        corrections: What was corrected in it, at least one.
        approvers: Whom to ask next: who could decide this round, stand-ins included.
    """
    abandoned = dict.fromkeys((*request.abandoned_drafts, request.envelope_id))
    return replace(
        request,
        state=RequestState.PREPARING,
        stage=Stage.ASSEMBLE,
        round=request.round + 1,
        corrections=(*request.corrections, *corrections),
        approvers=approvers,
        artefacts={
            name: ref for name, ref in request.artefacts.items() if name not in _MADE_EACH_ROUND
        },
        pages=(),
        page_sizes=(),
        draft_begun_at=None,
        envelope_id="",
        abandoned_drafts=tuple(one for one in abandoned if one),
    )


def execution_name(request_id: str, executions: int) -> str:
    """Return the name of the n-th execution: the request id, then `<request_id>-r<n>`.

    Args:
        request_id: The request.
        executions: 0 for the first execution, n for the n-th recovery.
    """
    return request_id if executions == 0 else f"{request_id}-r{executions}"
