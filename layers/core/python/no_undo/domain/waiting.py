"""Waits: which parked task token is answered when, and with what.

Rules:
1. A wait stores its token first, then looks whether it can be answered already.
2. The answer follows from the plan alone; a token is answered at most once, and a lost answer is
   given again by the sweep.
3. The newest token of a wait wins: an older one belongs to an execution that is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from no_undo.domain.plan import CLOSED_UNSENT, MAY_BEGIN, FollowUp, Plan, PlanState


class WaitKind(StrEnum):
    """What a parked execution waits for."""

    APPROVAL = "approval"
    SETTLEMENT = "settlement"
    SIGNATURE = "signature"


@dataclass(frozen=True, slots=True)
class Wait:
    """One parked task token; only `resume_execution` may read it (P10).

    Attributes:
        plan_id: The plan waited for.
        kind: What for.
        task_token: The Step Functions callback token.
        stored_at: UTC.
    """

    plan_id: str
    kind: WaitKind
    task_token: str
    stored_at: datetime


BEGIN_AGAIN = "begin_again"
"""Outcome of a settlement wait whose plan may go back to Send Envelope."""

_CLOSED_OUTCOME = {
    PlanState.REJECTED: "rejected",
    PlanState.EXPIRED: "expired",
    PlanState.WITHDRAWN: "withdrawn",
    PlanState.SUPERSEDED: "superseded",
    PlanState.ABANDONED: "abandoned",
}


def answer_for(kind: WaitKind, plan: Plan, *, may_begin_again: bool) -> str | None:
    """Return the outcome that answers a wait now, or None while it has to go on waiting.

    Args:
        kind: The wait.
        plan: As just read.
        may_begin_again: For a settlement wait: whether an APPROVED or RELEASED plan may go back to
            Send Envelope by itself (not while paused, refused, exhausted, or left to a person).
    """
    if plan.state in CLOSED_UNSENT:
        return _CLOSED_OUTCOME[plan.state]
    match kind:
        case WaitKind.APPROVAL:
            return None if plan.state is PlanState.AWAITING_APPROVAL else "approved"
        case WaitKind.SETTLEMENT:
            return _settlement(plan, may_begin_again=may_begin_again)
        case WaitKind.SIGNATURE:
            return None if plan.follow_up is FollowUp.NONE else plan.follow_up.value.lower()


def _settlement(plan: Plan, *, may_begin_again: bool) -> str | None:
    if plan.state is PlanState.EXECUTED:
        return "executed"
    if plan.state in MAY_BEGIN and may_begin_again:
        return BEGIN_AGAIN
    return None
