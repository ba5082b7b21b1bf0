"""What people are told: result pages after a click, and mails.

Rules:
1. A result page says truthfully what happened, and nothing the holder of the link may not know.
   An unknown link and somebody else's link get the same page, word for word.
2. A subject is one line of at most `MAX_SUBJECT_LENGTH` characters without control, invisible or
   text-direction characters, so no text can start a header of its own (RFC 5322 2.2).
3. A link in a mail stands alone on its line and has at most `MAX_LINK_LENGTH` characters.
4. Silence, an undelivered mail and a question are never consent, and every mail that could be
   read otherwise says so.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import assert_never

from no_undo.domain.card import moment_text, require_aware, require_page_url
from no_undo.domain.plain_text import has_unsafe_characters
from no_undo.domain.plan import Verdict

MAX_SUBJECT_LENGTH = 140
MAX_LINK_LENGTH = 119


def subject_line(text: str) -> str:
    """Make any text fit for a subject (rule 2): unsafe characters become spaces, runs collapse."""
    safe = "".join(" " if has_unsafe_characters(one) else one for one in text)
    line = " ".join(safe.split())
    if len(line) <= MAX_SUBJECT_LENGTH:
        return line
    return _without_half_characters(line[: MAX_SUBJECT_LENGTH - 1]) + "…"


def _without_half_characters(text: str) -> str:
    """Drop trailing spaces, and a last letter whose combining marks were cut off."""
    while text and (text[-1] == " " or unicodedata.combining(text[-1])):
        text = text[:-1]
    return text


class ApprovalMailKind(StrEnum):
    """Why an approver is written to."""

    REQUEST = "request"
    REMINDER = "reminder"
    ESCALATION = "escalation"
    REASSIGNMENT = "reassignment"


@dataclass(frozen=True, slots=True)
class ApprovalNotice:
    """A mail that asks one approver to decide.

    Attributes:
        kind: Why it is sent.
        reference: Short reference of the plan.
        title: Name of the envelope.
        requester: Who asked.
        action_sentence: What Approve does.
        irreversibility_sentence: Why it cannot be taken back.
        approver: Address of the person written to.
        needed: Distinct approvals needed.
        approver_count: How many people were asked.
        deadline: Aware.
        link: The approver's own link (rule 3).
        zone: The approver's zone, or None for UTC alone.
    """

    kind: ApprovalMailKind
    reference: str
    title: str
    requester: str
    action_sentence: str
    irreversibility_sentence: str
    approver: str
    needed: int
    approver_count: int
    deadline: datetime
    link: str
    zone: tzinfo | None = None

    def __post_init__(self) -> None:
        require_aware(self.deadline, "deadline")
        require_page_url(self.link, "link")
        if len(self.link) > MAX_LINK_LENGTH:
            raise ValueError(f"link must be at most {MAX_LINK_LENGTH} characters")

    @property
    def subject(self) -> str:
        """The subject line."""
        match self.kind:
            case ApprovalMailKind.REQUEST | ApprovalMailKind.REASSIGNMENT:
                return subject_line(f"Approval needed: {self.title}")
            case ApprovalMailKind.REMINDER:
                return subject_line(f"Reminder, approval needed: {self.title}")
            case ApprovalMailKind.ESCALATION:
                return subject_line(f"Escalated to you, approval needed: {self.title}")
            case _:
                assert_never(self.kind)

    @property
    def opening(self) -> str:
        """Why this mail comes now."""
        match self.kind:
            case ApprovalMailKind.REQUEST:
                return "You are asked to approve or reject the following."
            case ApprovalMailKind.REMINDER:
                return (
                    "You have not decided yet. This mail carries a new link; the link in the "
                    "earlier mail no longer works."
                )
            case ApprovalMailKind.ESCALATION:
                return (
                    "Nobody has decided in time, so this now comes to you. "
                    "You are asked to approve or reject the following."
                )
            case ApprovalMailKind.REASSIGNMENT:
                return (
                    "This decision was handed over to you. "
                    "You are asked to approve or reject the following."
                )
            case _:
                assert_never(self.kind)


@dataclass(frozen=True, slots=True)
class RequesterNotice:
    """A mail that tells the requester where a request stands. Made by the functions below.

    Attributes:
        reference: Request id or plan reference.
        title: Name of the envelope.
        subject: The subject line.
        headline: What happened, one sentence.
        paragraphs: What it means and what to do next.
        quote: Words of another person, or empty.
        quoted_from: Who wrote the quote, or empty.
    """

    reference: str
    title: str
    subject: str
    headline: str
    paragraphs: tuple[str, ...]
    quote: str = ""
    quoted_from: str = ""


def request_completed(*, reference: str, title: str, sha256: str) -> RequesterNotice:
    """Say that everybody has signed and the signed document is archived."""
    return RequesterNotice(
        reference=reference,
        title=title,
        subject=subject_line(f"Completed: {title}"),
        headline="Everybody has signed.",
        paragraphs=(
            "The signed document was checked against what was approved and is archived.",
            f"SHA-256 of the signed document: {sha256}",
        ),
    )


def request_rejected(
    *, reference: str, title: str, approver: str, reason: str
) -> RequesterNotice:
    """Say who rejected, and why, in their words."""
    return RequesterNotice(
        reference=reference,
        title=title,
        subject=subject_line(f"Rejected: {title}"),
        headline=f"{approver} rejected your request. Nothing was sent.",
        paragraphs=("The decision is final. To try again, submit a new request.",),
        quote=reason,
        quoted_from=approver,
    )


def request_failed(*, reference: str, title: str, stage: str, reason: str) -> RequesterNotice:
    """Say which stage failed before anything was sent.

    Args:
        reference: Request id.
        title: Name of the envelope.
        stage: Name of the stage, for example `Verify Redaction`.
        reason: One sentence that holds no value of the document (P10).
    """
    return RequesterNotice(
        reference=reference,
        title=title,
        subject=subject_line(f"Not sent: {title}"),
        headline=f"Your request stopped at the stage {stage}. Nothing was sent.",
        paragraphs=(reason, "To try again, submit a new request."),
    )


def request_needs_answer(*, reference: str, title: str, question: str) -> RequesterNotice:
    """Ask the requester for what is missing, for example the address of a named recipient."""
    return RequesterNotice(
        reference=reference,
        title=title,
        subject=subject_line(f"Your request needs an answer: {title}"),
        headline="Your request stopped because something is missing. Nothing was sent.",
        paragraphs=(question, "Submit the request again with the answer in it."),
    )


def request_expired(
    *, reference: str, title: str, deadline: datetime, zone: tzinfo | None = None
) -> RequesterNotice:
    """Say that the deadline passed without enough approvals."""
    return RequesterNotice(
        reference=reference,
        title=title,
        subject=subject_line(f"Expired, not sent: {title}"),
        headline="The deadline passed without enough approvals. Nothing was sent.",
        paragraphs=(
            f"The deadline was {moment_text(deadline, zone)}.",
            "To try again, submit a new request.",
        ),
    )


def question_asked(
    *, reference: str, title: str, approver: str, question: str
) -> RequesterNotice:
    """Pass on an approver's question. Asking decides nothing (rule 4)."""
    return RequesterNotice(
        reference=reference,
        title=title,
        subject=subject_line(f"Question before approval: {title}"),
        headline=f"{approver} has a question before deciding.",
        paragraphs=(
            "Please answer them directly. Nothing is decided, and the deadline has not moved.",
        ),
        quote=question,
        quoted_from=approver,
    )


