"""The driver of the real state machine, and requests that outlive their executions (P11)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from no_undo.domain.envelope import EnvelopeStatus
from no_undo.domain.errors import (
    InDoubtError,
    NothingSentError,
    TransientError,
    VendorRefusedError,
)
from no_undo.domain.plan import PlanState
from no_undo.domain.request import RequestState
from no_undo.lab.fake_esign import Behaviour
from no_undo.lab.invariants import second_effects, violations
from no_undo.lab.life import People, deliver_stream, live
from no_undo.lab.pipeline import ExecutionStatus, ProcessDiedError, load_definition
from no_undo.lab.world import APPROVERS, World
from no_undo.use_cases.settle_plan import Statement, pause_begins, unpause_begins
from tests.fakes.worlds import At, a_world, details, failing, plan_of, request_of

WHOLE_PATH = [
    "Choose Stage",
    "Enter Stage",
    "Create Draft",
    "Request Approval",
    "Act On Approval",
    "Send Envelope",
    "Act On Send",
    "Await Signature",
    "Act On Signature",
    "Archive Signed Document",
    "Note Completion",
    "Close Request",
    "Finished",
]
NOBODY = People({})


def history(world: World, name: str = "r1") -> list[str]:
    return world.pipeline.executions[name].history


def assert_all_promises_hold(world: World) -> None:
    assert second_effects(world) == []
    assert violations(world) == []


def test_a_request_walks_the_real_definition_to_its_end() -> None:
    world = a_world()
    world.submit()

    live(world)

    assert history(world) == WHOLE_PATH
    assert request_of(world).state is RequestState.COMPLETED
    assert world.pipeline.executions["r1"].status is ExecutionStatus.SUCCEEDED
    assert_all_promises_hold(world)


@pytest.mark.parametrize("state", WHOLE_PATH)
def test_p11_an_execution_stopped_in_any_state_is_replaced_and_the_request_ends(
    state: str,
) -> None:
    world = a_world()
    world.submit()
    people = People()
    for _ in range(200):
        if history(world)[-1:] == [state] or not world.pipeline.is_running("r1"):
            break
        live_one_step(world, people)
    world.pipeline.stop("r1")

    live(world, people)

    assert request_of(world).state is RequestState.COMPLETED
    assert len(world.esign.effects) == 1
    assert_all_promises_hold(world)


def live_one_step(world: World, people: People) -> None:
    """Let the first execution take one step; when it waits, let everything else happen."""
    if "r1" in world.pipeline.ready():
        world.pipeline.step("r1")
        return
    people.act(world)
    deliver_stream(world)
    world.clock.advance(timedelta(minutes=1))
    world.sweep()


def test_p11_the_sweep_alone_brings_a_request_to_its_end_when_the_stream_is_broken() -> None:
    world = a_world()
    world.stream_delivers = False
    world.submit()

    live(world)

    assert request_of(world).state is RequestState.COMPLETED
    assert_all_promises_hold(world)


def test_one_rejection_ends_the_request() -> None:
    world = a_world()
    world.submit()

    live(world, People({APPROVERS[0]: "reject"}))

    assert request_of(world).state is RequestState.REJECTED
    assert request_of(world).abandoned_drafts == ("1001",)
    assert world.esign.sends == []
    assert_all_promises_hold(world)


def test_nobody_deciding_ends_the_request_as_expired() -> None:
    world = a_world()
    world.submit()

    live(world, NOBODY)

    assert request_of(world).state is RequestState.EXPIRED
    assert_all_promises_hold(world)


def test_an_approval_that_expires_during_a_pause_ends_the_request_as_expired() -> None:
    world = a_world()
    world.submit()
    pause_begins(Statement("op", "planned work"), world.gate)

    live(world)

    assert request_of(world).state is RequestState.EXPIRED
    assert world.esign.sends == []
    assert_all_promises_hold(world)


def test_a_paused_request_goes_on_by_itself_after_the_pause() -> None:
    world = a_world()
    world.submit()
    pause_begins(Statement("op", "planned work"), world.gate)
    live(world, horizon=timedelta(hours=1))
    assert world.esign.sends == []
    assert plan_of(world).state is PlanState.APPROVED

    unpause_begins(Statement("op", "done"), world.gate)
    live(world)

    assert request_of(world).state is RequestState.COMPLETED
    assert_all_promises_hold(world)


def test_a_withdrawn_request_ends_as_withdrawn() -> None:
    world = a_world()
    world.submit()
    live(world, NOBODY, horizon=timedelta(minutes=10))

    world.withdraw("r1")
    live(world, NOBODY)

    assert request_of(world).state is RequestState.WITHDRAWN
    assert_all_promises_hold(world)


def test_a_request_withdrawn_before_its_draft_ends_as_withdrawn() -> None:
    world = a_world()
    world.submit()
    world.withdraw("r1")

    live(world)

    assert request_of(world).state is RequestState.WITHDRAWN
    assert "Note Withdrawal" in history(world)
    assert_all_promises_hold(world)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (EnvelopeStatus.DECLINED, RequestState.DECLINED),
        (EnvelopeStatus.CANCELLED, RequestState.CANCELLED),
        (EnvelopeStatus.EXPIRED, RequestState.SIGNATURE_EXPIRED),
    ],
)
def test_an_envelope_that_ends_unsigned_ends_the_request_as_what_it_is(
    status: EnvelopeStatus, expected: RequestState
) -> None:
    world = a_world()
    world.esign.ends_as = status
    world.submit()

    live(world)

    assert request_of(world).state is expected
    assert_all_promises_hold(world)


def test_a_failed_archive_is_tried_again_until_it_works() -> None:
    world = a_world()
    world.validator.problems = ("the signature is broken",)
    world.submit()
    live(world, horizon=timedelta(hours=1))
    assert request_of(world).state is RequestState.SIGNED_NOT_ARCHIVED

    world.validator.problems = ()
    live(world)

    assert request_of(world).state is RequestState.COMPLETED
    assert len(world.esign.effects) == 1
    assert_all_promises_hold(world)


@pytest.mark.parametrize(
    "error", [TransientError("throttled"), NothingSentError("refused"), InDoubtError("lost")]
)
def test_a_passing_trouble_while_drafting_is_retried(error: Exception) -> None:
    at = At()
    world = a_world(watcher=at)
    hook = at.after if isinstance(error, InDoubtError) else at.before
    hook("esign.create_draft", failing(error))
    world.submit()

    live(world)

    assert request_of(world).state is RequestState.COMPLETED
    assert request_of(world).envelope_id == "1001"
    assert request_of(world).abandoned_drafts == ()
    assert_all_promises_hold(world)


def test_a_lasting_trouble_while_drafting_ends_the_request_and_names_the_stage() -> None:
    at = At()
    world = a_world(watcher=at)
    at.before("esign.create_draft", failing(VendorRefusedError("no credits")))
    world.submit()

    live(world)

    ending = request_of(world).ending
    assert ending is not None
    assert (ending.stage, ending.code) == ("Create Draft", "VendorRefusedError")
    assert_all_promises_hold(world)


def test_retries_end_where_the_definition_says() -> None:
    at = At()
    world = a_world(watcher=at)
    most = load_definition()["States"]["Create Draft"]["Retry"][0]["MaxAttempts"]
    for nth in range(1, most + 2):
        at.before("esign.create_draft", failing(TransientError("throttled")), nth)
    world.submit()

    live(world)

    assert request_of(world).state is RequestState.FAILED
    assert history(world).count("Create Draft") == most + 1


def test_the_send_is_never_retried_by_the_machine() -> None:
    at = At()
    world = a_world(watcher=at)
    at.after("esign.send_draft", failing(ProcessDiedError()))
    world.submit()

    live(world)

    assert "Retry" not in load_definition()["States"]["Send Envelope"]
    assert history(world).count("Send Envelope") == 1
    assert "Await Settlement" in history(world)
    assert len(world.esign.effects) == 1
    assert_all_promises_hold(world)


def test_a_wait_beyond_its_timeout_goes_back_to_choosing_the_stage() -> None:
    world = a_world()
    world.submit()
    for _ in range(4):
        world.pipeline.step("r1")
    execution = world.pipeline.executions["r1"]
    assert execution.parked
    world.clock.set(execution.ready_at)

    world.pipeline.step("r1")

    assert execution.state == "Choose Stage"


def test_an_answer_to_an_old_token_is_not_heard() -> None:
    world = a_world()
    world.submit()
    for _ in range(4):
        world.pipeline.step("r1")
    old = world.pipeline.executions["r1"].token
    world.pipeline.stop("r1")

    assert not world.pipeline.answer(old, "approved")
    assert not world.pipeline.answer("", "approved")


def _sent_by_hand(world: World) -> None:
    world.esign.send_by_hand("1001")


def _changed(world: World) -> None:
    world.esign.change("1001", name="something else")


@pytest.mark.parametrize(
    ("tamper", "code"),
    [(_sent_by_hand, "sent_outside_gate"), (_changed, "read_back_differs")],
)
def test_a_refused_send_ends_the_request_with_the_code_of_the_rule(
    tamper: Callable[[World], None], code: str
) -> None:
    world = a_world()
    world.submit()
    live(world, NOBODY, horizon=timedelta(minutes=10))
    tamper(world)

    live(world)

    ending = request_of(world).ending
    assert ending is not None
    assert (ending.stage, ending.code) == ("Send Envelope", code)
    assert request_of(world).state is RequestState.FAILED
    assert world.esign.sends == []


def test_p2_a_second_execution_for_the_same_request_sends_nothing_twice() -> None:
    world = a_world(Behaviour.REPLY_LOST)
    world.submit()
    world.pipeline.start("r1-r1", "r1")

    live(world)

    assert len(world.esign.effects) == 1
    assert len(world.esign.sends) == 1
    assert request_of(world).state is RequestState.COMPLETED


def test_a_definition_is_found_only_in_a_checkout(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="checkout"):
        load_definition(tmp_path / "site-packages" / "pipeline.py")


def test_recovery_executions_are_recorded() -> None:
    world = a_world()
    world.submit()
    world.pipeline.stop("r1")

    live(world)

    assert details(world, "execution.restarted") == [{"execution": "r1-r1"}]
    assert request_of(world).state is RequestState.COMPLETED
