"""Asking for approval: a plan once, a link and a mail for each approver, whatever breaks."""

from __future__ import annotations

import pytest

from no_undo.domain.approval import LinkState, token_sha256
from no_undo.domain.errors import (
    ConflictError,
    InDoubtError,
    StaleError,
    TransientError,
    VendorRefusedError,
    WithdrawnError,
)
from no_undo.domain.plan import DueKind, PlanState, digest_of
from no_undo.domain.request import RequestState
from no_undo.domain.waiting import WaitKind
from no_undo.lab.pipeline import ProcessDiedError
from no_undo.lab.world import APPROVERS, World
from no_undo.use_cases.close_request import Closing
from tests.fakes.worlds import (
    At,
    a_world,
    approved,
    details,
    failing,
    kinds,
    plan_of,
    proposed,
    request_of,
)

DAVE, ERIN = APPROVERS


def a_drafted_world(at: At | None = None) -> World:
    world = a_world(watcher=at)
    world.submit(start=False)
    world.create_draft("r1")
    return world


def link_states(world: World, approver: str) -> list[LinkState]:
    return [world.link_behind(one).state for one in world.tokens_mailed_to(approver)]


def test_the_plan_is_stored_and_each_approver_gets_a_link_of_their_own() -> None:
    world = a_drafted_world()

    world.request_approval("r1", "token")

    plan = plan_of(world)
    assert plan.state is PlanState.AWAITING_APPROVAL
    assert plan.digest == digest_of(plan)
    assert (plan.due_kind, plan.due_at) == (DueKind.EXPIRE, plan.expires_at)
    assert request_of(world).state is RequestState.AWAITING_APPROVAL
    assert [len(world.tokens_mailed_to(one)) for one in APPROVERS] == [1, 1]
    assert world.tokens_mailed_to(DAVE) != world.tokens_mailed_to(ERIN)
    assert world.waits.get("r1#1", WaitKind.APPROVAL) is not None


def test_p10_neither_token_is_stored_or_recorded_in_clear() -> None:
    world = a_drafted_world()
    world.request_approval("r1", "secret-task-token")

    chain = "".join(one.line for one in world.store.chain("r1"))
    for token in [*world.tokens_mailed_to(DAVE), *world.tokens_mailed_to(ERIN)]:
        assert token not in chain
        assert token not in repr(plan_of(world))
    assert "secret-task-token" not in chain
    assert "secret-task-token" not in "".join(one.message.text for one in world.mailer.sent)


def test_p10_recipients_are_recorded_only_as_keyed_hashes() -> None:
    world = a_drafted_world()
    world.request_approval("r1", "token")

    assert "alice@example.com" not in "".join(one.line for one in world.store.chain("r1"))
    assert len(details(world, "plan.proposed")[0]["recipients"]) == 2


def test_a_repeated_step_finds_its_plan_and_mails_nobody_again() -> None:
    world = a_drafted_world()
    world.request_approval("r1", "first")

    world.request_approval("r1", "second")

    assert kinds(world).count("plan.proposed") == 1
    assert len(world.mailer.sent) == 2


def test_a_crash_between_link_and_mail_issues_a_new_link_and_kills_the_old_one() -> None:
    at = At()
    world = a_drafted_world(at)
    at.before("mailer.send", failing(ProcessDiedError()))
    with pytest.raises(ProcessDiedError):
        world.request_approval("r1", "first")
    lost = plan_of(world).links[0].token_sha256

    world.request_approval("r1", "second")

    lost_link = world.store.link(lost)
    assert lost_link is not None
    assert lost_link.state is LinkState.SUPERSEDED
    assert link_states(world, DAVE) == [LinkState.LIVE]


def test_a_crash_between_mail_and_mark_kills_the_mailed_link_and_mails_a_new_one() -> None:
    at = At()
    world = a_drafted_world(at)
    at.after("mailer.send", failing(ProcessDiedError()))
    with pytest.raises(ProcessDiedError):
        world.request_approval("r1", "first")

    world.request_approval("r1", "second")

    assert link_states(world, DAVE) == [LinkState.SUPERSEDED, LinkState.LIVE]
    assert link_states(world, ERIN) == [LinkState.LIVE]


def test_one_refused_address_does_not_keep_the_others_from_being_asked() -> None:
    at = At()
    world = a_drafted_world(at)
    at.before("mailer.send", failing(VendorRefusedError("not verified")))

    world.request_approval("r1", "token")

    assert world.tokens_mailed_to(DAVE) == []
    assert len(world.tokens_mailed_to(ERIN)) == 1
    assert details(world, "approval.mail_refused") == [{"approver": DAVE}]


