"""What approvers and requesters are told by mail.

Rules:
1. A subject is one line of at most `MAX_SUBJECT_LENGTH` characters without control, invisible or
   text-direction characters, so no text can start a header of its own (RFC 5322 2.2).
2. A link in a mail stands alone on its line and has at most `MAX_LINK_LENGTH` characters.
3. Silence, an undelivered mail and a question are never consent, and every mail that could be
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

MAX_SUBJECT_LENGTH = 140
MAX_LINK_LENGTH = 119


def subject_line(text: str) -> str:
    """Make any text fit for a subject (rule 1): unsafe characters become spaces, runs collapse."""
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
        link: The approver's own link (rule 2).
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


def request_rejected(*, reference: str, title: str, approver: str, reason: str) -> RequesterNotice:
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


def question_asked(*, reference: str, title: str, approver: str, question: str) -> RequesterNotice:
    """Pass on an approver's question. Asking decides nothing (rule 3)."""
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
    """Say that an approver's mail did not arrive. It never counts as consent (rule 3).

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
            (
                "This does not count as an approval. The decision is passed on as the approver "
                "policy says; you can also name another eligible approver."
            ),
        ),
    )
