"""Two or three actors over the same stores, in every order of their port calls.

Two actors run in all schedules with at most so many preemptions; three are sampled from a seed.
After each schedule the world lives on until it is at rest, and every invariant is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Final

from no_undo.domain.request import Assembly
from no_undo.lab.fake_esign import LANDS_WITHIN, Behaviour
from no_undo.lab.fixed_clock import FixedClock
from no_undo.lab.invariants import second_effects, violations
from no_undo.lab.life import live
from no_undo.lab.pipeline import JsonMap, load_definition
from no_undo.lab.scheduler import Choose, Scheduler, at_random, continuations, following
from no_undo.lab.watched import watched
from no_undo.lab.world import APPROVERS, FIELDS, World
from no_undo.use_cases.close_request import Closing
from no_undo.use_cases.settle_plan import (
    Outcome,
    Statement,
    pause_begins,
    retry_plan,
    settle_plan,
    unpause_begins,
)

PREEMPTIONS: Final = 2
SAMPLES: Final = 200
_OPERATOR: Final = Statement("lab operator", "an exercise", "looked at the mail")
_DAVE, _ERIN = APPROVERS

Act = Callable[[World], object]
Prepare = Callable[[World], None]


class Time:
    """Time that passes as an act of its own, so that it can pass between any two calls."""

    def __init__(self, clock: FixedClock) -> None:
        self._clock = clock

    def passes(self, by: timedelta) -> None:
        """Advance the clock."""
        self._clock.advance(by)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Actors and the world in which they meet.

    Attributes:
        name: In words.
        actors: Name to act.
        prepare: Brings a fresh world to where they meet.
        behaviour: How the vendor treats sends.
    """

    name: str
    actors: Mapping[str, Act]
    prepare: Prepare
    behaviour: Behaviour = Behaviour.NORMAL


@dataclass
class Exploration:
    """What was explored of one scenario.

    Attributes:
        scenario: Its name.
        actors: How many actors.
        schedules: How many different runs.
        exhaustive: True: all schedules within the bound; False: a sample.
        wrong: What did not hold, each with the schedule that shows it.
    """

    scenario: str
    actors: int
    schedules: int = 0
    exhaustive: bool = True
    wrong: list[dict[str, str]] = field(default_factory=list[dict[str, str]])


# Where they meet


def proposed(world: World, request_id: str = "r1") -> None:
    """A plan that waits for its approvers."""
    world.submit(request_id, start=False)
    world.create_draft(request_id)
    world.request_approval(request_id, f"lab-{request_id}")


def approved(world: World, request_id: str = "r1") -> None:
    """An approved plan."""
    proposed(world, request_id)
    for approver in APPROVERS:
        world.decide(world.tokens_mailed_to(approver)[-1])


def correctable(world: World) -> None:
    """A plan that waits for its approvers, whose document can be made again."""
    world.submit(start=False, fields=FIELDS, assembly=Assembly.REBUILD)
    world.create_draft("r1")
    world.request_approval("r1", "lab-r1")


def correctable_and_nearly_approved(world: World) -> None:
    """The same, when one approval is missing."""
    correctable(world)
    world.decide(world.tokens_mailed_to(_DAVE)[-1])


def nearly_approved(world: World) -> None:
    """A plan that misses one approval."""
    proposed(world)
    world.decide(world.tokens_mailed_to(_DAVE)[-1])


def submitted(world: World) -> None:
    """A request without a draft."""
    world.submit(start=False)


def drafted(world: World) -> None:
    """A request with a draft and no plan."""
    world.submit(start=False)
    world.create_draft("r1")


def in_doubt(world: World) -> None:
    """An attempt whose lease is over; what it did, the vendor has not said yet."""
    approved(world)
    world.send("r1#1")
    entry = world.store.entry("r1#1")
    if entry is not None:
        world.clock.set(entry.attempt.lease_expires_at)


