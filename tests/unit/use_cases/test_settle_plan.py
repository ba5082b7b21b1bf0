"""What only an operator may do: settle, retry, void, pause (design 8.10)."""

from __future__ import annotations

import pytest

from no_undo.domain.envelope import EnvelopeStatus
from no_undo.domain.errors import (
    ConflictError,
    FenceHeldError,
    InvalidRequestError,
    NotFoundError,
    StaleError,
    VendorRefusedError,
)
from no_undo.domain.ledger import LedgerState
from no_undo.domain.plan import DueKind, PlanState
from no_undo.lab.fake_esign import LANDS_WITHIN, Behaviour
from no_undo.use_cases.settle_plan import (
    OPERATIONS_CHAIN,
    Outcome,
    Statement,
    pause_begins,
    retry_plan,
    settle_plan,
    unpause_begins,
    void_plan,
)
from tests.fakes.worlds import (
    OPERATOR_DECIDES,
    At,
    a_world,
    approved,
    details,
    entry_of,
    failing,
    in_doubt,
    kinds,
    plan_of,
    proposed,
    released,
)

STATEMENT = Statement("op", "called the vendor", "ticket 77: no mail went out")


def test_p4_done_confirms_with_the_operators_words() -> None:
    world = a_world(Behaviour.UNKNOWN_STATUS)
    plan_id = in_doubt(world)

    state = settle_plan(plan_id, Outcome.DONE, STATEMENT, world.gate, world.action, world.resumer)

    assert state is PlanState.EXECUTED
    assert entry_of(world).evidence[-1].source == "operator"
    settled = details(world, "plan.settled")[0]
    assert (settled["outcome"], settled["reason"]) == ("done", STATEMENT.reason)
    assert settled["evidence"] == STATEMENT.evidence
    assert world.store.fence(plan_of(world).fence_key).last_executed == plan_id


def test_p4_not_done_ends_the_plan_and_frees_the_effect_for_another_request() -> None:
    world = a_world(Behaviour.REQUEST_LOST)
    plan_id = in_doubt(world)

    state = settle_plan(
        plan_id, Outcome.NOT_DONE, STATEMENT, world.gate, world.action, world.resumer
    )

    assert state is PlanState.ABANDONED
    assert entry_of(world).state is LedgerState.RELEASED
    assert world.send(approved(world, "r2")).outcome == "executed"


@pytest.mark.parametrize("outcome", Outcome)
def test_a_released_plan_can_be_settled_too(outcome: Outcome) -> None:
    world = a_world(Behaviour.REFUSED)
    plan_id = released(world)

    state = settle_plan(plan_id, outcome, STATEMENT, world.gate, world.action, world.resumer)

    assert state is (PlanState.EXECUTED if outcome is Outcome.DONE else PlanState.ABANDONED)


def test_p2_a_plan_that_ended_after_an_attempt_holds_its_fence_until_an_operator_frees_it() -> None:
    world = a_world(Behaviour.REFUSED, settings=OPERATOR_DECIDES)
    plan_id = released(world)
    world.clock.set(plan_of(world).expires_at)
    world.sweep()
    with pytest.raises(FenceHeldError):
        approved(world, "r2")

    state = settle_plan(
        plan_id, Outcome.NOT_DONE, STATEMENT, world.gate, world.action, world.resumer
    )

    assert state is PlanState.EXPIRED
    assert world.store.fence(plan_of(world).fence_key).holder == ""
    assert entry_of(world).evidence[-1].source == "operator"


def test_p2_a_late_success_of_a_closed_plan_can_be_settled_as_done() -> None:
    world = a_world(Behaviour.REFUSED, settings=OPERATOR_DECIDES)
    plan_id = released(world)
    world.clock.set(plan_of(world).expires_at)
    world.sweep()

    state = settle_plan(plan_id, Outcome.DONE, STATEMENT, world.gate, world.action, world.resumer)

    assert state is PlanState.EXECUTED
    assert world.store.fence(plan_of(world).fence_key).last_executed == plan_id


