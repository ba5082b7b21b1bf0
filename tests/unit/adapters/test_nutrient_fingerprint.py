"""The response fingerprint: equal for one state of the service, different after a drift."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from no_undo.adapters.nutrient_fingerprint import response_fingerprint

BASE: dict[str, Any] = {
    "configuration": {
        "apiVersion": "2026-05-25",
        "engine": {"requestedEngineVersion": "stable"},
        "mode": "understand",
    },
    "metrics": {},
    "output": {
        "data": {"total": 26.86, "lines": [{"quantity": 2}]},
        "metadata": {
            "total": {
                "match": "id_match",
                "confidence": 0.9696927825876808,
                "confidenceComponents": {
                    "formatScore": 1,
                    "groundingScore": 0.95,
                    "source": "no-logprobs",
                },
                "recognitionScore": 0.6775884032249451,
                "source_bboxes": [],
            },
            "due": {"match": "not_found", "source_bboxes": []},
            "lines": [{"quantity": {"match": "id_match", "source_bboxes": []}}],
        },
        "pages": [],
    },
    "requestId": "GM2Y0K7eyohH_SQAAHzR",
    "status": 200,
    "usage": {},
}
AUGUST = (
    "mode=understand echo=understand api=2026-05-25 engine=stable id=token20 answer=known "
    "output=known labels=known keys=known components=known source=known traits=none"
)


def changed(*path: str | int, to: object) -> dict[str, Any]:
    body = copy.deepcopy(BASE)
    node: Any = body
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = to
    return body


def fingerprint(body: dict[str, Any], mode: str = "understand") -> str:
    return response_fingerprint(body, mode=mode)


def parts_of(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(" ")]
    return {name: value for name, _, value in pairs}


def test_the_shape_of_august_is_the_reference() -> None:
    assert fingerprint(BASE) == AUGUST


TOTAL = ("output", "metadata", "total")


@pytest.mark.parametrize(
    ("body", "difference"),
    [
        (changed("requestId", to="39f75cfd-cd93-4f1e-a68a-1cfdf2b98b00"), "id=uuid"),
        (changed("requestId", to="request 17"), "id=other"),
        (changed("requestId", to=None), "id=absent"),
        (changed("configuration", "apiVersion", to="2026-10-01"), "api=2026-10-01"),
        (changed("configuration", "engine", to={}), "engine=absent"),
        (changed("configuration", "mode", to="agentic"), "echo=agentic"),
        (changed("warnings", to=[]), "answer=+warnings"),
        (changed("output", "markdown", to=""), "output=+markdown"),
        (changed(*TOTAL, "match", to="vision_match"), "labels=vision_match"),
        (changed(*TOTAL, "textScore", to=0.5), "keys=textScore"),
        (
            changed(*TOTAL, "confidenceComponents", "marginScore", to=0.5),
            "components=marginScore",
        ),
        (changed(*TOTAL, "confidenceComponents", "source", to="logprobs"), "source=logprobs"),
        (changed("output", "data", "due", to=None), "traits=null-for-not-found"),
        (
            changed("output", "metadata", "due", "confidence", to=0.4),
            "traits=scored-not-found",
        ),
        (
            changed("output", "data", "lines", 0, "quantity", to=2.0),
            "traits=whole-numbers-as-fractions",
        ),
        (changed(*TOTAL, "recognitionScore", to=0.68), "traits=coarse-recognition"),
        (changed(*TOTAL, "confidence", to=0.97), "traits=other-composite"),
        (
            changed(*TOTAL, "confidenceComponents", to={"groundingScore": 0.9}),
            "traits=other-grounding-levels+other-composite",
        ),
    ],
)
def test_each_drift_shows_where_it_happened(body: dict[str, Any], difference: str) -> None:
    name, _, value = difference.partition("=")

    assert parts_of(fingerprint(body)) == {**parts_of(AUGUST), name: value}


def test_a_missing_part_of_the_answer_shows() -> None:
    body = {key: value for key, value in BASE.items() if key != "metrics"}

    assert "answer=-metrics" in fingerprint(body)


@pytest.mark.parametrize(
    "body",
    [
        changed("output", "data", "total", to=99.5),
        changed("output", "data", "note", to="text of Alice"),
        changed(*TOTAL, "match", to="fuzzy_match"),
        changed(*TOTAL, "recognitionScore", to=0.8344331383705139),
        changed("output", "metadata", "lines", to=[]),
        changed("output", "metadata", to={}),
        changed("output", "pages", to=[{"page": 1}] * 9),
        changed("requestId", to="GM2Y0Djb23ZQRKwAAQ3x"),
    ],
)
def test_another_document_has_the_same_fingerprint(body: dict[str, Any]) -> None:
    assert fingerprint(body) == AUGUST


def test_recognition_scores_are_news_in_agentic_only() -> None:
    assert "traits=recognition-in-agentic" in fingerprint(BASE, "agentic")
    assert "traits=none" in fingerprint(BASE, "structure")


def test_a_present_value_that_was_not_found_may_carry_a_score() -> None:
    body = changed(
        "output",
        "metadata",
        "total",
        to={
            "match": "not_found",
            "confidence": 0.5770799623628855,
            "confidenceComponents": {"formatScore": 1, "groundingScore": 0.4},
        },
    )

    assert fingerprint(body) == AUGUST


def test_names_that_are_no_names_are_not_repeated() -> None:
    body = changed(*TOTAL, "match", to="label of Alice Smith")

    assert "labels=other" in fingerprint(body)
    assert "Alice" not in fingerprint(body)


@pytest.mark.parametrize("body", [{}, {"output": []}, {"output": {"data": 1, "metadata": [1]}}])
def test_any_object_has_a_fingerprint(body: dict[str, Any]) -> None:
    assert fingerprint(body).isascii()
    assert fingerprint(body) != AUGUST
