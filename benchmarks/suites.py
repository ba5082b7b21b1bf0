"""Every suite by name; a suite is a function that measures and yields rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from benchmarks import audit, card, pii, redaction, routing
from benchmarks.rows import Row


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for.

    Attributes:
        full: Also what takes minutes.
    """

    full: bool = False


SUITES: Final[Mapping[str, Callable[[Options], Iterator[Row]]]] = {
    "audit": lambda options: audit.measure(full=options.full),
    "card": lambda _options: card.measure(),
    "routing": lambda _options: routing.measure(),
    "redaction": lambda _options: redaction.measure(),
    "pii": lambda options: pii.measure(full=options.full),
}
