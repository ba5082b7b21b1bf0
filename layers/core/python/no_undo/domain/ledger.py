"""The ledger: intent before effect, one attempt at a time, and only evidence closes it.

Rules:
1. No irreversible call is made unless an EXECUTING entry with this attempt's id is stored (P1).
2. Whoever finds EXECUTING does not call. A new attempt starts only from RELEASED, with the next
   attempt number, on the same target, and never beyond the bound on attempts.
3. EXECUTED is written only with evidence from the system of record (P3), and never left again.
4. RELEASED means confirmed not done. A success that shows up later is still recorded: RELEASED may
   become EXECUTED, by evidence alone, without a call.
5. The lease covers the longest time in which the sender may still be calling: the function's
   timeout plus the client's. Nobody asks the system of record before it is over.
6. The refusal order at begin is fixed; the first rule that says no is the answer:
   unknown · closed · already executed · already executing · paused · expired · plan digest ·
   document digest · read-back · quorum · fence · attempts. The last one leaves the plan as it is: a
   person has to decide.
7. An entry is never deleted and never expires.
8. An attempt follows another by itself only where that is accepted, never after a refusal, and
   never beyond the bound; a person may allow one more each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from no_undo.domain.errors import (
    AlreadyExecutedError,
    AlreadyExecutingError,
    ApprovalExpiredError,
    AttemptsExhaustedError,
    DocumentChangedError,
    PausedError,
    PlanChangedError,
    PlanClosedError,
    PlanUnknownError,
    QuorumNotMetError,
    ReadBackDiffersError,
)
from no_undo.domain.fence import Fence, check_fence, mark_executed, take
from no_undo.domain.plan import (
    CLOSED_UNSENT,
    MAY_BEGIN,
    DueKind,
    Plan,
    PlanState,
    approvals_for,
    digest_of,
)

MAX_EVIDENCE = 50
"""Evidence kept on the entry itself; all of it is in the audit chain."""


class LedgerState(StrEnum):
    """State of a ledger entry (rules 2 to 4)."""

    EXECUTING = "EXECUTING"
    EXECUTED = "EXECUTED"
    RELEASED = "RELEASED"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at the effect.

    Attributes:
        attempt_id: Fresh id; only its owner, or evidence, may close it.
        number: 1-based.
        began_at: UTC.
        lease_expires_at: Until when its sender may still be calling (rule 5).
        outcome: None while open, then how it ended.
    """

    attempt_id: str
    number: int
    began_at: datetime
    lease_expires_at: datetime
    outcome: LedgerState | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that was learned about the effect.

    Attributes:
        at: UTC.
        source: Who said it: `send answer`, `system of record`, `activity history`, `operator`.
        says: What was said, in our words; no values, no vendor text.
    """

    at: datetime
    source: str
    says: str


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What is known about one plan's effect.

    Attributes:
        plan_id: Key.
        state: See `LedgerState`.
        attempts: Oldest first, at least one.
        first_draft_at: When, after the lease, the system of record first said "not done" for the
            open attempt; None until then and after each release.
        refused: True when the vendor refused the open or last attempt: a person decides, no
            automatic retry.
        retry_allowed: Up to which attempt number a person allowed the plan to begin, beyond what
            the settings allow by themselves.
        evidence: Oldest first, at most `MAX_EVIDENCE`.
        revision: 0 before it is first stored.
    """

    plan_id: str
    state: LedgerState
    attempts: tuple[Attempt, ...]
    first_draft_at: datetime | None = None
    refused: bool = False
    retry_allowed: int = 0
    evidence: tuple[Evidence, ...] = ()
    revision: int = 0

    @property
    def attempt(self) -> Attempt:
        """The newest attempt."""
        return self.attempts[-1]


@dataclass(frozen=True, slots=True)
class Pause:
    """The operator's stop for all begins.

    Attributes:
        paused: True stops every begin.
        reason: Why, in the operator's words.
        actor: Who, as authenticated.
        at: When, UTC.
        revision: 0 before it is first stored.
    """

    paused: bool
    reason: str
    actor: str
    at: datetime
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Prepared:
    """What exists right before the effect, to compare with the plan (P7).

    Attributes:
        taken_effect: True when the system of record already shows the effect.
        document_sha256: SHA-256 of the document bytes as stored now.
        differences: Names of facts that differ from the plan; never values.
        unreadable: Names of facts that the outside does not show; recorded with the begin.
    """

    taken_effect: bool
    document_sha256: str
    differences: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Holdings:
    """The rows that a begin reads; all read consistently, all conditions of its write."""

    plan: Plan
    entry: LedgerEntry | None
    fence: Fence
    pause: Pause | None


