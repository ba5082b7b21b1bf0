"""Two and three actors over the same stores, in every order or in a sample of orders."""

from __future__ import annotations

from random import Random

import pytest

from no_undo.lab.interleavings import PAIRS, Scenario, explore, run_once, scenarios
from no_undo.lab.scheduler import at_random, following
from tests.fakes.worlds import DEFINITION


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda one: one.name)
def test_every_promise_holds_in_every_schedule(scenario: Scenario) -> None:
    # Two switches are what it takes to come between another sender's begin and its end.
    bound = 2 if scenario.name.startswith("two senders") else 1

    found = explore(scenario, preemptions=bound, samples=40, definition=DEFINITION)

    assert found.wrong == []
    assert found.schedules >= (8 if found.exhaustive else 40)


@pytest.mark.long
@pytest.mark.parametrize("scenario", scenarios(), ids=lambda one: one.name)
def test_every_promise_holds_in_many_more_schedules(scenario: Scenario) -> None:
    found = explore(scenario, preemptions=3, samples=2_000, definition=DEFINITION)

    assert found.wrong == []


def test_the_same_seed_explores_the_same_schedules() -> None:
    trio = scenarios()[-1]

    first = explore(trio, seed=7, samples=5, definition=DEFINITION)
    second = explore(trio, seed=7, samples=5, definition=DEFINITION)

    assert first == second
    assert not first.exhaustive


def test_the_schedule_of_a_violation_can_be_followed_again() -> None:
    trio = scenarios()[-1]
    sampled, _ = run_once(trio, at_random(Random(3)), DEFINITION)  # noqa: S311 - repeatable
    schedule = " ".join(step.chosen for step in sampled.steps)

    again, wrong = run_once(trio, following(tuple(schedule.split())), DEFINITION)

    assert again.steps == sampled.steps
    assert wrong == []


def test_a_higher_bound_explores_more() -> None:
    pair = PAIRS[0]

    one = explore(pair, preemptions=0, definition=DEFINITION)
    two = explore(pair, preemptions=1, definition=DEFINITION)

    assert one.exhaustive
    assert one.schedules < two.schedules
