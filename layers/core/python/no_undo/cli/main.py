"""The `no-undo` command: JSON on standard output, problems on standard error, 0, 1 or 2.

0 says yes, 1 says no, 2 says that it could not tell or that the input was bad.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import NoReturn

from no_undo.cli import (
    audit,
    calibration,
    documents,
    extraction,
    instruction,
    lab,
    operations,
    requests,
)
from no_undo.cli.api import ApiClient, ApiError
from no_undo.cli.output import Exit, tell
from no_undo.domain.errors import NoUndoError

GROUPS = (requests, operations, instruction, documents, extraction, calibration, audit, lab)


def main(
    arguments: Sequence[str] | None = None,
    *,
    connect: Callable[[], ApiClient] = ApiClient.from_environment,
) -> int:
    """Run one command and return its exit status.

    Args:
        arguments: Without the program's name; None takes those of this process.
        connect: Returns the API; called only by commands that need it.
    """
    options = parser().parse_args(arguments)  # exits with 2 on bad input by itself
    options.connect = connect
    try:
        status: Exit = options.run(options)
        sys.stdout.flush()
    except NoUndoError as error:
        tell(f"no-undo: {sentence_of(error)}")
        refused = isinstance(error, ApiError) and error.is_refusal
        return Exit.NO if refused else Exit.COULD_NOT_TELL
    except BrokenPipeError:
        # Nobody reads on. The interpreter would complain again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.COULD_NOT_TELL
    except KeyboardInterrupt:
        tell("no-undo: stopped")
        return Exit.COULD_NOT_TELL
    except ModuleNotFoundError as error:
        tell(f"no-undo: this command needs the package {error.name}, which is not installed")
        return Exit.COULD_NOT_TELL
    except Exception:  # noqa: BLE001 - the interpreter would exit with 1, which says no
        traceback.print_exc()
        return Exit.COULD_NOT_TELL
    return status


def sentence_of(error: NoUndoError) -> str:
    """Return an error's message, with the field at fault in front if it does not say it itself."""
    field, message = str(getattr(error, "field", "")), str(error)
    return message if not field or field in message else f"{field}: {message}"


def parser() -> argparse.ArgumentParser:
    """Return the whole command line."""
    root = argparse.ArgumentParser(prog="no-undo", description=__doc__)
    root.add_argument("--version", action=_Version, help="show the version and exit")
    commands = root.add_subparsers(required=True, metavar="COMMAND")
    for group in GROUPS:
        group.add_commands(commands)
    return root


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, **more: object) -> None:
        super().__init__(option_strings, dest, nargs=0, help=str(more.get("help") or ""))

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version  # noqa: PLC0415 - slow, and rarely asked for

        sys.stdout.write(f"no-undo {version('no-undo')}\n")
        parser.exit()


if __name__ == "__main__":
    sys.exit(main())
