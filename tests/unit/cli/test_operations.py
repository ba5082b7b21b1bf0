"""Commands of an operator, through the real routes and use cases."""

from __future__ import annotations

import pytest

from no_undo.domain.plan import PlanState
from no_undo.lab.fake_esign import Behaviour
from no_undo.lab.world import CALLER, World
from no_undo.use_cases.close_request import Closing
from tests.fakes.worlds import (
    OPERATOR_DECIDES,
    a_world,
    approved,
    details,
    entry_of,
    in_doubt,
    plan_of,
    proposed,
    released,
)
from tests.unit.cli.deployment import Deployment
from tests.unit.cli.running import Ran, run

WORDS = ("--reason", "called the vendor", "--evidence", "ticket 77")


def operate(world: World, *arguments: str) -> Ran:
    """Run a command against a world."""
    return run(*arguments, connect=Deployment(world).connect)


def test_in_doubt_shows_the_plan_and_what_was_learned_last() -> None:
    world = a_world(Behaviour.UNKNOWN_STATUS)
    plan_id = in_doubt(world)

    ran = operate(world, "in-doubt")

    [plan] = ran.said["plans"]
    assert (ran.status, plan["plan_id"], plan["state"]) == (0, plan_id, "EXECUTING")
    assert plan["began_at"] == entry_of(world).attempt.began_at.isoformat()
    assert (ran.said["pause"], ran.said["complete"]) == (None, True)


def test_resolve_as_done_confirms_in_the_operators_name() -> None:
    world = a_world(Behaviour.UNKNOWN_STATUS)
    plan_id = in_doubt(world)

    ran = operate(world, "resolve", plan_id, "--outcome", "done", *WORDS)

    [settled] = details(world, "plan.settled")
    assert (ran.status, ran.said) == (0, {"plan_id": plan_id, "state": "EXECUTED"})
    assert (settled["reason"], settled["evidence"]) == ("called the vendor", "ticket 77")


def test_resolve_as_not_done_ends_the_plan_and_a_second_word_is_refused() -> None:
    world = a_world(Behaviour.UNKNOWN_STATUS)
    plan_id = in_doubt(world)

    first = operate(world, "resolve", plan_id, "--outcome", "not-done", *WORDS)
    second = operate(world, "resolve", plan_id, "--outcome", "done", *WORDS)

    assert (first.status, first.said["state"]) == (0, "ABANDONED")
    assert (second.status, second.out) == (1, "")
    assert "holds nothing any more" in second.err


def test_retry_lets_a_released_plan_begin_once_more() -> None:
    world = a_world(Behaviour.REQUEST_LOST, settings=OPERATOR_DECIDES)
    plan_id = released(world)

    listed = operate(world, "in-doubt").said["plans"]
    ran = operate(world, "retry", plan_id, "--reason", "the vendor is up again")

    assert [one["state"] for one in listed] == ["RELEASED"]
    assert ran.status == 0
    assert entry_of(world).retry_allowed == 2


def test_void_recalls_only_what_was_sent() -> None:
    world = a_world()
    plan_id = approved(world)

    too_early = operate(world, "void", plan_id, "--reason", "wrong amount")
    world.send(plan_id)
    ran = operate(world, "void", plan_id, "--reason", "wrong amount")

    assert (too_early.status, ran.status) == (1, 0)
    assert details(world, "plan.void_asked")[0]["reason"] == "wrong amount"


def test_a_pause_is_shown_with_what_waits_for_its_end() -> None:
    world = a_world()
    plan_id = approved(world)

    paused = operate(world, "pause", "--reason", "the vendor changes its pages")
    world.send(plan_id)
    during = operate(world, "in-doubt").said
    unpaused = operate(world, "unpause", "--reason", "looked at them")
    after = operate(world, "in-doubt").said

    assert (paused.status, unpaused.status) == (0, 0)
    assert plan_of(world).state is PlanState.APPROVED
    assert [(one["plan_id"], one["attempts"]) for one in during["plans"]] == [(plan_id, 0)]
    assert (during["pause"]["actor"], during["pause"]["reason"]) == (
        CALLER,
        "the vendor changes its pages",
    )
    assert (after["plans"], after["pause"]) == ([], None)


def test_drafts_lists_what_will_not_be_sent_and_says_no_when_one_was() -> None:
    world = a_world()
    proposed(world)
    world.close("r1", Closing("withdrawn", "Request Approval"))
    world.resume("r1#1")

    quiet = operate(world, "drafts")
    world.esign.send_by_hand("1001")
    world.sweep()
    incident = operate(world, "drafts")

    [draft] = quiet.said["drafts"]
    assert (quiet.status, draft["request_id"], draft["request_state"]) == (0, "r1", "WITHDRAWN")
    assert (draft["envelope_id"], draft["sent"]) == ("1001", False)
    assert (incident.status, incident.said["drafts"][0]["sent"]) == (1, True)


def test_resume_starts_a_recovery_execution_and_refuses_a_second_one() -> None:
    world = a_world()
    world.submit()
    world.pipeline.stop("r1")

    first = operate(world, "resume", "r1", "--reason", "the cause is gone")
    second = operate(world, "resume", "r1")

    assert (first.status, first.said) == (0, {"request_id": "r1", "execution": "r1-r1"})
    assert details(world, "execution.restarted")[0]["reason"] == "the cause is gone"
    assert (second.status, second.out) == (1, "")
    assert "r1-r1 drives it" in second.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("resume", "r9"),
        ("resolve", "r9#1", "--outcome", "done", *WORDS),
        ("retry", "r9#1", "--reason", "again"),
        ("void", "r9#1", "--reason", "again"),
        ("pause", "--reason", " "),
    ],
)
def test_bad_input_is_a_sentence_and_status_2(arguments: tuple[str, ...]) -> None:
    ran = operate(a_world(), *arguments)

    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("no-undo: ")
