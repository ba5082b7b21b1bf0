"""Measures what `docs/crash-lab.md` says, and writes it there.

    python -m tests.crash.document [--only peers] [--write]

Without `--write` the measured text is only printed. Everything is deterministic; a test holds the
document to it.
"""

# ruff: noqa: T201 - a command prints

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from no_undo.lab import crash_lab
from no_undo.lab.crash_lab import CrashReport
from tests.crash.peers import tables, tallies

DOCUMENT: Final = Path(__file__).resolve().parents[2] / "docs" / "crash-lab.md"


def matrix(report: CrashReport) -> str:
    """Return what `no-undo crash-test` counted; how long it took is another machine's business."""
    totals = report.to_json()
    pairs = [one for one in report.explorations if one.exhaustive]
    rows = {
        "behaviours of the vendor": totals["behaviours"],
        "columns: behaviour, second send, who retries, submitted again": len(report.columns),
        "crash points (function, port call, what goes wrong)": totals["points"],
        "lives": totals["cells"],
        "meetings of two actors, every schedule within the bound": len(pairs),
        "their schedules": sum(one.schedules for one in pairs),
        "meetings of three actors, sampled": len(report.explorations) - len(pairs),
        "their schedules, sampled": totals["schedules"] - sum(one.schedules for one in pairs),
        "broken promises": len(totals["violations"]),
        "lives with the one permitted second effect": totals["permitted_second_effects"],
    }
    lines = [f"| {name} | {count:,} |" for name, count in rows.items()]
    return "\n".join([f"| seed {report.seed} | |", "| --- | ---: |", *lines])


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    "matrix": lambda: matrix(crash_lab.run()),
    "peers": lambda: tables(tallies()),
}
"""Name of a measured block to what measures it."""


def block(text: str, name: str) -> str:
    """Return a measured block of the document.

    Raises:
        ValueError: There is no such block.
    """
    begin, end = _marks(name)
    _, found, rest = text.partition(begin)
    inside, closed, _ = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"no block {name}: expected {begin.strip()} and {end.strip()}")
    return inside


def with_block(text: str, name: str, measured: str) -> str:
    """Return the document with a block replaced.

    Raises:
        ValueError: There is no such block.
    """
    begin, end = _marks(name)
    return text.replace(begin + block(text, name) + end, begin + measured + end)


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- measured: {name} -->\n\n", f"\n\n<!-- end: {name} -->"


def main(arguments: list[str] | None = None) -> int:
    """Measure all blocks, or one; print them, or write them into the document; return 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.document", description=__doc__)
    parser.add_argument("--only", choices=tuple(BLOCKS), help="one block")
    parser.add_argument("--write", action="store_true", help="write into docs/crash-lab.md")
    options = parser.parse_args(arguments)
    for name in BLOCKS if options.only is None else (options.only,):
        measured = BLOCKS[name]()
        print(measured)
        if options.write:
            text = DOCUMENT.read_text(encoding="utf-8")
            DOCUMENT.write_text(with_block(text, name, measured), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
