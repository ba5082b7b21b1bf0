"""The crash lab: the process dies at every port call, under every way the vendor can behave.

For each behaviour one request lives its whole life once undisturbed, which lists its port calls.
Then it lives again for each of them, and the process that makes the call dies right before or right
after it: alone, or together with its execution. Transactions of the store fail in two more ways:
refused by throttling, and written with their answer lost. Time goes on, sweeps run, people come
back; once the world is at rest, every invariant is checked.

One second effect is permitted, because both vendor facts that the guarantee rests on are false
there: a request that lands far beyond the settle time, at a vendor that mails again, where attempts
may follow each other by themselves (design 8.8). It is counted apart and shown as what it is.

Two columns submit the same document again after the first plan ended with a released attempt, and
only then the first request lands: the vendor refuses a second send of one envelope (F1), which says
nothing about the second request's envelope, so only the fence stands between (ADR 0014).
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from functools import partial
from multiprocessing import get_context
from typing import Any, Final, Protocol

from no_undo.domain.errors import InDoubtError, NoUndoError, TransientError
from no_undo.domain.plan import Plan
from no_undo.domain.request import Assembly
from no_undo.lab.fake_esign import Behaviour, SecondSend
from no_undo.lab.interleavings import PREEMPTIONS, SAMPLES, Exploration, explore, scenarios
from no_undo.lab.invariants import in_doubt, second_effects, violations
from no_undo.lab.life import NeverQuietError, People, Resubmitters, live
from no_undo.lab.pipeline import JsonMap, ProcessDiedError, load_definition
from no_undo.lab.world import APPROVERS, FIELDS, SETTINGS, World
from no_undo.use_cases.settle_plan import Outcome, Statement, settle_plan

BEFORE_IT_LANDS: Final = timedelta(hours=1)
"""A deadline that passes after a release and before a very late request lands."""
TRAIL: Final = 12
"""How many port calls up to the death a violation shows."""
DRIVEN: Final = frozenset(
    {
        "assemble_document",
        "redact_document",
        "verify_redaction",
        "create_draft",
        "request_approval",
        "send_envelope",
        "await_settlement",
        "await_signature",
        "archive_signed_document",
        "close_request",
    }
)
"""Functions that an execution calls; only these can die together with one."""
_ALWAYS_CONFIRMED: Final = frozenset(
    {
        Behaviour.REPLY_LOST,
        Behaviour.LAGS,
        Behaviour.LANDS_WITHIN,
        Behaviour.BAD_GATEWAY,
        Behaviour.UNKNOWN_STATUS,
    }
)
"""Behaviours under which the effect happens and is seen in time, by the record or by a person."""
_TRANSACTION: Final = "store.commit"
_BY_HAND: Final = Statement("lab operator", "the system of record cannot say", "looked at the mail")


class When(StrEnum):
    """What goes wrong at a port call."""

    BEFORE = "dies before"
    AFTER = "dies after"
    THROTTLED = "throttled"
    ANSWER_LOST = "answer lost"


class Takes(StrEnum):
    """What dies with the process."""

    NOTHING = "nothing"
    EXECUTION = "its execution"


class Resubmission(StrEnum):
    """Whether the same document is submitted again after its first plan ended unsent."""

    NONE = ""
    WITHDRAWN = "again after a withdrawal"
    EXPIRED = "again after the deadline"


@dataclass(frozen=True, slots=True)
class Setting:
    """One column of the matrix.

    Attributes:
        behaviour: How the vendor treats sends.
        second_send: What it does with a second one (vendor fact F1).
        automatic: Whether an attempt may follow another by itself (`RetryAfterRelease`).
        again: Whether the same document is submitted a second time.
        corrects: Whether an approver first corrects a value, so that a second round follows.
    """

    behaviour: Behaviour
    second_send: SecondSend
    automatic: bool
    again: Resubmission = Resubmission.NONE
    corrects: bool = False

    @property
    def permits_second_effect(self) -> bool:
        """True where both vendor facts are false and nobody is asked."""
        return (
            self.behaviour is Behaviour.LANDS_BEYOND
            and self.second_send is SecondSend.MAILS_AGAIN
            and self.automatic
        )


@dataclass(frozen=True, slots=True)
class Death:
    """Where the process dies.

    Attributes:
        number: At which port call of the life, 0-based.
        function: Which function makes it.
        call: Which call it is.
        when: What goes wrong there.
        takes: What dies with it.
    """

    number: int
    function: str
    call: str
    when: When
    takes: Takes

    @property
    def point(self) -> str:
        """Name of the point: function, call and what goes wrong."""
        return f"{self.function}: {self.call} ({self.when})"


@dataclass(frozen=True, slots=True)
class Life:
    """How one life ended.

    Attributes:
        reached: Whether the death happened (always, in a deterministic world).
        second: What was wrong with the number of effects.
        wrong: Everything else that did not hold.
        trail: The last port calls up to the death.
    """

    reached: bool
    second: tuple[str, ...]
    wrong: tuple[str, ...]
    trail: tuple[str, ...]


@dataclass
class Column:
    """What came of one setting.

    Attributes:
        setting: The setting.
        lives: How many lives by `function: call`.
        points: Points reached.
        permitted: How many lives showed the permitted second effect, by `function: call`.
        bad: How many lives broke a promise, by `function: call`.
        found: The violations, ready for output.
    """

    setting: Setting
    lives: Counter[str] = field(default_factory=Counter[str])
    points: set[str] = field(default_factory=set[str])
    permitted: Counter[str] = field(default_factory=Counter[str])
    bad: Counter[str] = field(default_factory=Counter[str])
    found: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


class Running(Protocol):
    """A world in which functions run, one at a time."""

    function: str
    """Which function runs now."""


class Recorder:
    """A watcher that lists every call with the function that makes it.

    Attributes:
        calls: Function and call, in order.
        world: Set once the world exists.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.world: Running | None = None

    def around(self, call: str, do: Callable[[], object]) -> object:
        """Note the call and make it."""
        self.note(call)
        return do()

    def note(self, call: str) -> None:
        """List a call."""
        self.calls.append(("" if self.world is None else self.world.function, call))


