"""What an approver is told after a click.

Rules:
1. A result page says truthfully what happened, and nothing the holder of the link may not know.
2. An unknown link and somebody else's link get the same page, word for word.
3. Where it is not known whether a decision was stored, the page does not claim either (P3).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum

from no_undo.domain.card import moment_text, require_page_url
from no_undo.domain.plan import Verdict


class ResultKind(StrEnum):
    """What became of a click."""

    APPROVED_WAITING = "approved_waiting"
    APPROVED_COMPLETE = "approved_complete"
    APPROVED_PAUSED = "approved_paused"
    REJECTED = "rejected"
    CORRECTED = "corrected"
    QUESTION_SENT = "question_sent"
    HANDED_OVER = "handed_over"
    ALREADY_DECIDED = "already_decided"
    CLOSED_BY_OTHERS = "closed_by_others"
    QUORUM_COMPLETE = "quorum_complete"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    APPROVAL_WITHDRAWN = "approval_withdrawn"
    ABANDONED = "abandoned"
    WITHDRAWN = "withdrawn"
    UNKNOWN_LINK = "unknown_link"
    WRONG_CONFIRMATION = "wrong_confirmation"
    TOO_MANY_TRIES = "too_many_tries"
    ERROR = "error"


class Tone(StrEnum):
    """How a result is set: colour and sign never carry meaning alone, the words do."""

    DONE = "done"
    NEUTRAL = "neutral"
    ATTENTION = "attention"


@dataclass(frozen=True, slots=True)
class Result:
    """One result page. Made by the functions below.

    Attributes:
        kind: What became of the click.
        tone: How it is set.
        heading: What happened, one sentence.
        paragraphs: What it means and what to do next.
        reference: Plan reference, empty when the holder of the link may not know one.
        title: Name of the envelope, empty likewise.
        back_url: Where to go on, or empty.
    """

    kind: ResultKind
    tone: Tone
    heading: str
    paragraphs: tuple[str, ...]
    reference: str = ""
    title: str = ""
    back_url: str = ""

    def __post_init__(self) -> None:
        if self.back_url:
            require_page_url(self.back_url, "back_url")


def approved_waiting(still_needed: int, *, reference: str, title: str) -> Result:
    """An approval was recorded and `still_needed` (at least 1) more are missing."""
    more = "1 more person" if still_needed == 1 else f"{still_needed} more people"
    verb = "approves" if still_needed == 1 else "approve"
    return Result(
        kind=ResultKind.APPROVED_WAITING,
        tone=Tone.DONE,
        heading="Your approval is recorded.",
        paragraphs=(
            f"Nothing happens until {more} {verb}.",
            "You can close this page. This link cannot be used to decide again.",
        ),
        reference=reference,
        title=title,
    )


def approved_complete(*, reference: str, title: str) -> Result:
    """The approval that completed the quorum was recorded."""
    return Result(
        kind=ResultKind.APPROVED_COMPLETE,
        tone=Tone.DONE,
        heading="Your approval is recorded, and it was the last one needed.",
        paragraphs=(
            "Everything is checked once more; then it is done, once.",
            "You can close this page.",
        ),
        reference=reference,
        title=title,
    )


def approved_paused(*, reference: str, title: str) -> Result:
    """The quorum is complete, and an operator has paused all irreversible actions."""
    return Result(
        kind=ResultKind.APPROVED_PAUSED,
        tone=Tone.NEUTRAL,
        heading="Your approval is recorded. Everything is paused at the moment.",
        paragraphs=(
            "Nothing happens until an operator ends the pause.",
            "You need not do anything.",
        ),
        reference=reference,
        title=title,
    )


def rejected(*, reference: str, title: str) -> Result:
    """A rejection was recorded; it ends the plan."""
    return Result(
        kind=ResultKind.REJECTED,
        tone=Tone.DONE,
        heading="Your rejection is recorded. It will not happen.",
        paragraphs=("The requester is told, with your reason. You can close this page.",),
        reference=reference,
        title=title,
    )


def corrected(*, reference: str, title: str) -> Result:
    """Corrections were recorded; a new round begins."""
    return Result(
        kind=ResultKind.CORRECTED,
        tone=Tone.NEUTRAL,
        heading="Your corrections are recorded. Nothing happens yet.",
        paragraphs=(
            (
                "The document is made again with your corrections, and everybody is asked again. "
                "You get a new mail with a new link."
            ),
            "Earlier approvals do not count for the new document.",
        ),
        reference=reference,
        title=title,
    )


def question_sent(*, reference: str, title: str) -> Result:
    """A question went to the requester; nothing is decided."""
    return Result(
        kind=ResultKind.QUESTION_SENT,
        tone=Tone.NEUTRAL,
        heading="Your question was passed on to the requester.",
        paragraphs=(
            "Nothing is decided, and the deadline has not moved.",
            "You can use the link in your mail again to decide.",
        ),
        reference=reference,
        title=title,
    )


def handed_over(*, reference: str, title: str) -> Result:
    """The decision went to another eligible person."""
    return Result(
        kind=ResultKind.HANDED_OVER,
        tone=Tone.NEUTRAL,
        heading="The decision was handed over.",
        paragraphs=(
            "The other person gets their own link. Yours no longer works.",
            "Nothing is decided, and the deadline has not moved.",
        ),
        reference=reference,
        title=title,
    )


_PARTICIPLES = {
    Verdict.APPROVE: "approved",
    Verdict.REJECT: "rejected",
    Verdict.CORRECT: "corrected",
}


def already_decided(
    verdict: Verdict,
    at: datetime,
    *,
    reference: str,
    title: str,
    zone: tzinfo | None = None,
) -> Result:
    """This link was used before; says for what and when."""
    what = _PARTICIPLES[verdict]
    return Result(
        kind=ResultKind.ALREADY_DECIDED,
        tone=Tone.NEUTRAL,
        heading=f"You have already decided: {what}.",
        paragraphs=(
            f"Your decision was recorded on {moment_text(at, zone)}.",
            "It cannot be changed here, and nothing was recorded twice.",
        ),
        reference=reference,
        title=title,
    )


def closed_by_others(*, reference: str, title: str) -> Result:
    """The plan ended before this person decided: somebody else rejected it."""
    return Result(
        kind=ResultKind.CLOSED_BY_OTHERS,
        tone=Tone.NEUTRAL,
        heading="This was rejected by somebody else. It will not happen.",
        paragraphs=("Your decision is no longer needed, and none was recorded.",),
        reference=reference,
        title=title,
    )


def quorum_complete(*, reference: str, title: str) -> Result:
    """Enough others had approved before this person decided."""
    return Result(
        kind=ResultKind.QUORUM_COMPLETE,
        tone=Tone.NEUTRAL,
        heading="Enough people have approved this already.",
        paragraphs=("Your decision is no longer needed, and none was recorded.",),
        reference=reference,
        title=title,
    )


def expired(
    deadline: datetime, *, reference: str, title: str, zone: tzinfo | None = None
) -> Result:
    """The deadline has passed."""
    return Result(
        kind=ResultKind.EXPIRED,
        tone=Tone.ATTENTION,
        heading="This link has expired.",
        paragraphs=(
            f"The deadline was {moment_text(deadline, zone)}.",
            (
                "No decision was recorded now. If this still needs approval, the requester has to "
                "submit it again."
            ),
        ),
        reference=reference,
        title=title,
    )


def superseded(*, reference: str, title: str) -> Result:
    """A newer link, or a newer round, has replaced this link."""
    return Result(
        kind=ResultKind.SUPERSEDED,
        tone=Tone.ATTENTION,
        heading="This link was replaced by a newer one.",
        paragraphs=(
            (
                "A reminder, a hand-over or a corrected document came after it. No decision was "
                "recorded now."
            ),
            "Please use the newest mail that you have received about this.",
        ),
        reference=reference,
        title=title,
    )


def approval_withdrawn(*, reference: str, title: str) -> Result:
    """This person decided, and then somebody corrected the document."""
    return Result(
        kind=ResultKind.APPROVAL_WITHDRAWN,
        tone=Tone.ATTENTION,
        heading="Your approval no longer counts: the document was corrected.",
        paragraphs=(
            (
                "You had approved an earlier version. Somebody corrected a value in it, so that "
                "version will not be sent."
            ),
            "You are asked again about the new one. Please use the newest mail about this.",
        ),
        reference=reference,
        title=title,
    )


def abandoned(*, reference: str, title: str) -> Result:
    """The plan was given up on our side: by an operator, or because something failed."""
    return Result(
        kind=ResultKind.ABANDONED,
        tone=Tone.NEUTRAL,
        heading="This was given up before it was sent. It will not happen.",
        paragraphs=(
            "It was ended on our side, not by an approver. The requester knows.",
            "Your decision is no longer needed, and none was recorded now.",
        ),
        reference=reference,
        title=title,
    )


def withdrawn(*, reference: str, title: str) -> Result:
    """The requester took the request back."""
    return Result(
        kind=ResultKind.WITHDRAWN,
        tone=Tone.NEUTRAL,
        heading="The requester has withdrawn this. It will not happen.",
        paragraphs=("Your decision is no longer needed, and none was recorded.",),
        reference=reference,
        title=title,
    )


def unknown_link() -> Result:
    """There is no such link, or it is not this holder's (rule 2): it takes no argument."""
    return Result(
        kind=ResultKind.UNKNOWN_LINK,
        tone=Tone.ATTENTION,
        heading="We do not know this link.",
        paragraphs=(
            (
                "It may have been cut off by the mail program. Please open it again from the mail, "
                "or copy the whole line into the address bar."
            ),
            "No decision was recorded.",
        ),
    )


