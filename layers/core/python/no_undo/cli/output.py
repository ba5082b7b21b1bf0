"""What the command prints: JSON for programs, a table for a person at a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, cast


class Exit(IntEnum):
    """What the exit status says."""

    YES = 0
    NO = 1
    COULD_NOT_TELL = 2


def show(value: Mapping[str, Any]) -> None:
    """Print a result to standard output; on a terminal indented, for a person."""
    indent = 2 if sys.stdout.isatty() else None
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=indent, default=str) + "\n")


def show_rows(key: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Print rows: `{key: [...]}` as JSON, or a table with these columns on a terminal."""
    if not sys.stdout.isatty():
        show({key: list(rows)})
        return
    table = [columns, *([_cell(row.get(one)) for one in columns] for row in rows)]
    widths = [max(len(line[place]) for line in table) for place in range(len(columns))]
    for line in table:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def progress(text: str) -> None:
    """Print one line of progress to standard error."""
    sys.stderr.write(text + "\n")


def _cell(value: object) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, list | tuple):
        return ", ".join(str(one) for one in cast("Sequence[object]", value))
    return str(value)
