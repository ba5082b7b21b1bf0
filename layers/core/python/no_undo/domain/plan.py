"""The plan: the proposed irreversible action, what was decided about it, and when to look again.

Rules:
1. The plan digest is the SHA-256 of the RFC 8785 form of everything an approver agrees to: action,
   document bytes, recipients in order, target, who may approve, how many, until when, and which
   plan it knowingly repeats (P7). Two plans never share a digest, because the plan id is inside.
2. A plan moves AWAITING_APPROVAL → APPROVED → EXECUTING → EXECUTED; from EXECUTING it may come back
   to RELEASED (confirmed not done) and begin again. REJECTED, EXPIRED, WITHDRAWN, SUPERSEDED and
   ABANDONED are ends in which nothing was sent by this plan; only evidence of a late effect leads
   out of one, to EXECUTED.
3. `due_kind` and `due_at` say what the sweep shall do next and when: one thing, the soonest. They
   are a hint; the sweep reads the plan again and its write carries the condition.
4. Every change raises `revision` by one; a write names the revision it read.
5. Who may decide are the approvers of the digest, each replaced by whoever took their place, and
   those to whom the plan was escalated (`asking`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from no_undo.domain.addresses import person_key
from no_undo.domain.canonical_json import Json, sha256_hex
from no_undo.domain.documents import DocumentRef
from no_undo.domain.recipients import Recipient


class PlanState(StrEnum):
    """Where a plan stands (rule 2)."""

    AWAITING_APPROVAL = "AWAITING_APPROVAL"
    APPROVED = "APPROVED"
    EXECUTING = "EXECUTING"
    EXECUTED = "EXECUTED"
    RELEASED = "RELEASED"
    REJECTED = "REJECTED"
    EXPIRED = "EXPIRED"
    WITHDRAWN = "WITHDRAWN"
    SUPERSEDED = "SUPERSEDED"
    ABANDONED = "ABANDONED"


CLOSED_UNSENT = frozenset(
    {
        PlanState.REJECTED,
        PlanState.EXPIRED,
        PlanState.WITHDRAWN,
        PlanState.SUPERSEDED,
        PlanState.ABANDONED,
    }
)
"""Ends in which this plan sent nothing; no decision ever leads out of them (rule 2)."""

MAY_BEGIN = frozenset({PlanState.APPROVED, PlanState.RELEASED})
"""States from which an attempt may begin (rule 2)."""

IN_DOUBT = frozenset({PlanState.EXECUTING, PlanState.RELEASED})
"""States with an attempt that is not known to have taken effect, and that may still go on."""


class DueKind(StrEnum):
    """What the sweep shall do with a plan at `due_at`."""

    RESUME = "RESUME"
    """Answer the waits that can be answered: the state machine is behind the ledger."""
    EXPIRE = "EXPIRE"
    """The deadline passes."""
    SETTLE = "SETTLE"
    """The lease is over: ask the system of record."""
    FOLLOW_UP = "FOLLOW_UP"
    """The effect has happened: ask how it goes on (signed, declined, ...)."""


class FollowUp(StrEnum):
    """What became of an executed plan, as the system of record says."""

    NONE = ""
    SIGNED = "SIGNED"
    DECLINED = "DECLINED"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"


class Verdict(StrEnum):
    """One approver's decision."""

    APPROVE = "approve"
    REJECT = "reject"
    CORRECT = "correct"
    """The plan ends and the next round begins, with a corrected document."""


@dataclass(frozen=True, slots=True)
class FieldAnswer:
    """What one approver said about one field that was read from the document.

    Attributes:
        path: Which field, for example `line_items[0].quantity`.
        old: The value that the card showed, None when it showed none.
        new: The value that the approver stands for; the same as `old` when it was confirmed.
    """

    path: str
    old: str | None = None
    new: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """One recorded decision of one person.

    Attributes:
        approver: Normalised address of the person.
        verdict: What they decided.
        at: When it was recorded, UTC.
        plan_digest: The digest of the plan that their card showed.
        card_digest: SHA-256 of what their card said, as it came back with their form.
        reason: Their words; required for a rejection.
        answers: The fields that they answered one by one.
    """

    approver: str
    verdict: Verdict
    at: datetime
    plan_digest: str
    card_digest: str
    reason: str = ""
    answers: tuple[FieldAnswer, ...] = ()


class Delivery(StrEnum):
    """What is known about one mail. None of it is ever a decision."""

    UNKNOWN = ""
    DELIVERED = "delivered"
    BOUNCED = "bounced"
    UNWANTED = "reported as unwanted"
    SUPPRESSED = "suppressed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class IssuedLink:
    """Which link is the live one for an approver; the token itself is stored nowhere.

    Attributes:
        approver: Normalised address.
        token_sha256: SHA-256 (hex) of the approval token.
        mailed_at: When the mail with it was handed to the mail service, or None.
        reminder: Whether it came with the reminder.
        delivery: What is known about that mail.
    """

    approver: str
    token_sha256: str
    mailed_at: datetime | None = None
    reminder: bool = False
    delivery: Delivery = Delivery.UNKNOWN


