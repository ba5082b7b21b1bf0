"""Reconcile Sends: the sweep (design 8.6, P11).

It looks at what is due and at nothing else. Every write carries the revision that was read, so
sweeps may overlap each other and everything else. One item that cannot be handled does not stop
the others, and a vendor that hangs stops neither the restarts nor the sweep itself.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from no_undo.domain.errors import NoUndoError, StaleError, TransientError
from no_undo.domain.ledger import (
    Evidence,
    LedgerEntry,
    Transition,
    close_unsent,
    confirm,
    release,
    with_evidence,
)
from no_undo.domain.plan import CLOSED_UNSENT, MAY_BEGIN, DueKind, FollowUp, Plan, PlanState
from no_undo.domain.reconciliation import (
    LookUp,
    LookUpAnswer,
    Settlement,
    may_ask,
    note_not_done,
    settle,
)
from no_undo.domain.request import ENDED, ENDED_UNSENT, RequestState, Stage, execution_name
from no_undo.ports import Change, Executions, IrreversibleAction, Resumer, Save
from no_undo.use_cases.gate import LONGEST_PAUSE, Gate, ask_to_resume, event_of, saves
from no_undo.use_cases.resume_request import restart
from no_undo.use_cases.watch_drafts import REQUESTS_PER_SWEEP, look_at_drafts, put_off_drafts

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

ACTOR = "reconcile_sends"
BATCH = 100
"""How many due plans and open requests one sweep looks at."""
LATE_PAUSE = timedelta(days=1)
"""Longest pause between two looks for a late effect of a plan that is closed."""
LATE_WATCH = timedelta(days=30)
"""How long after its last attempt a closed plan is looked at for a late effect."""
SILENT_AFTER = 3
"""Unanswered questions in a row after which one sweep asks the system of record no more."""

MOST_DOUBLINGS = 8
"""With checks every five minutes, a request that keeps failing is tried again once a day."""

_EXPIRABLE = MAY_BEGIN | {PlanState.AWAITING_APPROVAL}


class _Asked:
    """The system of record, asked until it stays silent: one outage is not met plan by plan."""

    def __init__(self, action: IrreversibleAction) -> None:
        self._action = action
        self._unanswered = 0

    def look_up(self, plan: Plan) -> LookUpAnswer:
        """Ask whether the effect has happened; no answer is UNKNOWN."""
        answer = self._ask(lambda: self._action.look_up(plan))
        return answer or LookUpAnswer(LookUp.UNKNOWN, "no answer")

    def look_up_abandoned(self, target: str) -> LookUpAnswer:
        """Ask whether what was given up took effect nevertheless; no answer is UNKNOWN."""
        answer = self._ask(lambda: self._action.look_up_abandoned(target))
        return answer or LookUpAnswer(LookUp.UNKNOWN, "no answer")

    def follow_up(self, plan: Plan) -> FollowUp:
        """Ask what became of a sent plan; no answer is NONE."""
        return self._ask(lambda: self._action.follow_up(plan)) or FollowUp.NONE

    def _ask(self, question: Callable[[], Answer]) -> Answer | None:
        if self._unanswered >= SILENT_AFTER:
            return None
        try:
            answer = question()
        except NoUndoError as error:
            self._unanswered += 1
            logger.warning("the system of record gave no answer", extra={"code": error.code})
            return None
        self._unanswered = 0
        return answer


@dataclass(frozen=True, slots=True)
class _Sweep:
    """What one look at a plan works with."""

    gate: Gate
    asked: _Asked
    resumer: Resumer


def reconcile_sends(
    gate: Gate,
    action: IrreversibleAction,
    resumer: Resumer,
    executions: Executions,
    remaining_seconds: Callable[[], float],
) -> dict[str, int]:
    """Look once at everything that is due, as far as the time allows.

    Args:
        gate: Store, clock and settings.
        action: Whom to ask what has happened.
        resumer: Asks for waits to be answered.
        executions: The state machine, to see whether an open request is driven.
        remaining_seconds: Time this invocation has left.

    Returns:
        Counts by what was done, for metrics: `confirmed`, `released`, `noted_not_done`, `waiting`,
        `expired`, `resumed`, `followed_up`, `reopened`, `restarted`, `driven`,
        `draft_checked`, `draft_sent`, `moved` (somebody else was faster), `failed`, `left` (no
        time; the next sweep starts with them).
    """
    counts: Counter[str] = Counter()
    now = gate.clock.now()
    sweep = _Sweep(gate, _Asked(action), resumer)
    # Requests first: their looks ask nobody outside, so a vendor that hangs cannot starve them.
    looks = [
        *(
            (
                one,
                partial(look_at_driver, one, gate, executions),
                partial(_put_off_request, one, gate),
            )
            for one in gate.store.open_requests(now, limit=BATCH)
        ),
        *(
            (one, partial(look_at_plan, one, sweep), partial(_put_off_plan, one, gate))
            for one in gate.store.due_plans(now, limit=BATCH)
        ),
        *(
            (
                one,
                partial(look_at_drafts, one, gate, sweep.asked.look_up_abandoned),
                partial(put_off_drafts, one, gate),
            )
            for one in gate.store.due_drafts(now, limit=REQUESTS_PER_SWEEP)
        ),
    ]
    for number, (key, look, put_off) in enumerate(looks):
        if remaining_seconds() < gate.settings.look_budget.total_seconds():
            counts["left"] = len(looks) - number
            break
        done = _guarded(key, look, put_off)
        if done:
            counts[done] += 1
    return dict(counts)


def _guarded(key: str, look: Callable[[], str], put_off: Callable[[], None]) -> str:
    """Look at one item; whatever is wrong with it must not keep the sweep from the others."""
    try:
        return look()
    except StaleError:
        return "moved"
    except TransientError as error:
        logger.warning("an item is looked at again", extra={"id": key, "code": error.code})
        return "failed"
    except Exception as error:  # noqa: BLE001 - a row of any shape, or a bug: the others go on
        _log_failed(key, error)
    try:
        put_off()  # or it would stand at the head of every sweep
    except Exception as error:  # noqa: BLE001 - as above
        _log_failed(key, error)
    return "failed"


def _log_failed(key: str, error: Exception) -> None:
    # The class and no text: the text of a foreign error may quote a row (P10).
    code = error.code if isinstance(error, NoUndoError) else type(error).__name__
    logger.error("a sweep could not handle one item", extra={"id": key, "code": code})


def _put_off_plan(plan_id: str, gate: Gate) -> None:
    plan = gate.store.plan(plan_id)
    if plan is not None:
        gate.store.reschedule(replace(plan, due_at=gate.clock.now() + LONGEST_PAUSE))


def _put_off_request(request_id: str, gate: Gate) -> None:
    request = gate.store.request(request_id)
    if request is not None:
        gate.store.reschedule(replace(request, check_at=gate.clock.now() + LONGEST_PAUSE))


def look_at_plan(plan_id: str, sweep: _Sweep) -> str:
    """Do what is due for one plan; return what was done, empty when nothing was due any more."""
    gate = sweep.gate
    plan = gate.store.plan(plan_id)
    now = gate.clock.now()
    if plan is None or plan.due_kind is None or plan.due_at is None or plan.due_at > now:
        return ""
    if plan.state in _EXPIRABLE and now >= plan.expires_at:
        return _expire(plan, sweep)
    match plan.due_kind:
        case DueKind.RESUME:
            ask_to_resume(sweep.resumer, plan_id)
            return "resumed"
        case DueKind.SETTLE:
            closed = plan.state in CLOSED_UNSENT
            return _watch(plan, sweep) if closed else _settle(plan, sweep)
        case DueKind.FOLLOW_UP:
            return _follow_up(plan, sweep)
        case DueKind.EXPIRE:
            gate.store.reschedule(replace(plan, due_at=plan.expires_at))
            return ""


def _expire(plan: Plan, sweep: _Sweep) -> str:
    gate = sweep.gate
    entry = gate.store.entry(plan.plan_id)
    if entry is not None:  # released: the last moment at which a late success is still told apart
        answer = sweep.asked.look_up(plan)
        if answer.says is LookUp.DONE:
            return _confirm(plan, entry, answer, sweep)
        if answer.says is LookUp.UNKNOWN:  # it can begin no more, and "unsent" would be a guess
            gate.store.reschedule(replace(plan, due_at=_next_look(entry, gate, gate.clock.now())))
            return "waiting"
    now = gate.clock.now()
    closed = close_unsent(plan, PlanState.EXPIRED, now)
    event = event_of(plan, "plan.expired", ACTOR, now)
    gate.store.commit(Change(plan.request_id, event, (Save(closed),)))
    ask_to_resume(sweep.resumer, plan.plan_id)
    return "expired"


def _watch(plan: Plan, sweep: _Sweep) -> str:
    """Look for a late effect of a plan that was closed after an attempt (design 8.9)."""
    gate = sweep.gate
    entry = gate.store.entry(plan.plan_id)
    now = gate.clock.now()
    if entry is None or now - entry.attempt.began_at > LATE_WATCH:
        gate.store.reschedule(replace(plan, due_kind=None, due_at=None))
        return ""
    answer = sweep.asked.look_up(plan)
    if answer.says is LookUp.DONE:
        return _confirm(plan, entry, answer, sweep)
    pause = max(LONGEST_PAUSE, (now - entry.attempt.began_at) / 10)
    gate.store.reschedule(replace(plan, due_at=now + min(pause, LATE_PAUSE)))
    return "waiting"


def _settle(plan: Plan, sweep: _Sweep) -> str:
    gate = sweep.gate
    entry = gate.store.entry(plan.plan_id)
    now = gate.clock.now()
    if entry is None or not may_ask(entry, now):
        lease = now if entry is None else entry.attempt.lease_expires_at
        gate.store.reschedule(replace(plan, due_at=max(lease, now + gate.settings.poll_interval)))
        return "waiting"
    answer = sweep.asked.look_up(plan)
    # Judged by when it was asked: an answer that took long may be as old as its question.
    match settle(entry, answer, now, gate.settings.settle_time):
        case Settlement.CONFIRM:
            return _confirm(plan, entry, answer, sweep)
        case Settlement.RELEASE:
            return _release(plan, entry, answer, sweep)
        case Settlement.NOTE_NOT_DONE:
            return _note(plan, entry, answer, gate)
        case Settlement.WAIT:
            later = _next_look(entry, gate, gate.clock.now())
            gate.store.reschedule(replace(plan, due_at=later))
            return "waiting"


def _confirm(plan: Plan, entry: LedgerEntry, answer: LookUpAnswer, sweep: _Sweep) -> str:
    gate = sweep.gate
    now = gate.clock.now()
    fence = gate.store.fence(plan.fence_key)
    done = confirm(plan, entry, fence, Evidence(now, "system of record", answer.because))
    _commit(done, "plan.executed", answer, gate)
    ask_to_resume(sweep.resumer, plan.plan_id)
    return "confirmed"


def _release(plan: Plan, entry: LedgerEntry, answer: LookUpAnswer, sweep: _Sweep) -> str:
    gate = sweep.gate
    now = gate.clock.now()
    fence = gate.store.fence(plan.fence_key)
    freed = release(plan, entry, fence, Evidence(now, "system of record", answer.because))
    _commit(freed, "plan.released", answer, gate)
    ask_to_resume(sweep.resumer, plan.plan_id)
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


def _follow_up(plan: Plan, sweep: _Sweep) -> str:
    gate = sweep.gate
    if _reopen(plan, gate):
        return "reopened"
    became = sweep.asked.follow_up(plan)
    now = gate.clock.now()
    if became is FollowUp.NONE:
        gate.store.reschedule(replace(plan, due_at=_next_follow_up(plan, gate, now)))
        return "waiting"
    event = event_of(plan, "plan.followed_up", ACTOR, now, became=became.value)
    known = replace(plan, follow_up=became, due_kind=DueKind.RESUME, due_at=now)
    gate.store.commit(Change(plan.request_id, event, (Save(known),)))
    ask_to_resume(sweep.resumer, plan.plan_id)
    return "followed_up"


def _reopen(plan: Plan, gate: Gate) -> bool:
    """Open a request again that ended as unsent before its plan's late success was seen.

    After the effect has happened no ending is called failed (design 4): the request is followed to
    its signature by a recovery execution.
    """
    request = gate.store.request(plan.request_id)
    if request is None or request.state not in ENDED_UNSENT:
        return False
    now = gate.clock.now()
    opened = replace(
        request,
        state=RequestState.SENT_UNSIGNED,
        stage=Stage.APPROVE,
        withdrawn=False,
        ending=None,
        abandoned_drafts=tuple(one for one in request.abandoned_drafts if one != plan.target),
        check_at=now,
    )
    event = event_of(plan, "request.reopened", ACTOR, now, ended=request.state.value)
    gate.store.commit(Change(request.request_id, event, (Save(opened),)))
    return True


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
    restart(later, gate, executions, ACTOR)
    return "restarted"