class Killer(Recorder):
    """A watcher that kills the process at one call, or lets the call fail.

    Attributes:
        reached: Whether it did.
    """

    def __init__(self, death: Death) -> None:
        super().__init__()
        self.reached = False
        self._death = death

    def around(self, call: str, do: Callable[[], object]) -> object:
        """Make the call; at the one it waits for, let go wrong what is to go wrong."""
        if len(self.calls) != self._death.number:
            return super().around(call, do)
        self.note(call)
        self.reached = True
        match self._death.when:
            case When.BEFORE:
                raise ProcessDiedError
            case When.THROTTLED:
                raise TransientError("throttled")
            case When.AFTER:
                with suppress(Exception):  # whether it came back with an answer or with an error
                    do()
                raise ProcessDiedError
            case When.ANSWER_LOST:
                do()
                raise InDoubtError("the answer was lost")


@dataclass(frozen=True, slots=True)
class CrashReport:
    """What the lab found.

    Attributes:
        columns: One per setting.
        explorations: One per scenario of interleavings.
        seed: Of tokens and samples.
        seconds: How long it took.
    """

    columns: tuple[Column, ...]
    explorations: tuple[Exploration, ...]
    seed: int
    seconds: float

    @property
    def violations(self) -> list[dict[str, Any]]:
        """Everything that broke a promise, with what reproduces it."""
        crashes = [one for column in self.columns for one in column.found]
        schedules = [wrong for one in self.explorations for wrong in one.wrong]
        return [*crashes, *schedules]

    def to_json(self) -> dict[str, Any]:
        """Return the answer of `no-undo crash-test`."""
        return {
            "violations": self.violations,
            "cells": sum(column.lives.total() for column in self.columns),
            "points": len(set[str]().union(*(column.points for column in self.columns))),
            "behaviours": len({column.setting.behaviour for column in self.columns}),
            "schedules": sum(one.schedules for one in self.explorations),
            "permitted_second_effects": sum(one.permitted.total() for one in self.columns),
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
        }


def settings() -> tuple[Setting, ...]:
    """Return every column: each behaviour against both vendors, and with retries by a person.

    Who retries is asked only at the worse vendor, and only where an attempt can be released; the
    other behaviours end in a confirmation, whatever the policy is. A correction round comes before
    the send and knows no vendor behaviour but the draft's; it is lived through where the send goes
    well and where its answer is lost. The last two submit again.
    """
    alone = tuple(
        Setting(behaviour, second_send, automatic)
        for behaviour in Behaviour
        for second_send, automatic in (
            (SecondSend.REFUSES, True),
            (SecondSend.MAILS_AGAIN, True),
            (SecondSend.MAILS_AGAIN, False),
        )
        if automatic or behaviour not in _ALWAYS_CONFIRMED
    ) + tuple(
        Setting(behaviour, SecondSend.MAILS_AGAIN, automatic=True, corrects=True)
        for behaviour in (Behaviour.NORMAL, Behaviour.REPLY_LOST)
    )
    beyond, refuses = Behaviour.LANDS_BEYOND, SecondSend.REFUSES
    again = (Resubmission.WITHDRAWN, Resubmission.EXPIRED)
    return (*alone, *(Setting(beyond, refuses, automatic=False, again=one) for one in again))


