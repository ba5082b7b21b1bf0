"""Get Request: where a caller's own requests stand, in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from no_undo.domain.errors import ConflictError, NotFoundError
from no_undo.domain.ledger import LedgerEntry, LedgerState
from no_undo.domain.plan import Plan, PlanState, approvals_for, deciders_of, plan_id_of
from no_undo.domain.receipt import Receipt
from no_undo.domain.request import Ending, Request, RequestState, Stage
from no_undo.ports import AnchorSource, DocumentStore, StateStore

_STAGE_NAMES = {
    Stage.PARSE: "Parse Request",
    Stage.EXTRACT: "Extract Fields",
    Stage.ASSEMBLE: "Assemble Document",
    Stage.REDACT: "Redact Document",
    Stage.VERIFY: "Verify Redaction",
    Stage.DRAFT: "Create Draft",
}

DOWNLOAD_SECONDS = 120
LIST_LIMIT = 50


@dataclass(frozen=True, slots=True)
class ApproverView:
    """One approver as the caller may see them.

    Attributes:
        address: Their address.
        says: `asked`, `not mailed`, `approve` or `reject`.
        mail: What is known about the newest mail to them, a `Delivery`; empty while nothing is.
        instead_of: Whose place they took, or empty.
    """

    address: str
    says: str
    mail: str = ""
    instead_of: str = ""


@dataclass(frozen=True, slots=True)
class SignerView:
    """What is known about the vendor's mail to one signer; sent is not delivered."""

    order: int
    mail: str


@dataclass(frozen=True, slots=True)
class RequestView:
    """What a caller may see of a request; no document text, no link, no token.

    Attributes:
        request_id: Its id.
        state: Where it stands; derived from plan and ledger once they exist.
        in_doubt: True while it is not known whether an attempt took effect.
        stages_done: The reversible stages that have finished, in order.
        title: Folder name, empty before it is parsed.
        created_at: UTC.
        plan_id: The current plan, or empty.
        plan_digest: Its digest, or empty.
        quorum: Needed approvals, 0 before a plan exists.
        approvals: Approvals given so far.
        approvers: Who was asked and what became of it.
        signers: Signers whose mail something is known about.
        deadline: Until when they may decide, or None.
        attempts: How often the irreversible call was begun.
        document_sha256: SHA-256 of the document that was or will be sent, or empty.
        signed_sha256: SHA-256 of the archived signed PDF, or empty.
        abandoned_drafts: How many drafts will not be sent.
        ending: How it ended, or None.
    """

    request_id: str
    state: RequestState
    in_doubt: bool
    stages_done: tuple[str, ...]
    title: str
    created_at: datetime
    plan_id: str
    plan_digest: str
    quorum: int
    approvals: int
    approvers: tuple[ApproverView, ...]
    signers: tuple[SignerView, ...]
    deadline: datetime | None
    attempts: int
    document_sha256: str
    signed_sha256: str
    abandoned_drafts: int
    ending: Ending | None


def get_request(request_id: str, tenant: str, caller: str, store: StateStore) -> RequestView:
    """Return one of the caller's own requests.

    Raises:
        NotFoundError: There is none of this id, or it is somebody else's; both look the same.
    """
    return view_of(own_request(request_id, tenant, caller, store), store)


def list_requests(tenant: str, caller: str, store: StateStore) -> tuple[RequestView, ...]:
    """Return the caller's newest requests, at most 50."""
    found = store.requests_of(tenant, caller, limit=LIST_LIMIT)
    return tuple(view_of(one, store) for one in found)


def document_url(
    request_id: str, tenant: str, caller: str, store: StateStore, documents: DocumentStore
) -> str:
    """Return a short-lived address of the signed document, or of the one that will be sent.

    Raises:
        NotFoundError: There is no such request of this caller.
        ConflictError: There is no document yet.
    """
    request = own_request(request_id, tenant, caller, store)
    stored = request.artefacts
    ref = stored.get("signed") or stored.get("redacted") or stored.get("assembled")
    if ref is None or ("signed" not in stored and not request.pages):
        raise ConflictError("there is no proven document yet; look at the state of the request")
    name = f"{request_id}.pdf"
    return documents.download_url(ref, filename=name, expires_seconds=DOWNLOAD_SECONDS)


