"""The scheduler visits every schedule once, in the order that was chosen."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import comb
from random import Random

import pytest

from no_undo.domain.errors import StaleError
from no_undo.lab.scheduler import Scheduler, at_random, continuations, following

UNBOUNDED = 1_000


def actor(scheduler: Scheduler, name: str, log: list[str], calls: int) -> Callable[[], None]:
    def act() -> None:
        for _ in range(calls):
            scheduler.around("port.call", lambda: log.append(name))

    return act


def run(prefix: tuple[str, ...], lengths: dict[str, int]) -> tuple[Scheduler, str]:
    scheduler, log = Scheduler(), list[str]()
    acts = {name: actor(scheduler, name, log, calls) for name, calls in lengths.items()}
    scheduler.run(acts, following(prefix))
    return scheduler, "".join(log)


def every_order(lengths: dict[str, int], preemptions: int) -> list[str]:
    orders: list[str] = []
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        prefix = waiting.pop()
        scheduler, order = run(prefix, lengths)
        orders.append(order)
        waiting.extend(continuations(scheduler.steps, prefix, preemptions))
    return orders


@pytest.mark.parametrize("lengths", [{"a": 2, "b": 2}, {"a": 3, "b": 2}, {"a": 4, "b": 4}])
def test_without_a_bound_every_interleaving_is_visited_once(lengths: dict[str, int]) -> None:
    orders = every_order(lengths, UNBOUNDED)

    assert len(orders) == len(set(orders)) == comb(sum(lengths.values()), lengths["a"])


def test_three_actors_are_interleaved_completely_too() -> None:
    orders = every_order({"a": 2, "b": 1, "c": 1}, UNBOUNDED)

    assert len(orders) == len(set(orders)) == 12


@pytest.mark.parametrize(("preemptions", "expected"), [(0, 2), (1, 2 + 2 * 3), (2, 2 + 6 + 3 * 6)])
def test_a_bound_keeps_the_schedules_with_at_most_that_many_preemptions(
    preemptions: int, expected: int
) -> None:
    orders = every_order({"a": 4, "b": 4}, preemptions)

    switches = [sum(x != y for x, y in pairwise(one)) for one in orders]
    assert max(switches) <= preemptions + 1
    assert len(set(orders)) == len(orders) == expected


def test_the_same_choices_give_the_same_run() -> None:
    assert run(("b", "a", "b"), {"a": 3, "b": 3})[1] == run(("b", "a", "b"), {"a": 3, "b": 3})[1]


def test_a_sample_follows_its_seed() -> None:
    def sample(seed: int) -> str:
        scheduler, log = Scheduler(), list[str]()
        acts = {name: actor(scheduler, name, log, 5) for name in ("a", "b", "c")}
        scheduler.run(acts, at_random(Random(seed)))  # noqa: S311 - repeatable on purpose
        return "".join(log)

    assert sample(1) == sample(1)
    assert len({sample(seed) for seed in range(10)}) > 1


def test_an_actor_that_is_refused_ends_and_the_others_go_on() -> None:
    scheduler, log = Scheduler(), list[str]()

    def refused() -> None:
        raise StaleError("moved")

    scheduler.run({"a": refused, "b": actor(scheduler, "b", log, 2)}, following(()))

    assert log == ["b", "b"]


def test_an_error_that_nobody_planned_for_ends_the_run() -> None:
    scheduler = Scheduler()

    def broken() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        scheduler.run({"a": broken}, following(()))


def test_a_call_by_nobody_in_particular_just_happens() -> None:
    assert Scheduler().around("port.call", lambda: 7) == 7
