"""Commands of the lab: crash-test."""

from __future__ import annotations

import argparse
from typing import Any

from no_undo.cli.output import Exit, show, tell


def add_commands(commands: Any) -> None:  # noqa: ANN401 - argparse keeps its class private
    """Add the lab's commands."""
    crash = commands.add_parser(
        "crash-test", help="every window, every vendor behaviour; 1: a promise broke"
    )
    crash.add_argument("--points", default="all", help="text that a point's name has to contain")
    crash.add_argument("--seed", type=int, default=0, help="the same seed gives the same report")
    crash.set_defaults(run=run_crash_test)


def run_crash_test(options: argparse.Namespace) -> Exit:
    """Run the crash matrix; exit 1 when a promise broke, 2 when nothing was tried."""
    from no_undo.lab import crash_lab  # noqa: PLC0415 - only this command needs it

    report = crash_lab.run(points=options.points, seed=options.seed)
    for line in crash_lab.matrix_text(report).splitlines():
        tell(line)
    result = report.to_json()
    show(result)
    if result["violations"]:
        return Exit.NO
    return Exit.YES if result["points"] else Exit.COULD_NOT_TELL
