"""The document that is made again from fields: what `assembly: rebuild` prints.

Rules:
1. Only fields that the schema asks for are printed, each exactly as the card shows it: nothing is
   worked out, rounded or formatted, so that nothing is signed that nobody could confirm.
2. A correction replaces what was read.
3. A value that the document does not give is printed as not stated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from no_undo.domain.corrections import Correction, shape_at

_IN_A_LIST = re.compile(r"([a-z_]+)\[([0-9]+)\]\.([a-z_]+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class PrintedField:
    """One field as it was read.

    Attributes:
        path: For example `line_items[0].quantity`.
        label: For a reader.
        value: As text, or None when the document does not give it.
    """

    path: str
    label: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Fact:
    """One printed value with its label."""

    label: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Table:
    """One list of the document.

    Attributes:
        title: What it lists.
        columns: Column headings.
        rows: One per item, a value or None per column.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True, slots=True)
class RebuiltDocument:
    """What is printed.

    Attributes:
        title: Name of the envelope.
        facts: Single values, in the order in which they were asked for.
        tables: Lists.
    """

    title: str
    facts: tuple[Fact, ...]
    tables: tuple[Table, ...]


def rebuilt(
    title: str, fields: Sequence[PrintedField], corrections: Mapping[str, Correction]
) -> RebuiltDocument:
    """Return the document that fields and corrections make.

    Args:
        title: Name of the envelope.
        fields: As they were read, in the order in which they were asked for.
        corrections: The correction that stands, by path.
    """
    facts: list[Fact] = []
    lists: dict[str, dict[int, dict[str, str | None]]] = {}
    for one in fields:
        if shape_at(one.path) is None:
            continue
        changed = corrections.get(one.path)
        value = one.value if changed is None else changed.new
        item = _IN_A_LIST.fullmatch(one.path)
        if item is None:
            facts.append(Fact(one.label, value))
        else:
            lists.setdefault(item[1], {}).setdefault(int(item[2]), {})[item[3]] = value
    return RebuiltDocument(title, tuple(facts), tuple(_table(*one) for one in lists.items()))


def _table(name: str, items: Mapping[int, Mapping[str, str | None]]) -> Table:
    columns = tuple(dict.fromkeys(column for item in items.values() for column in item))
    return Table(
        title=_words(name),
        columns=tuple(_words(one) for one in columns),
        rows=tuple(
            tuple(items[index].get(column) for column in columns) for index in sorted(items)
        ),
    )


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()
