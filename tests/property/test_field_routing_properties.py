"""No value that is wrong, disputed or unwitnessed is ever automatic, whatever the floors."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from no_undo.adapters.nutrient_extraction import (
    DEFAULT_BASE_URL,
    POINTS_PER_UNIT,
    NutrientExtraction,
)
from no_undo.domain.extraction_schema import FREIGHT_INVOICE
from no_undo.domain.field_routing import (
    ExtractedField,
    FieldRoute,
    Scalar,
    Witness,
    WitnessResult,
    WitnessSays,
    extracted_fields,
    route_field,
    route_fields,
)
from no_undo.domain.field_witnesses import (
    DateWitness,
    PrintedArithmeticWitness,
    SecondReadingWitness,
    TextLayerWitness,
)
from no_undo.domain.floors import FLOORS, Floors
from no_undo.domain.form_witness import FormWitness
from no_undo.domain.word_witness import ParseWordsWitness
from no_undo.domain.words import Word, page_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# A busy machine is no finding.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("NO_UNDO_SHARED", str(ROOT.parent / "shared")))
RECORDINGS = SHARED / "vendors" / "recordings"
NAMES = sorted(path.name for path in RECORDINGS.glob("nutrient-extract-*.json"))
needs_recordings = pytest.mark.skipif(
    not NAMES, reason="the vendor recordings are not here; set NO_UNDO_SHARED to their folder"
)

PAGE = """\
ACME Freight Services - Invoice #INV-2026-0418
Received Aug 18 2026 cr8te a p9ckng sl1p
Payer: Lindstrom Transport LLC, 4th Ave, Brooklyn NY
Vendor: ACME Freight Services - terminal 3, Bayonne NJ
Item Qty Unit price Total
Parcel 1 2 $14.50 $29.00
Parcel 2 1 $39.99 $39.99
Handling 3 $4.00 $12.00
Subtotal $80.99
Tax (7.25%) $5.87
Total due $86.86
plz call before delivery
no signature unless ok
"""
TRUTH: dict[str, Scalar] = {
    "invoice_number": "INV-2026-0418",
    "vendor_name": "ACME Freight Services",
    "payer_name": "Lindstrom Transport LLC",
    "total_amount": 86.86,
    "tax_amount": 5.87,
    "due_date": None,
    "po_number": None,
    "line_items[0].description": "Parcel 1",
    "line_items[0].quantity": 2,
    "line_items[0].unit_price": 14.5,
    "line_items[1].description": "Parcel 2",
    "line_items[1].quantity": 1,
    "line_items[1].unit_price": 39.99,
    "line_items[2].description": "Handling",
    "line_items[2].quantity": 3,
    "line_items[2].unit_price": 4,
}
SILENT = WitnessSays.CANNOT_SAY
NO_FLOORS = Floors(
    "none", 0.0, 0.0, 0.0, recognition_required=False, provenance="as loose as can be"
)


def output(name: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((RECORDINGS / name).read_text(encoding="utf-8"))
    return {**body["output"], "mode": body["configuration"]["mode"]}


# Which step of the walk decides about each field, in schema order, at recognition floors of 0.8 and
# of 0.9; 0 passed all nine. Step 1 in `structure` is the requested list that it leaves unanswered,
# which a walk without the schema never visits.
_STRUCTURE = "9 9 2 2 2 2 2 1"
_AGENTIC = "9 9 9 9 9 2 2 9 9 9 9 9 9 9 9 9"
_UNDERSTAND = "9 8 8 8 8 2 2 8 8 8 8 8 8 8 8 8"
_UNDERSTAND_AUGUST = "9 8 8 8 8 2 2 8 8 8 8 8 8 0 0 0"  # the three cells of "Handling", right
_UNDERSTAND_SEPTEMBER = "9 8 8 0 0 2 2 8 8 8 8 8 8 8 8 8"  # the two wrong amounts
WALKS = {
    "structure-2026-08-20T190409": (_STRUCTURE, _STRUCTURE),
    "structure-2026-08-20T195424": (_STRUCTURE, _STRUCTURE),
    "structure-2026-09-03T134950": (_STRUCTURE, _STRUCTURE),
    "understand-2026-08-20T190413": (_UNDERSTAND_AUGUST, _UNDERSTAND),
    "understand-2026-08-20T195429": (_UNDERSTAND_AUGUST, _UNDERSTAND),
    "understand-2026-08-29T190601": (_UNDERSTAND_AUGUST, _UNDERSTAND),
    "understand-2026-09-03T134956": (_UNDERSTAND_SEPTEMBER, _UNDERSTAND),
    "agentic-2026-08-20T190424": (_AGENTIC, _AGENTIC),
    "agentic-2026-08-20T195438": (_AGENTIC, _AGENTIC),
    "agentic-2026-09-03T135009": (_AGENTIC, _AGENTIC),
}


def test_every_recording_has_a_pinned_walk() -> None:
    if not NAMES:
        pytest.skip("the vendor recordings are not here; set NO_UNDO_SHARED to their folder")
    assert {f"nutrient-extract-{name}.json" for name in WALKS} == set(NAMES)


@needs_recordings
@pytest.mark.parametrize("name", WALKS)
def test_every_recording_walks_as_recorded(name: str) -> None:
    answer = output(f"nutrient-extract-{name}.json")
    walks = [
        route_fields(
            answer["data"],
            answer["metadata"],
            FREIGHT_INVOICE,
            floors=replace(FLOORS["invoice"], recognition=floor),
        )
        for floor in (0.8, 0.9)
    ]

    steps = tuple(" ".join(str(one.step or 0) for one in walk.fields) for walk in walks)

    assert steps == WALKS[name]
    assert walks[1].caught_by_recognition == steps[1].count("8")
    assert not any(one.route is FieldRoute.AUTO for walk in walks for one in walk.fields)


def parsed_words() -> tuple[Word, ...]:
    """Return the words of the recorded parse answer, read by the client that reads live ones."""
    content = (RECORDINGS / "nutrient-parse-understand-2026-08-20T122614.json").read_bytes()
    stored = httpx.MockTransport(lambda _: httpx.Response(200, content=content))
    client = NutrientExtraction(DEFAULT_BASE_URL, "none", transport=stored)
    return client.parse_words(b"", mode="understand")


def every_witness(name: str) -> Iterator[Witness]:
    """Yield everybody who could testify about a recording, as gullible as can be set."""
    mode = output(name)["mode"]
    words = parsed_words()
    texts = page_texts(words)
    yield TextLayerWitness((PAGE,), complete=True)
    yield TextLayerWitness((PAGE,))
    yield PrintedArithmeticWitness((PAGE,))
    yield PrintedArithmeticWitness(texts)  # an arithmetic that is built on misreadings
    yield DateWitness()
    yield FormWitness((PAGE,))
    yield FormWitness(texts)
    for sure_from in (0.0, 0.7):
        yield ParseWordsWitness(words, "understand", mode, POINTS_PER_UNIT[mode], sure_from)
    for other in NAMES:
        yield SecondReadingWitness(mode, output(other)["mode"], output(other)["data"])


@needs_recordings
@pytest.mark.parametrize("name", NAMES)
def test_no_wrong_value_of_any_recording_is_automatic_whoever_testifies(name: str) -> None:
    """Alone, each witness makes no wrong value automatic without any floor: so no set of them."""
    answer = output(name)
    for witness in every_witness(name):
        routing = route_fields(
            answer["data"],
            answer["metadata"],
            FREIGHT_INVOICE,
            floors=NO_FLOORS,
            witnesses=[witness],
        )

        automatic = {one.path: one.value for one in routing.fields if one.route is FieldRoute.AUTO}
        assert automatic.items() <= TRUTH.items(), witness.name


@needs_recordings
def test_the_pair_that_adds_up_names_who_disagrees_or_that_nobody_could_speak() -> None:
    answer = output("nutrient-extract-understand-2026-09-03T134956.json")
    agentic = output("nutrient-extract-agentic-2026-09-03T135009.json")
    heard: list[tuple[Witness | None, str]] = [
        (None, "no independent evidence"),
        (PrintedArithmeticWitness((PAGE,)), "printed arithmetic"),
        (TextLayerWitness((PAGE,), complete=True), "text layer"),
        (SecondReadingWitness("understand", "agentic", agentic["data"]), "second reading"),
        (ParseWordsWitness(parsed_words(), "understand", "understand", 72 / 200, 0.7), "parse w"),
    ]
    for witness, reason in heard:
        routing = route_fields(
            answer["data"],
            answer["metadata"],
            FREIGHT_INVOICE,
            floors=NO_FLOORS,
            witnesses=[witness] if witness else [],
        )

        wrong = [one for one in routing.fields if one.path in {"total_amount", "tax_amount"}]
        assert [one.route for one in wrong] == [FieldRoute.HUMAN, FieldRoute.HUMAN]
        assert all(reason in one.reason for one in wrong)


PRINTED: tuple[Scalar, ...] = (
    *(value for value in TRUTH.values() if value is not None),
    *(80.99, 29.0, 39.99, 12.0, 7.25, 18, 2026),
    *("ACME", "4th Ave", "Brooklyn NY", "terminal 3", "Bayonne NJ", "Aug 18 2026", "Parcel"),
)


@needs_recordings
@pytest.mark.parametrize("path", [path for path, value in TRUTH.items() if value is not None])
def test_another_value_of_the_page_in_a_fields_place_is_never_automatic(path: str) -> None:
    """The document's own text holds it, and so does its arithmetic: both must ask for the field."""
    answer = output("nutrient-extract-agentic-2026-09-03T135009.json")
    fields = extracted_fields(answer["data"], answer["metadata"], FREIGHT_INVOICE)
    witnesses: list[Witness] = [
        TextLayerWitness((PAGE,), complete=True),
        PrintedArithmeticWitness((PAGE,)),
        DateWitness(),
        FormWitness((PAGE,)),
        ParseWordsWitness(parsed_words(), "understand", "agentic", 72 / 200, 0.0),
    ]
    for value in PRINTED:
        swapped = tuple(replace(one, value=value) if one.path == path else one for one in fields)
        said = [WitnessResult(w.name, w.testify(swapped).get(path, SILENT)) for w in witnesses]
        [field] = [one for one in swapped if one.path == path]

        routed = route_field(field, NO_FLOORS, said)

        assert routed.route is FieldRoute.HUMAN or value == TRUTH[path], value