def landed(world: World) -> None:
    """An attempt in doubt whose effect can be seen by now."""
    in_doubt(world)
    world.clock.advance(LANDS_WITHIN)


def noted(world: World) -> None:
    """An attempt in doubt that the next look releases."""
    in_doubt(world)
    world.sweep()
    world.clock.advance(world.settings.settle_time)


def released(world: World) -> None:
    """A released attempt."""
    noted(world)
    world.sweep()


def sent(world: World) -> None:
    """An executed plan whose machine has not heard of it."""
    approved(world)
    world.send("r1#1")


def three_of_a_kind(world: World) -> None:
    """Three approved requests for one and the same effect."""
    for request_id in ("r1", "r2", "r3"):
        approved(world, request_id)


# What they do


def send(request_id: str = "r1") -> Act:
    """Invoke the sending function."""
    return lambda world: world.send(f"{request_id}#1")


def sweep(world: World) -> None:
    """Invoke the sweep."""
    world.sweep()


def approve(approver: str) -> Act:
    """Click Approve."""
    return lambda world: world.decide(world.tokens_mailed_to(approver)[-1])


def reject(approver: str) -> Act:
    """Click Reject."""
    return lambda world: world.decide(world.tokens_mailed_to(approver)[-1], "reject", "No.")


def correct(approver: str, total: str = "86.86") -> Act:
    """Correct the total."""
    return lambda world: world.correct(
        world.tokens_mailed_to(approver)[-1], {"total_amount": total}
    )


def withdraw(world: World) -> None:
    """Take the request back."""
    world.withdraw("r1")


def resume(world: World) -> None:
    """Answer what can be answered."""
    world.resume("r1#1")


def park(world: World) -> None:
    """Begin to wait for a settlement."""
    world.await_settlement("r1", "lab-settlement")


def draft(world: World) -> None:
    """Create the draft."""
    world.create_draft("r1")


def ask(token: str) -> Act:
    """Ask for approval."""
    return lambda world: world.request_approval("r1", token)


def close(world: World) -> None:
    """End the request as failed."""
    world.close("r1", Closing("failed", "Send Envelope"))


def settle(outcome: Outcome) -> Act:
    """Settle by hand."""
    return lambda world: settle_plan(
        "r1#1", outcome, _OPERATOR, world.gate, world.action, world.resumer
    )


def retry(world: World) -> None:
    """Allow one more attempt."""
    retry_plan("r1#1", _OPERATOR, world.gate, world.resumer)


def pause_and_go_on(world: World) -> None:
    """Pause all begins, and end the pause."""
    pause_begins(_OPERATOR, world.gate)
    unpause_begins(_OPERATOR, world.gate)


def time_and_sweeps(world: World) -> None:
    """Let the lease and the settle time pass, with a sweep after each."""
    time = watched(Time(world.clock), "time", world.watcher)
    for by in (world.settings.lease, world.settings.settle_time):
        time.passes(by)
        world.sweep()


def taking_over(world: World) -> None:
    """What happens to a frozen sender: its attempt is released and another one is made."""
    time_and_sweeps(world)
    world.send("r1#1")


def expiry(world: World) -> None:
    """Let the deadline pass, and sweep."""
    watched(Time(world.clock), "time", world.watcher).passes(timedelta(hours=4))
    world.sweep()


