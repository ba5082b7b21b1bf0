"""The ledger's rules; the numbers are those of the module's docstring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import combinations

import pytest

from no_undo.domain.errors import (
    AlreadyExecutedError,
    AlreadyExecutingError,
    ApprovalExpiredError,
    AttemptsExhaustedError,
    DocumentChangedError,
    FenceHeldError,
    PausedError,
    PlanChangedError,
    PlanClosedError,
    PlanUnknownError,
    QuorumNotMetError,
    ReadBackDiffersError,
    RefusedError,
)
from no_undo.domain.fence import Fence
from no_undo.domain.ledger import (
    MAX_EVIDENCE,
    Holdings,
    LedgerEntry,
    LedgerState,
    Pause,
    Prepared,
    begin,
    check_prepared,
    check_state,
    close_unsent,
    confirm,
    may_attempt,
    release,
    with_evidence,
)
from no_undo.domain.plan import CLOSED_UNSENT, DueKind, PlanState
from tests.fakes.rows import (
    EVIDENCE,
    LEASE,
    NOON,
    PREPARED,
    a_decision,
    a_plan,
    again,
    an_approved_plan,
    begun,
    entry_of,
    holdings,
    released,
    rules,
)

Case = tuple[Holdings, Prepared]
Flaw = Callable[[Case], Case]


def _with(case: Case, **changes: object) -> Case:
    return (replace(case[0], **changes), case[1])  # type: ignore[arg-type]  # any row


def _closed(case: Case) -> Case:
    return _with(case, plan=replace(case[0].plan, state=PlanState.WITHDRAWN))


def _executed(case: Case) -> Case:
    done = confirm(case[0].plan, entry_of(begun()), case[0].fence, EVIDENCE)
    return _with(case, entry=done.entry)


def _executing(case: Case) -> Case:
    return _with(case, entry=entry_of(begun()))


def _paused(case: Case) -> Case:
    return _with(case, pause=Pause(paused=True, reason="restore", actor="op", at=NOON))


def _expired(case: Case) -> Case:
    # Expiry is part of the digest; the flaw is the clock's, shown by an earlier deadline.
    return _with(case, plan=replace(case[0].plan, expires_at=NOON))


def _plan_changed(case: Case) -> Case:
    return _with(case, plan=replace(case[0].plan, title="Another title"))


def _document_changed(case: Case) -> Case:
    return (case[0], replace(case[1], document_sha256="e" * 64))


def _differs(case: Case) -> Case:
    return (case[0], replace(case[1], differences=("recipients",)))


def _no_quorum(case: Case) -> Case:
    return _with(case, plan=replace(case[0].plan, decisions=case[0].plan.decisions[:1]))


def _fence_held(case: Case) -> Case:
    return _with(case, fence=Fence(case[0].fence.fence_key, holder="r2#1"))


def _exhausted(case: Case) -> Case:
    rows = released(again(released(again(released(begun("a1")), "a2")), "a3"))
    plan = replace(case[0].plan, state=PlanState.RELEASED)
    entry = case[0].entry or rows.entry
    return _with(case, plan=plan, entry=entry)


ORDER: tuple[tuple[Flaw, type[RefusedError]], ...] = (
    (_closed, PlanClosedError),
    (_executed, AlreadyExecutedError),
    (_executing, AlreadyExecutingError),
    (_paused, PausedError),
    (_expired, ApprovalExpiredError),
    (_plan_changed, PlanChangedError),
    (_document_changed, DocumentChangedError),
    (_differs, ReadBackDiffersError),
    (_no_quorum, QuorumNotMetError),
    (_fence_held, FenceHeldError),
    (_exhausted, AttemptsExhaustedError),
)
"""Design 7, the refusal order at begin; an unknown plan comes before all of these."""


def check(case: Case) -> None:
    check_prepared(check_state(case[0], rules()), case[1], rules())


def refusal(case: Case) -> type[RefusedError]:
    with pytest.raises(RefusedError) as caught:
        check(case)
    return type(caught.value)


def test_rule_6_a_plan_without_a_flaw_may_begin() -> None:
    check((holdings(), PREPARED))


def test_rule_6_an_unknown_plan_is_refused_before_anything_else() -> None:
    with pytest.raises(PlanUnknownError):
        check_state(None, rules())


@pytest.mark.parametrize(("flaw", "error"), ORDER, ids=lambda one: getattr(one, "__name__", ""))
def test_rule_6_each_flaw_is_refused_by_its_own_class(
    flaw: Flaw, error: type[RefusedError]
) -> None:
    assert refusal(flaw((holdings(), PREPARED))) is error


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pair
        for pair in combinations(ORDER, 2)
        if {pair[0][0], pair[1][0]} != {_executed, _executing}  # one entry has one state
    ],
    ids=lambda one: one[0].__name__,
)
def test_rule_6_of_two_flaws_the_earlier_rule_answers(
    first: tuple[Flaw, type[RefusedError]], second: tuple[Flaw, type[RefusedError]]
) -> None:
    # The later flaw is built in first: a row can only hold what the earlier one leaves.
    case = first[0](second[0]((holdings(), PREPARED)))

    assert refusal(case) is first[1]


@pytest.mark.parametrize("state", sorted(CLOSED_UNSENT))
def test_rule_6_every_closed_plan_is_refused(state: PlanState) -> None:
    with pytest.raises(PlanClosedError):
        check_state(holdings(an_approved_plan(state=state)), rules())


def test_p5_a_plan_that_still_waits_cannot_begin_whatever_its_decisions_say() -> None:
    waiting = replace(an_approved_plan(), state=PlanState.AWAITING_APPROVAL)

    assert refusal((holdings(waiting), PREPARED)) is QuorumNotMetError


def test_p5_an_approver_who_is_no_longer_eligible_does_not_count() -> None:
    without_erin = rules(counts=lambda _plan, approver: not approver.startswith("erin"))

    with pytest.raises(QuorumNotMetError):
        check_prepared(holdings(), PREPARED, without_erin)


def test_p5_two_approvals_of_one_person_are_not_a_quorum() -> None:
    plan = an_approved_plan()
    twice = replace(plan, decisions=(plan.decisions[0], plan.decisions[0]))

    assert refusal((holdings(twice), PREPARED)) is QuorumNotMetError


@pytest.mark.parametrize(
    "spelling", ["Dave@Example.com", "dave+2@example.com", "d\u0430ve@example.com"]
)
def test_p5_two_spellings_of_one_person_are_not_a_quorum(spelling: str) -> None:
    plan = an_approved_plan()
    twice = replace(plan, decisions=(plan.decisions[0], a_decision(plan, spelling)))

    assert refusal((holdings(twice), PREPARED)) is QuorumNotMetError


def test_p5_approvals_of_another_digest_do_not_count() -> None:
    plan = an_approved_plan()
    other = replace(plan.decisions[1], plan_digest="0" * 64)
    mixed = replace(plan, decisions=(plan.decisions[0], other))

    assert refusal((holdings(mixed), PREPARED)) is QuorumNotMetError


def test_the_moment_of_expiry_is_already_too_late() -> None:
    plan = an_approved_plan()

    check_state(holdings(plan), rules(now=plan.expires_at - timedelta(microseconds=1)))
    with pytest.raises(ApprovalExpiredError):
        check_state(holdings(plan), rules(now=plan.expires_at))


def test_an_unpaused_pause_row_stops_nothing() -> None:
    pause = Pause(paused=False, reason="over", actor="op", at=NOON)

    check_state(replace(holdings(), pause=pause), rules())


def test_p1_begin_writes_executing_with_this_attempt_its_number_and_its_lease() -> None:
    rows = begin(holdings(), "a1", rules())

    assert rows.entry.state is LedgerState.EXECUTING
    assert rows.entry.attempt.attempt_id == "a1"
    assert rows.entry.attempt.number == 1
    assert rows.entry.attempt.lease_expires_at == NOON + LEASE
    assert rows.plan.state is PlanState.EXECUTING
    assert (rows.plan.due_kind, rows.plan.due_at) == (DueKind.SETTLE, NOON + LEASE)
    assert rows.fence.holder == rows.plan.plan_id


def test_rule_2_a_second_attempt_keeps_the_first_and_counts_on() -> None:
    rows = again(released(begun("a1")), "a2")

    attempts = entry_of(rows).attempts
    assert [(one.attempt_id, one.number, one.outcome) for one in attempts] == [
        ("a1", 1, LedgerState.RELEASED),
        ("a2", 2, None),
    ]


def test_a_second_attempt_starts_without_the_first_ones_signs() -> None:
    first = replace(entry_of(released(begun("a1"))), first_draft_at=NOON, refused=True)

    rows = begin(replace(released(begun("a1")), entry=first), "a2", rules())

    assert rows.entry.first_draft_at is None
    assert not rows.entry.refused


@pytest.mark.parametrize(
    ("attempts", "changes", "settings", "allowed"),
    [
        (1, {}, {}, True),
        (2, {}, {}, True),
        (3, {}, {}, False),
        (1, {"refused": True}, {}, False),
        (1, {}, {"retry_after_release": False}, False),
        (3, {"retry_allowed": 4}, {}, True),
        (1, {"refused": True, "retry_allowed": 2}, {}, True),
        (1, {"retry_allowed": 2}, {"retry_after_release": False}, True),
        (2, {"retry_allowed": 2}, {"retry_after_release": False}, False),
    ],
)
def test_p2_an_attempt_follows_another_only_as_rule_8_says(
    attempts: int, changes: dict[str, object], settings: dict[str, bool], *, allowed: bool
) -> None:
    rows = released(begun("a1"))
    for number in range(2, attempts + 1):
        rows = released(again(rows, f"a{number}"))
    entry = replace(entry_of(rows), **changes)  # type: ignore[arg-type]  # named fields
    bounds = {"max_attempts": 3, "retry_after_release": True} | settings

    assert may_attempt(entry, **bounds) is allowed  # type: ignore[arg-type]  # named bounds


def test_the_first_attempt_needs_nobody() -> None:
    assert may_attempt(None, max_attempts=1, retry_after_release=False)


def test_p3_confirm_closes_the_attempt_marks_the_fence_and_wakes_the_machine() -> None:
    rows = begun()

    done = confirm(rows.plan, entry_of(rows), rows.fence, EVIDENCE)

    assert done.entry.state is LedgerState.EXECUTED
    assert done.entry.attempt.outcome is LedgerState.EXECUTED
    assert done.entry.evidence[-1] == EVIDENCE
    assert done.plan.state is PlanState.EXECUTED
    assert (done.plan.due_kind, done.plan.due_at) == (DueKind.RESUME, EVIDENCE.at)
    assert (done.fence.holder, done.fence.last_executed) == ("", rows.plan.plan_id)


def test_rule_4_a_late_success_turns_released_into_executed() -> None:
    rows = released(begun())

    done = confirm(rows.plan, entry_of(rows), rows.fence, EVIDENCE)

    assert done.entry.state is LedgerState.EXECUTED
    assert done.plan.state is PlanState.EXECUTED


def test_rule_4_a_late_success_is_recorded_even_when_the_plan_was_closed() -> None:
    rows = released(begun())
    closed = close_unsent(rows.plan, PlanState.EXPIRED, NOON)

    done = confirm(closed, entry_of(rows), rows.fence, EVIDENCE)

    assert done.plan.state is PlanState.EXECUTED


def test_a_late_success_leaves_another_plans_hold_on_the_fence() -> None:
    rows = released(begun())
    taken_over = replace(rows.fence, holder="r2#1")

    done = confirm(rows.plan, entry_of(rows), taken_over, EVIDENCE)

    assert (done.fence.holder, done.fence.last_executed) == ("r2#1", "r1#1")


def test_rule_3_executed_is_never_left_again() -> None:
    rows = begun()
    done = confirm(rows.plan, entry_of(rows), rows.fence, EVIDENCE)

    with pytest.raises(AlreadyExecutedError):
        confirm(done.plan, done.entry, done.fence, EVIDENCE)
    with pytest.raises(AlreadyExecutedError):
        release(done.plan, done.entry, done.fence, EVIDENCE)
    with pytest.raises(AlreadyExecutedError):
        close_unsent(done.plan, PlanState.EXPIRED, NOON)


def test_release_closes_the_attempt_and_keeps_the_fence() -> None:
    rows = begun()

    freed = release(rows.plan, entry_of(rows), rows.fence, EVIDENCE)

    assert freed.entry.state is LedgerState.RELEASED
    assert freed.entry.attempt.outcome is LedgerState.RELEASED
    assert freed.plan.state is PlanState.RELEASED
    assert freed.fence.holder == rows.plan.plan_id


def test_an_attempt_is_released_once() -> None:
    rows = released(begun())

    with pytest.raises(PlanClosedError):
        release(rows.plan, entry_of(rows), rows.fence, EVIDENCE)


def test_p4_a_plan_in_doubt_cannot_be_closed() -> None:
    rows = begun()

    with pytest.raises(AlreadyExecutingError):
        close_unsent(rows.plan, PlanState.WITHDRAWN, NOON)


@pytest.mark.parametrize("state", sorted(CLOSED_UNSENT))
def test_a_closed_plan_is_not_closed_again(state: PlanState) -> None:
    closed = close_unsent(a_plan(), state, NOON)

    assert (closed.state, closed.due_kind, closed.due_at) == (state, DueKind.RESUME, NOON)
    with pytest.raises(PlanClosedError):
        close_unsent(closed, PlanState.ABANDONED, NOON)


def test_evidence_is_bounded_and_the_newest_stays() -> None:
    entry: LedgerEntry = entry_of(begun())
    for number in range(MAX_EVIDENCE + 5):
        entry = with_evidence(entry, replace(EVIDENCE, says=str(number)))

    assert len(entry.evidence) == MAX_EVIDENCE
    assert entry.evidence[-1].says == str(MAX_EVIDENCE + 4)
