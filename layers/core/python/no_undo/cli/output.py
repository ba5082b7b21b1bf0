"""What the command prints: JSON for programs, tables for a person at a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, TextIO, TypeGuard, cast


class Exit(IntEnum):
    """What the exit status says."""

    YES = 0
    NO = 1
    COULD_NOT_TELL = 2


def show(value: Mapping[str, Any], columns: Mapping[str, Sequence[str]] | None = None) -> None:
    """Print a result to standard output: one line of JSON, or tables on a terminal.

    Args:
        value: Anything JSON can say.
        columns: Which columns a list of rows gets on a terminal, by its key; otherwise all.
    """
    if sys.stdout.isatty():
        _print(sys.stdout, "\n".join(_sheet(value, columns or {})))
    else:
        # ASCII, so that no locale and no lone surrogate can keep it from being printed.
        _print(sys.stdout, json.dumps(value, allow_nan=False))


def tell(text: str) -> None:
    """Print a line to standard error."""
    _print(sys.stderr, printable(text))


def progress(text: str) -> None:
    """Print a line to standard error if somebody is watching."""
    if sys.stderr.isatty():
        tell(text)


def printable(text: str) -> str:
    """Return text without what could move a terminal's cursor or hide other text."""
    return "".join(one if one.isprintable() else " " if one.isspace() else "?" for one in text)


def _print(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")


def _sheet(value: Mapping[str, Any], columns: Mapping[str, Sequence[str]]) -> Iterator[str]:
    plain = {_title(key): one for key, one in value.items() if not _is_rows(one)}
    width = max(map(len, plain), default=0)
    for title, one in plain.items():
        yield f"{title:{width}}  {_cell(one)}"
    for key, rows in value.items():
        if _is_rows(rows):
            yield from ("", _title(key)) if plain or len(value) > 1 else ()
            yield from _table(
                rows, columns.get(key) or list(dict.fromkeys(c for r in rows for c in r))
            )


def _is_rows(value: object) -> TypeGuard[Sequence[Mapping[str, Any]]]:
    rows = _items(value)
    return bool(rows) and all(isinstance(one, Mapping) for one in rows)


def _items(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def _table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    lines = [[_title(one) for one in columns]]
    lines += [[_cell(row.get(one)) for one in columns] for row in rows]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _title(key: str) -> str:
    return printable(key).replace("_", " ")


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        return ", ".join(f"{_title(key)}: {_cell(one)}" for key, one in members.items()) or "-"
    items = _items(value)
    if items:
        return ", ".join(map(_cell, items))
    return "-" if value in (None, "", [], ()) else printable(str(value))