def test_one_failed_mail_never_mails_the_others_again() -> None:
    at = At()
    world = a_drafted_world(at)
    at.before("mailer.send", failing(TransientError("throttled")), nth=2)
    with pytest.raises(TransientError):
        world.request_approval("r1", "first")

    world.request_approval("r1", "second")

    assert len(world.tokens_mailed_to(DAVE)) == 1
    assert len(world.tokens_mailed_to(ERIN)) == 1


def test_an_approver_is_asked_even_when_another_one_decides_meanwhile() -> None:
    at = At()
    world = a_drafted_world(at)

    def dave_decides() -> None:
        world.decide(world.tokens_mailed_to(DAVE)[-1])

    at.before("store.commit link.issued", dave_decides, nth=2)

    world.request_approval("r1", "token")

    assert len(world.tokens_mailed_to(ERIN)) == 1
    assert [one.approver for one in plan_of(world).decisions] == [DAVE]


def test_a_plan_that_keeps_moving_while_links_are_issued_repeats_the_step() -> None:
    at = At()
    world = a_drafted_world(at)
    for nth in range(1, 5):
        at.before("store.commit link.issued", failing(StaleError("moved")), nth)

    with pytest.raises(StaleError):
        world.request_approval("r1", "token")


def test_nobody_is_asked_once_the_plan_no_longer_waits() -> None:
    at = At()
    world = a_drafted_world(at)
    at.before("store.commit link.issued", lambda: world.withdraw("r1"))

    world.request_approval("r1", "token")

    assert world.mailer.sent == []
    assert plan_of(world).state is PlanState.WITHDRAWN


def test_a_plan_whose_write_lost_its_answer_is_found_by_the_repeated_step() -> None:
    at = At()
    world = a_drafted_world(at)
    at.after("store.commit plan.proposed", failing(InDoubtError("the answer was lost")))
    with pytest.raises(InDoubtError):
        world.request_approval("r1", "first")

    world.request_approval("r1", "second")

    assert kinds(world).count("plan.proposed") == 1
    assert len(world.mailer.sent) == 2


def test_two_overlapping_steps_store_one_plan() -> None:
    at = At()
    world = a_drafted_world(at)
    at.before("store.commit plan.proposed", lambda: world.request_approval("r1", "other"))

    world.request_approval("r1", "token")

    assert kinds(world).count("plan.proposed") == 1
    assert len(world.mailer.sent) == 2


def test_a_request_taken_back_before_its_plan_existed_gets_none() -> None:
    at = At()
    world = a_drafted_world(at)
    at.before("store.commit plan.proposed", lambda: world.withdraw("r1"))

    with pytest.raises(WithdrawnError):
        world.request_approval("r1", "token")

    assert world.store.plan("r1#1") is None
    assert world.mailer.sent == []


def test_a_request_that_keeps_moving_repeats_the_step() -> None:
    at = At()
    world = a_drafted_world(at)
    for nth in range(1, 5):
        at.before("store.commit plan.proposed", failing(StaleError("moved")), nth)

    with pytest.raises(StaleError):
        world.request_approval("r1", "token")


def test_an_ended_request_is_not_asked_about() -> None:
    world = a_drafted_world()
    world.close("r1", Closing("failed", "Create Draft"))

    with pytest.raises(ConflictError):
        world.request_approval("r1", "token")


def test_an_approved_plan_is_not_mailed_about_again() -> None:
    world = a_world()
    approved(world)

    world.request_approval("r1", "recovery")

    assert len(world.mailer.sent) == 2


def test_a_mark_that_lost_a_race_is_made_again_and_one_that_cannot_be_made_stops_nothing() -> None:
    at = At()
    world = a_drafted_world(at)
    at.before("store.commit approval.asked", failing(StaleError("moved")))
    world.request_approval("r1", "token")
    assert all(one.mailed_at is not None for one in plan_of(world).links)

    other = At()
    moving = a_drafted_world(other)
    for nth in range(1, 5):
        other.before("store.commit approval.asked", failing(StaleError("moved")), nth)
    moving.request_approval("r1", "token")
    assert len(moving.tokens_mailed_to(ERIN)) == 1


def test_a_plan_without_a_moment_lasts_as_many_hours_as_the_request_says() -> None:
    world = a_world()
    proposed(world)

    plan = plan_of(world)
    assert plan.expires_at == request_of(world).deadline
    assert token_sha256(world.tokens_mailed_to(DAVE)[0]) == plan.links[0].token_sha256
