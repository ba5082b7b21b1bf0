"""Commands about extraction answers, stored as they were received: route, canary."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from no_undo.cli.files import read_bytes, read_json, read_object
from no_undo.cli.output import Exit, show

if TYPE_CHECKING:
    from no_undo.domain.field_routing import Witness
    from no_undo.domain.floors import Floors
    from no_undo.domain.words import Word


def add_commands(commands: Any) -> None:  # noqa: ANN401 - argparse keeps its class private
    """Add the commands about extraction."""
    route = commands.add_parser(
        "route", help="route and reason for every extracted field; 1: a person is needed"
    )
    route.add_argument("response", type=Path, help="JSON: an answer of the extraction service")
    route.add_argument("--schema", type=Path, required=True, help="JSON: what it was asked with")
    route.add_argument("--document-type", default="invoice", help="which floors apply")
    route.add_argument("--document", type=Path, help="PDF: the document itself, for its own text")
    route.add_argument("--parse", type=Path, help="JSON: the words, as parse answered them")
    route.add_argument("--compare", type=Path, help="JSON: the answer of another mode")
    route.add_argument("--thresholds", type=Path, help="JSON: floors, as `calibrate` writes them")
    route.set_defaults(run=run_route)
    canary = commands.add_parser(
        "canary", help="what a stored answer makes a canary expect, to put beside its document"
    )
    canary.add_argument("response", type=Path, help="JSON: an answer of the extraction service")
    canary.add_argument("--schema", type=Path, required=True, help="JSON: what it was asked with")
    canary.set_defaults(run=run_canary)


def run_route(options: argparse.Namespace) -> Exit:
    """Route every field of a stored extraction answer; exit 1 when a person is needed."""
    from no_undo.adapters.nutrient_fingerprint import response_fingerprint  # noqa: PLC0415
    from no_undo.domain.field_routing import FieldRoute, route_fields  # noqa: PLC0415
    from no_undo.domain.floors import (  # noqa: PLC0415
        NONE_DEPLOYED,
        floors_for,
        parse_thresholds,
    )

    answer = read_object(options.response)
    output = member(answer, "output")
    document: object = read_json(options.thresholds) if options.thresholds else None
    floors = floors_for(options.document_type, parse_thresholds(document or NONE_DEPLOYED))
    beside = Beside(document=options.document, parse=options.parse, compare=options.compare)
    routing = route_fields(
        member(output, "data"),
        member(output, "metadata"),
        read_object(options.schema),
        floors=floors,
        witnesses=list(witnesses(mode_of(answer), beside, floors)),
        fingerprint=response_fingerprint(answer, mode=mode_of(answer)),
    )
    show(routing.as_json())
    people = any(one.route is FieldRoute.HUMAN for one in routing.fields)
    return Exit.NO if people else Exit.YES


def run_canary(options: argparse.Namespace) -> Exit:
    """Show what a canary with this answer expects of every later one."""
    from no_undo.adapters.nutrient_fingerprint import response_fingerprint  # noqa: PLC0415
    from no_undo.domain.canary import Expectation  # noqa: PLC0415
    from no_undo.domain.field_routing import extracted_fields  # noqa: PLC0415

    answer = read_object(options.response)
    output, mode = member(answer, "output"), mode_of(answer)
    fields = extracted_fields(
        member(output, "data"), member(output, "metadata"), read_object(options.schema)
    )
    fingerprint = response_fingerprint(answer, mode=mode)
    show(Expectation.of(fields, mode=mode, fingerprint=fingerprint).as_json())
    return Exit.YES


@dataclass(frozen=True, slots=True)
class Beside:
    """Files that lie beside a stored answer and let witnesses speak; None where there is none.

    Attributes:
        document: The PDF.
        parse: A parse answer, words included.
        compare: An extraction answer of another mode.
    """

    document: Path | None = None
    parse: Path | None = None
    compare: Path | None = None


def witnesses(mode: str, beside: Beside, floors: Floors) -> Iterator[Witness]:
    """Yield who may testify about an answer of a mode."""
    from no_undo.domain.field_witnesses import DateWitness, SecondReadingWitness  # noqa: PLC0415
    from no_undo.domain.form_witness import FormWitness  # noqa: PLC0415

    yield DateWitness()
    yield FormWitness()
    if beside.document:
        yield from _by_document(beside.document)
    if beside.parse:
        yield from _by_words(mode, beside.parse, floors)
    if beside.compare:
        compared = read_object(beside.compare)
        data = member(member(compared, "output"), "data")
        yield SecondReadingWitness(mode, mode_of(compared), data)


def _by_document(path: Path) -> Iterator[Witness]:
    from no_undo.adapters.document_inspector import PdfiumDocumentInspector  # noqa: PLC0415 - slow
    from no_undo.domain.field_witnesses import (  # noqa: PLC0415
        PrintedArithmeticWitness,
        TextLayerWitness,
    )
    from no_undo.domain.form_witness import FormWitness  # noqa: PLC0415

    seen = PdfiumDocumentInspector().visible_text(read_bytes(path))
    yield TextLayerWitness(seen.page_texts, complete=seen.complete)
    yield PrintedArithmeticWitness(seen.page_texts, name="arithmetic of the text layer")
    yield FormWitness(seen.page_texts, name="currency of the text layer")


def _by_words(mode: str, path: Path, floors: Floors) -> Iterator[Witness]:
    from no_undo.adapters.nutrient_extraction import POINTS_PER_UNIT  # noqa: PLC0415
    from no_undo.domain.field_witnesses import (  # noqa: PLC0415
        PrintedArithmeticWitness,
        independent,
    )
    from no_undo.domain.form_witness import FormWitness  # noqa: PLC0415
    from no_undo.domain.word_witness import ParseWordsWitness  # noqa: PLC0415
    from no_undo.domain.words import page_texts  # noqa: PLC0415

    other = mode_of(read_object(path))
    words = _words(path, other) if other else ()
    texts = page_texts(words)
    units = POINTS_PER_UNIT.get(mode, 1.0)
    yield ParseWordsWitness(tuple(words), other, mode, units, floors.own_words)
    yield FormWitness(texts if mode else (), name="currency as read")
    # A reader's own misreadings would confirm themselves.
    yield PrintedArithmeticWitness(texts if independent(mode, other) else ())


def _words(path: Path, mode: str) -> tuple[Word, ...]:
    """Read a stored parse answer by the very client that reads live ones."""
    import httpx  # noqa: PLC0415 - only where an answer is read

    from no_undo.adapters.nutrient_extraction import (  # noqa: PLC0415
        DEFAULT_BASE_URL,
        NutrientExtraction,
    )

    stored = httpx.MockTransport(lambda _: httpx.Response(200, content=read_bytes(path)))
    client = NutrientExtraction(DEFAULT_BASE_URL, "none", transport=stored)
    return client.parse_words(b"", mode=mode)


def mode_of(answer: Mapping[str, object]) -> str:
    """Return the mode that an answer names, empty when it names none."""
    mode = member(answer, "configuration").get("mode")
    return mode if isinstance(mode, str) else ""


def member(answer: Mapping[str, object], key: str) -> Mapping[str, object]:
    """Return an object inside an answer; anything else is an empty one."""
    value = answer.get(key)
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
