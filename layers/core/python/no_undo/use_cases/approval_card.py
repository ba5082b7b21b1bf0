"""The card: everything one approver is shown about one plan, from what is stored.

The same function makes the card for showing, for showing it again with errors, and for the digest
that the form carries: a decision counts only if the card still says what that digest says.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

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
    Choice,
)
from no_undo.domain.confirmation import words_for
from no_undo.domain.corrections import LAST_ROUND, Correction, shape_at, standing
from no_undo.domain.field_routing import FieldRoute, WitnessSays
from no_undo.domain.plan import Plan, deciders_of
from no_undo.domain.redaction import ChannelResult, ChannelVerdict
from no_undo.domain.request import Assembly, Request
from no_undo.ports import DocumentStore
from no_undo.use_cases.stage import get_json

_STILL = "https://card.invalid"
"""Base of the addresses in a card that is only hashed: no token in it, the same for every link."""

UNREADABLE = ("the document bytes inside the envelope: the vendor shows their number only",)


@dataclass(frozen=True, slots=True)
class CardSources:
    """What a card is made from besides the plan.

    Attributes:
        request: The plan's request.
        fields: The stored routing of every field, or None without extraction.
        verdict: The stored redaction verdict, or None when nothing was to be removed.
    """

    request: Request
    fields: dict[str, Any] | None
    verdict: dict[str, Any] | None


def card_sources(request: Request, documents: DocumentStore) -> CardSources:
    """Read what the stages stored for the card."""
    stored = request.artefacts
    return CardSources(
        request=request,
        fields=get_json(documents, stored["fields"]) if "fields" in stored else None,
        verdict=get_json(documents, stored["verdict"]) if "verdict" in stored else None,
    )


def card_for(plan: Plan, sources: CardSources, approver: str, base_url: str) -> Card:
    """Return the card of a plan for one approver, with its digest.

    Args:
        plan: As just read.
        sources: What the stages stored.
        approver: Whose card it is.
        base_url: Address of the approver's link; pictures and the PDF lie below it.
    """
    card = _card(plan, sources, approver, base_url)
    return replace(card, digest=card_digest(plan, sources, approver))


def _card(plan: Plan, sources: CardSources, approver: str, base_url: str) -> Card:
    request = sources.request
    fields = _fields(sources.fields, standing(request.corrections))
    may_correct = _may_correct(plan, request, fields)
    return Card(
        reference=reference_of(plan.plan_id),
        title=plan.title,
        requester=plan.requester_email or plan.requester,
        instruction=plan.instruction,
        action_sentence=action_sentence(plan),
        irreversibility_sentence=irreversibility_sentence(),
        recipients=tuple(
            CardRecipient(one.order, one.name, one.email, one.source) for one in plan.recipients
        ),
        document=_document(plan, request, base_url),
        plan_digest=plan.digest,
        quorum=CardQuorum(
            needed=plan.quorum,
            approver_count=len(deciders_of(plan)),
            decisions=tuple(CardDecision(d.approver, d.verdict, d.at) for d in plan.decisions),
        ),
        deadline=plan.expires_at,
        approver=approver,
        confirmation_words=words_for(plan.digest, approver),
        form_action=base_url,
        choices=_choices(plan, may_correct=may_correct),
        fields=fields,
        corrections_allowed=may_correct,
        redaction=_redaction(sources.verdict),
        findings=_findings(sources.verdict),
        warnings=request.notes,
        not_read_back=UNREADABLE,
        repeat=CardRepeat(reference_of(plan.repeat_of)) if plan.repeat_of else None,
    )


def _choices(plan: Plan, *, may_correct: bool) -> tuple[Choice, ...]:
    """Return what the form offers; without an address nobody could be asked a question."""
    correcting = (Choice.CORRECT,) if may_correct else ()
    asking = (Choice.ASK,) if plan.requester_email else ()
    return (Choice.APPROVE, *correcting, Choice.REJECT, *asking, Choice.HAND_OVER)


def card_digest(plan: Plan, sources: CardSources, approver: str) -> str:
    """Return the SHA-256 (64 hex digits) of what an approver's card says.

    Links are left out, and who has decided so far: both differ between showing and deciding.
    """
    card = _card(replace(plan, decisions=()), sources, approver, _STILL)
    text = json.dumps(asdict(card), sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def reference_of(plan_id: str) -> str:
    """Return a short reference that a person can quote: `7K3QX9AB-1`."""
    request_id, _, round_number = plan_id.partition("#")
    return f"{request_id[-8:].upper()}-{round_number}"


def action_sentence(plan: Plan) -> str:
    """Say what Approve makes happen."""
    names = [one.name for one in plan.recipients]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"Send this document to {listed} for signature."


def irreversibility_sentence() -> str:
    """Say why it cannot be taken back."""
    return "The e-mails go out at once and cannot be taken back."


def _document(plan: Plan, request: Request, base_url: str) -> CardDocument:
    pages = tuple(
        CardPage(number, f"{base_url}/pages/{number}", width, height)
        for number, (width, height) in enumerate(request.page_sizes, start=1)
    )
    return CardDocument(
        file_name=f"{plan.title}.pdf",
        sha256=plan.document.sha256,
        page_count=len(request.pages),
        pages=pages,
        pdf_url=f"{base_url}/document",
    )


def _may_correct(plan: Plan, request: Request, fields: tuple[CardField, ...]) -> bool:
    """Whether a correction could change what is sent: the document is made from these fields."""
    return (
        request.assembly is Assembly.REBUILD
        and plan.round < LAST_ROUND
        and any(one.shape is not None for one in fields)
    )


def _fields(
    stored: dict[str, Any] | None, corrections: Mapping[str, Correction]
) -> tuple[CardField, ...]:
    if stored is None:
        return ()
    return tuple(_field(one, corrections.get(one["path"])) for one in stored["fields"])


def _field(stored: dict[str, Any], correction: Correction | None) -> CardField:
    """Return a field as it stands: what was read, or what replaced it."""
    field = CardField(
        path=stored["path"],
        label=stored["label"],
        value=stored["value"],
        route=FieldRoute(stored["route"]),
        reason=stored["reason"],
        witnesses=tuple(
            CardWitness(witness["name"], WitnessSays(witness["says"]))
            for witness in stored["witnesses"]
        ),
        page_number=stored["page"],
        shape=shape_at(stored["path"]),
    )
    if correction is None:
        return field
    corrected = CardCorrection(correction.old, correction.by, correction.at)
    # Whatever spoke for or against the value that was read says nothing about this one.
    return replace(field, value=correction.new, reason="", witnesses=(), corrected=corrected)


def _redaction(verdict: dict[str, Any] | None) -> CardRedaction | None:
    if verdict is None:
        return None
    return CardRedaction(
        removals=tuple(CardRemoval(kind, count) for kind, count in verdict["removed"].items()),
        channels=tuple(
            ChannelVerdict(
                row["channel"], row["reader"], ChannelResult(row["result"]), row["detail"]
            )
            for row in verdict["channels"]
        ),
        warnings=(*verdict.get("warnings", ()), *_kept(verdict.get("kept", {}))),
    )


def _kept(kept: dict[str, int]) -> tuple[str, ...]:
    """Say what stays because the request lists it."""
    if not kept:
        return ()
    told = ", ".join(f"{kind.replace('_', ' ')}: {count}" for kind, count in sorted(kept.items()))
    return (f"Left in the document because the request says so: {told}.",)


def _findings(verdict: dict[str, Any] | None) -> tuple[CardFinding, ...]:
    if verdict is None:
        return ()
    return tuple(CardFinding(one["kind"], one["page"], one["count"]) for one in verdict["unlisted"])