@dataclass(frozen=True, slots=True)
class StandIn:
    """Somebody who may decide although the plan did not name them at first (rule 5).

    Attributes:
        approver: Normalised address.
        replaces: Whose place they took, or empty when they decide beside the others.
        at: UTC.
    """

    approver: str
    replaces: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """What an approver wants to know before deciding; decides nothing.

    Attributes:
        approver: Who asks.
        text: Their words.
        at: UTC.
        mailed_at: When it was passed on to the requester, or None.
    """

    approver: str
    text: str
    at: datetime
    mailed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SignerMail:
    """What is known about the vendor's mail to one signer: sent is not delivered.

    Attributes:
        order: The signer's place in the signing order, 1-based.
        delivery: What became of the mail.
        at: UTC.
    """

    order: int
    delivery: Delivery
    at: datetime


@dataclass(frozen=True, slots=True)
class Plan:
    """One proposed irreversible action.

    Attributes:
        plan_id: `<request_id>#<round>`; deterministic, so a repeated step finds its own plan.
        request_id: The request it belongs to.
        tenant: Whose policy applies.
        requester: Caller identity from the authorizer.
        requester_email: Mapped mail address of the caller, or empty.
        round: 1-based; a correction starts the next round.
        action_kind: Which irreversible action, for example `esign.send`.
        title: What the approver and the recipients see as the name.
        instruction: The caller's sentence.
        document: The exact bytes that will be sent.
        recipients: To whom, in order.
        target: The prepared thing outside that the action acts on (an envelope id).
        fence_key: Identifies the intended effect across requests.
        repeat_of: Plan id that this one knowingly repeats, or empty.
        approvers: Normalised addresses that may decide.
        quorum: How many distinct approvals are needed, at least 1.
        created_at: UTC.
        expires_at: Deadline for decisions and for begin, UTC.
        digest: See rule 1; computed by `digest_of`.
        state: See rule 2.
        decisions: Recorded decisions, oldest first.
        links: The live link of each approver.
        due_kind: What to do next, or None.
        due_at: When, UTC, or None.
        follow_up: What became of an executed plan.
        stand_ins: Who may decide beside or in the place of `approvers`, oldest first (rule 5).
        questions: What approvers asked, oldest first.
        remind_at: When those who have not decided are reminded, UTC, or None.
        escalate_at: When the policy's second list is asked too, UTC; None once it was.
        mail_at: When to look at what is to be mailed, UTC, or None; a hint like `due_at`.
        signer_mail: What is known about the mail to signers, newest for each.
        revision: 0 before it is first stored.
    """

    plan_id: str
    request_id: str
    tenant: str
    requester: str
    requester_email: str
    round: int
    action_kind: str
    title: str
    instruction: str
    document: DocumentRef
    recipients: tuple[Recipient, ...]
    target: str
    fence_key: str
    approvers: tuple[str, ...]
    quorum: int
    created_at: datetime
    expires_at: datetime
    repeat_of: str = ""
    digest: str = ""
    state: PlanState = PlanState.AWAITING_APPROVAL
    decisions: tuple[Decision, ...] = ()
    links: tuple[IssuedLink, ...] = ()
    due_kind: DueKind | None = None
    due_at: datetime | None = None
    follow_up: FollowUp = FollowUp.NONE
    stand_ins: tuple[StandIn, ...] = ()
    questions: tuple[Question, ...] = ()
    remind_at: datetime | None = None
    escalate_at: datetime | None = None
    mail_at: datetime | None = None
    signer_mail: tuple[SignerMail, ...] = ()
    revision: int = 0


def plan_id_of(request_id: str, round_number: int) -> str:
    """Return the id of a request's plan in one round."""
    return f"{request_id}#{round_number}"


def digest_of(plan: Plan) -> str:
    """Compute the plan digest (rule 1): 64 lower-case hex digits."""
    agreed: Json = {
        "v": 1,
        "plan": plan.plan_id,
        "tenant": plan.tenant,
        "requester": plan.requester,
        "action": plan.action_kind,
        "title": plan.title,
        "instruction": plan.instruction,
        "documentSha256": plan.document.sha256,
        "recipients": [
            {"name": one.name, "email": one.email, "order": one.order} for one in plan.recipients
        ],
        "target": plan.target,
        "fence": plan.fence_key,
        "repeatOf": plan.repeat_of,
        "approvers": list(plan.approvers),
        "quorum": plan.quorum,
        "expiresAt": plan.expires_at.astimezone(UTC).isoformat(),
    }
    return sha256_hex(agreed)


def deciders_of(plan: Plan) -> tuple[str, ...]:
    """Return who may decide now (rule 5); whether one counts is the policy's affair."""
    deciders = list(plan.approvers)
    for one in plan.stand_ins:
        if one.replaces in deciders:
            deciders[deciders.index(one.replaces)] = one.approver
        elif not one.replaces:
            deciders.append(one.approver)
    return tuple(deciders)


def approvals_for(plan: Plan) -> tuple[Decision, ...]:
    """Return the approvals that count: approve, bound to this digest, one per person (P5).

    Two spellings of one address are one person (rule 3 of `addresses`).
    """
    counted: dict[str, Decision] = {}
    for one in plan.decisions:
        if one.verdict is Verdict.APPROVE and one.plan_digest == plan.digest:
            counted.setdefault(person_key(one.approver), one)
    return tuple(counted.values())
