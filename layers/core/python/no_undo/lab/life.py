"""Lets a world live: executions step, the stream delivers, people decide, time passes, sweeps run.

Deterministic: the same world lives the same life. Time jumps from one moment at which something is
due to the next; a sweep runs at each.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from no_undo.domain.approval import decision_of
from no_undo.domain.errors import NoUndoError
from no_undo.domain.plan import CLOSED_UNSENT, Plan, PlanState
from no_undo.domain.request import ENDED, Request
from no_undo.lab.pipeline import ProcessDiedError
from no_undo.lab.world import APPROVERS, CORRECTIONS, HORIZON, World

SWEEP_INTERVAL: Final = timedelta(minutes=1)
FIRST: Final = "r1"
AGAIN: Final = "r2"
"""The request that submits the document of `FIRST` again."""
MOST_MOMENTS: Final = 2_000
"""Bound on one life; reached only when something never comes to rest."""


class NeverQuietError(Exception):
    """A world did not come to rest within its bound: something loops."""


@dataclass
class People:
    """The approvers: each opens the newest link and decides, again if the page breaks.

    Attributes:
        decisions: What each person does: `approve`, `reject`, `correct` (in the first round; they
            approve the next one), or empty to leave it.
        most_tries: How often one person tries again.
    """

    decisions: dict[str, str] = field(default_factory=lambda: dict.fromkeys(APPROVERS, "approve"))
    most_tries: int = 4
    _tries: dict[str, int] = field(default_factory=dict[str, int])

    def act(self, world: World) -> bool:
        """Let everybody with an open link decide; True when somebody did something."""
        acted = [self._decide(world, approver) for approver in self.decisions]
        return any(acted)

    def _decide(self, world: World, approver: str) -> bool:
        tokens = world.tokens_mailed_to(approver)
        decision = self.decisions[approver]
        if not tokens or not decision:
            return False
        link = world.link_behind(tokens[-1])
        plan = world.store.plan(link.plan_id)
        tried = self._tries.get(tokens[-1], 0)
        if plan is None or decision_of(plan, approver) is not None or tried >= self.most_tries:
            return False
        self._tries[tokens[-1]] = tried + 1
        try:
            world.open_card(tokens[-1])
            _post(world, tokens[-1], decision, plan)
        except (ProcessDiedError, NoUndoError):
            return True  # an error page: the person tries again
        return True


@dataclass
class Resubmitters(People):
    """The approvers, and a caller who sends the same document again once the first plan ended.

    Attributes:
        withdraws: True: the caller takes the first request back as soon as its attempt is released;
            False: its deadline passes.
    """

    withdraws: bool = True

    def act(self, world: World) -> bool:
        """Let everybody with an open link decide, and the caller do what is next."""
        return super().act(world) or self._take_back(world) or self._again(world)

    def _take_back(self, world: World) -> bool:
        plan = world.store.plan(f"{FIRST}#1")
        if not self.withdraws or plan is None or plan.state is not PlanState.RELEASED:
            return False
        try:
            world.withdraw(FIRST)
        except (ProcessDiedError, NoUndoError):
            return True  # the plan is still released: the caller tries again
        return True

    def _again(self, world: World) -> bool:
        first, plan = world.store.request(FIRST), world.store.plan(f"{FIRST}#1")
        ended = first is not None and first.state in ENDED
        unsent = plan is not None and plan.state in CLOSED_UNSENT
        if not (ended and unsent) or world.store.request(AGAIN) is not None:
            return False
        world.submit(AGAIN)
        return True


def _post(world: World, token: str, decision: str, plan: Plan) -> None:
    if decision == "correct" and plan.round == 1:
        world.correct(token, CORRECTIONS)
    elif decision == "reject":
        world.decide(token, "reject", "No.")
    else:
        world.decide(token)


def live(world: World, people: People | None = None, horizon: timedelta = HORIZON) -> None:
    """Let a world live until nothing is due any more, or until the horizon.

    Args:
        world: The world.
        people: The approvers, or None for two who approve.
        horizon: How long at most, from now.

    Raises:
        NeverQuietError: Too many moments passed.
    """
    people = people or People()
    end = world.clock.now() + horizon
    for _ in range(MOST_MOMENTS):
        _settle_down(world, people)
        moment = next_moment(world)
        if moment is None or moment > end:
            return
        world.clock.set(moment)
        sweep_once(world)
    raise NeverQuietError(f"still busy after {MOST_MOMENTS} moments")


def sweep_once(world: World) -> None:
    """Run one sweep; one that dies is simply over."""
    with suppress(ProcessDiedError, NoUndoError):
        world.sweep()


def next_moment(world: World) -> datetime | None:
    """Return when something is due next, at least a moment from now; None when nothing is."""
    now = world.clock.now()
    due = [one.due_at for one in world.store.rows(Plan) if one.due_kind and one.due_at]
    checks = [one.check_at for one in world.store.rows(Request) if one.check_at]
    ready = world.pipeline.next_ready()
    times = [*due, *checks, *([ready] if ready else [])]
    if not times:
        return None
    soonest = min(times)
    return soonest if soonest > now else now + SWEEP_INTERVAL


def deliver_stream(world: World) -> bool:
    """Deliver every change of plans once; a delivery that fails is lost, the sweep asks again."""
    stream = world.store.stream
    if not world.stream_delivers:
        stream.clear()
    delivered = bool(stream or world.asked)
    while stream or world.asked:
        plan_id = (stream or world.asked).popleft()
        with suppress(ProcessDiedError, NoUndoError):
            world.resume(plan_id)
    return delivered


def _settle_down(world: World, people: People) -> None:
    """Go on until nothing can happen without time passing."""
    busy = True
    while busy:
        busy = _run_executions(world)
        busy = deliver_stream(world) or busy
        busy = people.act(world) or busy


def _run_executions(world: World) -> bool:
    ready = world.pipeline.ready()
    for name in ready:
        world.pipeline.step(name)
    return bool(ready)