def receipt_of(
    request_id: str, tenant: str, caller: str, store: StateStore, anchors: AnchorSource
) -> Receipt:
    """Return the receipt of a request that has ended and whose ending is exported.

    Raises:
        NotFoundError: There is no such request of this caller.
        ConflictError: It has not ended, or its ending is not exported yet.
    """
    request = own_request(request_id, tenant, caller, store)
    anchor = anchors.anchor(request_id)
    if anchor is None:
        because = "it has not ended" if request.ending is None else "its ending is not exported yet"
        raise ConflictError(f"there is no receipt yet: {because}")
    records = store.chain(request_id)[: anchor.seq]
    return Receipt(tuple(one.line for one in records), anchor)


def own_request(request_id: str, tenant: str, caller: str, store: StateStore) -> Request:
    """Return a request that this caller submitted.

    Raises:
        NotFoundError: There is none, or it is somebody else's.
    """
    request = store.request(request_id)
    if request is None or (request.tenant, request.caller) != (tenant, caller):
        raise NotFoundError("you have no request of this id")
    return request


def view_of(request: Request, store: StateStore) -> RequestView:
    """Return what the caller may see of a request."""
    plan = store.plan(plan_id_of(request.request_id, request.round))
    entry = None if plan is None else store.entry(plan.plan_id)
    signed = request.artefacts.get("signed")
    return RequestView(
        request_id=request.request_id,
        state=_state(request, plan),
        in_doubt=entry is not None and entry.state is LedgerState.EXECUTING,
        stages_done=_stages_done(request),
        title=request.title,
        created_at=request.created_at,
        plan_id="" if plan is None else plan.plan_id,
        plan_digest="" if plan is None else plan.digest,
        quorum=0 if plan is None else plan.quorum,
        approvals=0 if plan is None else len(approvals_for(plan)),
        approvers=() if plan is None else _approvers(plan),
        signers=() if plan is None else _signers(plan),
        deadline=None if plan is None else plan.expires_at,
        attempts=_attempts(entry),
        document_sha256="" if plan is None else plan.document.sha256,
        signed_sha256="" if signed is None else signed.sha256,
        abandoned_drafts=len(request.abandoned_drafts),
        ending=request.ending,
    )


def _stages_done(request: Request) -> tuple[str, ...]:
    reversible = (*_STAGE_NAMES, Stage.APPROVE)
    if request.stage not in reversible:
        return ()
    return tuple(_STAGE_NAMES.values())[: reversible.index(request.stage)]


def _attempts(entry: LedgerEntry | None) -> int:
    return 0 if entry is None else len(entry.attempts)


def _state(request: Request, plan: Plan | None) -> RequestState:
    if request.ending is not None or plan is None:
        return request.state
    match plan.state:
        case PlanState.APPROVED | PlanState.EXECUTING | PlanState.RELEASED:
            return RequestState.SENDING
        case PlanState.EXECUTED:
            return RequestState.AWAITING_SIGNATURE
        case _:
            return request.state


def _approvers(plan: Plan) -> tuple[ApproverView, ...]:
    decided = {one.approver: one.verdict.value for one in plan.decisions}
    links = {one.approver: one for one in plan.links}
    places = {one.approver: one.replaces for one in plan.stand_ins}

    def view(approver: str) -> ApproverView:
        link = links.get(approver)
        asked = "asked" if link is not None and link.mailed_at is not None else "not mailed"
        mail = "" if link is None else link.delivery.value
        said = decided.get(approver, asked)
        return ApproverView(approver, said, mail, places.get(approver, ""))

    return tuple(view(one) for one in deciders_of(plan))


def _signers(plan: Plan) -> tuple[SignerView, ...]:
    return tuple(SignerView(one.order, one.delivery.value) for one in plan.signer_mail)
