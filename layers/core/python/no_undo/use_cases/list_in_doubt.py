"""List In Doubt: plans whose outcome is not known, or that wait for an operator (P4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from no_undo.domain.ledger import LedgerEntry, Pause
from no_undo.domain.plan import Plan, PlanState
from no_undo.ports import Clock, StateStore

LIMIT = 1_000
_FAR = timedelta(days=400)
"""Beyond every deadline (at most 300 days): a plan in doubt always has something due."""
_OPEN = frozenset({PlanState.EXECUTING, PlanState.RELEASED})
_LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class DoubtView:
    """One plan in doubt or waiting, as an operator may see it; no values.

    Attributes:
        plan_id: Its id.
        state: EXECUTING (in doubt or under way), RELEASED (not done; may begin again), or, while
            begins are paused, APPROVED (would begin).
        attempts: How often the call was begun.
        began_at: When the newest attempt began, UTC; None before the first.
        lease_expires_at: Until when its sender may still be calling, UTC; None before the first.
        refused: Whether the vendor refused it, so that a person decides.
        last_evidence: What was learned last, in our words.
    """

    plan_id: str
    state: PlanState
    attempts: int
    began_at: datetime | None
    lease_expires_at: datetime | None
    refused: bool
    last_evidence: str


@dataclass(frozen=True, slots=True)
class Doubts:
    """What needs an operator's eye.

    Attributes:
        plans: The longest in doubt first, those without an attempt last.
        pause: The stop of all begins, None when there is none.
        complete: False when more plans were due than are looked at.
    """

    plans: tuple[DoubtView, ...]
    pause: Pause | None
    complete: bool


def list_in_doubt(store: StateStore, clock: Clock) -> Doubts:
    """Return what is in doubt, released or paused; at most 1,000 due plans are looked at."""
    due = store.due_plans(clock.now() + _FAR, limit=LIMIT)
    pause = store.pause()
    paused = pause is not None and pause.paused
    states = _OPEN | {PlanState.APPROVED} if paused else _OPEN
    plans = sorted(_views(due, store, states), key=lambda one: one.began_at or _LAST)
    return Doubts(tuple(plans), pause if paused else None, complete=len(due) < LIMIT)


def _views(
    plan_ids: tuple[str, ...], store: StateStore, states: frozenset[PlanState]
) -> Iterator[DoubtView]:
    for plan_id in dict.fromkeys(plan_ids):
        plan = store.plan(plan_id)
        if plan is not None and plan.state in states:
            yield _view(plan, store.entry(plan_id))


def _view(plan: Plan, entry: LedgerEntry | None) -> DoubtView:
    attempt = None if entry is None else entry.attempt
    last = entry.evidence[-1] if entry is not None and entry.evidence else None
    return DoubtView(
        plan_id=plan.plan_id,
        state=plan.state,
        attempts=0 if entry is None else len(entry.attempts),
        began_at=None if attempt is None else attempt.began_at,
        lease_expires_at=None if attempt is None else attempt.lease_expires_at,
        refused=entry is not None and entry.refused,
        last_evidence="" if last is None else f"{last.source}: {last.says}",
    )


def oldest_doubt(store: StateStore, clock: Clock) -> timedelta:
    """Return how long the oldest attempt in doubt has been open; zero when none is."""
    now = clock.now()
    ages = (
        now - one.began_at
        for one in list_in_doubt(store, clock).plans
        if one.state is PlanState.EXECUTING and one.began_at is not None
    )
    return max(ages, default=timedelta(0))
