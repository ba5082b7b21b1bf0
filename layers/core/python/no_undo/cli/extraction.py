"""Commands about extraction answers: route. The files are answers of the service as received."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from no_undo.cli.files import read_bytes, read_object
from no_undo.cli.output import Exit, show

if TYPE_CHECKING:
    from no_undo.domain.field_routing import Witness
    from no_undo.ports import Word


def add_commands(commands: Any) -> None:  # noqa: ANN401 - argparse keeps its class private
    """Add the commands about extraction."""
    route = commands.add_parser(
        "route", help="route and reason for every extracted field; 1: a person is needed"
    )
    route.add_argument("response", type=Path, help="JSON: an answer of the extraction service")
    route.add_argument("--schema", type=Path, required=True, help="JSON: what it was asked with")
    route.add_argument("--document-type", default="invoice", help="which floors apply")
    route.add_argument("--parse", type=Path, help="JSON: the words, read in another mode")
    route.add_argument("--compare", type=Path, help="JSON: the answer of another mode")
    route.set_defaults(run=run_route)


def run_route(options: argparse.Namespace) -> Exit:
    """Route every field of a stored extraction answer; exit 1 when a person is needed."""
    from no_undo.adapters.nutrient_fingerprint import response_fingerprint  # noqa: PLC0415
    from no_undo.domain.field_routing import FieldRoute, floors_for, route_fields  # noqa: PLC0415

    answer = read_object(options.response)
    output = _member(answer, "output")
    routing = route_fields(
        _member(output, "data"),
        _member(output, "metadata"),
        read_object(options.schema),
        floors=floors_for(options.document_type),
        witnesses=list(_witnesses(_mode(answer), options)),
        fingerprint=response_fingerprint(answer, mode=_mode(answer)),
    )
    show(routing.as_json())
    people = any(one.route is FieldRoute.HUMAN for one in routing.fields)
    return Exit.NO if people else Exit.YES


def _witnesses(mode: str, options: argparse.Namespace) -> Iterator[Witness]:
    """Yield who may testify; a second answer of the same mode would repeat its mistakes."""
    from no_undo.domain.field_witnesses import (  # noqa: PLC0415
        DateWitness,
        PrintedArithmeticWitness,
        SecondReadingWitness,
        TextLayerWitness,
    )

    yield DateWitness()
    if options.parse:
        parsed = read_object(options.parse)
        other = _mode(parsed)
        words = _words(options.parse, other) if _independent(mode, other) else ()
        texts = page_texts(words)
        yield TextLayerWitness(texts, name="parse words")
        yield PrintedArithmeticWitness(texts)
    if options.compare:
        compared = read_object(options.compare)
        other = _mode(compared) if _independent(mode, _mode(compared)) else mode
        yield SecondReadingWitness(mode, other, _member(_member(compared, "output"), "data"))


def _independent(mode: str, other: str) -> bool:
    """Say whether two answers came from different modes; an unnamed one could be the same."""
    return bool(mode) and bool(other) and mode != other


def _words(path: Path, mode: str) -> Sequence[Word]:
    """Read a stored parse answer by the very client that reads live ones."""
    import httpx  # noqa: PLC0415 - only where an answer is read

    from no_undo.adapters.nutrient_extraction import (  # noqa: PLC0415
        DEFAULT_BASE_URL,
        NutrientExtraction,
    )

    stored = httpx.MockTransport(lambda _: httpx.Response(200, content=read_bytes(path)))
    client = NutrientExtraction(DEFAULT_BASE_URL, "none", transport=stored)
    return client.parse_words(b"", mode=mode)


def page_texts(words: Iterable[Word]) -> tuple[str, ...]:
    """Return the text of each page that has words, one printed row per line.

    Words belong to one row while their middles are less than half a word's height apart: lines of
    scans are often slightly rotated.
    """
    pages: defaultdict[int, list[Word]] = defaultdict(list)
    for word in words:
        pages[word.page_index].append(word)
    return tuple("\n".join(map(_line, _rows(pages[index]))) for index in sorted(pages))


def _rows(words: Sequence[Word]) -> list[list[Word]]:
    rows: list[list[Word]] = []
    for word in sorted(words, key=_middle):
        last = rows[-1][-1] if rows else None
        if last and _middle(word) - _middle(last) < min(word.height, last.height) / 2:
            rows[-1].append(word)
        else:
            rows.append([word])
    return rows


def _middle(word: Word) -> float:
    return word.y + word.height / 2


def _line(row: Sequence[Word]) -> str:
    """Return a row as text; a gap wider than the words are high separates columns."""
    line = ""
    end = 0.0
    for word in sorted(row, key=lambda one: one.x):
        gap = "" if not line else "  " if word.x - end > word.height else " "
        line, end = line + gap + word.text, word.x + word.width
    return line


def _mode(answer: Mapping[str, object]) -> str:
    mode = _member(answer, "configuration").get("mode")
    return mode if isinstance(mode, str) else ""


def _member(answer: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = answer.get(key)
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
