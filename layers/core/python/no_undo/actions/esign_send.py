"""Send an envelope for signature: the irreversible action `esign.send`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from no_undo.domain.addresses import person_key
from no_undo.domain.envelope import ActivityHistory, Envelope, EnvelopeStatus
from no_undo.domain.errors import (
    NotFoundError,
    NoUndoError,
    TamperedError,
    TransientError,
    VendorContractError,
)
from no_undo.domain.ledger import Attempt, Prepared
from no_undo.domain.plan import FollowUp, Plan
from no_undo.domain.recipients import Recipient
from no_undo.domain.reconciliation import LookUp, LookUpAnswer
from no_undo.ports import DocumentStore, ESignGateway

KIND = "esign.send"

_FOLLOW_UP = {
    EnvelopeStatus.SIGNED: FollowUp.SIGNED,
    EnvelopeStatus.DECLINED: FollowUp.DECLINED,
    EnvelopeStatus.CANCELLED: FollowUp.CANCELLED,
    EnvelopeStatus.EXPIRED: FollowUp.EXPIRED,
}
_ENDED_UNSIGNED = (EnvelopeStatus.CANCELLED, EnvelopeStatus.DECLINED, EnvelopeStatus.EXPIRED)


class ESignSend:
    """Sends one draft envelope; `plan.target` is the envelope id."""

    kind = KIND

    def __init__(self, esign: ESignGateway, documents: DocumentStore) -> None:
        self._esign = esign
        self._documents = documents

    def read_back(self, plan: Plan) -> Prepared:
        """Hash the stored bytes and compare the vendor's draft with the plan (P7).

        Raises:
            TransientError: The vendor's word for the envelope's status is not one we know: it may
                be sent, so this is no verdict on the plan.
        """
        envelope = self._esign.read_envelope(plan.target)
        if envelope.status is EnvelopeStatus.UNKNOWN:
            raise TransientError("the vendor's status of the envelope is a word we do not know")
        return Prepared(
            taken_effect=_says_sent(envelope),
            document_sha256=self._stored_sha256(plan),
            differences=_differences(plan, envelope),
            unreadable=_unreadable(envelope),
        )

    def execute(self, plan: Plan, attempt: Attempt) -> str:
        """Send the draft: one call, no retry. The answer is evidence, never proof (P3)."""
        del attempt  # the vendor has no field that would carry it (vendors/foxit-esign.md 3.1)
        return self._esign.send_draft(plan.target).value

    def look_up(self, plan: Plan) -> LookUpAnswer:
        """Ask the system of record, and the activity log where the two could disagree.

        SENT and SIGNED mean done. CANCELLED, DECLINED and EXPIRED mean done only with a sent date.
        DRAFT means not done only while the activity log does not contradict. All else is unknown.
        """
        try:
            envelope = self._esign.read_envelope(plan.target)
        except VendorContractError:
            return LookUpAnswer(LookUp.UNKNOWN, "an answer of the wrong shape")
        if _says_sent(envelope):
            return LookUpAnswer(LookUp.DONE, f"status {envelope.status.value}")
        if envelope.status is not EnvelopeStatus.DRAFT or envelope.sent_at is not None:
            return LookUpAnswer(LookUp.UNKNOWN, f"status {envelope.status.value}, no clear send")
        if self._history(plan) is ActivityHistory.SHARED:
            return LookUpAnswer(LookUp.UNKNOWN, "status DRAFT, activity log says shared")
        return LookUpAnswer(LookUp.NOT_DONE, "status DRAFT")

    def look_up_abandoned(self, target: str) -> LookUpAnswer:
        """Read the status of a draft that was not to be sent; DRAFT means that it was not."""
        try:
            envelope = self._esign.read_envelope(target)
        except VendorContractError:
            return LookUpAnswer(LookUp.UNKNOWN, "an answer of the wrong shape")
        if _says_sent(envelope):
            return LookUpAnswer(LookUp.DONE, f"status {envelope.status.value}")
        draft = envelope.status is EnvelopeStatus.DRAFT
        says = LookUp.NOT_DONE if draft else LookUp.UNKNOWN
        return LookUpAnswer(says, f"status {envelope.status.value}")

    def follow_up(self, plan: Plan) -> FollowUp:
        """Ask whether the envelope is signed, or ended unsigned."""
        status = self._esign.read_envelope(plan.target).status
        return _FOLLOW_UP.get(status, FollowUp.NONE)

    def void(self, plan: Plan, reason: str) -> None:
        """Cancel the sent envelope; the mails are out."""
        self._esign.cancel(plan.target, reason)

    def _history(self, plan: Plan) -> ActivityHistory:
        try:
            return self._esign.activity_history(plan.target)
        except NoUndoError:
            return ActivityHistory.UNKNOWN

    def _stored_sha256(self, plan: Plan) -> str:
        try:
            return hashlib.sha256(self._documents.get(plan.document)).hexdigest()
        except (NotFoundError, TamperedError):
            return ""  # not the approved bytes, whatever they are


def _says_sent(envelope: Envelope) -> bool:
    if envelope.status in (EnvelopeStatus.SENT, EnvelopeStatus.SIGNED):
        return True
    return envelope.status in _ENDED_UNSIGNED and envelope.sent_at is not None


def _differences(plan: Plan, envelope: Envelope) -> tuple[str, ...]:
    found: list[str] = []
    if envelope.envelope_id != plan.target:
        found.append("envelope")
    if plan.plan_id not in envelope.name:
        found.append("name")
    if envelope.status is not EnvelopeStatus.DRAFT:
        found.append("status")
    if envelope.document_count not in (None, 1):
        found.append("document count")
    if envelope.recipients is not None and not _same_recipients(plan.recipients, envelope):
        found.append("recipients")
    return tuple(found)


def _same_recipients(planned: Sequence[Recipient], envelope: Envelope) -> bool:
    held = envelope.recipients or ()
    return [(one.order, person_key(one.email)) for one in planned] == [
        (one.order, person_key(one.email)) for one in held
    ]


def _unreadable(envelope: Envelope) -> tuple[str, ...]:
    found: list[str] = ["document bytes"]
    if envelope.recipients is None:
        found.append("recipients")
    if envelope.document_count is None:
        found.append("document count")
    return tuple(found)