def wrong_confirmation(*, back_url: str) -> Result:
    """The typed words were not the words of the card; the link stays good."""
    return Result(
        kind=ResultKind.WRONG_CONFIRMATION,
        tone=Tone.ATTENTION,
        heading="The two words did not match. No decision was recorded.",
        paragraphs=(
            "Your link stays valid.",
            "Go back and type the two words that stand in the last sentence of the page.",
        ),
        back_url=back_url,
    )


def too_many_tries(*, wait_seconds: int, back_url: str) -> Result:
    """Too many wrong confirmations; slows down and never uses the link up."""
    unit = "second" if wait_seconds == 1 else "seconds"
    return Result(
        kind=ResultKind.TOO_MANY_TRIES,
        tone=Tone.ATTENTION,
        heading="The two words did not match several times. No decision was recorded.",
        paragraphs=(f"Please wait {wait_seconds} {unit} and try again. Your link stays valid.",),
        back_url=back_url,
    )


def page_error(*, back_url: str = "") -> Result:
    """Something went wrong on our side, before or after a decision was stored: nobody knows here.

    Opening the link again tells (rule 3).
    """
    return Result(
        kind=ResultKind.ERROR,
        tone=Tone.ATTENTION,
        heading="Something went wrong on our side.",
        paragraphs=(
            (
                "Please open the link from your mail again in a minute: the page then shows "
                "whether your decision was recorded. Deciding again does no harm; each decision "
                "counts once."
            ),
        ),
        back_url=back_url,
    )