@dataclass(frozen=True, slots=True)
class Transition:
    """The rows of one transition of an attempt, written together."""

    plan: Plan
    entry: LedgerEntry
    fence: Fence


@dataclass(frozen=True, slots=True)
class BeginRules:
    """What begin is checked against.

    Attributes:
        now: UTC.
        max_attempts: Bound on attempts, at least 1.
        retry_after_release: Whether an attempt may follow another by itself (rule 8).
        lease: How long this attempt's sender may be calling (rule 5).
        counts: Whether one stored approval counts now: its person may still approve under today's
            policy, and their link's own row shows that they did.
    """

    now: datetime
    max_attempts: int
    retry_after_release: bool
    lease: timedelta
    counts: Callable[[Plan, str], bool]


def check_state(holdings: Holdings | None, rules: BeginRules) -> Holdings:
    """Refuse everything that the stored rows alone rule out (rule 6, unknown to plan digest).

    Raises:
        RefusedError: The first rule that says no, as its own class.
    """
    if holdings is None:
        raise PlanUnknownError("there is no such plan; check the plan id")
    plan, entry = holdings.plan, holdings.entry
    if plan.state in CLOSED_UNSENT:
        raise PlanClosedError(f"the plan is closed ({plan.state}); submit a new request")
    if entry is not None and entry.state is LedgerState.EXECUTED:
        raise AlreadyExecutedError("the effect has already happened")
    if entry is not None and entry.state is LedgerState.EXECUTING:
        raise AlreadyExecutingError("an attempt is under way or in doubt; it is being reconciled")
    if holdings.pause is not None and holdings.pause.paused:
        raise PausedError("all begins are paused by an operator")
    if rules.now >= plan.expires_at:
        raise ApprovalExpiredError("the deadline of the approval has passed")
    if digest_of(plan) != plan.digest:
        raise PlanChangedError("the stored plan is not the plan that was approved")
    return holdings


def check_prepared(holdings: Holdings, prepared: Prepared, rules: BeginRules) -> None:
    """Refuse what the document, the outside or the approvals rule out (rule 6, the rest).

    Raises:
        RefusedError: The first rule that says no, as its own class.
    """
    plan = holdings.plan
    if prepared.document_sha256 != plan.document.sha256:
        raise DocumentChangedError("the stored document is not the approved document")
    if prepared.differences:
        raise ReadBackDiffersError(
            "the prepared draft differs from the approved plan in: "
            + ", ".join(prepared.differences)
        )
    good = [one for one in approvals_for(plan) if rules.counts(plan, one.approver)]
    if plan.state not in MAY_BEGIN or len(good) < plan.quorum:
        raise QuorumNotMetError(f"{len(good)} of {plan.quorum} needed approvals are valid now")
    check_fence(holdings.fence, plan.plan_id, plan.repeat_of)
    if not may_attempt(
        holdings.entry,
        max_attempts=rules.max_attempts,
        retry_after_release=rules.retry_after_release,
    ):
        raise AttemptsExhaustedError(
            "what may be tried without a person was tried and released; an operator decides"
        )


def may_attempt(entry: LedgerEntry | None, *, max_attempts: int, retry_after_release: bool) -> bool:
    """Return whether one more attempt may begin, by itself or as a person allowed (rule 8).

    Args:
        entry: The plan's entry, or None before its first attempt.
        max_attempts: Bound on attempts that begin by themselves.
        retry_after_release: Whether an attempt may follow another by itself.
    """
    if entry is None or len(entry.attempts) < entry.retry_allowed:
        return True
    return retry_after_release and not entry.refused and len(entry.attempts) < max_attempts