def run(  # noqa: PLR0913 - each has a default
    points: str = "all",
    seed: int = 0,
    *,
    preemptions: int = PREEMPTIONS,
    samples: int = SAMPLES,
    workers: int = 2,
    columns: tuple[Setting, ...] | None = None,
) -> CrashReport:
    """Run the crash matrix and the interleavings.

    Args:
        points: `all`, or text that a point's name has to contain, such as `send_envelope` or
            `store.commit plan.begun`; with other text than `all` no interleavings run.
        seed: Of all tokens and samples; the same seed gives the same report.
        preemptions: Bound for the interleavings of two actors.
        samples: How many schedules of three actors.
        workers: How many processes; 1 stays in this one.
        columns: Which columns, or None for all.
    """
    began = time.monotonic()
    chosen = settings() if columns is None else columns
    matrix = partial(run_column, points=points, seed=seed)
    orders = partial(_explore_by_name, seed=seed, preemptions=preemptions, samples=samples)
    names = [one.name for one in scenarios()] if points == "all" else []
    if workers == 1:
        cells, found = list(map(matrix, chosen)), list(map(orders, names))
    else:
        with ProcessPoolExecutor(workers, get_context("spawn"), initializer=be_quiet) as pool:
            later = pool.map(orders, names)
            cells, found = list(pool.map(matrix, chosen)), list(later)
    return CrashReport(tuple(cells), tuple(found), seed, time.monotonic() - began)


def be_quiet() -> None:
    """Keep the warnings of thousands of deaths off the terminal; what matters is in the report."""
    logging.disable(logging.CRITICAL)


def _explore_by_name(name: str, *, seed: int, preemptions: int, samples: int) -> Exploration:
    scenario = next(one for one in scenarios() if one.name == name)
    return explore(scenario, seed=seed, preemptions=preemptions, samples=samples)


def run_column(setting: Setting, *, points: str = "all", seed: int = 0) -> Column:
    """Run one column: the undisturbed life, and one life for each death."""
    definition = load_definition()
    column = Column(setting)
    recorder = Recorder()
    _note(column, None, live_once(setting, recorder, seed, definition), seed)
    worst = setting.automatic and setting.second_send is SecondSend.MAILS_AGAIN
    for death in deaths(recorder.calls, with_executions=worst):
        if points in ("all", "") or points in death.point:
            life = live_once(setting, Killer(death), seed, definition, death)
            _note(column, death, life, seed)
    return column


def deaths(calls: list[tuple[str, str]], *, with_executions: bool = True) -> Iterator[Death]:
    """Return every death of a life: at each call, on both sides, and with its execution.

    Args:
        calls: Function and call, in order.
        with_executions: Also deaths that take the execution along; only after the call, because
            before the next one is the same moment.
    """
    for number, (function, call) in enumerate(calls):
        for when in When if call.startswith(_TRANSACTION) else (When.BEFORE, When.AFTER):
            yield Death(number, function, call, when, Takes.NOTHING)
        if with_executions and function in DRIVEN:
            yield Death(number, function, call, When.AFTER, Takes.EXECUTION)


def live_once(
    setting: Setting,
    watcher: Recorder,
    seed: int,
    definition: JsonMap,
    death: Death | None = None,
) -> Life:
    """Let one request live from its draft to its end, and judge the world at rest."""
    world = World(
        behaviour=setting.behaviour,
        second_send=setting.second_send,
        settings=replace(SETTINGS, retry_after_release=setting.automatic),
        watcher=watcher,
        definition=definition,
        seed=seed,
    )
    watcher.world = world
    world.pipeline.death_stops = death is not None and death.takes is Takes.EXECUTION
    wrong: tuple[str, ...] = ()
    try:
        live_through(world, setting)
    except NeverQuietError as error:
        wrong = (str(error),)
    reached = not isinstance(watcher, Killer) or watcher.reached
    until = len(watcher.calls) if death is None else death.number + 1
    trail = tuple(f"{function}: {call}" for function, call in watcher.calls[:until][-TRAIL:])
    wrong = (*wrong, *violations(world), *(() if reached else ("the point was not reached",)))
    return Life(reached, tuple(second_effects(world)), wrong, trail)


def live_through(world: World, setting: Setting) -> None:
    """Let the world live, an operator settle what stays open, and everything late land."""
    people = People()
    match setting.again:
        case Resubmission.NONE if setting.corrects:
            world.submit(fields=FIELDS, assembly=Assembly.REBUILD)
            people.decisions[APPROVERS[0]] = "correct"
        case Resubmission.NONE:
            world.submit()
        case Resubmission.WITHDRAWN:
            world.submit()
            people = Resubmitters(withdraws=True)
        case Resubmission.EXPIRED:
            world.submit(deadline=BEFORE_IT_LANDS)
            people = Resubmitters(withdraws=False)
    live(world, people)
    _settle_by_hand(world)
    live(world, people)
    world.esign.land(everything=True)


