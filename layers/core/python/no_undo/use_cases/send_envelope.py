"""Send Envelope: begin, call once, read back, confirm (design 8.2 to 8.5).

The steps below carry the numbers of design 8. Whatever happens between them, the ledger says what
is known, and the sweep goes on from there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from no_undo.domain.errors import (
    AlreadyExecutedError,
    AlreadyExecutingError,
    ApprovalExpiredError,
    AttemptsExhaustedError,
    DocumentChangedError,
    InDoubtError,
    NothingSentError,
    NoUndoError,
    PausedError,
    PlanChangedError,
    ReadBackDiffersError,
    RefusedError,
    SentOutsideGateError,
    StaleError,
    TooLittleTimeError,
    TransientError,
)
from no_undo.domain.ledger import (
    Attempt,
    Evidence,
    Holdings,
    LedgerEntry,
    LedgerState,
    Pause,
    Prepared,
    Transition,
    begin,
    check_prepared,
    check_state,
    close_unsent,
    confirm,
    release,
    with_evidence,
)
from no_undo.domain.plan import CLOSED_UNSENT, Plan, PlanState
from no_undo.domain.reconciliation import LookUp
from no_undo.ports import Change, IrreversibleAction, NotWithdrawn, Save, Unchanged
from no_undo.use_cases.gate import MAX_ROUNDS, Gate, event_of, saves

logger = logging.getLogger(__name__)

ACTOR = "send_envelope"


class SendOutcome(StrEnum):
    """What the state machine does next."""

    EXECUTED = "executed"
    REFUSED = "refused"
    UNSETTLED = "unsettled"


@dataclass(frozen=True, slots=True)
class SendResult:
    """How one invocation ended.

    Attributes:
        outcome: What the state machine does next.
        code: Error code of the rule that refused, or of what is still open; empty when executed.
    """

    outcome: SendOutcome
    code: str = ""


_NOT_FINAL = (
    AlreadyExecutingError,
    ApprovalExpiredError,
    AttemptsExhaustedError,
    PausedError,
    TooLittleTimeError,
)
"""Refusals that leave the plan alive: it goes on in Await Settlement, not to its end.

