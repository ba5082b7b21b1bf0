"""The `no-undo` command: JSON on standard output, problems on standard error, 0, 1 or 2.

0 says yes, 1 says no, 2 says that it could not tell or that the input was bad.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from no_undo.cli import offline, operations, requests
from no_undo.cli.output import Exit
from no_undo.domain.errors import NoUndoError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = parser().parse_args(arguments)  # exits with 2 on bad input by itself
    try:
        status: Exit = options.run(options)
    except NoUndoError as error:
        field = getattr(error, "field", "")
        sys.stderr.write(f"no-undo: {f'{field}: ' if field else ''}{error}\n")
        return Exit.COULD_NOT_TELL
    except KeyboardInterrupt:
        sys.stderr.write("no-undo: stopped; what was handed in goes on without this command\n")
        return Exit.COULD_NOT_TELL
    return status


def parser() -> argparse.ArgumentParser:
    """Return the whole command line."""
    root = argparse.ArgumentParser(prog="no-undo", description=__doc__)
    commands = root.add_subparsers(required=True, metavar="COMMAND")
    for group in (requests, operations, offline):
        group.add_commands(commands)
    return root


if __name__ == "__main__":
    sys.exit(main())
