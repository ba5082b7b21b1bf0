"""Resume Execution: answer parked task tokens from what the plan says (design 4, Waits).

The only code that resumes the state machine. It runs from the stream of plans and from the sweep;
running it twice, or too early, changes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from no_undo.domain.errors import StaleError
from no_undo.domain.ledger import LedgerEntry
from no_undo.domain.plan import CLOSED_UNSENT, MAY_BEGIN, DueKind, FollowUp, Plan, PlanState
from no_undo.domain.waiting import BEGIN_AGAIN, Wait, WaitKind, answer_for
from no_undo.ports import Change, Executions, Save, WaitStore
from no_undo.use_cases.gate import LONGEST_PAUSE, MAX_ROUNDS, Gate, event_of

ACTOR = "resume_execution"


def resume_execution(plan_id: str, gate: Gate, waits: WaitStore, executions: Executions) -> int:
    """Answer every wait of a plan that can be answered now.

    Args:
        plan_id: The plan; an unknown one is ignored, because a stream also tells of old news.
        gate: Store and settings.
        waits: Parked tokens.
        executions: The state machine.

    Returns:
        How many waits were answered.
    """
    now = gate.clock.now()
    plan = gate.store.plan(plan_id)
    if plan is None or plan.due_kind is not DueKind.RESUME or _later(plan, now):
        return 0
    entry = gate.store.entry(plan_id)
    begin_again = gate.may_begin_again(entry)
    answered = 0
    for kind in WaitKind:
        wait = waits.get(plan_id, kind)
        outcome = answer_for(kind, plan, may_begin_again=begin_again)
        if wait is not None and outcome is not None:
            _answer(plan, wait, outcome, gate, waits, executions)
            answered += 1
    gate.store.reschedule(schedule_after_resume(plan, entry, gate, now))
    return answered


def _answer(  # noqa: PLR0913, PLR0917 - what to answer, and the three ports it takes
    plan: Plan, wait: Wait, outcome: str, gate: Gate, waits: WaitStore, executions: Executions
) -> None:
    heard = executions.answer(wait.task_token, outcome)
    waits.delete(wait)
    gate.record(plan, "wait.answered", ACTOR, wait=wait.kind.value, outcome=outcome, heard=heard)


def schedule_after_resume(plan: Plan, entry: LedgerEntry | None, gate: Gate, now: datetime) -> Plan:
    """Return the plan with what the sweep has to look at once all waits are answered.

    A plan that was closed after an attempt is watched for a late effect.
    """
    kind: DueKind | None
    at: datetime | None
    if plan.state in CLOSED_UNSENT and entry is not None:
        kind, at = DueKind.SETTLE, now + LONGEST_PAUSE
    elif plan.state in CLOSED_UNSENT or plan.follow_up is not FollowUp.NONE:
        kind, at = None, None
    elif plan.state is PlanState.EXECUTED:
        kind, at = DueKind.FOLLOW_UP, now + gate.settings.poll_interval
    elif plan.state is PlanState.EXECUTING:
        kind, at = DueKind.SETTLE, now + gate.settings.poll_interval
    elif _held_by_pause(plan, gate):
        kind, at = DueKind.RESUME, now + gate.settings.poll_interval
    else:
        kind, at = DueKind.EXPIRE, plan.expires_at
    return replace(plan, due_kind=kind, due_at=at)


def _held_by_pause(plan: Plan, gate: Gate) -> bool:
    """Whether only the operator's pause keeps the plan from its call: then look again soon."""
    return plan.state in MAY_BEGIN and gate.paused()


def _later(plan: Plan, now: datetime) -> bool:
    return plan.due_at is not None and plan.due_at > now


def park(wait: Wait, gate: Gate, waits: WaitStore, actor: str) -> None:
    """Store a token, then look whether it can be answered already; if so make the plan due.

    "Begin again" is answered only after the poll interval, so that a send refused for a passing
    reason is not repeated in a tight loop.

    Args:
        wait: The wait to store.
        gate: Store and settings.
        waits: Parked tokens.
        actor: Which wait function.

    Raises:
        StaleError: The plan kept changing; the state machine repeats the wait.
    """
    waits.put(wait)
    for _ in range(MAX_ROUNDS):
        plan = gate.store.plan(wait.plan_id)
        if plan is None:
            return
        now = gate.clock.now()
        event = event_of(plan, "wait.stored", actor, now, wait=wait.kind.value)
        try:
            gate.store.commit(Change(plan.request_id, event, _due_now(plan, wait, gate, now)))
        except StaleError:
            continue
        return
    raise StaleError("the plan kept changing while its wait was being stored")


def _due_now(plan: Plan, wait: Wait, gate: Gate, now: datetime) -> tuple[Save, ...]:
    begin_again = gate.may_begin_again(gate.store.entry(plan.plan_id))
    outcome = answer_for(wait.kind, plan, may_begin_again=begin_again)
    if outcome is None and not _held_by_pause(plan, gate):
        return ()
    delay = gate.settings.poll_interval if outcome in (BEGIN_AGAIN, None) else timedelta(0)
    return (Save(replace(plan, due_kind=DueKind.RESUME, due_at=now + delay)),)