def _settle_by_hand(world: World) -> None:
    """Do what an operator does with a plan that stays in doubt: find out, and say so."""
    for plan in world.store.rows(Plan):
        if in_doubt(world, plan):
            happened = any(one.envelope_id == plan.target for one in world.esign.effects)
            outcome = Outcome.DONE if happened else Outcome.NOT_DONE
            _operate(world, plan.plan_id, outcome)


def _operate(world: World, plan_id: str, outcome: Outcome) -> None:
    """Settle one plan; when that breaks, look again and, if it is still in doubt, once more."""
    for _ in range(2):
        with suppress(ProcessDiedError, NoUndoError), world.invocation("settle_plan"):
            settle_plan(plan_id, outcome, _BY_HAND, world.gate, world.action, world.resumer)
            return


def _note(column: Column, death: Death | None, life: Life, seed: int) -> None:
    row = "no death" if death is None else f"{death.function}: {death.call}"
    column.lives[row] += 1
    if death is not None and life.reached:
        column.points.add(death.point)
    permitted = bool(life.second) and column.setting.permits_second_effect
    column.permitted[row] += 1 if permitted else 0
    wrong = life.wrong if permitted else (*life.second, *life.wrong)
    column.bad[row] += 1 if wrong else 0
    column.found.extend(_violation(column.setting, death, what, life, seed) for what in wrong)


def _violation(
    setting: Setting, death: Death | None, what: str, life: Life, seed: int
) -> dict[str, Any]:
    return {
        "what": what,
        "behaviour": setting.behaviour.value,
        "second_send": setting.second_send.value,
        "retry_after_release": "automatic" if setting.automatic else "operator",
        "resubmission": setting.again.value,
        "corrects": setting.corrects,
        "point": "no death" if death is None else death.point,
        "call_number": -1 if death is None else death.number,
        "death_takes": "" if death is None else death.takes.value,
        "seed": seed,
        "steps": list(life.trail),
    }


def matrix_text(report: CrashReport) -> str:
    """Return the matrix for a terminal: points down, behaviours across.

    A cell has one sign for each vendor, policy and resubmission of its behaviour, in the order of
    `settings`:
    a dot where every promise held, `2` for the permitted second effect, `X` for a broken promise,
    a blank where this life does not come by.
    """
    behaviours = list(dict.fromkeys(one.setting.behaviour for one in report.columns))
    rows = list(dict.fromkeys(row for one in report.columns for row in one.lives))
    width = max(map(len, rows), default=0)
    lines = [f"{_letter(at)}  {one.value}" for at, one in enumerate(behaviours)]
    lines += [
        "",
        " " * width + "  " + " ".join(f"{_letter(at):3}" for at in range(len(behaviours))),
    ]
    for row in rows:
        cells = [_signs(report, behaviour, row) for behaviour in behaviours]
        lines.append(f"{row:{width}}  " + " ".join(f"{cell:3}" for cell in cells).rstrip())
    return "\n".join([*lines, "", *_summary(report)])


def _letter(place: int) -> str:
    return chr(ord("A") + place)


def _signs(report: CrashReport, behaviour: Behaviour, row: str) -> str:
    return "".join(
        _sign(column, row) for column in report.columns if column.setting.behaviour is behaviour
    )


def _sign(column: Column, row: str) -> str:
    if not column.lives[row]:
        return " "
    if column.bad[row]:
        return "X"
    return "2" if column.permitted[row] else "."


def _summary(report: CrashReport) -> list[str]:
    totals = report.to_json()
    lines = [
        "Each cell: a vendor that refuses a second send, one that mails again, and, where an",
        "attempt can be released, one that mails again while only an operator may retry; where all",
        "goes well or the reply is lost also a life in which an approver corrects a value; for",
        "what lands far beyond the settle time also the same document submitted again after the",
        "first plan was withdrawn, and after it expired, at a vendor that refuses a second send.",
        f"{totals['cells']} lives, {totals['points']} points, {totals['behaviours']} behaviours,",
        f"{totals['schedules']} schedules of {len(report.explorations)} meetings,",
        f"{totals['seconds']} seconds, seed {totals['seed']}.",
        f"{len(totals['violations'])} violations.",
    ]
    if totals["permitted_second_effects"]:
        lines.append(
            f"{totals['permitted_second_effects']} lives show the one permitted second effect: a "
            "request that lands far beyond the settle time, a vendor that mails again, and retries "
            "that nobody is asked about. With RetryAfterRelease=operator there is none."
        )
    return lines
