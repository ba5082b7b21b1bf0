"""An operator drives a request on that nothing drives (design 4)."""

from __future__ import annotations

import pytest

from no_undo.domain.errors import ConflictError, NotFoundError, StaleError, TransientError
from no_undo.lab.world import World
from no_undo.use_cases.close_request import Closing
from no_undo.use_cases.resume_request import resume_request
from no_undo.use_cases.settle_plan import Statement
from tests.fakes.worlds import At, a_world, details, failing, proposed, request_of

BY_HAND = Statement("an operator", "the vendor is up again")


def resume(world: World, request_id: str = "r1") -> str:
    return resume_request(request_id, BY_HAND, world.gate, world.executions)


def stopped(at: At | None = None) -> World:
    world = a_world(watcher=at)
    world.submit()
    world.pipeline.stop("r1")
    return world


def test_a_stopped_request_gets_its_next_execution_in_the_operators_name() -> None:
    world = stopped()

    assert resume(world) == "r1-r1"

    assert world.pipeline.is_running("r1-r1")
    assert details(world, "execution.restarted") == [
        {"execution": "r1-r1", "reason": "the vendor is up again"}
    ]
    assert request_of(world).check_at == world.clock.now() + world.settings.driver_interval


def test_a_request_that_is_driven_is_refused_and_the_driver_named() -> None:
    world = a_world()
    world.submit()

    with pytest.raises(ConflictError, match="the execution r1 drives it"):
        resume(world)

    assert details(world, "execution.restarted") == []


def test_an_ended_request_is_refused() -> None:
    world = a_world()
    proposed(world)
    world.close("r1", Closing("withdrawn", "Request Approval"))

    with pytest.raises(ConflictError, match="WITHDRAWN"):
        resume(world)


def test_an_unknown_request_is_not_found() -> None:
    with pytest.raises(NotFoundError):
        resume(a_world())


def test_a_start_that_fails_is_made_good_by_the_next_one() -> None:
    at = At()
    world = stopped(at)
    at.before("executions.start", failing())
    with pytest.raises(TransientError):
        resume(world)

    assert resume(world) == "r1-r2"
    assert world.pipeline.is_running("r1-r2")


def test_an_operator_and_the_sweep_at_once_start_one_execution() -> None:
    at = At()
    world = stopped(at)
    world.clock.advance(world.settings.driver_interval)
    at.before("store.commit execution.restarted", world.sweep)

    with pytest.raises(ConflictError, match="r1-r1"):
        resume(world)

    assert list(world.pipeline.executions) == ["r1", "r1-r1"]


def test_a_request_that_keeps_changing_is_left_alone() -> None:
    at = At()
    world = stopped(at)
    for nth in range(1, 5):
        at.before("store.commit execution.restarted", failing(StaleError("moved")), nth)

    with pytest.raises(StaleError):
        resume(world)

    assert list(world.pipeline.executions) == ["r1"]