scores: st.SearchStrategy[object] = (
    st.none() | st.floats() | st.integers(-2, 200) | st.text(max_size=3)
)
citations: st.SearchStrategy[dict[str, object]] = st.fixed_dictionaries(
    {},
    optional={
        "match": st.sampled_from(["id_match", "not_found", "id_match_multiblock", "new", 3, None]),
        "confidence": scores,
        "confidenceComponents": st.fixed_dictionaries({"groundingScore": scores}),
        "recognitionScore": scores,
    },
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
floors = st.builds(
    Floors,
    st.just("any"),
    *[st.floats(0, 1)] * 3,
    recognition_required=st.booleans(),
    provenance=st.just("any"),
)
results = st.lists(st.builds(WitnessResult, st.just("witness"), st.sampled_from(WitnessSays)))


@unhurried
@given(scalars, st.booleans(), citations, floors, results)
def test_automatic_means_a_passed_walk_an_agreeing_witness_and_no_disagreement(
    value: Scalar,
    answered: bool,  # noqa: FBT001 - drawn by Hypothesis
    citation: Mapping[str, object],
    limits: Floors,
    witnesses: list[WitnessResult],
) -> None:
    routed = route_field(ExtractedField("f", value, answered, citation), limits, witnesses)

    says = {one.says for one in witnesses}
    heard = WitnessSays.AGREES in says and WitnessSays.DISAGREES not in says
    assert (routed.route is FieldRoute.AUTO) == (routed.step is None and heard)
    if routed.step is None:
        assert answered
        assert citation["match"] in {"id_match", "id_match_multiblock"}


schemas = st.recursive(
    st.sampled_from([{"type": "string"}, {"type": "number"}, {"type": "integer"}]),
    lambda inner: (
        st.dictionaries(st.text("abc.[", max_size=2), inner, max_size=3).map(
            lambda properties: {"type": "object", "properties": properties}
        )
        | inner.map(lambda items: {"type": "array", "items": items})
    ),
    max_leaves=6,
)
trees: st.SearchStrategy[object] = st.recursive(
    st.none() | st.integers() | citations,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text("abc.[", max_size=2), inner)
    ),
    max_leaves=8,
)
objects = st.dictionaries(st.text("abc.[", max_size=2), trees, max_size=3)


