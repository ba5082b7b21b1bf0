"""A deterministic scheduler: actors take turns at port calls, in an order that is chosen.

Each actor runs in a thread of its own, and only one of them ever runs: it stops before its next
port call and goes on when it is chosen. One step is one port call with everything up to the next.
The same choices give the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from threading import Semaphore, Thread, current_thread

from no_undo.domain.errors import NoUndoError

Choose = Callable[[tuple[str, ...], str], str]
"""Given the actors that can go on and the one that ran last (or empty), says who goes on."""


@dataclass(frozen=True, slots=True)
class Step:
    """One choice that was made.

    Attributes:
        able: Who could go on, in the order of the actors.
        last: Who ran before, empty at the start.
        chosen: Who went on.
        call: The port call that it made.
    """

    able: tuple[str, ...]
    last: str
    chosen: str
    call: str

    @property
    def preempts(self) -> bool:
        """True when somebody was stopped who could have gone on."""
        return self.last in self.able and self.chosen != self.last


@dataclass
class _Actor:
    name: str
    turn: Semaphore = field(default_factory=lambda: Semaphore(0))
    call: str = ""
    over: bool = False
    crash: BaseException | None = None


class Scheduler:
    """A watcher that lets one actor at a time make one port call.

    Attributes:
        steps: The choices made so far.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._actors: dict[str, _Actor] = {}
        self._stopped = Semaphore(0)

    def around(self, call: str, do: Callable[[], object]) -> object:
        """Wait for one's turn, then make the call; whoever is no actor just makes it."""
        actor = self._actors.get(current_thread().name)
        if actor is not None:
            actor.call = call
            self._stopped.release()
            actor.turn.acquire()
        return do()

    def run(self, actors: Mapping[str, Callable[[], object]], choose: Choose) -> None:
        """Run actors to their ends.

        Args:
            actors: Name to what it does; errors of ours end an actor, others end the run.
            choose: Who goes on next.
        """
        self._actors = {name: _Actor(name) for name in actors}
        threads = [
            Thread(target=self._live, args=(self._actors[name], act), name=name, daemon=True)
            for name, act in actors.items()
        ]
        for thread in threads:
            thread.start()
            self._stopped.acquire()
        last = ""
        while able := tuple(one.name for one in self._actors.values() if not one.over):
            chosen = choose(able, last)
            actor = self._actors[chosen]
            self.steps.append(Step(able, last, chosen, actor.call))
            last = chosen
            actor.turn.release()
            self._stopped.acquire()
        crashes = [one.crash for one in self._actors.values() if one.crash is not None]
        self._actors = {}
        if crashes:
            raise crashes[0]

    def _live(self, actor: _Actor, act: Callable[[], object]) -> None:
        try:
            act()
        except NoUndoError:
            pass  # being refused is one way to end
        except BaseException as error:  # noqa: BLE001 - handed to whoever runs the schedule
            actor.crash = error
        actor.over = True
        self._stopped.release()


def following(prefix: tuple[str, ...]) -> Choose:
    """Return a choice that follows a prefix and then lets everybody finish who began."""
    left = iter(prefix)

    def choose(able: tuple[str, ...], last: str) -> str:
        chosen = next(left, "")
        return chosen or (last if last in able else able[0])

    return choose


def at_random(random: Random) -> Choose:
    """Return a choice that is made anew at every step."""

    def choose(able: tuple[str, ...], last: str) -> str:  # noqa: ARG001
        return random.choice(able)

    return choose


def continuations(
    steps: list[Step], prefix: tuple[str, ...], preemptions: int
) -> Iterator[tuple[str, ...]]:
    """Return the prefixes that differ from a run at one later choice, within a bound.

    Starting from the empty prefix and following all of these visits every schedule with at most
    that many preemptions exactly once.

    Args:
        steps: The run that followed the prefix.
        prefix: What it followed.
        preemptions: How often, in one schedule, somebody may be stopped who could have gone on.
    """
    used = 0
    chosen: tuple[str, ...] = ()
    for place, step in enumerate(steps):
        if place >= len(prefix):
            for other in step.able:
                cost = 1 if step.last in step.able and other != step.last else 0
                if other != step.chosen and used + cost <= preemptions:
                    yield (*chosen, other)
        used += 1 if step.preempts else 0
        chosen = (*chosen, step.chosen)