def approval_mail_undelivered(
    *, reference: str, title: str, approver: str, outcome: str
) -> RequesterNotice:
    """Say that an approver's mail did not arrive. It never counts as consent (rule 4).

    Args:
        reference: Request id.
        title: Name of the envelope.
        approver: Whom it was for.
        outcome: Past participle: `bounced`, `reported as unwanted` or `suppressed`.
    """
    return RequesterNotice(
        reference=reference,
        title=title,
        subject=subject_line(f"Approval mail not delivered: {title}"),
        headline=f"The mail that asks {approver} for approval was {outcome}.",
        paragraphs=(
            "This does not count as an approval. The decision is passed on as your organisation's "
            "policy says; you can also name another eligible approver.",
        ),
    )


class ResultKind(StrEnum):
    """What became of a click."""

    APPROVED_WAITING = "approved_waiting"
    APPROVED_SENDING = "approved_sending"
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
            f"Nothing is sent until {more} {verb}.",
            "You can close this page. This link cannot be used to decide again.",
        ),
        reference=reference,
        title=title,
    )


def approved_sending(*, reference: str, title: str) -> Result:
    """The approval that completed the quorum was recorded."""
    return Result(
        kind=ResultKind.APPROVED_SENDING,
        tone=Tone.DONE,
        heading="Your approval is recorded, and it was the last one needed.",
        paragraphs=(
            "Everything is checked once more; then the document is sent, once.",
            "You can close this page.",
        ),
        reference=reference,
        title=title,
    )


