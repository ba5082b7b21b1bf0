"""Reconcile Sends: the sweep (design 8.6, P11).

It looks at what is due and at nothing else. Every write carries the revision that was read, so
sweeps may overlap each other and everything else. One plan that cannot be handled does not stop
the others.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from no_undo.domain.audit_chain import AuditEvent
from no_undo.domain.errors import NoUndoError, StaleError
from no_undo.domain.ledger import (
    Evidence,
    LedgerEntry,
    Transition,
    close_unsent,
    confirm,
    release,
    with_evidence,
)
from no_undo.domain.plan import DueKind, FollowUp, Plan, PlanState
from no_undo.domain.reconciliation import (
    LookUp,
    LookUpAnswer,
    Settlement,
    may_ask,
    note_not_done,
    settle,
)
from no_undo.domain.request import ENDED, execution_name
from no_undo.ports import Change, Executions, IrreversibleAction, Resumer, Save
from no_undo.use_cases.gate import Gate, ask_to_resume, event_of, saves

logger = logging.getLogger(__name__)

ACTOR = "reconcile_sends"
BATCH = 100
"""How many due plans and open requests one sweep looks at."""
LONGEST_PAUSE = timedelta(minutes=15)
"""Longest pause between two looks at one plan."""

MOST_DOUBLINGS = 8
"""With checks every five minutes, a request that keeps failing is tried again once a day."""

_EXPIRABLE = (PlanState.AWAITING_APPROVAL, PlanState.APPROVED, PlanState.RELEASED)


def reconcile_sends(
    gate: Gate, action: IrreversibleAction, resumer: Resumer, executions: Executions
) -> dict[str, int]:
    """Look once at everything that is due.

    Args:
        gate: Store, clock and settings.
        action: Whom to ask what has happened.
        resumer: Asks for waits to be answered.
        executions: The state machine, to see whether an open request is driven.

    Returns:
        Counts by what was done, for metrics: `confirmed`, `released`, `noted_not_done`, `waiting`,
        `expired`, `resumed`, `followed_up`, `restarted`, `driven`, `moved` (somebody else was
        faster), `failed`.
    """
    counts: Counter[str] = Counter()
    now = gate.clock.now()
    for plan_id in gate.store.due_plans(now, limit=BATCH):
        counts.update(_guarded(plan_id, lambda one: look_at_plan(one, gate, action, resumer)))
    for request_id in gate.store.open_requests(now, limit=BATCH):
        counts.update(_guarded(request_id, lambda one: look_at_driver(one, gate, executions)))
    return dict(counts)


def _guarded(key: str, look: Callable[[str], str]) -> Iterator[str]:
    try:
        done = look(key)
    except StaleError:
        done = "moved"
    except NoUndoError as error:
        logger.exception("a sweep could not handle one item", extra={"id": key, "code": error.code})
        done = "failed"
    if done:
        yield done


def look_at_plan(plan_id: str, gate: Gate, action: IrreversibleAction, resumer: Resumer) -> str:
    """Do what is due for one plan; return what was done, empty when nothing was due any more."""
    plan = gate.store.plan(plan_id)
    now = gate.clock.now()
    if plan is None or plan.due_kind is None or plan.due_at is None or plan.due_at > now:
        return ""
    if plan.state in _EXPIRABLE and now >= plan.expires_at:
        return _expire(plan, gate, action, resumer)
    match plan.due_kind:
        case DueKind.RESUME:
            ask_to_resume(resumer, plan_id)
            return "resumed"
        case DueKind.SETTLE:
            return _settle(plan, gate, action, resumer)
        case DueKind.FOLLOW_UP:
            return _follow_up(plan, gate, action, resumer)
        case DueKind.EXPIRE:
            gate.store.reschedule(replace(plan, due_at=plan.expires_at))
            return ""


def _expire(plan: Plan, gate: Gate, action: IrreversibleAction, resumer: Resumer) -> str:
    entry = gate.store.entry(plan.plan_id)
    if entry is not None:  # released: the last moment at which a late success is still told apart
        answer = _ask(plan, action)
        if answer.says is LookUp.DONE:
            return _confirm(plan, entry, answer, gate, resumer)
    now = gate.clock.now()
    closed = close_unsent(plan, PlanState.EXPIRED, now)
    event = event_of(plan, "plan.expired", ACTOR, now)
    gate.store.commit(Change(plan.request_id, event, (Save(closed),)))
    ask_to_resume(resumer, plan.plan_id)
    return "expired"


def _settle(plan: Plan, gate: Gate, action: IrreversibleAction, resumer: Resumer) -> str:
    entry = gate.store.entry(plan.plan_id)
    now = gate.clock.now()
    if entry is None or not may_ask(entry, now):
        lease = now if entry is None else entry.attempt.lease_expires_at
        gate.store.reschedule(replace(plan, due_at=max(lease, now + gate.settings.poll_interval)))
        return "waiting"
    answer = _ask(plan, action)
    # Judged by when it was asked: an answer that took long may be as old as its question.
    match settle(entry, answer, now, gate.settings.settle_time):
        case Settlement.CONFIRM:
            return _confirm(plan, entry, answer, gate, resumer)
        case Settlement.RELEASE:
            return _release(plan, entry, answer, gate, resumer)
        case Settlement.NOTE_NOT_DONE:
            return _note(plan, entry, answer, gate)
        case Settlement.WAIT:
            later = _next_look(entry, gate, gate.clock.now())
            gate.store.reschedule(replace(plan, due_at=later))
            return "waiting"


def _ask(plan: Plan, action: IrreversibleAction) -> LookUpAnswer:
    try:
        return action.look_up(plan)
    except NoUndoError as error:
        logger.warning("the system of record gave no answer", extra={"code": error.code})
        return LookUpAnswer(LookUp.UNKNOWN, error.code)


def _confirm(
    plan: Plan, entry: LedgerEntry, answer: LookUpAnswer, gate: Gate, resumer: Resumer
) -> str:
    now = gate.clock.now()
    fence = gate.store.fence(plan.fence_key)
    done = confirm(plan, entry, fence, Evidence(now, "system of record", answer.because))
    _commit(done, "plan.executed", answer, gate)
    ask_to_resume(resumer, plan.plan_id)
    return "confirmed"


def _release(
    plan: Plan, entry: LedgerEntry, answer: LookUpAnswer, gate: Gate, resumer: Resumer
) -> str:
    now = gate.clock.now()
    fence = gate.store.fence(plan.fence_key)
    freed = release(plan, entry, fence, Evidence(now, "system of record", answer.because))
    _commit(freed, "plan.released", answer, gate)
    ask_to_resume(resumer, plan.plan_id)
    return "released"


def _commit(rows: Transition, kind: str, answer: LookUpAnswer, gate: Gate) -> None:
    event = event_of(
        rows.plan,
        kind,
        ACTOR,
        gate.clock.now(),
        attempt=rows.entry.attempt.attempt_id,
        because=answer.because,
    )
    gate.store.commit(Change(rows.plan.request_id, event, saves(rows)))


def _note(plan: Plan, entry: LedgerEntry, answer: LookUpAnswer, gate: Gate) -> str:
    now = gate.clock.now()
    noted = note_not_done(
        with_evidence(entry, Evidence(now, "system of record", answer.because)), now
    )
    later = replace(plan, due_kind=DueKind.SETTLE, due_at=now + gate.settings.settle_time)
    event = event_of(plan, "plan.not_done_noted", ACTOR, now, attempt=entry.attempt.attempt_id)
    gate.store.commit(Change(plan.request_id, event, (Save(later), Save(noted))))
    return "noted_not_done"


def _next_look(entry: LedgerEntry, gate: Gate, now: datetime) -> datetime:
    """Look again after a tenth of the attempt's age: soon at first, politely later."""
    if entry.first_draft_at is not None:
        second = entry.first_draft_at + gate.settings.settle_time
        if second > now:
            return second
    pause = max(gate.settings.poll_interval, (now - entry.attempt.began_at) / 10)
    return now + min(pause, max(LONGEST_PAUSE, gate.settings.poll_interval))


