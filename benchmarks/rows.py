"""One measured row, and how times are taken."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One figure beside what it is compared with.

    Attributes:
        name: What is measured, for example `audit verify`.
        ours: Our figure.
        reference: The figure it is compared with; None where there is no reference.
        unit: Of both figures.
        aim: What the ratio should be, or the figure where there is no reference; None: only told.
        limit: What it must not go past; None when nothing depends on it.
        note: How it was measured, in one sentence.
    """

    name: str
    ours: float
    reference: float | None
    unit: str
    aim: float | None = None
    limit: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Ours over the reference."""
        return None if not self.reference else self.ours / self.reference

    def to_json(self) -> dict[str, Any]:
        """Return the row as the results file holds it."""
        return {**asdict(self), "ratio": self.ratio}


def seconds(work: Callable[[], object], *, repeats: int = 5) -> float:
    """Return the shortest of some runs, in seconds by the clock."""
    return min(_once(work, time.perf_counter) for _ in range(repeats))


def cpu_seconds(work: Callable[[], object], *, repeats: int = 5) -> float:
    """Return the shortest of some runs, in seconds of this process: not what others make it wait.

    For work that starts no other process.
    """
    return min(_once(work, time.process_time) for _ in range(repeats))


def _once(work: Callable[[], object], clock: Callable[[], float]) -> float:
    started = clock()
    work()
    return clock() - started