PAIRS: Final = (
    Scenario("two senders", {"sender": send(), "duplicate": send()}, approved),
    Scenario(
        "two senders, reply lost",
        {"sender": send(), "duplicate": send()},
        approved,
        Behaviour.REPLY_LOST,
    ),
    Scenario("sender and sweeps", {"sender": send(), "sweep": time_and_sweeps}, approved),
    Scenario("zombie and successor", {"zombie": send(), "successor": taking_over}, approved),
    Scenario(
        "zombie and successor, request lost",
        {"zombie": send(), "successor": taking_over},
        approved,
        Behaviour.REQUEST_LOST,
    ),
    Scenario("sender and withdrawal", {"sender": send(), "caller": withdraw}, approved),
    Scenario("sender and pause", {"sender": send(), "operator": pause_and_go_on}, approved),
    Scenario("sender and expiry", {"sender": send(), "sweep": expiry}, approved),
    Scenario("sender and closing", {"sender": send(), "closing": close}, approved),
    Scenario("one effect, two requests", {"r1": send("r1"), "r2": send("r2")}, three_of_a_kind),
    Scenario("two approvers", {"dave": approve(_DAVE), "erin": approve(_ERIN)}, proposed),
    Scenario("yes and no", {"dave": approve(_DAVE), "erin": reject(_ERIN)}, proposed),
    Scenario(
        "one approver, two clicks", {"a": approve(_ERIN), "b": approve(_ERIN)}, nearly_approved
    ),
    Scenario(
        "last approval and withdrawal",
        {"erin": approve(_ERIN), "caller": withdraw},
        nearly_approved,
    ),
    Scenario(
        "last approval and expiry", {"erin": approve(_ERIN), "sweep": expiry}, nearly_approved
    ),
    Scenario(
        "last approval and correction",
        {"dave": approve(_DAVE), "erin": correct(_ERIN)},
        correctable,
    ),
    Scenario(
        "the approval that arms and a correction",
        {"erin": approve(_ERIN), "again": correct(_ERIN)},
        correctable_and_nearly_approved,
    ),
    Scenario(
        "two corrections", {"dave": correct(_DAVE), "erin": correct(_ERIN, "86.87")}, correctable
    ),
    Scenario(
        "correction and rejection", {"dave": correct(_DAVE), "erin": reject(_ERIN)}, correctable
    ),
    Scenario(
        "correction and withdrawal", {"dave": correct(_DAVE), "caller": withdraw}, correctable
    ),
    Scenario("correction and expiry", {"dave": correct(_DAVE), "sweep": expiry}, correctable),
    Scenario(
        "correction and asking again", {"dave": correct(_DAVE), "asking": ask("lab-b")}, correctable
    ),
    Scenario("asking twice", {"a": ask("lab-a"), "b": ask("lab-b")}, drafted),
    Scenario("asking and withdrawal", {"asking": ask("lab-a"), "caller": withdraw}, drafted),
    Scenario("drafting twice", {"a": draft, "b": draft}, submitted),
    Scenario("drafting and withdrawal", {"drafting": draft, "caller": withdraw}, submitted),
    Scenario("resuming and parking", {"resume": resume, "wait": park}, sent),
    Scenario("resuming twice", {"a": resume, "b": resume}, sent),
    Scenario("two sweeps confirm", {"a": sweep, "b": sweep}, landed, Behaviour.LANDS_WITHIN),
    Scenario("two sweeps release", {"a": sweep, "b": sweep}, noted, Behaviour.REQUEST_LOST),
    Scenario(
        "sweep and operator, done",
        {"sweep": sweep, "operator": settle(Outcome.DONE)},
        landed,
        Behaviour.LANDS_WITHIN,
    ),
    Scenario(
        "sweep and operator, not done",
        {"sweep": sweep, "operator": settle(Outcome.NOT_DONE)},
        noted,
        Behaviour.REQUEST_LOST,
    ),
    Scenario(
        "retry and withdrawal",
        {"operator": retry, "caller": withdraw},
        released,
        Behaviour.REFUSED,
    ),
    Scenario(
        "retry and sender", {"operator": retry, "sender": send()}, released, Behaviour.REFUSED
    ),
)
"""Two actors, exhaustively within the bound."""