@pytest.mark.parametrize("outcome", Outcome)
def test_nothing_is_settled_while_the_sender_may_still_be_calling(outcome: Outcome) -> None:
    world = a_world(Behaviour.REQUEST_LOST)
    plan_id = approved(world)
    world.send(plan_id)

    with pytest.raises(ConflictError, match="lease"):
        settle_plan(plan_id, outcome, STATEMENT, world.gate, world.action, world.resumer)

    assert entry_of(world).state is LedgerState.EXECUTING


def test_what_is_not_in_doubt_is_not_settled() -> None:
    world = a_world()
    with pytest.raises(NotFoundError):
        settle_plan("r9#1", Outcome.DONE, STATEMENT, world.gate, world.action, world.resumer)
    plan_id = approved(world)
    with pytest.raises(ConflictError, match="no attempt"):
        settle_plan(plan_id, Outcome.DONE, STATEMENT, world.gate, world.action, world.resumer)
    world.send(plan_id)
    with pytest.raises(ConflictError, match="confirmed already"):
        settle_plan(plan_id, Outcome.NOT_DONE, STATEMENT, world.gate, world.action, world.resumer)


def test_what_was_settled_is_not_settled_again() -> None:
    world = a_world(Behaviour.REQUEST_LOST)
    plan_id = in_doubt(world)
    settle_plan(plan_id, Outcome.NOT_DONE, STATEMENT, world.gate, world.action, world.resumer)

    with pytest.raises(ConflictError, match="holds nothing any more"):
        settle_plan(plan_id, Outcome.DONE, STATEMENT, world.gate, world.action, world.resumer)


@pytest.mark.parametrize(
    ("reason", "evidence", "field"),
    [
        ("", "x", "reason"),
        (" ", "x", "reason"),
        ("x" * 2001, "x", "reason"),
        ("x", "x" * 2001, "evidence"),
    ],
)
def test_a_statement_without_usable_words_is_refused(
    reason: str, evidence: str, field: str
) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        Statement("op", reason, evidence)

    assert caught.value.field == field


def test_p3_an_operator_cannot_say_not_done_against_the_system_of_record() -> None:
    world = a_world(Behaviour.LANDS_WITHIN)
    plan_id = in_doubt(world)
    world.clock.advance(LANDS_WITHIN)

    with pytest.raises(ConflictError, match="settle it as done"):
        settle_plan(plan_id, Outcome.NOT_DONE, STATEMENT, world.gate, world.action, world.resumer)

    assert entry_of(world).state is LedgerState.EXECUTING


def test_an_operator_is_believed_where_the_system_of_record_cannot_say() -> None:
    at = At()
    world = a_world(Behaviour.REQUEST_LOST, watcher=at)
    plan_id = in_doubt(world)
    at.before("esign.read_envelope", failing())

    state = settle_plan(
        plan_id, Outcome.NOT_DONE, STATEMENT, world.gate, world.action, world.resumer
    )

    assert state is PlanState.ABANDONED


def test_settling_needs_evidence() -> None:
    world = a_world(Behaviour.REQUEST_LOST)
    plan_id = in_doubt(world)

    with pytest.raises(InvalidRequestError) as caught:
        settle_plan(
            plan_id, Outcome.DONE, Statement("op", "x"), world.gate, world.action, world.resumer
        )

    assert caught.value.field == "evidence"


def test_an_operator_who_lost_a_race_with_the_sweep_is_told_so() -> None:
    at = At()
    world = a_world(Behaviour.LANDS_WITHIN, watcher=at)
    plan_id = in_doubt(world)

    def the_sweep_confirms() -> None:
        world.clock.advance(world.settings.settle_time)
        world.sweep()

    at.before("store.commit plan.settled", the_sweep_confirms)

    with pytest.raises(ConflictError, match="confirmed already"):
        settle_plan(plan_id, Outcome.NOT_DONE, STATEMENT, world.gate, world.action, world.resumer)
    assert plan_of(world).state is PlanState.EXECUTED


def test_a_decision_stands_when_the_resumption_cannot_be_asked_for() -> None:
    at = At()
    world = a_world(Behaviour.REQUEST_LOST, watcher=at)
    plan_id = in_doubt(world)
    at.before("resumer.resume", failing())

    settle_plan(plan_id, Outcome.NOT_DONE, STATEMENT, world.gate, world.action, world.resumer)

    assert plan_of(world).state is PlanState.ABANDONED
    assert plan_of(world).due_kind is DueKind.RESUME


