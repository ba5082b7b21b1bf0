"""Foxit eSign behind the `ESignGateway` port. Vendor words (folder, party) stay in this module.

Source of every rule: vendors/foxit-esign.md (its section numbers below) and its recordings.
Business errors come as HTTP 200 with `result: error`, so a status never proves anything here.
"""

from __future__ import annotations

import base64
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from http import HTTPStatus
from typing import Final

import httpx

from no_undo.adapters.http_client import (
    MAX_DOCUMENT_BYTES,
    Answer,
    Call,
    Effect,
    VendorClient,
    is_edge_refusal,
    with_prefix,
)
from no_undo.adapters.json_answers import as_list, as_object, as_text, json_object
from no_undo.adapters.signed_envelope_zip import documents_of_zip, is_pdf, is_zip
from no_undo.domain.envelope import (
    ActivityHistory,
    Envelope,
    EnvelopeRecipient,
    EnvelopeStatus,
    SendAnswer,
    SignedDocument,
)
from no_undo.domain.errors import (
    InDoubtError,
    InvalidRequestError,
    NothingSentError,
    NoUndoError,
    TransientError,
    VendorContractError,
    VendorRefusedError,
)
from no_undo.domain.recipients import Recipient
from no_undo.ports import EnvelopeDraft

DEFAULT_BASE_URL: Final = "https://na1.fusion.foxit.com"

_PREFIX: Final = "/esign/api/v1"

_VENDOR: Final = "Foxit eSign"

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class VendorFact:
    """Something about the vendor that the guarantee rests on (design: exactly once, facts F1, F2).

    Attributes:
        fact: `F1` or `F2`.
        statement: What would have to be true.
        holds: True or False once shown; None while unknown. Only True lets a released plan be sent
            again without a person.
        as_of: Day of the newest evidence.
        evidence: Where it was looked for and what was found.
    """

    fact: str
    statement: str
    holds: bool | None
    as_of: date
    evidence: str


# Change a row only together with a recorded answer that shows it.
VENDOR_FACTS: Final[Mapping[str, VendorFact]] = {
    "refuses_second_send": VendorFact(
        fact="F1",
        statement="A second sendDraftFolder of a SHARED folder is refused and mails nobody.",
        holds=None,
        as_of=date(2026, 8, 30),
        evidence=(
            "Never observed: all recorded calls of 18, 29 and 30 August 2026 had no folderId and "
            "were refused for that. It could be refused or could mail again (section 4)."
        ),
    ),
    "no_effect_after_settle_time": VendorFact(
        fact="F2",
        statement="No accepted request takes effect later than the settle time.",
        holds=None,
        as_of=date(2026, 8, 30),
        evidence=(
            "Not measured: nothing bounds how long a request may be under way inside the vendor. "
            "Recorded answers took 0.24 to 3.8 seconds; a live send was SHARED at once (section 4)."
        ),
    ),
}

# Exact spellings only: whatever is not listed is UNKNOWN, never DRAFT (section 5).
#   spelling    evidence
#   DRAFT       recorded 18, 29 and 30 August 2026
#   SHARED      live run of 2026, webhook sample of the vendor
#   EXECUTED    vendor documentation and sample; the only signed state
#   CANCELLED   vendor documentation
#   DECLINED    ? never recorded; by analogy with the webhook event folder_declined
#   EXPIRED     ? never recorded; by analogy with the webhook event folder_expired
_STATUS_BY_VENDOR_STATUS: Final[Mapping[str, EnvelopeStatus]] = {
    "DRAFT": EnvelopeStatus.DRAFT,
    "SHARED": EnvelopeStatus.SENT,
    "EXECUTED": EnvelopeStatus.SIGNED,
    "CANCELLED": EnvelopeStatus.CANCELLED,
    "DECLINED": EnvelopeStatus.DECLINED,
    "EXPIRED": EnvelopeStatus.EXPIRED,
}

# Filters of the listing route. Only spellings somebody has seen: a wrong filter that the vendor
# ignores, or that matches nothing, would look like an answer.
_FILTER_BY_STATUS: Final[Mapping[str, str]] = {
    "DRAFT": "DRAFT",
    "SENT": "SHARED",
    "SIGNED": "EXECUTED",
    "CANCELLED": "CANCELLED",
}

_FOLDER_ID: Final = re.compile(r"[1-9][0-9]{0,18}")
_ERROR_CODE: Final = re.compile(r"[A-Za-z0-9_.-]{1,60}")
_NOT_SHARED_TEXT: Final = "non-shared folder"
_NOT_EXECUTED_TEXT: Final = b"not executed yet"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MILLISECOND: Final = 253_402_300_799_999  # the end of year 9999
_ORDER_KEYS: Final = ("sequence", "partySequence", "workflowSequence")