def _follow_up(plan: Plan, gate: Gate, action: IrreversibleAction, resumer: Resumer) -> str:
    became = _became(plan, action)
    now = gate.clock.now()
    if became is FollowUp.NONE:
        gate.store.reschedule(replace(plan, due_at=_next_follow_up(plan, gate, now)))
        return "waiting"
    event = event_of(plan, "plan.followed_up", ACTOR, now, became=became.value)
    known = replace(plan, follow_up=became, due_kind=DueKind.RESUME, due_at=now)
    gate.store.commit(Change(plan.request_id, event, (Save(known),)))
    ask_to_resume(resumer, plan.plan_id)
    return "followed_up"


def _became(plan: Plan, action: IrreversibleAction) -> FollowUp:
    """Ask what became of a sent plan; no answer is none, so that an outage is polled politely."""
    try:
        return action.follow_up(plan)
    except NoUndoError as error:
        logger.warning("the system of record gave no answer", extra={"code": error.code})
        return FollowUp.NONE


def _next_follow_up(plan: Plan, gate: Gate, now: datetime) -> datetime:
    pause = max(gate.settings.poll_interval, (now - plan.created_at) / 100)
    return now + min(pause, max(LONGEST_PAUSE, gate.settings.poll_interval))


def look_at_driver(request_id: str, gate: Gate, executions: Executions) -> str:
    """Start a recovery execution for an open request that nothing drives (design 4).

    Each recovery doubles the time to the next look, so that a request which fails the same way
    again and again is neither given up nor hammered.
    """
    request = gate.store.request(request_id)
    now = gate.clock.now()
    if request is None or request.check_at is None or request.check_at > now:
        return ""
    if request.state in ENDED:
        gate.store.reschedule(replace(request, check_at=None))
        return ""
    pause = gate.settings.driver_interval * 2 ** min(request.executions, MOST_DOUBLINGS)
    later = replace(request, check_at=now + pause)
    if executions.is_running(execution_name(request_id, request.executions)):
        gate.store.reschedule(later)
        return "driven"
    again = replace(later, executions=request.executions + 1)
    name = execution_name(request_id, again.executions)
    event = AuditEvent(kind="execution.restarted", actor=ACTOR, at=now, details={"execution": name})
    gate.store.commit(Change(request_id, event, (Save(again),)))
    executions.start(name, request_id)
    return "restarted"
