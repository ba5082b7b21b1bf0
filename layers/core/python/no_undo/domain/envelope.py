"""The envelope at the e-sign vendor, in our words (vendor words stay inside the adapter)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class EnvelopeStatus(StrEnum):
    """What the system of record says about one envelope.

    UNKNOWN covers every status text that is not listed in the adapter's table: it is never read
    as DRAFT (vendors/foxit-esign.md 5).
    """

    DRAFT = "DRAFT"
    SENT = "SENT"
    SIGNED = "SIGNED"
    CANCELLED = "CANCELLED"
    DECLINED = "DECLINED"
    EXPIRED = "EXPIRED"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class EnvelopeRecipient:
    """One signer as the vendor holds it."""

    name: str
    email: str
    order: int


@dataclass(frozen=True, slots=True)
class Envelope:
    """What the vendor shows of an envelope; None where its answer did not carry the fact.

    Attributes:
        envelope_id: The vendor's id, as text.
        name: Envelope name; carries our plan id.
        status: Mapped status.
        vendor_status: The vendor's own status text, for evidence; never shown to a person.
        sent_at: When the vendor says it was sent; None while it is a draft.
        recipients: In signing order, or None when the answer did not list them.
        document_count: Number of documents inside, or None when not shown.
    """

    envelope_id: str
    name: str
    status: EnvelopeStatus
    vendor_status: str
    sent_at: datetime | None
    recipients: tuple[EnvelopeRecipient, ...] | None
    document_count: int | None


class ActivityHistory(StrEnum):
    """The second oracle: what the vendor's activity log says about an envelope."""

    SHARED = "SHARED"
    NOT_SHARED = "NOT_SHARED"
    UNKNOWN = "UNKNOWN"


class SendAnswer(StrEnum):
    """What the vendor answered to the one irreversible call; evidence to keep, never proof (P3)."""

    ACCEPTED = "ACCEPTED"
    REFUSED = "REFUSED"


@dataclass(frozen=True, slots=True)
class SignedDocument:
    """What the vendor returns for a fully signed envelope.

    Attributes:
        pdf: The signed PDF, starts with %PDF.
        certificate: The vendor's completion certificate PDF, or None when it sent none.
    """

    pdf: bytes
    certificate: bytes | None