class FoxitESignGateway:
    """The e-sign vendor's gateway host, with a client id and secret as two headers (section 1).

    Args:
        base_url: Gateway host, see `DEFAULT_BASE_URL`; its prefix may be there or not. The legacy
            host has other credentials and is not supported.
        client_id: Credential, sent as header `client_id`.
        client_secret: Credential, sent as header `client_secret`.
        transport: Replaces the network in tests.
        timeout_seconds: Longest silence while writing or reading one call.

    Raises:
        ValueError: The base URL is not HTTPS (loopback excepted), or a credential is unusable.
    """

    def __init__(
        self,
        base_url: str,
        client_id: str,
        client_secret: str,
        *,
        transport: httpx.BaseTransport | None = None,
        timeout_seconds: float = 30.0,
    ) -> None:
        self._client = VendorClient(
            with_prefix(base_url, _PREFIX),
            vendor=_VENDOR,
            headers={"client_id": client_id, "client_secret": client_secret},
            timeout_seconds=timeout_seconds,
            transport=transport,
        )

    def create_draft(self, draft: EnvelopeDraft, document: bytes) -> str:
        """Create a draft envelope and return its id (section 3). Nobody is contacted."""
        call = Call("POST", "/folders/createfolder", json=_create_request(draft, document))
        answer = self._client.exchange(call, Effect.EFFECTFUL)
        self._client.require_success(answer, call, Effect.EFFECTFUL)
        folder = as_object(_understood(call, answer).get("folder")) or {}
        return str(_checked_folder_id(call, folder.get("folderId")))

    def find_envelopes(self, first: date, last: date, status: str | None = None) -> tuple[str, ...]:
        """List the ids of envelopes created in these days, both included (section 6)."""
        if first > last:
            raise InvalidRequestError("the first day is after the last day", field="first")
        params = {"dateFrom": first.isoformat(), "dateTo": last.isoformat()}
        if status is not None:
            params["status"] = _filter_of(status)
        call = Call("GET", "/folders/getAllFolderIdsByStatus", params=params)
        ids = as_list(_understood(call, self._client.ask(call)).get("allFolderIds"))
        if ids is None:
            raise VendorContractError(f"{_VENDOR}: {call} answered without allFolderIds")
        return tuple(str(number) for number in sorted({_checked_folder_id(call, i) for i in ids}))

    def send_draft(self, envelope_id: str) -> SendAnswer:
        """Send a draft: one request, whatever happens. The answer is evidence only (section 4)."""
        if not _FOLDER_ID.fullmatch(envelope_id):
            raise NothingSentError("the envelope id is not a number of this vendor; nothing sent")
        call = Call("POST", "/folders/sendDraftFolder", json={"folderId": int(envelope_id)})
        answer = self._client.exchange(call, Effect.EFFECTFUL)
        if _is_refusing_status(answer):
            return SendAnswer.REFUSED
        self._client.require_success(answer, call, Effect.EFFECTFUL)
        payload = json_object(answer.body) or {}
        if _is_refusal(payload):
            return SendAnswer.REFUSED
        if payload.get("result") == "success":
            return SendAnswer.ACCEPTED
        raise InDoubtError(
            f"{_VENDOR}: {call} answered {answer.status} and neither success nor error; "
            "ask the system of record what happened"
        )

    def read_envelope(self, envelope_id: str) -> Envelope:
        """Read one envelope from the system of record (section 5)."""
        call = Call("GET", "/folders/myfolder", params=_folder_params(envelope_id))
        folder = as_object(_understood(call, self._client.ask(call)).get("folder"))
        if folder is None:
            raise VendorContractError(f"{_VENDOR}: {call} answered without a folder")
        if str(_checked_folder_id(call, folder.get("folderId"))) != envelope_id:
            raise VendorContractError(f"{_VENDOR}: {call} answered about another folder")
        return _envelope(call, folder)

    def activity_history(self, envelope_id: str) -> ActivityHistory:
        """Ask whether the activity log treats the folder as shared (section 4, reported only)."""
        call = Call("GET", "/folders/viewActivityHistory", params=_folder_params(envelope_id))
        try:
            payload = json_object(self._client.ask(call).body) or {}
        except NoUndoError as error:
            _LOG.warning("no activity history: %s", error)
            return ActivityHistory.UNKNOWN
        if _is_refusal(payload):
            return _history_of_refusal(payload)
        listed = any(as_list(value) for value in payload.values())
        shown = payload.get("result") == "success" or listed
        return ActivityHistory.SHARED if shown else ActivityHistory.UNKNOWN

    def download_signed(self, envelope_id: str) -> SignedDocument:
        """Download the signed document and the completion certificate (section 7).

        The document comes from the document route (number 1: 0 was refused on index grounds), the
        certificate from the envelope's ZIP. When the document route gives no PDF, the ZIP gives
        both; when only the ZIP fails for good, the certificate is None.
        """
        pdf = self._download_document(envelope_id)
        try:
            return self._download_envelope(envelope_id, pdf)
        except VendorContractError as error:
            if pdf is None:
                raise
            _LOG.warning("no completion certificate: %s", error)
            return SignedDocument(pdf, None)

    def cancel(self, envelope_id: str, reason: str) -> None:
        """Void a sent envelope (section 2); the mails are out."""
        call = Call(
            "POST",
            "/folders/cancelFolder",
            json={
                "folderId": int(_folder_params(envelope_id)["folderId"]),
                "reason_for_cancellation": reason,
            },
        )
        answer = self._client.exchange(call, Effect.EFFECTFUL)
        self._client.require_success(answer, call, Effect.EFFECTFUL)
        payload = json_object(answer.body) or {}
        _raise_refusal(call, payload)
        if payload.get("result") != "success":
            raise InDoubtError(
                f"{_VENDOR}: {call} answered neither success nor error; read the envelope"
            )

    def _download_document(self, envelope_id: str) -> bytes | None:
        call = Call(
            "GET",
            "/folders/document/download",
            params={**_folder_params(envelope_id), "docNumber": "1"},
            max_bytes=MAX_DOCUMENT_BYTES,
        )
        answer = self._client.exchange(call, Effect.REVERSIBLE)
        if answer.status == HTTPStatus.BAD_REQUEST:
            return None
        self._client.require_success(answer, call, Effect.REVERSIBLE)
        return answer.body if is_pdf(answer.body) else None

    def _download_envelope(self, envelope_id: str, pdf: bytes | None) -> SignedDocument:
        call = Call(
            "GET",
            "/folders/download",
            params=_folder_params(envelope_id),
            max_bytes=MAX_DOCUMENT_BYTES,
        )
        answer = self._client.exchange(call, Effect.REVERSIBLE)
        if answer.status == HTTPStatus.BAD_REQUEST and _NOT_EXECUTED_TEXT in answer.body:
            raise TransientError(f"{_VENDOR}: {call}: the envelope is not executed yet; wait")
        self._client.require_success(answer, call, Effect.REVERSIBLE)
        if is_zip(answer.body):
            return documents_of_zip(answer.body, known_document=pdf)
        if is_pdf(answer.body):
            return SignedDocument(pdf or answer.body, None)
        raise VendorContractError(
            f"{_VENDOR}: {call} answered {answer.status} with neither a PDF nor a ZIP"
        )


