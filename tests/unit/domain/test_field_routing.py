"""Rules of `domain/field_routing.py`: each step of the walk, the union, and calibration."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from no_undo.domain.calibration import Calibration
from no_undo.domain.extraction_schema import FREIGHT_INVOICE, SCHEMAS
from no_undo.domain.field_routing import (
    WALK,
    ExtractedField,
    FieldRoute,
    RoutedField,
    WitnessResult,
    WitnessSays,
    extracted_fields,
    route_field,
    route_fields,
    withdraw_auto,
)
from no_undo.domain.floors import FLOORS, floors_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

INVOICE = FLOORS["invoice"]
AGREES = WitnessResult("text layer", WitnessSays.AGREES)
DISAGREES = WitnessResult("printed arithmetic", WitnessSays.DISAGREES)
SILENT = WitnessResult("dates", WitnessSays.CANNOT_SAY)
GOOD: dict[str, object] = {
    "match": "id_match",
    "confidence": 0.9697,
    "confidenceComponents": {"groundingScore": 0.95, "formatScore": 1},
    "recognitionScore": 0.95,
}


def field(*, answered: bool = True, without: str = "", **citation: object) -> ExtractedField:
    nodes = {**GOOD, **citation}
    nodes.pop(without, None)
    return ExtractedField("total_amount", 86.86 if answered else None, answered, nodes)


def grounding(score: object) -> dict[str, object]:
    return {"groundingScore": score}


@pytest.mark.parametrize(
    ("subject", "step"),
    [
        (ExtractedField("a", 1, answered=True, citation={}), 1),
        (ExtractedField("a", None, answered=False, citation={}), 1),
        (field(without="match"), 1),
        (field(match=7), 1),
        (field(match=None), 1),
        (field(match="fuzzy_match"), 2),
        (field(match="not_found"), 2),
        (field(match="id_match_partial"), 2),
        (field(match="not_found", answered=False), 2),
        (field(match="looks_fine"), 3),
        (field(match="ID_MATCH"), 3),
        (field(answered=False), 4),
        (field(without="confidence"), 5),
        (field(confidence="0.99"), 5),
        (field(confidence=True), 5),
        (field(confidence=0.849), 6),
        (field(confidence=math.nan), 6),
        (field(confidence=97), 6),
        (field(confidence=-1), 6),
        (field(confidenceComponents=grounding(0.69)), 7),
        (field(confidenceComponents=grounding("high")), 7),
        (field(recognitionScore=0.899), 8),
        (field(recognitionScore="high"), 8),
        (field(recognitionScore=math.nan), 8),
        (field(without="recognitionScore"), 9),
    ],
)
def test_the_first_step_that_hits_sends_the_field_to_a_person(
    subject: ExtractedField, step: int
) -> None:
    routed = route_field(subject, INVOICE, [AGREES])

    assert (routed.route, routed.step) == (FieldRoute.HUMAN, step)


@pytest.mark.parametrize(
    "subject",
    [
        field(),
        field(match="id_match_multiblock"),
        field(confidence=0.85),
        field(confidenceComponents=grounding(0.7)),
        field(without="confidenceComponents"),
        field(confidenceComponents={"source": "no-logprobs"}),
        field(recognitionScore=0.9),
        field(confidence=1, recognitionScore=1),
    ],
)
def test_a_score_equal_to_its_limit_and_an_absent_grounding_pass(subject: ExtractedField) -> None:
    routed = route_field(subject, INVOICE, [AGREES])

    assert (routed.route, routed.step) == (FieldRoute.AUTO, None)


def test_born_digital_documents_need_no_recognition() -> None:
    routed = route_field(field(without="recognitionScore"), FLOORS["born_digital"], [AGREES])

    assert routed.route is FieldRoute.AUTO


def test_a_null_that_is_cited_is_a_value_to_route() -> None:
    (null,) = extracted_fields({"due": None}, {"due": GOOD}, {})

    routed = route_field(null, INVOICE, [SILENT])

    assert (null.answered, null.value) == (True, None)
    assert (routed.route, routed.step) == (FieldRoute.HUMAN, None)


@pytest.mark.parametrize(
    ("witnesses", "route", "reason"),
    [
        ([], FieldRoute.HUMAN, "no independent evidence"),
        ([SILENT], FieldRoute.HUMAN, "no independent evidence"),
        ([DISAGREES], FieldRoute.HUMAN, "disagrees with it: printed arithmetic"),
        ([AGREES, DISAGREES], FieldRoute.HUMAN, "disagrees with it: printed arithmetic"),
        ([AGREES, SILENT], FieldRoute.AUTO, "confirmed by independent evidence: text layer"),
    ],
)
def test_a_perfect_walk_still_needs_a_witness(
    witnesses: Sequence[WitnessResult], route: FieldRoute, reason: str
) -> None:
    routed = route_field(field(), INVOICE, witnesses)

    assert (routed.route, routed.step) == (route, None)
    assert reason in routed.reason


def test_a_disagreeing_witness_is_named_beside_the_step() -> None:
    routed = route_field(field(recognitionScore=0.5), INVOICE, [DISAGREES])

    assert routed.step == 8
    assert routed.reason == (
        "The text may be misread: recognition 0.500 is below 0.900. "
        "Independent evidence disagrees with it: printed arithmetic."
    )


def test_every_step_is_numbered_in_order() -> None:
    assert [step.number for step in WALK] == [1, 2, 3, 4, 5, 6, 7, 8, 9]


# --- The union ---------------------------------------------------------------------------------


def paths(
    data: Mapping[str, object], metadata: Mapping[str, object], schema: Mapping[str, object]
) -> list[str]:
    return [one.path for one in extracted_fields(data, metadata, schema)]


SMALL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "number": {"type": "string"},
        "vendor": {"type": "object", "properties": {"name": {"type": "string"}}},
        "lines": {
            "type": "array",
            "items": {"type": "object", "properties": {"q": {"type": "integer"}}},
        },
    },
}


def test_a_requested_field_nobody_answered_is_visited() -> None:
    assert paths({}, {}, SMALL) == ["number", "vendor.name", "lines"]


@pytest.mark.parametrize("lines", [None, [], {}, "none"])
def test_a_list_without_items_is_one_field(lines: object) -> None:
    assert paths({"lines": lines}, {"lines": {}}, SMALL) == ["number", "vendor.name", "lines"]


def test_items_are_visited_with_everything_asked_of_them() -> None:
    found = paths({"lines": [{"q": 1}, {}]}, {"lines": [{}, {"q": GOOD}, {"q": GOOD}]}, SMALL)

    assert found[2:] == ["lines[0].q", "lines[1].q", "lines[2].q"]


def test_what_was_answered_or_cited_without_being_asked_for_is_visited_too() -> None:
    assert paths({"extra": 1}, {"hidden": {"match": "not_found"}}, {}) == ["extra", "hidden"]


def test_one_value_asked_for_is_one_field_whatever_was_answered() -> None:
    for answer in ({"a": 1}, [1, 2], [], None):
        (only,) = extracted_fields(
            {"n": answer}, {"n": [GOOD]}, {"properties": {"n": {"type": "number"}}}
        )
        assert (only.path, only.value, only.answered) == ("n", None, True)


@pytest.mark.parametrize(
    "citation",
    [
        {"match": "id_match"},
        {"confidence": 0.4},
        {"bbox": {"x": 1, "y": 1, "width": 1, "height": 1}},
        {"confidenceComponents": {"groundingScore": 0.4}},
        {"source_bboxes": []},
    ],
)
def test_a_sparse_citation_is_a_citation(citation: dict[str, object]) -> None:
    (only,) = extracted_fields({"a": 1}, {"a": citation}, {})

    assert only.citation == citation


def test_fields_that_are_called_like_citation_keys_are_fields() -> None:
    metadata = {"bout": {"match": GOOD, "confidence": GOOD, "bbox": GOOD}}

    assert paths({}, metadata, {}) == ["bout.match", "bout.confidence", "bout.bbox"]


def test_odd_keys_and_depth_never_merge_or_overflow() -> None:
    deep: dict[str, object] = {}
    for _ in range(5000):
        deep = {"d": deep}

    assert paths({"a.b": 1, "a": {"b": 2}, "": 3}, {}, {}) == ['["a.b"]', "a.b", '[""]']
    assert len(paths({"deep": deep}, {}, {})) == 1


def test_an_unanswered_field_says_so() -> None:
    routing = route_fields({}, {}, FREIGHT_INVOICE, floors=INVOICE)

    assert {one.reason for one in routing.fields} == {"The extraction did not answer this field."}


# --- Floors and calibration --------------------------------------------------------------------


def test_an_unknown_document_type_gets_the_default_floors() -> None:
    assert floors_for("lease") is FLOORS["default"]
    assert set(SCHEMAS) <= set(FLOORS)


def test_no_floors_come_calibrated() -> None:
    assert not any(row.calibrated("any engine") for row in FLOORS.values())


@pytest.mark.parametrize(
    ("documents", "wrong", "supported"),
    [
        (59, 0, True),
        (58, 0, False),
        (93, 1, True),
        (92, 1, False),
        (1, 0, False),
        (0, 0, False),
        (1000, 1000, False),
        (5, 6, False),
        (59, -1, False),
    ],
)
def test_calibration_is_worked_out_from_whole_documents(
    documents: int, wrong: int, *, supported: bool
) -> None:
    evidence = Calibration("engine=1", date(2026, 10, 1), documents, wrong)

    calibrated = replace(INVOICE, calibration=evidence).calibrated("engine=1")

    assert calibrated is supported


def test_evidence_about_another_engine_voids_the_calibration() -> None:
    evidence = Calibration("engine=1", date(2026, 10, 1), 500, 0)
    floors = replace(INVOICE, calibration=evidence)

    assert floors.calibrated("engine=1")
    assert not floors.calibrated("engine=2")
    assert not replace(floors, calibration=replace(evidence, fingerprint="")).calibrated("")


class EverybodyAgrees:
    """A witness that has seen everything."""

    name = "oracle"

    def testify(self, fields: Sequence[ExtractedField]) -> Mapping[str, WitnessSays]:
        return {one.path: WitnessSays.AGREES for one in fields}


def test_drift_withdraws_what_was_automatic_and_nothing_else() -> None:
    routing = route_fields(
        {"a": 1, "b": 2}, {"a": GOOD}, {}, floors=INVOICE, witnesses=[EverybodyAgrees()]
    )

    withdrawn = withdraw_auto(routing, "The engine changed.")

    assert [one.route for one in routing.fields] == [FieldRoute.AUTO, FieldRoute.HUMAN]
    assert [one.route for one in withdrawn.fields] == [FieldRoute.HUMAN, FieldRoute.HUMAN]
    assert withdrawn.fields[0].reason == "The engine changed."
    assert withdrawn.fields[1] == routing.fields[1]


def test_the_printed_shape() -> None:
    routing = route_fields({"a": 1}, {"a": GOOD}, {}, floors=INVOICE, witnesses=[EverybodyAgrees()])

    assert routing.as_json() == {
        "fields": [
            {
                "path": "a",
                "value": 1,
                "route": "auto",
                "step": None,
                "witnesses": [{"name": "oracle", "says": "agrees"}],
                "reason": "Found in the document and confirmed by independent evidence: oracle.",
            }
        ],
        "calibrated": False,
    }


def test_a_reason_never_contains_the_value() -> None:
    secret = "(201) 555-0142"
    citations = [{}, GOOD, {**GOOD, "match": "fuzzy_match"}, {**GOOD, "match": secret}]

    routed: list[RoutedField] = [
        route_field(ExtractedField("phone", secret, answered=True, citation=one), INVOICE)
        for one in citations
    ]

    assert not any(secret in one.reason for one in routed)