def _requested(schema: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the key path of every value or list a schema asks for directly."""
    if schema["type"] == "object":
        for key, child in schema["properties"].items():
            yield from _requested(child, (*path, key))
    elif path:
        yield path


@unhurried
@example(
    data={},
    metadata={"a": [None]},
    properties={"a": {"type": "object", "properties": {"a": {"type": "string"}}}},
)
@given(objects, objects, st.dictionaries(st.text("abc", max_size=2), schemas, max_size=3))
def test_every_requested_field_is_routed_and_no_path_twice(
    data: Mapping[str, object], metadata: Mapping[str, object], properties: Mapping[str, object]
) -> None:
    schema = {"type": "object", "properties": properties}

    found = [one.path for one in extracted_fields(data, metadata, schema)]

    assert len(set(found)) == len(found)
    for keys in _requested(schema):
        simple = ".".join(keys)
        if all(key and key.isalpha() for key in keys):
            assert any(path == simple or path.startswith(f"{simple}[") for path in found)


def test_routing_ten_thousand_fields_takes_seconds_not_minutes() -> None:
    count = 3334
    cited = {"match": "id_match", "confidence": 0.95, "recognitionScore": 0.95}
    rows = [
        {"description": f"Parcel {n}", "quantity": n % 9, "unit_price": n / 100}
        for n in range(count)
    ]
    page = "\n".join(f"Parcel {n}  {n % 9} {n / 100} {n % 9 * n / 100}" for n in range(count))
    started = time.process_time()

    routing = route_fields(
        {"line_items": rows},
        {"line_items": [dict.fromkeys(row, cited) for row in rows]},
        FREIGHT_INVOICE,
        floors=FLOORS["invoice"],
        witnesses=[TextLayerWitness((page,)), PrintedArithmeticWitness((page,))],
    )

    assert len(routing.fields) > 10_000
    # Routing and two witnesses: measured at 0.7 s; the bound leaves room for a slow machine.
    assert time.process_time() - started < 5


@needs_recordings
def test_with_the_text_layer_the_right_values_do_pass() -> None:
    answer = output("nutrient-extract-agentic-2026-09-03T135009.json")

    routing = route_fields(
        answer["data"],
        answer["metadata"],
        FREIGHT_INVOICE,
        floors=NO_FLOORS,
        witnesses=[TextLayerWitness((PAGE,), complete=True), PrintedArithmeticWitness((PAGE,))],
    )

    waiting = {one.path for one in routing.fields if one.route is FieldRoute.HUMAN}
    assert waiting == {"due_date", "po_number"} | {
        f"line_items[{index}].description" for index in range(3)
    }