def _create_request(draft: EnvelopeDraft, document: bytes) -> dict[str, object]:
    """Build the createfolder request (section 3.1).

    `sendNow` is always false, and the embedded-session fields are never set: on one account such a
    session made the folder SHARED without any send call, which would bypass the gate.
    """
    if not draft.recipients:
        raise InvalidRequestError("an envelope needs at least one recipient", field="recipients")
    request: dict[str, object] = {
        "folderName": draft.name,
        "inputType": "base64",
        "base64FileString": [base64.b64encode(document).decode("ascii")],
        "fileNames": [draft.file_name],
        "processTextTags": True,
        "processAcroFields": False,
        "sendNow": False,
        "parties": [_party(recipient) for recipient in _in_order(draft.recipients)],
    }
    if len(draft.recipients) > 1:
        request["signInSequence"] = True
    return request


def _in_order(recipients: Sequence[Recipient]) -> list[Recipient]:
    return sorted(recipients, key=lambda recipient: recipient.order)


def _party(recipient: Recipient) -> dict[str, object]:
    """Build one party; the vendor wants the name in two parts, and joins them with a space.

    A name of one word has an empty last part; whether the vendor takes that is not known.
    """
    words = recipient.name.split()
    return {
        "firstName": " ".join(words[:-1] or words),
        "lastName": " ".join(words[1:] and words[-1:]),
        "emailId": recipient.email,
        "permission": "FILL_FIELDS_AND_SIGN",
        "sequence": recipient.order,
    }


def _filter_of(status: str) -> str:
    try:
        return _FILTER_BY_STATUS[status]
    except KeyError:
        raise InvalidRequestError(
            "the vendor's word for this status is not known; list without a status and read each",
            field="status",
        ) from None


def _folder_params(envelope_id: str) -> dict[str, str]:
    if not _FOLDER_ID.fullmatch(envelope_id):
        raise InvalidRequestError("not an envelope id of this vendor", field="envelope_id")
    return {"folderId": envelope_id}


