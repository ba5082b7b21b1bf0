"""Approvals: links, decisions and the quorum (P5, P6).

Rules:
1. A link is a random token of which only the SHA-256 is stored; it belongs to one approver and one
   plan and dies with the plan's deadline, with a newer link, or with a decision.
2. Looking changes nothing. A decision carries the digest of the plan that was shown and two typed
   words that only a reader of the card knows.
3. One decision per person, the first one counts; a repeated decision gets the first answer.
4. One rejection ends the plan. One correction supersedes it: what follows is another plan, and no
   approval of this one counts for it. A quorum of distinct approvals, all for this digest, arms it.
5. A wrong confirmation is counted and slows further wrong ones down. It never uses a link up and
   never keeps the right words from counting: a robot that posts nonsense must not lock a person
   out, and a program that could guess the words could as well read them. A pause clears the count.
6. An approval counts at begin only if the row of the link that gave it says so: used, by this
   person, for this plan, to approve, on a card of this digest. Plans are written by functions that
   callers reach; these rows are not (P12).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from no_undo.domain.errors import (
    ApprovalExpiredError,
    NotEligibleError,
    PlanChangedError,
    PlanClosedError,
)
from no_undo.domain.plan import (
    Decision,
    DueKind,
    Plan,
    PlanState,
    Verdict,
    approvals_for,
    deciders_of,
)

FREE_TRIES = 5
"""Wrong confirmations before trying again has to wait."""
LONGEST_WAIT_SECONDS = 60
FORGOTTEN_AFTER = timedelta(minutes=15)
"""Without another wrong confirmation for so long, the count starts anew (rule 5)."""


class LinkState(StrEnum):
    """Whether a link can still decide (rule 1)."""

    LIVE = "LIVE"
    USED = "USED"
    SUPERSEDED = "SUPERSEDED"


@dataclass(frozen=True, slots=True)
class ApprovalLink:
    """One mailed link; the token itself is never stored.

    Attributes:
        token_sha256: Key, 64 hex digits.
        plan_id: The plan it decides.
        request_id: Its request.
        approver: Normalised address it was mailed to.
        expires_at: UTC.
        state: Rule 1.
        wrong_confirmations: How often the typed words were wrong.
        last_wrong_at: When they were wrong last, or None.
        verdict: What it decided, None while it has not.
        decided_digest: Digest of the plan on the card that it decided about, or empty.
        revision: 0 before it is first stored.
    """

    token_sha256: str
    plan_id: str
    request_id: str
    approver: str
    expires_at: datetime
    state: LinkState = LinkState.LIVE
    wrong_confirmations: int = 0
    last_wrong_at: datetime | None = None
    verdict: Verdict | None = None
    decided_digest: str = ""
    revision: int = 0


def token_sha256(token: str) -> str:
    """Return the stored form of an approval token: SHA-256, 64 hex digits."""
    return hashlib.sha256(token.encode("utf-8")).hexdigest()


def seconds_to_wait(link: ApprovalLink, now: datetime) -> int:
    """Return how long the next wrong try has to wait (rule 5): 0, or 2 to 60 seconds."""
    beyond = _remembered(link, now) - FREE_TRIES
    if beyond < 0 or link.last_wrong_at is None:
        return 0
    pause = min(2 << min(beyond, 10), LONGEST_WAIT_SECONDS)
    return max(0, pause - int((now - link.last_wrong_at).total_seconds()))


def wrong_confirmation(link: ApprovalLink, now: datetime) -> ApprovalLink:
    """Return the link with one more wrong confirmation counted; it stays live (rule 5)."""
    return replace(link, wrong_confirmations=_remembered(link, now) + 1, last_wrong_at=now)


def used(link: ApprovalLink, decision: Decision) -> ApprovalLink:
    """Return the link after it decided; its row is the proof that begin asks for (rule 6)."""
    return replace(
        link,
        state=LinkState.USED,
        verdict=decision.verdict,
        decided_digest=decision.plan_digest,
    )


def attests(link: ApprovalLink | None, plan: Plan, approver: str) -> bool:
    """Return whether a link's own row shows that this person approved this plan (rule 6)."""
    return (
        link is not None
        and (link.plan_id, link.approver) == (plan.plan_id, approver)
        and link.state is LinkState.USED
        and link.verdict is Verdict.APPROVE
        and link.decided_digest == plan.digest
    )


def decision_of(plan: Plan, approver: str) -> Decision | None:
    """Return what this person has decided about this plan, or None."""
    return next((one for one in plan.decisions if one.approver == approver), None)


def decide(plan: Plan, decision: Decision, *, eligible: bool) -> Plan:
    """Return the plan with one more decision; arms or ends it when the decision completes it.

    Args:
        plan: As just read; its approver has not decided before (rule 3 is the caller's).
        decision: The decision, at the time of deciding.
        eligible: Whether the tenant's policy lets this person approve this plan now.

    Raises:
        PlanClosedError: The plan is no longer waiting for decisions.
        ApprovalExpiredError: The deadline has passed.
        PlanChangedError: The card showed another digest.
        NotEligibleError: This person may not decide this plan.
    """
    if plan.state is not PlanState.AWAITING_APPROVAL:
        raise PlanClosedError(f"the plan no longer waits for decisions ({plan.state})")
    if decision.at >= plan.expires_at:
        raise ApprovalExpiredError("the deadline for deciding has passed")
    if decision.plan_digest != plan.digest:
        raise PlanChangedError("the card showed another version of the plan")
    if decision.approver not in deciders_of(plan) or not eligible:
        raise NotEligibleError("this person may not decide this plan")
    decided = replace(plan, decisions=(*plan.decisions, decision))
    if decision.verdict is Verdict.REJECT:
        return _moved(decided, PlanState.REJECTED, decision.at)
    if decision.verdict is Verdict.CORRECT:
        return _moved(decided, PlanState.SUPERSEDED, decision.at)
    if len(approvals_for(decided)) >= plan.quorum:
        return _moved(decided, PlanState.APPROVED, decision.at)
    return decided


def _remembered(link: ApprovalLink, now: datetime) -> int:
    at = link.last_wrong_at
    forgotten = at is None or now - at >= FORGOTTEN_AFTER
    return 0 if forgotten else link.wrong_confirmations


def _moved(plan: Plan, state: PlanState, at: datetime) -> Plan:
    return replace(plan, state=state, due_kind=DueKind.RESUME, due_at=at)
