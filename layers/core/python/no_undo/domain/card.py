"""The card: everything an approver reads before deciding, and nothing else.

Rules:
1. A card names kinds and counts of what was removed, never a removed value or a pattern (P10).
2. Every time on a card is aware. It is shown in the approver's zone and in UTC.
3. A URL on a card is a path on the same origin or absolute http(s), without white space.
4. A field that an independent witness disputes, or that somebody has corrected, is answered on its
   own before Approve counts; all other fields are shown together (nobody reads sixteen ticks).
5. The confirmation words are two plain words. They stand in the card's last sentence and nowhere
   else: in no form value, placeholder or attribute.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from enum import StrEnum

from no_undo.domain.corrections import FieldShape
from no_undo.domain.field_routing import FieldRoute, WitnessSays
from no_undo.domain.plan import Verdict
from no_undo.domain.redaction import ChannelResult, ChannelVerdict

_PAGE_URL = re.compile(r"(?:https?://[^\s/]|/(?![/\\]))[^\s]*", re.ASCII)
_FIELD_INPUT = re.compile(r"field_[0-9]{1,5}(_value)?", re.ASCII)
_PLAIN_WORD = re.compile(r"[a-z]{2,20}", re.ASCII)


def require_page_url(url: str, name: str) -> None:
    """Refuse a URL that rule 3 does not allow, `javascript:` and `//other.host` included.

    Raises:
        ValueError: Names the attribute, not the URL: it may hold a link token.
    """
    if not _PAGE_URL.fullmatch(url):
        raise ValueError(f"{name} must be a path on this origin or an absolute http(s) URL")


def require_aware(moment: datetime, name: str) -> None:
    """Refuse a time without a zone (rule 2).

    Raises:
        ValueError: Names the attribute.
    """
    if moment.utcoffset() is None:
        raise ValueError(f"{name} must be an aware datetime")


def moment_text(moment: datetime, zone: tzinfo | None = None) -> str:
    """Return a moment for a reader: in their zone with its name, and in UTC.

    Examples: `Tuesday 14 July 2026, 17:00 CEST (15:00 UTC)`, with the day repeated where it
    differs, and `Tuesday 14 July 2026, 15:00 UTC` without a zone of their own.

    Args:
        moment: Aware.
        zone: The reader's zone, or None for UTC alone.

    Raises:
        ValueError: `moment` has no zone.
    """
    require_aware(moment, "moment")
    utc = moment.astimezone(UTC)
    if zone is None:
        return f"{_day(utc)}, {utc:%H:%M} UTC"
    local = moment.astimezone(zone)
    local_text = f"{_day(local)}, {local:%H:%M} {local.tzname()}"
    if local.utcoffset() == utc.utcoffset() and local.tzname() == "UTC":
        return local_text
    utc_day = "" if local.date() == utc.date() else f"{_day(utc)}, "
    return f"{local_text} ({utc_day}{utc:%H:%M} UTC)"


def _day(moment: datetime) -> str:
    return f"{moment:%A} {moment.day} {moment:%B} {moment.year}"


class Choice(StrEnum):
    """What the form offers. Asking and handing over decide nothing."""

    APPROVE = "approve"
    CORRECT = "correct"
    REJECT = "reject"
    ASK = "ask"
    HAND_OVER = "hand_over"


@dataclass(frozen=True, slots=True)
class CardRecipient:
    """One recipient.

    Attributes:
        order: 1-based signing order.
        name: Display name.
        address: Mail address, in full unless policy masks it.
        source: Where the address came from: `request`, `instruction` or `contacts`.
        note: Something the approver should know, for example unusual letters; empty when nothing.
    """

    order: int
    name: str
    address: str
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class CardPage:
    """One page picture.

    Attributes:
        number: 1-based page number.
        picture_url: Path on the same origin.
        width: Pixels, at least 1; keeps the layout still while the picture loads.
        height: Pixels, at least 1.
    """

    number: int
    picture_url: str
    width: int
    height: int

    def __post_init__(self) -> None:
        require_page_url(self.picture_url, "picture_url")


@dataclass(frozen=True, slots=True)
class CardDocument:
    """The exact bytes that will be sent.

    Attributes:
        file_name: As the recipients will see it.
        sha256: 64 lower-case hex digits, shown in full.
        page_count: Pages of the document.
        pages: Pictures, in order; fewer than `page_count` when there are too many to show.
        pdf_url: Short-lived link to the PDF itself.
    """

    file_name: str
    sha256: str
    page_count: int
    pages: tuple[CardPage, ...]
    pdf_url: str

    def __post_init__(self) -> None:
        require_page_url(self.pdf_url, "pdf_url")


@dataclass(frozen=True, slots=True)
class CardWitness:
    """One independent witness to a field, for example `text layer` or `printed arithmetic`."""

    name: str
    says: WitnessSays


@dataclass(frozen=True, slots=True)
class CardCorrection:
    """Who corrected a field in an earlier round.

    Attributes:
        old: The value before, or None when there was none.
        by: Address of the approver.
        at: When, aware.
    """

    old: str | None
    by: str
    at: datetime

    def __post_init__(self) -> None:
        require_aware(self.at, "at")


@dataclass(frozen=True, slots=True)
class CardField:
    """One extracted field.

    Attributes:
        path: For example `line_items[0].quantity`.
        label: For a reader, for example `Total amount`.
        value: As text, or None when the document does not give it.
        route: Whether it may stand without a person.
        reason: Why it was routed so.
        witnesses: What independent witnesses say.
        page_number: 1-based page it was read from, or None.
        crop_url: Picture of the place on the page, or empty.
        shape: What a correction has to look like; None where nothing can be corrected.
        corrected: The correction that stands, or None.
    """

    path: str
    label: str
    value: str | None
    route: FieldRoute
    reason: str
    witnesses: tuple[CardWitness, ...] = ()
    page_number: int | None = None
    crop_url: str = ""
    shape: FieldShape | None = None
    corrected: CardCorrection | None = None

    def __post_init__(self) -> None:
        if self.crop_url:
            require_page_url(self.crop_url, "crop_url")

    @property
    def disputed(self) -> bool:
        """True when at least one witness disagrees (rule 4)."""
        return any(one.says is WitnessSays.DISAGREES for one in self.witnesses)

    @property
    def to_answer(self) -> bool:
        """True when this field is answered on its own (rule 4)."""
        return self.disputed or self.corrected is not None


@dataclass(frozen=True, slots=True)
class CardRemoval:
    """How many values of one kind were removed."""

    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class CardRedaction:
    """What was removed and how that was proven.

    Attributes:
        removals: Kinds with counts.
        channels: One row per channel and reader.
        warnings: Residue to know about, for example `the width of a box hints at a length`.
    """

    removals: tuple[CardRemoval, ...]
    channels: tuple[ChannelVerdict, ...]
    warnings: tuple[str, ...] = ()

    @property
    def gone_count(self) -> int:
        """How many checks found nothing."""
        return sum(row.result is ChannelResult.GONE for row in self.channels)

    @property
    def readers(self) -> tuple[str, ...]:
        """The distinct readers, in the order of their first check."""
        return tuple(dict.fromkeys(row.reader for row in self.channels))


@dataclass(frozen=True, slots=True)
class CardFinding:
    """Personal data in the final document that nobody listed for removal.

    Attributes:
        kind: For example `phone`.
        page_number: 1-based.
        count: At least 1.
    """

    kind: str
    page_number: int
    count: int


@dataclass(frozen=True, slots=True)
class CardRepeat:
    """An earlier plan that this one knowingly repeats.

    Attributes:
        reference: The earlier plan's reference.
        done_at: When its effect was confirmed, aware, or None when the record does not say.
    """

    reference: str
    done_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class CardDecision:
    """What one approver has decided.

    Attributes:
        who: Address of the approver.
        verdict: What they decided.
        at: When, aware.
    """

    who: str
    verdict: Verdict
    at: datetime

    def __post_init__(self) -> None:
        require_aware(self.at, "at")


@dataclass(frozen=True, slots=True)
class CardQuorum:
    """How many must approve, and who has decided so far.

    Attributes:
        needed: Distinct approvals needed, at least 1.
        approver_count: How many people were asked, at least `needed`.
        decisions: Oldest first.
    """

    needed: int
    approver_count: int
    decisions: tuple[CardDecision, ...] = ()

    @property
    def still_needed(self) -> int:
        """How many approvals are missing now."""
        given = sum(one.verdict is Verdict.APPROVE for one in self.decisions)
        return max(0, self.needed - given)


@dataclass(frozen=True, slots=True)
class Card:
    """Everything one approver is shown about one plan.

    Attributes:
        reference: Short reference of the plan, safe to quote on the telephone.
        title: Name of the envelope, as the recipients will see it.
        requester: Who asked, as an address or a name.
        instruction: The caller's sentence.
        action_sentence: What Approve does: `Send this document to Alice and Bob for signature.`
        irreversibility_sentence: Why it cannot be taken back.
        recipients: In signing order; empty for an action that has none.
        document: What is sent, or None for an action without a document.
        plan_digest: 64 lower-case hex digits; bound to the decision.
        quorum: Needed and given approvals.
        deadline: Aware.
        zone: The approver's zone, or None for UTC alone.
        approver: Address of the person whom this card was made for.
        confirmation_words: Two plain words (rule 5).
        form_action: Where the decision is posted.
        choices: What the form offers, in order.
        fields: Extracted fields, in document order.
        corrections_allowed: True when a wrong field can be corrected into a new round.
        redaction: None when nothing was to be removed.
        findings: Personal data nobody listed.
        warnings: Sentences: watermark, no extraction, what detectors cannot see.
        not_read_back: What the outside does not show of the draft, so nobody could compare it.
        repeat: Set when this repeats an earlier plan.
        digest: What this card says, as 64 lower-case hex digits; comes back with the form.
    """

    reference: str
    title: str
    requester: str
    instruction: str
    action_sentence: str
    irreversibility_sentence: str
    recipients: tuple[CardRecipient, ...]
    document: CardDocument | None
    plan_digest: str
    quorum: CardQuorum
    deadline: datetime
    approver: str
    confirmation_words: tuple[str, str]
    form_action: str
    zone: tzinfo | None = None
    choices: tuple[Choice, ...] = (Choice.APPROVE, Choice.REJECT)
    fields: tuple[CardField, ...] = ()
    corrections_allowed: bool = False
    redaction: CardRedaction | None = None
    findings: tuple[CardFinding, ...] = ()
    warnings: tuple[str, ...] = ()
    not_read_back: tuple[str, ...] = ()
    repeat: CardRepeat | None = None
    digest: str = ""

    def __post_init__(self) -> None:
        require_aware(self.deadline, "deadline")
        require_page_url(self.form_action, "form_action")
        if not all(_PLAIN_WORD.fullmatch(word) for word in self.confirmation_words):
            raise ValueError("confirmation_words must be two plain lower-case words")

    @property
    def fields_to_answer(self) -> tuple[tuple[int, CardField], ...]:
        """The fields to answer one by one, each with its position in `fields`."""
        return tuple((index, one) for index, one in enumerate(self.fields) if one.to_answer)

    @property
    def other_fields(self) -> tuple[tuple[int, CardField], ...]:
        """The fields that are shown together, each with its position in `fields`."""
        return tuple((index, one) for index, one in enumerate(self.fields) if not one.to_answer)


def field_input_name(index: int) -> str:
    """Return the form name for the answer to `fields[index]`: `confirmed` or `corrected`."""
    return f"field_{index}"


def correction_input_name(index: int) -> str:
    """Return the form name for the corrected value of `fields[index]`."""
    return f"field_{index}_value"


def is_field_input(name: str) -> bool:
    """Return whether a form name is one of those that answer single fields."""
    return _FIELD_INPUT.fullmatch(name) is not None


class FormInput:
    """Names of the form's inputs, shared by the template and by whoever reads the post."""

    PLAN_DIGEST = "plan_digest"
    CARD_DIGEST = "card_digest"
    DECISION = "decision"
    REASON = "reason"
    CONFIRMATION = "confirmation"
    HAND_OVER_TO = "hand_over_to"


FIELD_CONFIRMED = "confirmed"
FIELD_CORRECTED = "corrected"


@dataclass(frozen=True, slots=True)
class FormState:
    """What the approver entered before, for showing the form again.

    The typed confirmation is never kept: it would put the words into a form value (rule 5).

    Attributes:
        entered: Input name to what was entered.
        errors: Input name to one sentence that says what to do.
    """

    entered: Mapping[str, str] = field(default_factory=dict[str, str])
    errors: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        kept = {
            name: value for name, value in self.entered.items() if name != FormInput.CONFIRMATION
        }
        object.__setattr__(self, "entered", kept)
