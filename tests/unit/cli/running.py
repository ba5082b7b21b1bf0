"""Runs the command in this process: on pipes, or on terminals."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any, NoReturn

from no_undo.cli.api import ApiClient
from no_undo.cli.main import main


@dataclass(frozen=True)
class Ran:
    """What one command left behind."""

    status: int
    out: str
    err: str

    @property
    def said(self) -> Any:  # noqa: ANN401 - JSON
        """Standard output, one line of JSON."""
        [line] = self.out.splitlines()
        return json.loads(line)


class Terminal(io.StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def nowhere() -> NoReturn:
    """Fail: a command that needs nobody asked for the API."""
    raise AssertionError("the API was asked for")


def run(*arguments: str, connect: Callable[[], ApiClient] = nowhere, terminal: bool = False) -> Ran:
    """Run one command and return its status and what it printed."""
    out, err = (Terminal(), Terminal()) if terminal else (io.StringIO(), io.StringIO())
    with redirect_stdout(out), redirect_stderr(err):
        status = main(arguments, connect=connect)
    return Ran(status, out.getvalue(), err.getvalue())
