"""The sweep is polite to the vendor: no envelope is read twice within an interval (design 8.6).

Sweeps run far more often here than the interval; what counts is what reaches the vendor.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from no_undo.lab.fake_esign import Behaviour
from no_undo.lab.world import World
from no_undo.use_cases.close_request import Closing
from tests.fakes.worlds import (
    OPERATOR_DECIDES,
    At,
    a_world,
    approved,
    in_doubt,
    plan_of,
    proposed,
    released,
)

READ = "esign.read_envelope"
OFTEN = timedelta(seconds=19)


class Timed(At):
    """A watcher that also notes when each status was read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[datetime] = []
        self.world: World | None = None

    def around(self, call: str, do: Callable[[], object]) -> object:
        if call == READ and self.world is not None:
            self.reads.append(self.world.clock.now())
        return super().around(call, do)


def in_doubt_for_ever() -> tuple[World, Timed]:
    at = Timed()
    world = a_world(Behaviour.UNKNOWN_STATUS, watcher=at)
    in_doubt(world)
    return world, at


def not_done() -> tuple[World, Timed]:
    at = Timed()
    world = a_world(Behaviour.ALWAYS_LOST, settings=OPERATOR_DECIDES, watcher=at)
    in_doubt(world)
    return world, at


def sent_and_unsigned() -> tuple[World, Timed]:
    at = Timed()
    world = a_world(watcher=at)
    world.esign.signs_after = None
    world.send(approved(world))
    world.resume("r1#1")
    return world, at


def closed_after_an_attempt() -> tuple[World, Timed]:
    """Its plan is watched for a late effect, and its draft is abandoned: one envelope."""
    at = Timed()
    world = a_world(Behaviour.ALWAYS_LOST, settings=OPERATOR_DECIDES, watcher=at)
    released(world)
    world.resume("r1#1")
    world.close("r1", Closing("withdrawn", "Await Settlement"))
    world.resume("r1#1")
    return world, at


def abandoned() -> tuple[World, Timed]:
    at = Timed()
    world = a_world(watcher=at)
    proposed(world)
    world.close("r1", Closing("withdrawn", "Request Approval"))
    world.resume("r1#1")
    return world, at


@pytest.mark.parametrize(
    ("begin", "hours"),
    [
        (in_doubt_for_ever, 1),
        (not_done, 1),
        (sent_and_unsigned, 1),
        (closed_after_an_attempt, 6),
        (abandoned, 6),
    ],
)
def test_one_envelope_is_read_at_most_once_in_an_interval_however_often_the_sweep_runs(
    begin: Callable[[], tuple[World, Timed]], hours: int
) -> None:
    world, at = begin()
    at.world = world
    end = world.clock.now() + timedelta(hours=hours)

    while world.clock.now() < end:
        world.sweep()
        world.clock.advance(OFTEN)

    pauses = [later - earlier for earlier, later in pairwise(at.reads)]
    assert len(at.reads) >= 2
    assert min(pauses) >= world.settings.poll_interval


def test_an_index_that_names_a_plan_several_times_leads_to_one_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, at = in_doubt_for_ever()
    named = (plan_of(world).plan_id,) * 3

    def lagging(_now: datetime, *, limit: int) -> tuple[str, ...]:
        return named[:limit]

    monkeypatch.setattr(world.store, "due_plans", lagging)
    at.seen.clear()

    world.sweep()
    world.sweep()

    assert at.seen.count(READ) == 1
