"""Rules of `domain/floors.py`: floors are data with evidence, and nobody types in `calibrated`."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from no_undo.domain.errors import RefusedError
from no_undo.domain.floors import (
    FLOORS,
    NONE_DEPLOYED,
    Floors,
    as_document,
    floors_for,
    parse_thresholds,
)

ENGINE = "mode=understand traits=none"
EVIDENCE: dict[str, Any] = {
    "fingerprint": ENGINE,
    "on": "2026-09-30",
    "documents": 60,
    "wrong_documents": 0,
    "evidence": "a" * 64,
}
ROW: dict[str, Any] = {
    "document_type": "invoice",
    "confidence": 0.85,
    "grounding": 0.7,
    "recognition": 0.95,
    "recognition_required": True,
    "own_words": 0.7,
    "error_limit": 0.05,
    "provenance": "Sixty invoices, labelled twice.",
    "calibration": EVIDENCE,
}


def row(**changes: object) -> Floors:
    return parse_thresholds({"thresholds": [{**ROW, **changes}]})["invoice"]


def evidence(**changes: object) -> Floors:
    return row(calibration={**EVIDENCE, **changes})


def test_a_deployed_row_with_enough_evidence_is_calibrated_for_its_engine_alone() -> None:
    assert row().calibrated(ENGINE)
    assert not row().calibrated(ENGINE.replace("none", "null-for-not-found"))
    assert not row(calibration=None).calibrated(ENGINE)
    assert not evidence(documents=16).calibrated(ENGINE)
    assert not evidence(wrong_documents=1).calibrated(ENGINE)


@pytest.mark.parametrize("where", ["row", "calibration"])
@pytest.mark.parametrize("key", ["calibrated", "bound", "supported"])
def test_nobody_can_type_in_that_floors_are_calibrated(where: str, key: str) -> None:
    claim = {key: True}

    with pytest.raises(RefusedError, match="thresholds document cannot be used"):
        row(**claim) if where == "row" else evidence(**claim)


@pytest.mark.parametrize(
    "changes",
    [
        {"recognition": 1.1},
        {"recognition": -0.1},
        {"recognition": "0.9"},
        {"recognition": True},
        {"recognition": None},
        {"recognition": float("nan")},
        {"error_limit": 0.2},
        {"error_limit": 0},
        {"document_type": ""},
        {"provenance": ""},
        {"recognition_required": "yes"},
        {"calibration": []},
        {"calibration": {**EVIDENCE, "on": "yesterday"}},
        {"calibration": {**EVIDENCE, "documents": -1}},
        {"calibration": {**EVIDENCE, "documents": 60.5}},
        {"calibration": {**EVIDENCE, "wrong_documents": 61}},
        {"calibration": {**EVIDENCE, "fingerprint": ""}},
        {"calibration": {**EVIDENCE, "evidence": "none"}},
        {"calibration": {"on": "2026-09-30"}},
    ],
)
def test_a_row_that_cannot_be_used_is_refused_and_never_defaulted(changes: dict[str, Any]) -> None:
    with pytest.raises(RefusedError, match="thresholds document cannot be used"):
        row(**changes)


def test_a_count_of_errors_that_is_left_out_counts_every_document_as_wrong() -> None:
    without = {key: value for key, value in EVIDENCE.items() if key != "wrong_documents"}

    assert not row(calibration=without).calibrated(ENGINE)


@pytest.mark.parametrize("document", [None, [], {"rows": []}, {"thresholds": {}}])
def test_another_shape_is_refused(document: object) -> None:
    with pytest.raises(RefusedError):
        parse_thresholds(document)


def test_one_document_type_has_one_row() -> None:
    with pytest.raises(RefusedError, match="twice"):
        parse_thresholds({"thresholds": [ROW, ROW]})


def test_a_document_reads_back_as_it_was_written() -> None:
    rows = parse_thresholds({"thresholds": [ROW, {**ROW, "document_type": "receipt"}]})

    assert parse_thresholds(json.loads(as_document(rows))) == rows


def test_without_a_deployed_row_the_built_in_one_applies_and_has_no_evidence() -> None:
    deployed = parse_thresholds(NONE_DEPLOYED)

    assert floors_for("invoice", deployed) is FLOORS["invoice"]
    assert floors_for("receipt", deployed) is FLOORS["default"]
    assert floors_for("invoice", {"invoice": row()}) == row()
    assert all(built_in.calibration is None for built_in in FLOORS.values())


@pytest.mark.parametrize(
    ("floors", "engine", "sentence"),
    [
        (FLOORS["invoice"], ENGINE, "No documents were compared .* no field is accepted"),
        (evidence(documents=16), ENGINE, "0 wrong of 16: true error rate could be up to 17 %"),
        (evidence(documents=16), ENGINE, "more than the 5 % that is accepted, so no field"),
        (row(), ENGINE, "0 wrong of 60: true error rate could be up to 5 %; up to 5 % is accepted"),
        (row(), "mode=other", "not the one that was compared with the truth on 2026-09-30"),
    ],
)
def test_the_card_reads_what_the_counts_carry_and_no_more(
    floors: Floors, engine: str, sentence: str
) -> None:
    assert re.search(sentence, floors.sentence(engine))


def test_evidence_without_documents_is_none() -> None:
    nothing = evidence(documents=0)

    assert not nothing.calibrated(ENGINE)
    assert nothing.sentence(ENGINE) == FLOORS["invoice"].sentence(ENGINE)
