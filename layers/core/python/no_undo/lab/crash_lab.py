"""The crash lab: the process dies at every port call, under every way the vendor can behave.

For each behaviour one request lives its whole life once undisturbed, which lists its port calls.
Then it lives again for each of them, and the process that makes the call dies right before or right
after it: alone, or together with its execution. Time goes on, sweeps run, people come back; once
the world is at rest, every invariant is checked.

One second effect is permitted, because both vendor facts that the guarantee rests on are false
there: a request that lands far beyond the settle time, at a vendor that mails again, where attempts
may follow each other by themselves (design 8.8). It is counted apart and shown as what it is.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from no_undo.domain.plan import Plan
from no_undo.lab.fake_esign import Behaviour, SecondSend
from no_undo.lab.interleavings import explore_all
from no_undo.lab.invariants import in_doubt, second_effects, violations
from no_undo.lab.life import NeverQuietError, live
from no_undo.lab.pipeline import JsonMap, ProcessDiedError, load_definition
from no_undo.lab.world import SETTINGS, World
from no_undo.use_cases.settle_plan import Outcome, Statement, settle_plan

TRAIL: Final = 12
"""How many port calls before the death a violation shows."""
_BY_HAND: Final = Statement("lab operator", "the system of record cannot say", "looked at the mail")


class When(StrEnum):
    """On which side of its port call the process dies."""

    BEFORE = "before"
    AFTER = "after"


class Dies(StrEnum):
    """What goes with the process."""

    ALONE = "function"
    WITH_EXECUTION = "function and execution"


@dataclass(frozen=True, slots=True)
class Setting:
    """One column of the matrix.

    Attributes:
        behaviour: How the vendor treats sends.
        second_send: What it does with a second one (vendor fact F1).
        automatic: Whether an attempt may follow another by itself (`RetryAfterRelease`).
    """

    behaviour: Behaviour
    second_send: SecondSend
    automatic: bool

    @property
    def permits_second_effect(self) -> bool:
        """True for the one setting in which both vendor facts are false and nobody is asked."""
        return (
            self.behaviour is Behaviour.LANDS_BEYOND
            and self.second_send is SecondSend.MAILS_AGAIN
            and self.automatic
        )


@dataclass(frozen=True, slots=True)
class Death:
    """Where the process dies.

    Attributes:
        number: Which port call of the life, 0-based.
        function: Which function makes it.
        call: Which call it is.
        when: Before or after it.
        dies: What goes with the process.
    """

    number: int
    function: str
    call: str
    when: When
    dies: Dies

    @property
    def point(self) -> str:
        """Name of the point: function, call and side."""
        return f"{self.function}: {self.call} ({self.when})"


@dataclass(frozen=True, slots=True)
class Outcome_:
    """How one life with one death ended.

    Attributes:
        setting: The column.
        death: The death, or None for the undisturbed life.
        effects: How often the recipients got mail.
        wrong: What does not hold.
        trail: The last port calls before the death, for reproduction.
    """

    setting: Setting
    death: Death | None
    effects: int
    wrong: tuple[str, ...]
    trail: tuple[str, ...]
