"""A card and mails to render, with one of everything on them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from no_undo.domain.card import (
    Card,
    CardCorrection,
    CardDecision,
    CardDocument,
    CardField,
    CardFinding,
    CardPage,
    CardQuorum,
    CardRecipient,
    CardRedaction,
    CardRemoval,
    CardRepeat,
    CardWitness,
)
from no_undo.domain.corrections import FieldShape
from no_undo.domain.field_routing import FieldRoute, WitnessSays
from no_undo.domain.notices import ApprovalMailKind, ApprovalNotice
from no_undo.domain.plan import Verdict
from no_undo.domain.redaction import ChannelResult, ChannelVerdict

DEADLINE = datetime(2026, 7, 14, 15, 0, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
PLAN_DIGEST = "5f" * 32
DOCUMENT_SHA256 = "a3" * 32
CARD_DIGEST = "c7" * 32
# The longest host that a stack gets by default, and a token of 43 characters.
LINK = f"https://a1b2c3d4e5.execute-api.ap-southeast-1.amazonaws.com/approvals/{'k' * 43}"

TOTAL = CardField(
    path="total_amount",
    label="Total amount",
    value="86.26",
    route=FieldRoute.HUMAN,
    reason="The printed sum gives another amount.",
    witnesses=(
        CardWitness("text layer", WitnessSays.DISAGREES),
        CardWitness("second mode", WitnessSays.CANNOT_SAY),
    ),
    page_number=1,
    crop_url="/approvals/k/crops/total_amount.png",
    shape=FieldShape.NUMBER,
)
NUMBER = CardField(
    path="invoice_number",
    label="Invoice number",
    value="INV-2026-0418",
    route=FieldRoute.AUTO,
    reason="Exact match, and a witness agrees.",
    witnesses=(CardWitness("text layer", WitnessSays.AGREES),),
    page_number=1,
    shape=FieldShape.TEXT,
)
DUE_DATE = CardField(
    path="due_date",
    label="Due date",
    value=None,
    route=FieldRoute.HUMAN,
    reason="The document does not give it.",
    shape=FieldShape.DATE,
)
TAX = CardField(
    path="tax_amount",
    label="Tax amount",
    value="5.87",
    route=FieldRoute.HUMAN,
    reason="",
    shape=FieldShape.NUMBER,
    corrected=CardCorrection("5.27", "dave@example.com", datetime(2026, 7, 13, 9, 5, tzinfo=UTC)),
)

_CARD = Card(
    reference="7F3K-2",
    title="Freight invoice INV-2026-0418",
    requester="carol@example.com",
    instruction="Take this freight invoice, redact the PII, and send it to Alice and Bob.",
    action_sentence="Send this document to Alice and Bob for signature.",
    irreversibility_sentence="It cannot be taken back: the mails leave at once.",
    recipients=(
        CardRecipient(1, "Alice Example", "alice@example.com", "contacts"),
        CardRecipient(2, "Bob Example", "bob@example.com", "request", "Letters of two scripts."),
    ),
    document=CardDocument(
        file_name="Freight invoice.pdf",
        sha256=DOCUMENT_SHA256,
        page_count=3,
        pages=(
            CardPage(1, "/approvals/k/pages/1.png", 827, 1169),
            CardPage(2, "/approvals/k/pages/2.png", 827, 1169),
        ),
        pdf_url="/approvals/k/document.pdf",
    ),
    plan_digest=PLAN_DIGEST,
    quorum=CardQuorum(
        needed=2,
        approver_count=3,
        decisions=(
            CardDecision(
                "dave@example.com", Verdict.APPROVE, datetime(2026, 7, 13, 9, 5, tzinfo=UTC)
            ),
        ),
    ),
    deadline=DEADLINE,
    zone=BERLIN,
    approver="erin@example.com",
    confirmation_words=("copper", "meadow"),
    form_action="/approvals/k",
    fields=(NUMBER, TOTAL, DUE_DATE),
    corrections_allowed=True,
    redaction=CardRedaction(
        removals=(CardRemoval("email", 2), CardRemoval("vin", 1)),
        channels=(
            ChannelVerdict("page_text", "pdfium 5.15.2", ChannelResult.GONE, "two kinds"),
            ChannelVerdict("metadata", "pikepdf 10.18.0", ChannelResult.GONE, ""),
        ),
        warnings=("The width of a box hints at the length of what was removed.",),
    ),
    findings=(CardFinding("phone", 2, 1),),
    warnings=("The document carries an evaluation watermark.",),
    not_read_back=("signing order",),
    repeat=CardRepeat("6B1Q-1", datetime(2026, 7, 1, 8, 0, tzinfo=UTC)),
    digest=CARD_DIGEST,
)

_NOTICE = ApprovalNotice(
    kind=ApprovalMailKind.REQUEST,
    reference="7F3K-2",
    title="Freight invoice INV-2026-0418",
    requester="carol@example.com",
    action_sentence="Send this document to Alice and Bob for signature.",
    irreversibility_sentence="It cannot be taken back: the mails leave at once.",
    approver="erin@example.com",
    needed=2,
    approver_count=3,
    deadline=DEADLINE,
    link=LINK,
    zone=BERLIN,
)


def a_card(**changes: Any) -> Card:  # noqa: ANN401 - forwarded to a typed dataclass
    """Return the sample card with some attributes changed."""
    return replace(_CARD, **changes)


def a_notice(**changes: Any) -> ApprovalNotice:  # noqa: ANN401 - forwarded to a typed dataclass
    """Return the sample approval mail with some attributes changed."""
    return replace(_NOTICE, **changes)
