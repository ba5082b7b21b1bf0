"""Submit Request: the door. What is refused here leaves nothing behind."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from no_undo.domain.audit_chain import AuditEvent
from no_undo.domain.documents import DocumentRef
from no_undo.domain.errors import (
    InDoubtError,
    InvalidRequestError,
    NotFoundError,
    NoUndoError,
    TransientError,
    UnresolvedRecipientError,
)
from no_undo.domain.invoice import parse_invoice
from no_undo.domain.recipients import Recipient, check_recipients
from no_undo.domain.redaction import OnResidual, RedactionTarget, TargetType, alike
from no_undo.domain.request import Assembly, Request, Source, execution_name
from no_undo.ports import (
    Change,
    Clock,
    ContactSource,
    DocumentInspector,
    DocumentStore,
    Executions,
    PolicySource,
    Save,
    StateStore,
    TokenSource,
)
from no_undo.use_cases.parse_request import understood
from no_undo.use_cases.stage import JSON, PDF

logger = logging.getLogger(__name__)

MAX_DOCUMENT_BYTES = 10_000_000
UPLOAD_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Door:
    """The ports and facts of the door.

    Attributes:
        extraction_account: Whether there is an extraction account.
        redaction_account: Whether there is a redaction account.
        driver_interval: When the sweep first looks whether an execution drives a request.
    """

    store: StateStore
    documents: DocumentStore
    policies: PolicySource
    contacts: ContactSource
    executions: Executions
    inspector: DocumentInspector
    clock: Clock
    tokens: TokenSource
    extraction_account: bool
    redaction_account: bool
    driver_interval: timedelta


@dataclass(frozen=True, slots=True)
class Submission:
    """What a caller hands in; shapes are checked, rules are not yet.

    Attributes:
        tenant: From the authorizer.
        caller: Identity from the authorizer.
        prompt: The sentence.
        invoice: Structured invoice data, or None.
        upload_id: Id of an upload, or empty.
        recipients: Names and addresses, in signing order.
        approvers: Addresses, or empty for the policy's defaults.
        quorum: Needed approvals, or 0 for the policy's.
        redaction: Kinds and literal values to remove.
        redact_keep: Values that stay although they are of a kind that is removed.
        on_residual: What becomes of personal data that is left; None for the default.
        extraction: False to go without.
        assembly: How the document is made.
        repeat_of: Plan that is knowingly repeated, or empty.
    """

    tenant: str
    caller: str
    prompt: str
    invoice: Mapping[str, Any] | None = None
    upload_id: str = ""
    recipients: tuple[Recipient, ...] = ()
    approvers: tuple[str, ...] = ()
    quorum: int = 0
    redaction: tuple[RedactionTarget, ...] = ()
    redact_keep: tuple[str, ...] = ()
    on_residual: OnResidual | None = None
    extraction: bool = True
    assembly: Assembly = Assembly.ATTACH
    repeat_of: str = ""


@dataclass(frozen=True, slots=True)
class Upload:
    """Where a caller puts a PDF before submitting it."""

    upload_id: str
    url: str
    expires_seconds: int


def offer_upload(tenant: str, door: Door) -> Upload:
    """Return an address that takes one PDF of at most 10 MB for 15 minutes."""
    upload_id = door.tokens.uid()
    url = door.documents.upload_url(_upload_key(tenant, upload_id), expires_seconds=UPLOAD_SECONDS)
    return Upload(upload_id, url, UPLOAD_SECONDS)


def submit_request(submission: Submission, door: Door) -> str:
    """Check everything, store the source and the request, start the execution.

    Returns:
        The request id.

    Raises:
        InvalidRequestError: The input is wrong; `field` names where.
        RefusedError: The tenant has no approver policy.
        TransientError: The request could not be stored this time; nothing was.
    """
    source, content = _source(submission, door)
    request_id = door.tokens.uid()
    draft = _request(submission, request_id, source, door)
    _check(draft, submission, door)
    kind, suffix = (JSON, "json") if source is Source.INVOICE else (PDF, "pdf")
    ref = door.documents.put(f"requests/{request_id}/source.{suffix}", content, kind)
    request = replace(draft, source_document=ref)
    event = AuditEvent(
        kind="request.submitted",
        actor=submission.caller,
        at=request.created_at,
        details={"source": ref.sha256, "sourceKind": source.value, "tenant": submission.tenant},
    )
    _store(Change(request_id, event, (Save(request),)), door)
    _set_off(request, submission, door)
    return request_id


def _store(change: Change, door: Door) -> None:
    try:
        door.store.commit(change)
    except InDoubtError:
        # The answer was lost: our own fresh id tells whether the request is stored.
        if door.store.request(change.chain_id) is None:
            raise TransientError("the request could not be stored; submit it again") from None


def _set_off(request: Request, submission: Submission, door: Door) -> None:
    """Do what the sweep, or a lifecycle rule, does in the end if it cannot be done now.

    The request is stored: an error here must not tell the caller that it is not.
    """
    try:
        door.executions.start(execution_name(request.request_id, 0), request.request_id)
        if submission.upload_id:
            door.documents.delete_upload(_upload_key(submission.tenant, submission.upload_id))
    except NoUndoError as error:
        logger.warning(
            "a stored request could not be set off; the sweep starts it",
            extra={"request": request.request_id, "code": error.code},
        )


def _source(submission: Submission, door: Door) -> tuple[Source, bytes]:
    if (submission.invoice is None) == (not submission.upload_id):
        raise InvalidRequestError(
            "Give exactly one of document.invoice and document.upload_id.", field="document"
        )
    if submission.invoice is not None:
        parse_invoice(submission.invoice)
        text = json.dumps(submission.invoice, ensure_ascii=False, sort_keys=True)
        return Source.INVOICE, text.encode("utf-8")
    content = _uploaded(submission, door)
    facts = door.inspector.inspect(content)
    if facts.signed:
        raise InvalidRequestError(
            "The document is digitally signed already; a signature page or a redaction would "
            "break that signature.",
            field="document",
        )
    return Source.UPLOAD, content


def _uploaded(submission: Submission, door: Door) -> bytes:
    key = _upload_key(submission.tenant, submission.upload_id)
    try:
        return door.documents.get_upload(key, max_bytes=MAX_DOCUMENT_BYTES)
    except NotFoundError:
        raise InvalidRequestError(
            "Nothing was uploaded under this id, or a request took it already.",
            field="document.upload_id",
        ) from None
    except InvalidRequestError:
        raise InvalidRequestError(
            f"The document was refused: at most {MAX_DOCUMENT_BYTES} bytes are accepted.",
            field="document",
        ) from None


def _request(submission: Submission, request_id: str, source: Source, door: Door) -> Request:
    now = door.clock.now()
    recipients = submission.recipients
    return Request(
        request_id=request_id,
        tenant=submission.tenant,
        caller=submission.caller,
        caller_email="",
        prompt=submission.prompt,
        source=source,
        source_document=DocumentRef("", "", ""),
        created_at=now,
        assembly=submission.assembly,
        extraction=submission.extraction and source is Source.UPLOAD,
        requested_recipients=check_recipients(recipients) if recipients else (),
        requested_approvers=submission.approvers,
        requested_quorum=submission.quorum,
        requested_redaction=submission.redaction,
        redact_keep=submission.redact_keep,
        on_residual=submission.on_residual,
        repeat_of=submission.repeat_of,
        check_at=now + door.driver_interval,
    )


def _check(draft: Request, submission: Submission, door: Door) -> None:
    """Refuse at the door what a later stage would have to refuse."""
    try:
        policy = door.policies.policy(draft.tenant)
        known = door.contacts.contacts(draft.tenant)
        parsed = understood(draft, policy, draft.created_at, known)
    except UnresolvedRecipientError as question:
        raise InvalidRequestError(str(question), field="recipients") from question
    if parsed.redaction and not door.redaction_account:
        raise InvalidRequestError(
            "Redaction was asked for and there is no redaction account; submit a document that "
            "needs none, and say 'without redaction'.",
            field="redact",
        )
    named = {alike(one.value) for one in parsed.redaction if one.type is TargetType.LITERAL}
    if any(alike(value) in named for value in draft.redact_keep):
        raise InvalidRequestError(
            "A value is listed both in redact_values and in redact_keep; say one of the two.",
            field="redact_keep",
        )
    if draft.extraction and not door.extraction_account:
        raise InvalidRequestError(
            "There is no extraction account; submit with extraction none.", field="extraction"
        )
    if (draft.source, draft.assembly) == (Source.UPLOAD, Assembly.REBUILD) and not draft.extraction:
        raise InvalidRequestError(
            "A document is made again from what is read in it; with extraction none, attach it.",
            field="assembly",
        )
    repeated = door.store.plan(submission.repeat_of) if submission.repeat_of else None
    # A foreign plan looks like none: no caller learns which ids exist at other tenants.
    if submission.repeat_of and (repeated is None or repeated.tenant != submission.tenant):
        raise InvalidRequestError("There is no such plan to repeat.", field="repeat_of")


def _upload_key(tenant: str, upload_id: str) -> str:
    if not (upload_id.isascii() and upload_id.isalnum()):
        raise InvalidRequestError("This is no upload id.", field="document.upload_id")
    return f"uploads/{tenant}/{upload_id}"
