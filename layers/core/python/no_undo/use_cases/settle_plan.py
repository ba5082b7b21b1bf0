"""Settle Plan: what only an operator may do, each with a reason and audited (design 8.10)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from no_undo.domain.audit_chain import AuditEvent
from no_undo.domain.errors import (
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    NoUndoError,
    StaleError,
)
from no_undo.domain.fence import free
from no_undo.domain.ledger import (
    Evidence,
    Holdings,
    LedgerEntry,
    LedgerState,
    Pause,
    close_unsent,
    confirm,
    release,
    with_evidence,
)
from no_undo.domain.plan import CLOSED_UNSENT, DueKind, Plan, PlanState
from no_undo.domain.reconciliation import LookUp
from no_undo.ports import Change, IrreversibleAction, Resumer, Save
from no_undo.use_cases.gate import MAX_ROUNDS, Gate, ask_to_resume, event_of, saves

OPERATIONS_CHAIN = "#operations"
"""Audit chain of operator actions that concern no single request."""
MAX_WORDS = 2_000


class Outcome(StrEnum):
    """What an operator found out about an open attempt."""

    DONE = "done"
    NOT_DONE = "not-done"


@dataclass(frozen=True, slots=True)
class Statement:
    """An operator's words, kept in clear in the audit.

    Attributes:
        actor: Identity from the authorizer.
        reason: Why, 1 to 2,000 characters.
        evidence: What it rests on, up to 2,000 characters.
    """

    actor: str
    reason: str
    evidence: str = ""

    def __post_init__(self) -> None:
        """Refuse an empty or oversized statement at the door."""
        if not self.reason.strip() or len(self.reason) > MAX_WORDS:
            raise InvalidRequestError("give a reason of 1 to 2,000 characters", field="reason")
        if len(self.evidence) > MAX_WORDS:
            raise InvalidRequestError("evidence has at most 2,000 characters", field="evidence")


def settle_plan(  # noqa: PLR0913, PLR0917 - what was decided, and the three ports it takes
    plan_id: str,
    outcome: Outcome,
    statement: Statement,
    gate: Gate,
    action: IrreversibleAction,
    resumer: Resumer,
) -> PlanState:
    """Settle what the system of record cannot: an attempt in doubt, or a plan that may not go on.

    "Done" confirms the effect. "Not done" ends the plan as ABANDONED and frees its fence: the same
    document may then be submitted again. A plan that was closed after an attempt still holds its
    fence and is settled the same way; it keeps the state in which it was closed. Where the system
    of record says that it was done, nobody's word makes it "not done".

    Raises:
        NotFoundError: There is no such plan.
        ConflictError: No attempt was made, it is settled already, its lease is not over, or the
            system of record contradicts "not done".
        InvalidRequestError: Evidence is missing.
    """
    if not statement.evidence.strip():
        raise InvalidRequestError("say what the outcome rests on", field="evidence")
    for _ in range(MAX_ROUNDS):
        found = gate.holdings(plan_id)
        if found is None:
            raise NotFoundError("there is no such plan; check the plan id", field="plan_id")
        change, state = _settled(found, outcome, statement, gate)
        if outcome is Outcome.NOT_DONE and _seen_done(found.plan, action):
            raise ConflictError("the system of record says that it was done; settle it as done")
        try:
            gate.store.commit(change)
        except StaleError:
            continue
        ask_to_resume(resumer, plan_id)
        return state
    raise StaleError("the plan kept changing; look at it again")


def _seen_done(plan: Plan, action: IrreversibleAction) -> bool:
    try:
        return action.look_up(plan).says is LookUp.DONE
    except NoUndoError:
        return False  # it cannot say: the operator's word is what there is


def _settled(
    found: Holdings, outcome: Outcome, statement: Statement, gate: Gate
) -> tuple[Change, PlanState]:
    plan, entry = found.plan, _open_entry(found, gate)
    now = gate.clock.now()
    evidence = Evidence(now, "operator", outcome.value)
    event = event_of(
        plan,
        "plan.settled",
        statement.actor,
        now,
        outcome=outcome.value,
        reason=statement.reason,
        evidence=statement.evidence,
        attempt=entry.attempt.attempt_id,
    )
    if outcome is Outcome.DONE:
        done = confirm(plan, entry, found.fence, evidence)
        return Change(plan.request_id, event, saves(done)), done.plan.state
    fence = Save(free(found.fence, plan.plan_id))
    if plan.state in CLOSED_UNSENT:
        entry = with_evidence(entry, evidence)
        return Change(plan.request_id, event, (Save(entry), fence)), plan.state
    if entry.state is LedgerState.EXECUTING:
        freed = release(plan, entry, found.fence, evidence)
        plan, entry = freed.plan, freed.entry
    closed = close_unsent(plan, PlanState.ABANDONED, now)
    return Change(plan.request_id, event, (Save(closed), Save(entry), fence)), closed.state


def _open_entry(found: Holdings, gate: Gate) -> LedgerEntry:
    entry = found.entry
    if entry is None:
        raise ConflictError("no attempt was ever made for this plan; withdraw its request instead")
    if entry.state is LedgerState.EXECUTED:
        raise ConflictError("the effect is confirmed already; nothing is in doubt")
    if found.plan.state in CLOSED_UNSENT and found.fence.holder != found.plan.plan_id:
        raise ConflictError(f"the plan is closed ({found.plan.state}) and holds nothing any more")
    executing = found.plan.state is PlanState.EXECUTING
    if executing and gate.clock.now() < entry.attempt.lease_expires_at:
        raise ConflictError("the sender may still be calling; settle after its lease is over")
    return entry


def retry_plan(plan_id: str, statement: Statement, gate: Gate, resumer: Resumer) -> None:
    """Let a released plan begin once more, where only a person may decide that (design 8.8).

    Raises:
        NotFoundError: There is no such plan.
        ConflictError: The plan is not released.
    """
    for _ in range(MAX_ROUNDS):
        plan, entry = gate.store.plan(plan_id), gate.store.entry(plan_id)
        if plan is None:
            raise NotFoundError("there is no such plan; check the plan id", field="plan_id")
        if plan.state is not PlanState.RELEASED or entry is None:
            raise ConflictError(f"only a released plan can be tried again; it is {plan.state}")
        now = gate.clock.now()
        event = event_of(plan, "plan.retry_allowed", statement.actor, now, reason=statement.reason)
        due = replace(plan, due_kind=DueKind.RESUME, due_at=now)
        allowed = replace(entry, refused=False, retry_allowed=len(entry.attempts) + 1)
        try:
            gate.store.commit(Change(plan.request_id, event, (Save(due), Save(allowed))))
        except StaleError:
            continue
        ask_to_resume(resumer, plan_id)
        return
    raise StaleError("the plan kept changing; look at it again")


def void_plan(plan_id: str, statement: Statement, gate: Gate, action: IrreversibleAction) -> None:
    """Recall what was sent; the mails are out, and both facts stay in the audit.

    Raises:
        NotFoundError: There is no such plan.
        ConflictError: Nothing was sent by this plan.
        VendorRefusedError: The vendor said no.
        InDoubtError: It may have been voided; ask for its status.
    """
    plan = gate.store.plan(plan_id)
    if plan is None:
        raise NotFoundError("there is no such plan; check the plan id", field="plan_id")
    if plan.state is not PlanState.EXECUTED:
        raise ConflictError(f"only an executed plan can be voided; it is {plan.state}")
    gate.record(plan, "plan.void_asked", statement.actor, reason=statement.reason)
    action.void(plan, statement.reason)
    gate.record(plan, "plan.voided", statement.actor)


def pause_begins(statement: Statement, gate: Gate) -> None:
    """Stop every begin until `unpause_begins`; what is executing is still reconciled."""
    _set_pause(statement, gate, paused=True)


def unpause_begins(statement: Statement, gate: Gate) -> None:
    """Let begins go on; plans that waited are looked at by the next sweep."""
    _set_pause(statement, gate, paused=False)


def _set_pause(statement: Statement, gate: Gate, *, paused: bool) -> None:
    for _ in range(MAX_ROUNDS):
        current = gate.store.pause()
        now = gate.clock.now()
        row = Pause(
            paused=paused,
            reason=statement.reason,
            actor=statement.actor,
            at=now,
            revision=0 if current is None else current.revision,
        )
        event = AuditEvent(
            kind="begins.paused" if paused else "begins.unpaused",
            actor=statement.actor,
            at=now,
            details={"reason": statement.reason},
        )
        try:
            gate.store.commit(Change(OPERATIONS_CHAIN, event, (Save(row),)))
        except StaleError:
            continue
        return
    raise StaleError("the pause kept changing; look at it again")
