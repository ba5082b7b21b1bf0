"""`/extraction/parse` of the stand-in: elements, words, Markdown."""

from __future__ import annotations

import pytest

from fixtures.extraction.scans import CLEAN, scan
from local.sandbox.nutrient.errors import BadRequestError
from local.sandbox.nutrient.parse import ParseRequest, parse, read_request
from tests.contract.sandbox.nutrient.reading_back import invoice_pdf


def test_words_come_only_when_asked_for() -> None:
    without, with_words = (
        parse(invoice_pdf(), ParseRequest(words=words))["output"]["elements"][0]
        for words in (False, True)
    )

    assert "words" not in without
    assert [word["text"] for word in with_words["words"]][:2] == ["ACME", "Freight"]


def test_a_word_of_the_text_layer_has_confidence_one() -> None:
    element = parse(invoice_pdf(), ParseRequest(words=True))["output"]["elements"][0]

    assert {word["confidence"] for word in element["words"]} == {1}


def test_a_word_read_from_pixels_has_its_own_confidence() -> None:
    answer = parse(scan(invoice_pdf(), CLEAN), ParseRequest(words=True))

    scores = {w["confidence"] for e in answer["output"]["elements"] for w in e["words"]}
    assert len(scores) > 10
    assert all(0.0 <= score <= 1.0 for score in scores)


def test_the_title_is_told_from_the_text() -> None:
    elements = parse(invoice_pdf(), ParseRequest())["output"]["elements"]

    assert [e["text"] for e in elements if e["role"] == "Title"] == [
        "ACME Freight Services - Invoice #INV-2026-0418"
    ]


def test_elements_are_in_reading_order_from_zero() -> None:
    elements = parse(invoice_pdf(), ParseRequest())["output"]["elements"]

    assert [e["readingOrder"] for e in elements] == list(range(len(elements)))


def test_the_modes_place_of_the_other_route_is_ignored() -> None:
    asked = read_request({"parseConfig": {"mode": "structure"}})

    assert asked.mode == "understand"


def test_text_mode_is_markdown_without_ocr() -> None:
    asked = read_request({"mode": "text"})

    answer = parse(invoice_pdf(), asked)

    assert answer["output"]["markdown"].startswith("# ACME Freight Services")
    assert parse(scan(invoice_pdf(), CLEAN), asked)["output"]["markdown"] == ""


@pytest.mark.parametrize(
    "instructions", [{"mode": "text", "output": {"format": "spatial"}}, {"mode": "fast"}, "spatial"]
)
def test_malformed_instructions_are_refused(instructions: object) -> None:
    with pytest.raises(BadRequestError):
        read_request(instructions)


@pytest.mark.parametrize(
    ("mode", "cost"), [("text", 1), ("structure", 1.5), ("understand", 9), ("agentic", 18)]
)
def test_each_mode_has_its_price(mode: str, cost: float) -> None:
    asked = read_request({"mode": mode})

    assert parse(invoice_pdf(), asked)["usage"]["data_extraction_credits"]["cost"] == cost
