"""Drafts that will not be sent: listed, looked at politely, an incident when they are sent."""

from __future__ import annotations

from datetime import timedelta

import pytest

from no_undo.domain.envelope import EnvelopeStatus
from no_undo.domain.errors import TransientError, VendorContractError
from no_undo.domain.plan import DueKind, PlanState
from no_undo.domain.request import RequestState
from no_undo.lab.fake_esign import Behaviour
from no_undo.lab.world import World
from no_undo.use_cases.close_request import Closing
from no_undo.use_cases.list_drafts import list_drafts
from no_undo.use_cases.watch_drafts import REQUESTS_PER_SWEEP
from tests.fakes.worlds import (
    At,
    a_world,
    change_plan,
    details,
    failing,
    kinds,
    plan_of,
    proposed,
    request_of,
)


def abandoned(world: World, request_id: str = "r1") -> None:
    """Bring a request to its end before anything was sent; nothing is due for its plan."""
    proposed(world, request_id, source=f"%PDF-1.7 {request_id}".encode())
    world.close(request_id, Closing("withdrawn", "Request Approval"))
    world.resume(f"{request_id}#1")


def reads(at: At) -> int:
    return at.seen.count("esign.read_envelope")


def test_an_abandoned_draft_that_stays_one_is_looked_at_and_left_alone() -> None:
    at = At()
    world = a_world(watcher=at)
    abandoned(world)
    told = kinds(world)
    at.seen.clear()

    assert world.sweep() == {"draft_checked": 1}
    assert reads(at) == 1
    assert "esign.activity_history" not in at.seen
    assert kinds(world) == told
    assert request_of(world).drafts_check_at == world.clock.now() + world.settings.settle_time


@pytest.mark.parametrize("status", [EnvelopeStatus.SENT, EnvelopeStatus.SIGNED])
def test_an_abandoned_draft_that_was_sent_is_an_incident_once(status: EnvelopeStatus) -> None:
    world = a_world()
    abandoned(world)
    world.sweep()
    world.esign.send_by_hand("1001")
    if status is EnvelopeStatus.SIGNED:
        world.clock.advance(timedelta(minutes=10))
    world.clock.advance(world.settings.settle_time)

    assert world.sweep() == {"draft_sent": 1}
    [told] = details(world, "draft.seen_sent")
    assert told["envelopes"] == ["1001"]
    assert request_of(world).sent_drafts == ("1001",)
    assert request_of(world).state is RequestState.WITHDRAWN
    assert plan_of(world).state is PlanState.WITHDRAWN  # it is never called ours
    world.clock.advance(timedelta(days=400))
    assert world.sweep() == {}


def test_drafts_are_not_looked_at_before_their_time() -> None:
    at = At()
    world = a_world(watcher=at)
    abandoned(world)
    world.sweep()
    at.seen.clear()
    world.clock.advance(world.settings.settle_time - timedelta(seconds=1))

    assert world.sweep() == {}
    assert reads(at) == 0


def test_a_hint_that_repeats_itself_leads_to_one_read() -> None:
    at = At()
    world = a_world(watcher=at)
    abandoned(world)
    at.seen.clear()
    at.before("store.reschedule", world.sweep)  # an index that still lists what was looked at

    world.sweep()
    world.sweep()

    assert reads(at) == 2  # the overlapping sweep's own, and no third


@pytest.mark.parametrize("error", [TransientError("throttled"), VendorContractError("HTML")])
def test_a_vendor_that_does_not_answer_is_asked_again_at_the_next_look(error: Exception) -> None:
    at = At()
    world = a_world(watcher=at)
    abandoned(world)
    world.esign.send_by_hand("1001")
    at.before("esign.read_envelope", failing(error))

    assert world.sweep() == {"draft_checked": 1}
    assert world.sweep() == {}
    world.clock.advance(world.settings.settle_time)
    assert world.sweep() == {"draft_sent": 1}


def test_an_unknown_status_is_no_incident() -> None:
    world = a_world(Behaviour.UNKNOWN_STATUS)
    abandoned(world)
    world.esign.send_by_hand("1001")

    assert world.sweep() == {"draft_checked": 1}


def test_a_draft_is_not_asked_about_twice_while_its_plan_is_looked_at() -> None:
    at = At()
    world = a_world(watcher=at)
    abandoned(world)
    later = world.clock.now() + timedelta(hours=1)
    change_plan(world, due_kind=DueKind.SETTLE, due_at=later)
    at.seen.clear()

    assert world.sweep() == {}
    assert reads(at) == 0
    assert request_of(world).drafts_check_at == world.clock.now() + world.settings.settle_time


def test_the_rate_is_bounded_and_everybodys_turn_comes() -> None:
    at = At()
    world = a_world(watcher=at)
    for number in range(REQUESTS_PER_SWEEP + 3):
        abandoned(world, f"r{number}")
    at.seen.clear()

    assert world.sweep() == {"draft_checked": REQUESTS_PER_SWEEP}
    assert world.sweep() == {"draft_checked": 3}
    assert reads(at) == REQUESTS_PER_SWEEP + 3


def test_an_incident_that_could_not_be_recorded_is_found_again() -> None:
    at = At()
    world = a_world(watcher=at)
    abandoned(world)
    world.esign.send_by_hand("1001")
    at.before("store.commit draft.seen_sent", failing())

    assert world.sweep() == {"failed": 1}
    assert world.sweep() == {"draft_sent": 1}


def test_a_draft_of_an_open_request_that_is_its_own_is_none_of_this() -> None:
    world = a_world()
    proposed(world)

    assert world.sweep() == {}
    assert list_drafts(world.store).drafts == ()


def test_the_list_shows_sent_drafts_first_and_when_the_next_look_comes() -> None:
    world = a_world()
    abandoned(world, "r1")
    abandoned(world, "r2")
    world.esign.send_by_hand("1002")
    world.sweep()

    listed = list_drafts(world.store)

    assert [(one.request_id, one.envelope_id, one.sent) for one in listed.drafts] == [
        ("r2", "1002", True),
        ("r1", "1001", False),
    ]
    assert [one.next_look_at for one in listed.drafts] == [None, request_of(world).drafts_check_at]
    assert listed.complete