def test_rows_that_keep_moving_are_left_to_the_operator() -> None:
    at = At()
    world = a_world(Behaviour.REQUEST_LOST, watcher=at)
    plan_id = in_doubt(world)
    for nth in range(1, 5):
        at.before("store.commit plan.settled", failing(StaleError("moved")), nth)

    with pytest.raises(StaleError):
        settle_plan(plan_id, Outcome.DONE, STATEMENT, world.gate, world.action, world.resumer)


# Retry


def test_a_retry_allows_exactly_one_more_attempt() -> None:
    world = a_world(Behaviour.REFUSED)
    plan_id = released(world)
    world.esign.behaviour = Behaviour.ALWAYS_LOST

    retry_plan(plan_id, STATEMENT, world.gate, world.resumer)

    assert entry_of(world).retry_allowed == 2
    assert not entry_of(world).refused
    assert plan_of(world).due_kind is DueKind.RESUME
    assert world.send(plan_id).code == "in_doubt"


def test_only_a_released_plan_is_tried_again() -> None:
    world = a_world(Behaviour.REQUEST_LOST)
    with pytest.raises(NotFoundError):
        retry_plan("r9#1", STATEMENT, world.gate, world.resumer)
    plan_id = in_doubt(world)
    with pytest.raises(ConflictError, match="EXECUTING"):
        retry_plan(plan_id, STATEMENT, world.gate, world.resumer)


def test_a_retry_that_lost_a_race_looks_again() -> None:
    at = At()
    world = a_world(Behaviour.REFUSED, watcher=at)
    plan_id = released(world)
    at.before("store.commit plan.retry_allowed", failing(StaleError("moved")))

    retry_plan(plan_id, STATEMENT, world.gate, world.resumer)

    assert kinds(world).count("plan.retry_allowed") == 1
    for nth in range(1, 5):
        at.before("store.commit plan.retry_allowed", failing(StaleError("moved")), nth)
    with pytest.raises(StaleError):
        retry_plan(plan_id, STATEMENT, world.gate, world.resumer)


# Void


def test_a_void_is_recorded_before_and_after() -> None:
    world = a_world()
    plan_id = approved(world)
    world.send(plan_id)

    void_plan(plan_id, STATEMENT, world.gate, world.action)

    assert kinds(world)[-2:] == ["plan.void_asked", "plan.voided"]
    assert world.esign.truth("1001").status is EnvelopeStatus.CANCELLED
    assert plan_of(world).state is PlanState.EXECUTED


def test_a_void_that_the_vendor_refused_is_not_called_done() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    world.send(plan_id)
    at.before("esign.cancel", failing(VendorRefusedError("too late")))

    with pytest.raises(VendorRefusedError):
        void_plan(plan_id, STATEMENT, world.gate, world.action)

    assert kinds(world)[-1] == "plan.void_asked"


def test_only_what_was_sent_is_voided() -> None:
    world = a_world()
    with pytest.raises(NotFoundError):
        void_plan("r9#1", STATEMENT, world.gate, world.action)
    plan_id = proposed(world)
    with pytest.raises(ConflictError, match="AWAITING_APPROVAL"):
        void_plan(plan_id, STATEMENT, world.gate, world.action)


# Pause


def test_pausing_is_recorded_on_a_chain_of_its_own_with_actor_and_reason() -> None:
    world = a_world()

    pause_begins(STATEMENT, world.gate)
    unpause_begins(STATEMENT, world.gate)

    assert kinds(world, OPERATIONS_CHAIN) == ["begins.paused", "begins.unpaused"]
    pause = world.store.pause()
    assert pause is not None
    assert (pause.paused, pause.actor, pause.reason) == (False, "op", STATEMENT.reason)


def test_a_pause_that_lost_a_race_looks_again() -> None:
    at = At()
    world = a_world(watcher=at)
    at.before("store.commit begins.paused", lambda: unpause_begins(STATEMENT, world.gate))

    pause_begins(STATEMENT, world.gate)

    assert world.gate.paused()
    for nth in range(1, 5):
        at.before("store.commit begins.paused", failing(StaleError("moved")), nth)
    with pytest.raises(StaleError):
        pause_begins(STATEMENT, world.gate)
