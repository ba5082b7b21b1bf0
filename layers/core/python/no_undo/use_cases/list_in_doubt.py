"""List In Doubt: plans whose outcome is not known, or that wait for an operator (P4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from no_undo.domain.ledger import LedgerEntry, LedgerState, Pause
from no_undo.domain.plan import IN_DOUBT, Plan, PlanState
from no_undo.ports import Clock, StateStore
from no_undo.use_cases.gate import Gate

LIMIT = 1_000
_FAR = timedelta(days=400)
"""Beyond every deadline (at most 300 days): an approved plan always has something due."""
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
    """Return what is in doubt, released or paused; at most 1,000 plans of each are looked at."""
    found = store.plans_in_doubt(limit=LIMIT)
    complete = len(found) < LIMIT
    states = IN_DOUBT
    pause = store.pause()
    if pause is not None and pause.paused:
        due = store.due_plans(clock.now() + _FAR, limit=LIMIT)
        found, complete = (*found, *due), complete and len(due) < LIMIT
        states |= {PlanState.APPROVED}
    plans = sorted(_views(found, store, states), key=lambda one: one.began_at or _LAST)
    return Doubts(tuple(plans), pause if pause and pause.paused else None, complete)


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


@dataclass(frozen=True, slots=True)
class Waiting:
    """What the alarms look at.

    Attributes:
        oldest_doubt: How long the oldest attempt in doubt has been open; zero when none is.
        on_operator: How many released plans begin again only when an operator says so.
        paused: Whether begins are paused.
    """

    oldest_doubt: timedelta
    on_operator: int
    paused: bool


def waiting(gate: Gate) -> Waiting:
    """Return how long and for whom plans wait; at most 1,000 plans are looked at."""
    now = gate.clock.now()
    ages = [timedelta(0)]
    on_operator = 0
    for plan_id in gate.store.plans_in_doubt(limit=LIMIT):
        entry = gate.store.entry(plan_id)
        if entry is None:
            continue
        if entry.state is LedgerState.EXECUTING:
            ages.append(now - entry.attempt.began_at)
        elif entry.state is LedgerState.RELEASED and not gate.may_begin_again(entry):
            on_operator += 1
    return Waiting(max(ages), on_operator, gate.paused())
