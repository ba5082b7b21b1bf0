"""The stand-in reads a real document, and answers in the vendor's recorded shape."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pikepdf
import pytest

from fixtures.documents.freight_invoice import load, render
from fixtures.extraction.scans import CLEAN, FAX, scan
from local.sandbox.nutrient.errors import (
    BadRequestError,
    TooLargeError,
    UnsupportedFileError,
)
from local.sandbox.nutrient.extract import ExtractRequest, extract, read_request
from local.sandbox.nutrient.parse import ParseRequest, parse
from local.sandbox.nutrient.switches import Switches
from tests.contract.sandbox.nutrient.reading_back import REPO, fixture_json, invoice_pdf

SCHEMA = fixture_json("extraction/freight_invoice_schema.json")
TRUTH = fixture_json("extraction/freight_invoice_truth.json")
SHARED = Path(os.environ.get("NO_UNDO_SHARED", REPO.parent / "shared"))
RECORDINGS = SHARED / "vendors" / "recordings"


def output(
    pdf: bytes, mode: str = "understand", switches: Switches | None = None
) -> dict[str, Any]:
    answer = extract(pdf, ExtractRequest(SCHEMA, mode), switches or Switches())
    found: dict[str, Any] = answer["output"]
    return found


def citations(node: Any) -> list[Mapping[str, Any]]:  # noqa: ANN401 - JSON
    """Return every citation of a metadata tree."""
    if isinstance(node, list):
        return [one for inner in cast("Any", node) for one in citations(inner)]
    if not isinstance(node, dict):
        return []
    members = cast("dict[str, Any]", node)
    if "match" in members:
        return [members]
    return [one for inner in members.values() for one in citations(inner)]


@pytest.mark.parametrize("mode", ["understand", "agentic"])
def test_every_printed_field_of_the_invoice_is_read_right(mode: str) -> None:
    assert output(invoice_pdf(), mode)["data"] == TRUTH


def test_the_committed_invoice_is_what_its_maker_draws() -> None:
    assert render(load()) == invoice_pdf()


def test_a_field_that_is_not_on_the_page_is_null_with_low_confidence() -> None:
    found = output(invoice_pdf())

    assert found["data"]["due_date"] is None
    assert found["metadata"]["due_date"] == {
        "confidence": 0.4,
        "confidenceComponents": {"groundingScore": 0.4, "source": "no-logprobs"},
        "match": "not_found",
        "source_bboxes": [],
    }


def test_before_september_a_field_that_is_not_on_the_page_was_left_out() -> None:
    found = output(invoice_pdf(), switches=Switches(august=True))

    assert "due_date" not in found["data"]
    assert found["metadata"]["due_date"] == {"match": "not_found", "source_bboxes": []}
    assert isinstance(found["data"]["line_items"][2]["unit_price"], int)


def test_structure_answers_zero_for_a_required_number_it_cannot_find() -> None:
    found = output(render(load(), tilt_degrees=0.5), "structure")

    assert found["data"]["total_amount"] == 0
    assert found["metadata"]["total_amount"]["match"] == "not_found"
    assert found["metadata"]["total_amount"]["confidence"] == pytest.approx(0.5770799623628855)
    assert found["data"]["tax_amount"] is None
    assert (found["data"]["line_items"], found["metadata"]["line_items"]) == (None, {})


def test_the_composite_confidence_restates_grounding_and_format() -> None:
    found = citations(output(invoice_pdf())["metadata"])

    for citation in found:
        components = citation["confidenceComponents"]
        expected = components["groundingScore"]
        if "formatScore" in components:
            expected = expected**0.6 * components["formatScore"] ** 0.4
        assert citation["confidence"] == expected
    assert 0.9696927825876808 in {citation["confidence"] for citation in found}


def test_a_value_from_the_text_layer_has_no_recognition_score() -> None:
    assert all(
        "recognitionScore" not in one for one in citations(output(invoice_pdf())["metadata"])
    )


def test_tilted_lines_are_read_as_pixels_and_upright_ones_are_not() -> None:
    metadata = output(render(load(), tilt_degrees=0.5))["metadata"]

    assert "recognitionScore" not in metadata["invoice_number"]
    assert 0.0 < metadata["total_amount"]["recognitionScore"] < 1.0


def test_recognition_is_the_lowest_word_confidence_of_the_source_line() -> None:
    pdf = scan(invoice_pdf(), CLEAN)
    elements = parse(pdf, ParseRequest(words=True))["output"]["elements"]

    citation = output(pdf)["metadata"]["payer_name"]

    source = next(one for one in elements if one["text"].startswith("Payer"))
    assert citation["recognitionScore"] == min(word["confidence"] for word in source["words"])


def test_agentic_sends_no_recognition_score() -> None:
    found = citations(output(scan(invoice_pdf(), CLEAN), "agentic")["metadata"])

    assert found
    assert all("recognitionScore" not in one for one in found)


def test_a_bad_scan_is_read_wrong_and_still_labelled_as_a_match() -> None:
    found = output(scan(invoice_pdf(), FAX))

    wrong = [
        name
        for name, value in found["data"].items()
        if value not in (None, TRUTH[name]) and name != "line_items"
    ]
    assert found["data"] != TRUTH
    assert all(found["metadata"][name]["match"] != "not_found" for name in wrong)


def test_another_ocr_snapshot_moves_the_scores() -> None:
    pdf = scan(invoice_pdf(), CLEAN)

    scores = [
        [one.get("recognitionScore") for one in citations(output(pdf, switches=s)["metadata"])]
        for s in (Switches(), Switches(drift="dpi"))
    ]

    assert scores[0] != scores[1]


def test_structure_answers_points_and_the_others_pixels() -> None:
    points, pixels = (output(invoice_pdf(), mode) for mode in ("structure", "understand"))

    assert points["pages"] == [{"height": 792, "page": 1, "width": 612}]
    assert pixels["pages"] == [{"height": 2200, "page": 1, "width": 1700}]
    small, large = (side["metadata"]["vendor_name"]["bbox"]["x"] for side in (points, pixels))
    assert large == pytest.approx(small * 200 / 72, abs=2)


def test_a_box_encloses_the_words_it_cites() -> None:
    citation = output(invoice_pdf())["metadata"]["vendor_name"]

    source = citation["source_bboxes"][0]["bbox"]
    inner = citation["bbox"]
    assert source["x"] <= inner["x"]
    assert inner["x"] + inner["width"] <= source["x"] + source["width"]


def test_any_property_is_looked_up_by_the_words_of_its_name() -> None:
    schema = {
        "type": "object",
        "properties": {
            "subtotal": {"type": "number"},
            "tractor_vin": {"type": "string"},
            "driver": {"type": "string"},
        },
    }

    data = extract(invoice_pdf(), ExtractRequest(schema))["output"]["data"]

    assert data == {
        "subtotal": 80.99,
        "tractor_vin": "1FUJGLDR8CLBP8834",
        "driver": "Marcus Webb",
    }


def test_without_citations_the_metadata_is_empty() -> None:
    request = ExtractRequest(SCHEMA, citations=False)

    assert extract(invoice_pdf(), request)["output"]["metadata"] == {}


@pytest.mark.parametrize(
    ("mode", "cost"), [("structure", 7.5), ("understand", 15), ("agentic", 24)]
)
def test_each_mode_has_its_price(mode: str, cost: float) -> None:
    usage = extract(invoice_pdf(), ExtractRequest(SCHEMA, mode))["usage"]

    assert usage["data_extraction_credits"]["cost"] == cost
    assert usage["price_composition"]["extract"]["cost"] == 6.0


def test_the_schema_limits_are_kept() -> None:
    with pytest.raises(BadRequestError) as refused:
        read_request(
            {"schema": {"type": "object", "properties": {"n": {"type": "number", "minimum": 0}}}}
        )

    assert refused.value.path == "schema.properties.n.minimum"


MALFORMED: list[object] = [
    None,
    [],
    {},
    {"schema": 3},
    {"schema": {"type": "array", "items": {"type": "string"}}},
    {"schema": {"properties": {"a": {"type": "string", "format": "email"}}}},
    {"schema": {"properties": {"a": {"type": "string"}}, "required": ["b"]}},
    {"schema": {"properties": {"a": {"type": "string"}}, "required": [{}]}},
    {"schema": {"properties": {"a": {"type": "string"}}}, "parseConfig": {"mode": "text"}},
]


@pytest.mark.parametrize("instructions", MALFORMED)
def test_malformed_instructions_are_refused(instructions: object) -> None:
    with pytest.raises(BadRequestError):
        read_request(instructions)


@pytest.mark.parametrize("content", [b"%PDF-1.7\nnothing", b"GIF89a", b"\0" * 100])
def test_a_file_that_is_no_pdf_is_refused(content: bytes) -> None:
    with pytest.raises(UnsupportedFileError):
        extract(content, ExtractRequest(SCHEMA))


def test_a_document_with_too_many_pages_is_refused() -> None:
    pdf = pikepdf.new()
    for _ in range(401):
        pdf.add_blank_page()
    target = io.BytesIO()
    pdf.save(target)

    with pytest.raises(TooLargeError):
        extract(target.getvalue(), ExtractRequest(SCHEMA))


def shape(node: Any) -> Any:  # noqa: ANN401 - JSON
    """Return the structure of a JSON value: keys and types, one item for each list."""
    if isinstance(node, dict):
        members = cast("dict[str, Any]", node)
        return {key: shape(value) for key, value in members.items()}
    if isinstance(node, list):
        return [shape(first) for first in cast("Any", node)[:1]]
    if isinstance(node, bool) or node is None:
        return node
    return "number" if isinstance(node, (int, float)) else "text"


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the vendor recordings are not at hand")
def test_the_answer_has_the_recorded_shape() -> None:
    recorded = json.loads(
        (RECORDINGS / "nutrient-extract-agentic-2026-09-03T135009.json").read_text("utf-8")
    )

    answer = extract(invoice_pdf(), ExtractRequest(SCHEMA, "agentic"))

    assert shape(answer) == shape(recorded)
