"""List In Doubt: plans whose outcome is not known, or that wait for an operator (P4)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from no_undo.domain.ledger import LedgerEntry
from no_undo.domain.plan import Plan, PlanState
from no_undo.ports import Clock, StateStore

LIMIT = 1_000
_FAR = timedelta(days=400)
"""Beyond every deadline (at most 300 days): a plan in doubt always has something due."""


@dataclass(frozen=True, slots=True)
class DoubtView:
    """One plan in doubt, as an operator may see it; no values.

    Attributes:
        plan_id: Its id.
        state: EXECUTING (in doubt or under way) or RELEASED (not done; may begin again).
        attempts: How often the call was begun.
        began_at: When the newest attempt began, UTC.
        lease_expires_at: Until when its sender may still be calling, UTC.
        refused: Whether the vendor refused it, so that a person decides.
        last_evidence: What was learned last, in our words.
    """

    plan_id: str
    state: PlanState
    attempts: int
    began_at: datetime
    lease_expires_at: datetime
    refused: bool
    last_evidence: str


def list_in_doubt(store: StateStore, clock: Clock) -> tuple[DoubtView, ...]:
    """Return what is in doubt or released, the longest first; at most 1,000 due plans are read."""
    found: list[DoubtView] = []
    for plan_id in store.due_plans(clock.now() + _FAR, limit=LIMIT):
        plan, entry = store.plan(plan_id), store.entry(plan_id)
        if plan is None or entry is None:
            continue
        if plan.state in (PlanState.EXECUTING, PlanState.RELEASED):
            found.append(_view(plan, entry))
    return tuple(sorted(found, key=lambda one: one.began_at))


def _view(plan: Plan, entry: LedgerEntry) -> DoubtView:
    last = entry.evidence[-1] if entry.evidence else None
    return DoubtView(
        plan_id=plan.plan_id,
        state=plan.state,
        attempts=len(entry.attempts),
        began_at=entry.attempt.began_at,
        lease_expires_at=entry.attempt.lease_expires_at,
        refused=entry.refused,
        last_evidence="" if last is None else f"{last.source}: {last.says}",
    )


def oldest_doubt(store: StateStore, clock: Clock) -> timedelta:
    """Return how long the oldest attempt in doubt has been open; zero when none is."""
    now = clock.now()
    ages = (
        now - one.began_at
        for one in list_in_doubt(store, clock)
        if one.state is PlanState.EXECUTING
    )
    return max(ages, default=timedelta(0))