TRIOS: Final = (
    Scenario(
        "two senders and sweeps",
        {"sender": send(), "duplicate": send(), "sweep": time_and_sweeps},
        approved,
    ),
    Scenario(
        "zombie, successor and sweep",
        {"zombie": send(), "successor": taking_over, "sweep": sweep},
        approved,
        Behaviour.REQUEST_LOST,
    ),
    Scenario(
        "one effect, three requests",
        {"r1": send("r1"), "r2": send("r2"), "r3": send("r3")},
        three_of_a_kind,
    ),
    Scenario(
        "two approvers and a withdrawal",
        {"dave": approve(_DAVE), "erin": approve(_ERIN), "caller": withdraw},
        proposed,
    ),
    Scenario(
        "sender, withdrawal and pause",
        {"sender": send(), "caller": withdraw, "operator": pause_and_go_on},
        approved,
    ),
    Scenario(
        "approval, correction and sweep",
        {"dave": approve(_DAVE), "erin": correct(_ERIN), "sweep": sweep},
        correctable,
    ),
    Scenario("resume, wait and sweep", {"resume": resume, "wait": park, "sweep": sweep}, sent),
    Scenario(
        "two sweeps and an operator",
        {"a": sweep, "b": sweep, "operator": settle(Outcome.DONE)},
        landed,
        Behaviour.LANDS_WITHIN,
    ),
    Scenario(
        "sender, expiry and a late approver",
        {"sender": send(), "sweep": expiry, "erin": approve(_ERIN)},
        nearly_approved,
    ),
)
"""Three actors, sampled."""


def scenarios() -> tuple[Scenario, ...]:
    """Return every scenario, pairs first."""
    return (*PAIRS, *TRIOS)


def explore(
    scenario: Scenario,
    *,
    seed: int = 0,
    preemptions: int = PREEMPTIONS,
    samples: int = SAMPLES,
    definition: JsonMap | None = None,
) -> Exploration:
    """Run one scenario in every schedule within the bound, or in a sample of schedules.

    Args:
        scenario: What to run; two actors are explored, three sampled.
        seed: Of the sample; the same seed gives the same schedules.
        preemptions: Bound for two actors.
        samples: How many schedules for three.
        definition: The parsed state machine, to read it once for many.
    """
    definition = definition or load_definition()
    exhaustive = len(scenario.actors) == 2  # noqa: PLR2004 - two actors
    found = Exploration(scenario.name, len(scenario.actors), exhaustive=exhaustive)
    for scheduler in (
        _all(scenario, preemptions, definition)
        if exhaustive
        else _some(scenario, Random(f"{seed}/{scenario.name}"), samples, definition)  # noqa: S311
    ):
        found.schedules += 1
        found.wrong.extend(scheduler)
    return found


def _all(
    scenario: Scenario, preemptions: int, definition: JsonMap
) -> Iterator[list[dict[str, str]]]:
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        prefix = waiting.pop()
        scheduler, wrong = run_once(scenario, following(prefix), definition)
        yield wrong
        waiting.extend(continuations(scheduler.steps, prefix, preemptions))


def _some(
    scenario: Scenario, random: Random, samples: int, definition: JsonMap
) -> Iterator[list[dict[str, str]]]:
    for _ in range(samples):
        yield run_once(scenario, at_random(random), definition)[1]


def run_once(
    scenario: Scenario, choose: Choose, definition: JsonMap
) -> tuple[Scheduler, list[dict[str, str]]]:
    """Run one schedule and let the world live on; return what was wrong in the end."""
    scheduler = Scheduler()
    world = World(behaviour=scenario.behaviour, watcher=scheduler, definition=definition)
    scenario.prepare(world)
    scheduler.run({name: _acting(act, world) for name, act in scenario.actors.items()}, choose)
    live(world)
    world.esign.land(everything=True)
    schedule = " ".join(step.chosen for step in scheduler.steps)
    wrong = [*second_effects(world), *violations(world)]
    return scheduler, [
        {"scenario": scenario.name, "what": what, "schedule": schedule} for what in wrong
    ]


def _acting(act: Act, world: World) -> Callable[[], object]:
    return lambda: act(world)