def approved_paused(*, reference: str, title: str) -> Result:
    """The quorum is complete, and an operator has paused all sends."""
    return Result(
        kind=ResultKind.APPROVED_PAUSED,
        tone=Tone.NEUTRAL,
        heading="Your approval is recorded. Sending is paused at the moment.",
        paragraphs=(
            "An operator has paused all sending. Nothing is sent until an operator resumes it.",
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
        heading="Your rejection is recorded. Nothing will be sent.",
        paragraphs=("The requester is told, with your reason. You can close this page.",),
        reference=reference,
        title=title,
    )


def corrected(*, reference: str, title: str) -> Result:
    """Corrections were recorded; a new round begins."""
    return Result(
        kind=ResultKind.CORRECTED,
        tone=Tone.NEUTRAL,
        heading="Your corrections are recorded. Nothing is sent.",
        paragraphs=(
            "The document is made again with your corrections, and everybody is asked again. "
            "You get a new mail with a new link.",
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


def already_decided(
    verdict: Verdict,
    at: datetime,
    *,
    reference: str,
    title: str,
    zone: tzinfo | None = None,
) -> Result:
    """This link was used before; says for what and when."""
    what = "approved" if verdict is Verdict.APPROVE else "rejected"
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
        heading="This was rejected by somebody else. Nothing will be sent.",
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


def expired(deadline: datetime, *, reference: str, title: str, zone: tzinfo | None = None) -> Result:
    """The deadline has passed."""
    return Result(
        kind=ResultKind.EXPIRED,
        tone=Tone.ATTENTION,
        heading="This link has expired.",
        paragraphs=(
            f"The deadline was {moment_text(deadline, zone)}.",
            "No decision was recorded now. If this still needs approval, the requester has to "
            "submit it again.",
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
            "A reminder, a hand-over or a corrected document came after it. No decision was "
            "recorded now.",
            "Please use the newest mail that you have received about this.",
        ),
        reference=reference,
        title=title,
    )


def withdrawn(*, reference: str, title: str) -> Result:
    """The requester took the request back."""
    return Result(
        kind=ResultKind.WITHDRAWN,
        tone=Tone.NEUTRAL,
        heading="The requester has withdrawn this. Nothing will be sent.",
        paragraphs=("Your decision is no longer needed, and none was recorded.",),
        reference=reference,
        title=title,
    )


def unknown_link() -> Result:
    """There is no such link, or it is not this holder's (rule 1): it takes no argument."""
    return Result(
        kind=ResultKind.UNKNOWN_LINK,
        tone=Tone.ATTENTION,
        heading="We do not know this link.",
        paragraphs=(
            "It may have been cut off by the mail program. Please open it again from the mail, "
            "or copy the whole line into the address bar.",
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

    It does not claim that nothing was recorded; opening the link again tells (P3).
    """
    return Result(
        kind=ResultKind.ERROR,
        tone=Tone.ATTENTION,
        heading="Something went wrong on our side.",
        paragraphs=(
            "Please open the link from your mail again in a minute: the page then shows whether "
            "your decision was recorded. Deciding again does no harm; each decision counts once.",
        ),
        back_url=back_url,
    )