def begin(holdings: Holdings, attempt_id: str, rules: BeginRules) -> Transition:
    """Return the rows with a fresh open attempt and the fence taken; all checks are done before."""
    plan, entry = holdings.plan, holdings.entry
    attempts = () if entry is None else entry.attempts
    attempt = Attempt(
        attempt_id=attempt_id,
        number=len(attempts) + 1,
        began_at=rules.now,
        lease_expires_at=rules.now + rules.lease,
    )
    begun = LedgerEntry(
        plan_id=plan.plan_id,
        state=LedgerState.EXECUTING,
        attempts=(*attempts, attempt),
        retry_allowed=0 if entry is None else entry.retry_allowed,
        evidence=() if entry is None else entry.evidence,
        revision=0 if entry is None else entry.revision,
    )
    return Transition(
        plan=replace(
            plan,
            state=PlanState.EXECUTING,
            due_kind=DueKind.SETTLE,
            due_at=attempt.lease_expires_at,
        ),
        entry=begun,
        fence=take(holdings.fence, plan.plan_id),
    )


def confirm(plan: Plan, entry: LedgerEntry, fence: Fence, evidence: Evidence) -> Transition:
    """Return the rows of an effect that the system of record confirmed (rules 3 and 4).

    Works from EXECUTING (the normal way) and from RELEASED (a late success), even when the plan
    was closed meanwhile: what has happened is never called unsent.

    Raises:
        AlreadyExecutedError: It is confirmed already; nothing to write.
    """
    if entry.state is LedgerState.EXECUTED:
        raise AlreadyExecutedError("the effect is confirmed already")
    closed = replace(entry.attempt, outcome=LedgerState.EXECUTED)
    return Transition(
        plan=replace(plan, state=PlanState.EXECUTED, due_kind=DueKind.RESUME, due_at=evidence.at),
        entry=replace(
            with_evidence(entry, evidence),
            state=LedgerState.EXECUTED,
            attempts=(*entry.attempts[:-1], closed),
            first_draft_at=None,
        ),
        fence=mark_executed(fence, plan.plan_id),
    )


def release(plan: Plan, entry: LedgerEntry, fence: Fence, evidence: Evidence) -> Transition:
    """Return the rows of an attempt that is confirmed not done.

    The fence stays held: the plan may begin again on the same target, and only its end frees it.

    Raises:
        AlreadyExecutedError: The effect is confirmed; it cannot be released.
        PlanClosedError: There is no open attempt to release.
    """
    if entry.state is LedgerState.EXECUTED:
        raise AlreadyExecutedError("the effect is confirmed; it cannot be released")
    if entry.state is LedgerState.RELEASED:
        raise PlanClosedError("there is no open attempt to release")
    closed = replace(entry.attempt, outcome=LedgerState.RELEASED)
    return Transition(
        plan=replace(plan, state=PlanState.RELEASED, due_kind=DueKind.RESUME, due_at=evidence.at),
        entry=replace(
            with_evidence(entry, evidence),
            state=LedgerState.RELEASED,
            attempts=(*entry.attempts[:-1], closed),
            first_draft_at=None,
        ),
        fence=fence,
    )


def close_unsent(plan: Plan, state: PlanState, now: datetime) -> Plan:
    """Return a plan that ends without an effect; a fence held since an attempt stays held.

    Args:
        plan: AWAITING_APPROVAL, APPROVED or RELEASED.
        state: One of `CLOSED_UNSENT`.
        now: UTC; waits on the plan are answered at once.

    Raises:
        AlreadyExecutingError: An attempt is open; it must be settled first.
        AlreadyExecutedError: The effect has happened.
        PlanClosedError: It is closed already.
    """
    if plan.state is PlanState.EXECUTING:
        raise AlreadyExecutingError("an attempt is under way or in doubt; settle it first")
    if plan.state is PlanState.EXECUTED:
        raise AlreadyExecutedError("the effect has happened; it cannot be closed unsent")
    if plan.state in CLOSED_UNSENT:
        raise PlanClosedError(f"the plan is closed already ({plan.state})")
    return replace(plan, state=state, due_kind=DueKind.RESUME, due_at=now)


def with_evidence(entry: LedgerEntry, evidence: Evidence) -> LedgerEntry:
    """Return the entry with one more piece of evidence, the oldest dropped beyond the bound."""
    return replace(entry, evidence=(*entry.evidence, evidence)[-MAX_EVIDENCE:])