def _checked_folder_id(call: Call, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise VendorContractError(f"{_VENDOR}: {call} answered without a usable folderId")


def _understood(call: Call, answer: Answer) -> dict[str, object]:
    """Return the JSON object of an answer that is not a refusal."""
    payload = json_object(answer.body)
    if payload is None:
        raise VendorContractError(
            f"{_VENDOR}: {call} answered {answer.status} with something else than a JSON object"
        )
    _raise_refusal(call, payload)
    return payload


def _is_refusal(payload: Mapping[str, object]) -> bool:
    """Return whether a body says no: a business error, or the shared gateway's bad credentials."""
    return payload.get("result") == "error" or payload.get("allow") is False


def _raise_refusal(call: Call, payload: Mapping[str, object]) -> None:
    """Raise a refusal without the vendor's description, which may name a recipient."""
    if not _is_refusal(payload):
        return
    code = as_text(payload.get("errorCode")) or ""
    shown = f" (code {code})" if _ERROR_CODE.fullmatch(code) else ""
    hint = "check the credentials" if payload.get("allow") is False else "the request does not fit"
    raise VendorRefusedError(f"{_VENDOR}: {call}: the vendor refused{shown}; {hint}")


def _is_refusing_status(answer: Answer) -> bool:
    """Return whether a status is a plain no to a send.

    408 and 425 are timeouts by another name, and an edge refusal never reached the vendor; both are
    left to the general mapping.
    """
    return (
        httpx.codes.is_client_error(answer.status)
        and answer.status not in {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY}
        and not is_edge_refusal(answer)
    )


def _history_of_refusal(payload: Mapping[str, object]) -> ActivityHistory:
    """Read the one refusal that says something: logs of a non-shared folder cannot be viewed.

    The vendor has no code for it, so its text is the only sign; any other text is UNKNOWN.
    """
    for key in ("error_description", "errorDescription"):
        if _NOT_SHARED_TEXT in (as_text(payload.get(key)) or "").casefold():
            return ActivityHistory.NOT_SHARED
    return ActivityHistory.UNKNOWN


def _envelope(call: Call, folder: Mapping[str, object]) -> Envelope:
    vendor_status = as_text(folder.get("folderStatus"))
    if vendor_status is None:
        raise VendorContractError(f"{_VENDOR}: {call} answered a folder without a status")
    return Envelope(
        envelope_id=str(folder["folderId"]),
        name=as_text(folder.get("folderName")) or "",
        status=_STATUS_BY_VENDOR_STATUS.get(vendor_status, EnvelopeStatus.UNKNOWN),
        vendor_status=vendor_status,
        sent_at=_moment(folder.get("folderSentDate")),
        recipients=_recipients(folder.get("folderRecipientParties")),
        document_count=_document_count(folder),
    )


def _moment(value: object) -> datetime | None:
    """Read epoch milliseconds; None where there is no date."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    if not 0 < value <= _LAST_MILLISECOND:
        return None
    return _EPOCH + timedelta(milliseconds=value)


def _recipients(value: object) -> tuple[EnvelopeRecipient, ...] | None:
    """Read the parties; None when the answer does not show every one of them with an address.

    An empty list is "not shown" as well: a vendor sample of a draft has one, and no draft of ours
    is without a recipient. Source: section 8 sample and `described-foxit-esign-shapes.json`.
    """
    parties = [as_object(party) or {} for party in as_list(value) or []]
    details = [as_object(party.get("partyDetails")) or {} for party in parties]
    if not details or not all(as_text(person.get("emailId")) for person in details):
        return None
    shown = [
        EnvelopeRecipient(name=_name(person), email=str(person["emailId"]), order=order)
        for person, order in zip(details, _orders(parties), strict=True)
    ]
    return tuple(sorted(shown, key=lambda recipient: recipient.order))


def _name(person: Mapping[str, object]) -> str:
    names = (as_text(person.get("firstName")), as_text(person.get("lastName")))
    return " ".join(part for part in names if part)


def _orders(parties: Sequence[Mapping[str, object]]) -> list[int]:
    """Return the signing order: a number that all parties carry, else the place in the list."""
    for key in _ORDER_KEYS:
        numbers = [party.get(key) for party in parties]
        orders = [number for number in numbers if type(number) is int and number > 0]
        if len(orders) == len(parties):
            return orders
    return list(range(1, len(parties) + 1))


def _document_count(folder: Mapping[str, object]) -> int | None:
    """Return the larger of the two lists a folder shows; None when both are absent or empty."""
    lists = (folder.get("documentsList"), folder.get("folderDocumentIds"))
    return max(len(as_list(value) or []) for value in lists) or None
