"""Parking and resuming: a token is stored first, answered once, and again when it was lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from no_undo.domain.errors import StaleError, TransientError
from no_undo.domain.plan import DueKind, FollowUp, PlanState
from no_undo.domain.waiting import Wait, WaitKind
from no_undo.lab.fake_esign import Behaviour
from no_undo.lab.life import deliver_stream
from no_undo.lab.pipeline import ProcessDiedError
from no_undo.lab.world import World
from no_undo.use_cases.settle_plan import Statement, pause_begins, unpause_begins
from tests.fakes.worlds import (
    OPERATOR_DECIDES,
    At,
    a_world,
    approved,
    change_plan,
    details,
    failing,
    in_doubt,
    kinds,
    plan_of,
    proposed,
    released,
)

STATEMENT = Statement("op", "planned work")


class Heard:
    """Stands in for the state machine: hears every answer, knows which tokens are waited on."""

    def __init__(self, world: World, *waited_on: str) -> None:
        self.answers: list[tuple[str, str]] = []
        self.waited_on = set(waited_on)
        world.executions = self  # type: ignore[assignment]  # the three methods are all it needs

    def start(self, _name: str, _request_id: str) -> None:
        raise AssertionError

    def is_running(self, _name: str) -> bool:
        return True

    def answer(self, task_token: str, outcome: str) -> bool:
        self.answers.append((task_token, outcome))
        heard = task_token in self.waited_on
        self.waited_on.discard(task_token)
        return heard


def test_a_wait_stored_before_the_decision_is_answered_by_it() -> None:
    world = a_world()
    heard = Heard(world, "approval-r1")
    plan_id = approved(world)

    assert world.resume(plan_id) == 1
    assert heard.answers == [("approval-r1", "approved")]
    assert details(world, "wait.answered") == [
        {"wait": "approval", "outcome": "approved", "heard": True}
    ]


def test_a_wait_stored_after_the_decision_is_answered_at_once() -> None:
    world = a_world()
    plan_id = approved(world)
    world.resume(plan_id)
    heard = Heard(world, "late")

    world.request_approval("r1", "late")

    assert plan_of(world).due_kind is DueKind.RESUME
    assert world.resume(plan_id) == 1
    assert heard.answers == [("late", "approved")]


def test_nothing_is_answered_while_there_is_nothing_to_say() -> None:
    world = a_world()
    heard = Heard(world, "approval-r1")
    plan_id = proposed(world)

    assert world.resume(plan_id) == 0
    assert heard.answers == []
    assert world.waits.get(plan_id, WaitKind.APPROVAL) is not None


def test_an_answer_is_given_once() -> None:
    world = a_world()
    heard = Heard(world, "approval-r1")
    plan_id = approved(world)

    world.resume(plan_id)
    world.resume(plan_id)

    assert len(heard.answers) == 1


def test_p11_an_answer_lost_before_it_left_is_given_by_the_sweep() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    at.before("executions.answer", failing(TransientError("throttled")))
    with pytest.raises(TransientError):
        world.resume(plan_id)

    assert world.sweep()["resumed"] == 1
    deliver_stream(world)

    assert details(world, "wait.answered")[0]["outcome"] == "approved"


def test_p11_an_answer_given_twice_does_no_harm() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    at.before("waits.delete approval", failing(ProcessDiedError()))
    with pytest.raises(ProcessDiedError):
        world.resume(plan_id)

    assert world.resume(plan_id) == 1
    assert details(world, "wait.answered")[0]["heard"] is False
    assert world.waits.get(plan_id, WaitKind.APPROVAL) is None


def test_the_newest_token_of_a_wait_wins() -> None:
    world = a_world()
    heard = Heard(world, "approval-r1", "newer")
    plan_id = proposed(world)
    world.clock.advance(timedelta(seconds=1))
    world.request_approval("r1", "newer")
    for approver in ("dave@example.com", "erin@example.com"):
        world.decide(world.tokens_mailed_to(approver)[-1])

    world.resume(plan_id)

    assert heard.answers == [("newer", "approved")]


def test_a_token_that_replaced_the_answered_one_meanwhile_is_kept() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    newer = Wait(plan_id, WaitKind.APPROVAL, "newer", world.clock.now())
    at.before("waits.delete approval", lambda: world.waits.put(newer))

    world.resume(plan_id)

    assert world.waits.get(plan_id, WaitKind.APPROVAL) == newer


def test_a_wait_that_parks_while_others_are_answered_is_looked_at_again() -> None:
    at = At()
    world = a_world(Behaviour.REQUEST_LOST, watcher=at)
    plan_id = approved(world)
    world.send(plan_id)
    change_plan(world, state=PlanState.EXECUTED, due_kind=DueKind.RESUME, due_at=world.clock.now())
    at.before("store.entry", lambda: world.await_settlement("r1", "settle"))

    world.resume(plan_id)
    world.resume(plan_id)

    assert world.waits.get(plan_id, WaitKind.SETTLEMENT) is None


def test_news_of_an_unknown_plan_is_ignored() -> None:
    assert a_world().resume("r9#1") == 0


# Settlement


def test_p4_a_settlement_wait_goes_on_while_the_attempt_is_in_doubt() -> None:
    world = a_world(Behaviour.REQUEST_LOST)
    plan_id = in_doubt(world)
    world.await_settlement("r1", "settle")

    assert world.resume(plan_id) == 0
    assert plan_of(world).due_kind is DueKind.SETTLE


def test_a_settled_attempt_answers_executed() -> None:
    world = a_world(Behaviour.LANDS_WITHIN)
    plan_id = in_doubt(world)
    world.await_settlement("r1", "settle")
    heard = Heard(world, "settle")
    world.clock.advance(timedelta(minutes=30))
    world.sweep()

    world.resume(plan_id)

    assert ("settle", "executed") in heard.answers


def test_a_released_attempt_begins_again_after_the_poll_interval() -> None:
    world = a_world(Behaviour.REQUEST_LOST)
    plan_id = released(world)
    world.resume(plan_id)
    heard = Heard(world, "settle")

    world.await_settlement("r1", "settle")
    early = world.resume(plan_id)
    world.clock.advance(world.settings.poll_interval)
    late = world.resume(plan_id)

    assert (early, late) == (0, 1)
    assert heard.answers == [("settle", "begin_again")]


def test_a_plan_that_never_began_goes_back_to_its_call() -> None:
    world = a_world()
    plan_id = approved(world)
    world.resume(plan_id)
    heard = Heard(world, "settle")
    world.await_settlement("r1", "settle")
    world.clock.advance(world.settings.poll_interval)

    world.resume(plan_id)

    assert heard.answers == [("settle", "begin_again")]


@pytest.mark.parametrize("why", ["refused", "operator"])
def test_p2_a_released_plan_that_needs_a_person_is_not_sent_back_by_itself(why: str) -> None:
    world = (
        a_world(Behaviour.REFUSED)
        if why == "refused"
        else a_world(Behaviour.REQUEST_LOST, settings=OPERATOR_DECIDES)
    )
    plan_id = released(world)
    world.await_settlement("r1", "settle")

    for _ in range(10):
        world.clock.advance(world.settings.poll_interval)
        world.sweep()
        deliver_stream(world)

    assert world.waits.get(plan_id, WaitKind.SETTLEMENT) is not None
    assert plan_of(world).due_kind is DueKind.EXPIRE


def test_a_paused_plan_goes_on_by_itself_after_the_pause() -> None:
    world = a_world()
    plan_id = approved(world)
    world.resume(plan_id)
    heard = Heard(world, "settle")
    pause_begins(STATEMENT, world.gate)
    assert world.send(plan_id).code == "paused"
    world.await_settlement("r1", "settle")
    for _ in range(3):
        world.clock.advance(world.settings.poll_interval)
        world.sweep()
        deliver_stream(world)
    assert heard.answers == []

    unpause_begins(STATEMENT, world.gate)
    world.clock.advance(world.settings.poll_interval)
    world.sweep()
    deliver_stream(world)

    assert heard.answers == [("settle", "begin_again")]


def test_a_paused_plan_still_expires() -> None:
    world = a_world()
    approved(world)
    world.resume("r1#1")
    pause_begins(STATEMENT, world.gate)
    world.await_settlement("r1", "settle")
    world.clock.set(plan_of(world).expires_at)

    world.sweep()
    deliver_stream(world)

    assert plan_of(world).state is PlanState.EXPIRED
    assert details(world, "wait.answered")[-1]["outcome"] == "expired"


# Signature


def test_a_signature_wait_is_answered_once_the_envelope_has_an_ending() -> None:
    world = a_world()
    plan_id = approved(world)
    world.send(plan_id)
    world.resume(plan_id)
    heard = Heard(world, "sign")
    world.await_signature("r1", "sign")
    assert world.resume(plan_id) == 0
    world.clock.advance(timedelta(minutes=10))
    world.sweep()

    world.resume(plan_id)

    assert heard.answers == [("sign", "signed")]
    assert plan_of(world).due_kind is None


def test_a_signature_wait_stored_after_the_ending_is_answered_at_once() -> None:
    world = a_world()
    plan_id = approved(world)
    world.send(plan_id)
    change_plan(world, follow_up=FollowUp.DECLINED)
    heard = Heard(world, "sign")

    world.await_signature("r1", "sign")
    world.resume(plan_id)

    assert heard.answers[-1] == ("sign", "declined")


# Parking


def test_a_token_is_stored_before_anything_is_looked_at() -> None:
    at = At()
    world = a_world(watcher=at)
    approved(world)
    at.seen.clear()

    world.await_settlement("r1", "settle")

    calls = [one for one in at.seen if not one.startswith("store.request")]
    assert calls[0] == "waits.put settlement"


def test_p11_a_park_that_died_after_storing_its_token_is_made_good_by_the_sweep() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = proposed(world)
    at.after("waits.put approval", failing(ProcessDiedError()))
    with pytest.raises(ProcessDiedError):
        world.request_approval("r1", "second")
    heard = Heard(world, "second")
    for approver in ("dave@example.com", "erin@example.com"):
        world.decide(world.tokens_mailed_to(approver)[-1])

    world.resume(plan_id)

    assert heard.answers == [("second", "approved")]


def test_a_park_that_keeps_losing_races_is_repeated_by_the_machine() -> None:
    at = At()
    world = a_world(watcher=at)
    approved(world)
    for nth in range(1, 5):
        at.before("store.commit wait.stored", failing(StaleError("moved")), nth)

    with pytest.raises(StaleError):
        world.await_settlement("r1", "settle")


def test_a_park_that_lost_one_race_looks_again() -> None:
    at = At()
    world = a_world(watcher=at)
    approved(world)
    stored = kinds(world).count("wait.stored")
    at.before("store.commit wait.stored", failing(StaleError("moved")))

    world.await_settlement("r1", "settle")

    assert kinds(world).count("wait.stored") == stored + 1


def test_a_wait_for_a_plan_that_does_not_exist_is_only_stored() -> None:
    world = a_world()
    world.submit(start=False)

    world.await_settlement("r1", "settle")

    assert world.waits.get("r1#1", WaitKind.SETTLEMENT) is not None


@pytest.mark.parametrize("state", [PlanState.APPROVED, PlanState.RELEASED])
def test_looking_at_a_plan_before_it_is_due_changes_nothing(state: PlanState) -> None:
    world = a_world()
    plan_id = approved(world)
    later = world.clock.now() + timedelta(seconds=1)
    change_plan(world, state=state, due_kind=DueKind.RESUME, due_at=later)
    before = plan_of(world)

    assert world.resume(plan_id) == 0
    assert plan_of(world) == before
    assert replace(before, due_at=later) == before