An expired one ends there too: the sweep closes it, and looks for a late success first.
"""


INCIDENTS: Final = frozenset(
    {
        DocumentChangedError.code,
        PlanChangedError.code,
        ReadBackDiffersError.code,
        SentOutsideGateError.code,
    }
)
"""Codes of refusals that a person has to look at: somebody or something else had a hand in it."""


def send_envelope(
    plan_id: str, gate: Gate, action: IrreversibleAction, remaining_seconds: Callable[[], float]
) -> SendResult:
    """Make the plan's effect happen, at most once, and say what is known (P1 to P4).

    Args:
        plan_id: The approved plan.
        gate: Store, policies, clock and settings.
        action: What to do, and whom to ask whether it happened.
        remaining_seconds: Time this invocation has left.

    Returns:
        EXECUTED only with evidence; REFUSED when a rule ended it; UNSETTLED for everything else.
    """
    try:
        return _send(plan_id, gate, action, remaining_seconds)
    except AlreadyExecutedError:
        return SendResult(SendOutcome.EXECUTED)
    except RefusedError as refusal:
        _record_refusal(plan_id, gate, refusal)
        final = not isinstance(refusal, _NOT_FINAL)
        return SendResult(SendOutcome.REFUSED if final else SendOutcome.UNSETTLED, refusal.code)
    except NoUndoError as error:
        # Nobody could say: a store that is busy, a vendor that answers oddly. Settled later.
        return SendResult(SendOutcome.UNSETTLED, error.code)


def _send(
    plan_id: str, gate: Gate, action: IrreversibleAction, remaining_seconds: Callable[[], float]
) -> SendResult:
    begun = _begin(plan_id, gate, action, remaining_seconds)
    if begun.entry.state is LedgerState.EXECUTED:
        return SendResult(SendOutcome.EXECUTED)
    attempt = begun.entry.attempt
    if not _enough_time(gate, remaining_seconds):
        _release_own(begun.plan, attempt, gate, "no time was left to call; nothing was sent")
        return SendResult(SendOutcome.UNSETTLED, TooLittleTimeError.code)
    if not _call(begun.plan, attempt, gate, action):
        return SendResult(SendOutcome.UNSETTLED, NothingSentError.code)
    if _read_back(begun.plan, gate, action, remaining_seconds):
        return _confirm_own(plan_id, attempt, gate)
    return SendResult(SendOutcome.UNSETTLED, InDoubtError.code)


def _begin(
    plan_id: str, gate: Gate, action: IrreversibleAction, remaining_seconds: Callable[[], float]
) -> Transition:
    """2. Check everything in the refusal order, then write intent before effect (P1)."""
    attempt_id = gate.tokens.uid()
    for _ in range(MAX_ROUNDS):
        if not _enough_time(gate, remaining_seconds):
            raise TooLittleTimeError(
                "too little time is left in this invocation; nothing was written"
            )
        found = check_state(gate.holdings(plan_id), gate.rules())
        prepared = action.read_back(found.plan)
        if prepared.taken_effect:
            return _found_sent(found, gate)
        rules = gate.rules()
        check_state(found, rules)  # reading back took time: the deadline may have passed
        check_prepared(found, prepared, rules)
        begun = begin(found, attempt_id, rules)
        try:
            gate.store.commit(_begin_change(begun, found.pause, prepared))
        except (StaleError, InDoubtError):
            # An SDK retry or a lost answer may hide our own success: the attempt id tells.
            if not _is_ours(gate.store.entry(plan_id), attempt_id):
                continue
        return begun
    raise StaleError("the plan kept changing while it was being begun; nothing was sent")


def _begin_change(begun: Transition, pause: Pause | None, prepared: Prepared) -> Change:
    attempt = begun.entry.attempt
    event = event_of(
        begun.plan,
        "plan.begun",
        ACTOR,
        attempt.began_at,
        attempt=attempt.attempt_id,
        number=attempt.number,
        digest=begun.plan.digest,
        leaseExpiresAt=attempt.lease_expires_at.isoformat(),
        notReadBack=list(prepared.unreadable),
    )
    return Change(
        begun.plan.request_id,
        event,
        (
            *saves(begun),
            NotWithdrawn(begun.plan.request_id),
            Unchanged(Pause, "#pause", 0 if pause is None else pause.revision),
        ),
    )


def _found_sent(found: Holdings, gate: Gate) -> Transition:
    """2. The effect is there already: a late success of ours, or an incident."""
    now = gate.clock.now()
    if found.entry is None:
        plan = close_unsent(found.plan, PlanState.ABANDONED, now)
        event = event_of(plan, "plan.sent_outside_gate", ACTOR, now)
        gate.store.commit(Change(plan.request_id, event, (Save(plan),)))
        raise SentOutsideGateError(
            "the vendor shows the envelope as sent, and no attempt of this plan sent it"
        )
    evidence = Evidence(now, "system of record", "sent before this attempt began")
    late = confirm(found.plan, found.entry, found.fence, evidence)
    event = event_of(
        late.plan, "plan.executed", ACTOR, now, late=True, attempt=found.entry.attempt.attempt_id
    )
    gate.store.commit(Change(late.plan.request_id, event, saves(late)))
    return late


def _call(plan: Plan, attempt: Attempt, gate: Gate, action: IrreversibleAction) -> bool:
    """3. Call once. Return False when it is certain that nothing left."""
    try:
        says, refused = action.execute(plan, attempt), False
    except NothingSentError:
        _release_own(plan, attempt, gate, "no request left this side")
        return False
    except InDoubtError:
        says, refused = "no usable answer", False
    except NoUndoError as error:
        # Not one of the two errors a send may end in: only the system of record can tell now.
        logger.warning("the send ended in an unexpected way", extra={"code": error.code})
        says, refused = f"unexpected: {error.code}", False
    _keep_answer(plan, attempt, gate, says, refused=refused or says == "REFUSED")
    return True


def _keep_answer(plan: Plan, attempt: Attempt, gate: Gate, says: str, *, refused: bool) -> None:
    """9. Keep what the vendor answered, even when the lease was taken meanwhile."""
    for _ in range(MAX_ROUNDS):
        entry = gate.store.entry(plan.plan_id)
        writes: tuple[Save, ...] = ()
        now = gate.clock.now()
        if entry is not None and _is_ours(entry, attempt.attempt_id):
            kept = with_evidence(entry, Evidence(now, "send answer", says))
            writes = (Save(replace(kept, refused=refused)),)
        event = event_of(
            plan, "attempt.answered", ACTOR, now, attempt=attempt.attempt_id, answer=says
        )
        try:
            gate.store.commit(Change(plan.request_id, event, writes))
        except StaleError:
            continue
        except (TransientError, InDoubtError):
            # Evidence is worth keeping and not worth stopping for: the read-back decides.
            logger.warning("the vendor's answer could not be kept as evidence")
        return


def _read_back(
    plan: Plan, gate: Gate, action: IrreversibleAction, remaining_seconds: Callable[[], float]
) -> bool:
    """4. Ask the system of record until it says done or the time is up."""
    interval = gate.settings.read_back_interval.total_seconds()
    while True:
        try:
            if action.look_up(plan).says is LookUp.DONE:
                return True
        except NoUndoError:
            logger.warning("the system of record gave no usable answer")
        if remaining_seconds() < 3 * interval + 1:
            return False
        gate.clock.sleep(interval)


def _confirm_own(plan_id: str, attempt: Attempt, gate: Gate) -> SendResult:
    """5. Confirm on evidence, conditional on this attempt; a late success is kept (8.9)."""
    for _ in range(MAX_ROUNDS):
        found = gate.holdings(plan_id)
        if found is None or found.entry is None:
            break
        if found.entry.state is LedgerState.EXECUTED:
            return SendResult(SendOutcome.EXECUTED)
        if found.entry.attempt.attempt_id != attempt.attempt_id:
            break  # a newer attempt is open: whoever owns it, or the sweep, confirms
        if found.plan.state in CLOSED_UNSENT:
            logger.error("the effect of a closed plan has happened", extra={"plan": plan_id})
        now = gate.clock.now()
        done = confirm(
            found.plan, found.entry, found.fence, Evidence(now, "system of record", "sent")
        )
        event = event_of(
            done.plan,
            "plan.executed",
            ACTOR,
            now,
            late=found.entry.state is LedgerState.RELEASED,
            attempt=attempt.attempt_id,
        )
        try:
            gate.store.commit(Change(done.plan.request_id, event, saves(done)))
        except StaleError:
            continue
        return SendResult(SendOutcome.EXECUTED)
    return SendResult(SendOutcome.UNSETTLED, InDoubtError.code)


def _release_own(plan: Plan, attempt: Attempt, gate: Gate, says: str) -> None:
    """3. Nothing left, for certain: release our own open attempt at once, with that evidence."""
    for _ in range(MAX_ROUNDS):
        found = gate.holdings(plan.plan_id)
        if found is None or found.entry is None or not _is_ours(found.entry, attempt.attempt_id):
            return
        now = gate.clock.now()
        freed = release(found.plan, found.entry, found.fence, Evidence(now, "sender", says))
        event = event_of(
            freed.plan, "plan.released", ACTOR, now, attempt=attempt.attempt_id, because=says
        )
        try:
            gate.store.commit(Change(freed.plan.request_id, event, saves(freed)))
        except StaleError:
            continue
        except (TransientError, InDoubtError):
            logger.warning("the attempt could not be released; the sweep settles it")
        return


def _record_refusal(plan_id: str, gate: Gate, refusal: RefusedError) -> None:
    plan = gate.store.plan(plan_id)
    if plan is None or isinstance(refusal, SentOutsideGateError):
        return
    try:
        gate.record(plan, "plan.begin_refused", ACTOR, code=refusal.code)
    except (TransientError, InDoubtError):
        logger.warning("a refusal could not be recorded", extra={"code": refusal.code})


def _enough_time(gate: Gate, remaining_seconds: Callable[[], float]) -> bool:
    return remaining_seconds() >= gate.settings.call_budget.total_seconds()


def _is_ours(entry: LedgerEntry | None, attempt_id: str) -> bool:
    return (
        entry is not None
        and entry.state is LedgerState.EXECUTING
        and entry.attempt.attempt_id == attempt_id
    )
