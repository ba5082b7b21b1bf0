"""Nutrient extraction: the requests we make, and every recorded answer read back."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from no_undo.adapters.nutrient_extraction import DEFAULT_BASE_URL, NutrientExtraction
from no_undo.domain.errors import (
    InvalidRequestError,
    NoUndoError,
    TransientError,
    VendorContractError,
    VendorRefusedError,
)
from no_undo.ports import ExtractionService
from tests.contract.replay import (
    ScriptedVendor,
    always,
    failing,
    parts_of,
    read_recording,
    replays,
)

DOCUMENT = b"%PDF-1.7 invoice"
SCHEMA = {"type": "object", "properties": {"total_amount": {"type": "number"}}}
STRUCTURE = (
    "nutrient-extract-structure-2026-08-20T190409.json",
    "nutrient-extract-structure-2026-08-20T195424.json",
)
UNDERSTAND = (
    "nutrient-extract-understand-2026-08-20T190413.json",
    "nutrient-extract-understand-2026-08-20T195429.json",
    "nutrient-extract-understand-2026-08-29T190601.json",
)
AGENTIC = (
    "nutrient-extract-agentic-2026-08-20T190424.json",
    "nutrient-extract-agentic-2026-08-20T195438.json",
)
SEPTEMBER = (
    "nutrient-extract-structure-2026-09-03T134950.json",
    "nutrient-extract-understand-2026-09-03T134956.json",
    "nutrient-extract-agentic-2026-09-03T135009.json",
)
MESSY = "nutrient-parse-understand-2026-08-20T122614.json"
CLEAN = "nutrient-parse-understand-clean-2026-08-21.json"


def service(vendor: ScriptedVendor) -> NutrientExtraction:
    return NutrientExtraction(DEFAULT_BASE_URL, "our-key", transport=vendor.transport)


def answered(body: bytes | dict[str, Any]) -> ScriptedVendor:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return always(httpx.Response(200, content=content))


def mode_of(recording: bytes) -> str:
    return str(json.loads(recording)["configuration"]["mode"])


def fingerprint_of(recording: bytes) -> str:
    mode = mode_of(recording)
    return service(answered(recording)).extract(DOCUMENT, SCHEMA, mode=mode).fingerprint


def word(text: str, **facts: object) -> dict[str, Any]:
    bounds = {"x": 100, "y": 200, "width": 50, "height": 25}
    return {"text": text, "bounds": bounds, "confidence": 0.9, **facts}


def element(*words: dict[str, Any], **facts: object) -> dict[str, Any]:
    page = {"pageIndex": 0, "width": 1700, "height": 2200}
    return {"type": "paragraph", "text": "text", "page": page, "words": list(words), **facts}


def parsed(*elements: dict[str, Any]) -> ScriptedVendor:
    return answered({"output": {"elements": list(elements)}})


def test_the_adapter_serves_the_port() -> None:
    port: ExtractionService = service(always(httpx.Response(200)))

    assert port is not None


# extract


@pytest.mark.parametrize("mode", ["structure", "understand", "agentic"])
def test_an_extraction_sends_document_and_instructions(mode: str) -> None:
    vendor = answered({"output": {}})

    service(vendor).extract(DOCUMENT, SCHEMA, mode=mode)

    assert vendor.routes == ["POST /extraction/extract"]
    assert vendor.request.url.host == "api.nutrient.io"
    assert vendor.request.headers["authorization"] == "Bearer our-key"
    assert vendor.request.headers["x-nutrient-api-version"] == "2026-05-25"
    assert vendor.request.headers["x-nutrient-engine-version"] == "stable"
    parts = parts_of(vendor.request)
    assert parts.keys() == {"file", "instructions"}
    assert parts["file"].content == DOCUMENT
    assert parts["file"].content_type == "application/pdf"
    assert json.loads(parts["instructions"].content) == {
        "schema": SCHEMA,
        "parseConfig": {"mode": mode},
        "options": {"includeCitations": True, "strict": False, "multimodal": False},
    }


def test_api_and_engine_version_can_be_pinned() -> None:
    vendor = answered({"output": {}})
    pinned = NutrientExtraction(
        DEFAULT_BASE_URL,
        "our-key",
        transport=vendor.transport,
        api_version="2026-10-01",
        engine_version="2026-09-30",
    )

    pinned.extract(DOCUMENT, SCHEMA, mode="understand")

    assert vendor.request.headers["x-nutrient-api-version"] == "2026-10-01"
    assert vendor.request.headers["x-nutrient-engine-version"] == "2026-09-30"


@pytest.mark.parametrize("mode", ["text", "", "Understand"])
def test_a_mode_without_citations_or_words_is_refused_before_any_call(mode: str) -> None:
    vendor = answered({"output": {}})

    with pytest.raises(InvalidRequestError):
        service(vendor).extract(DOCUMENT, SCHEMA, mode=mode)
    with pytest.raises(InvalidRequestError):
        service(vendor).parse_words(DOCUMENT, mode=mode)

    assert vendor.requests == []


@replays(*STRUCTURE, *UNDERSTAND, *AGENTIC, *SEPTEMBER)
def test_each_recorded_answer_is_handed_on_as_it_was_received(recording: bytes) -> None:
    body = json.loads(recording)
    mode = mode_of(recording)

    answer = service(answered(recording)).extract(DOCUMENT, SCHEMA, mode=mode)

    assert answer.body == body
    assert answer.data == body["output"]["data"]
    assert answer.metadata == body["output"]["metadata"]
    assert answer.mode == mode


@replays("nutrient-extract-understand-2026-09-03T134956.json")
def test_numbers_keep_how_they_were_written(recording: bytes) -> None:
    answer = service(answered(recording)).extract(DOCUMENT, SCHEMA, mode="understand")

    handling = answer.data["line_items"][2]
    assert (type(handling["quantity"]), type(handling["unit_price"])) == (int, float)
    assert json.dumps(answer.data["total_amount"]) == "86.26"


@pytest.mark.parametrize("names", [STRUCTURE, UNDERSTAND, AGENTIC])
def test_the_recordings_of_august_share_one_fingerprint_a_mode(names: tuple[str, ...]) -> None:
    fingerprints = {fingerprint_of(read_recording(name)) for name in names}

    assert len(fingerprints) == 1
    assert "traits=none" in fingerprints.pop()


@pytest.mark.parametrize(
    ("august", "september", "traits"),
    [
        (STRUCTURE[0], SEPTEMBER[0], "null-for-not-found+scored-not-found"),
        (
            UNDERSTAND[0],
            SEPTEMBER[1],
            "null-for-not-found+scored-not-found+whole-numbers-as-fractions",
        ),
        (AGENTIC[0], SEPTEMBER[2], "null-for-not-found+scored-not-found"),
    ],
)
def test_the_drift_of_september_changes_every_fingerprint(
    august: str, september: str, traits: str
) -> None:
    before = fingerprint_of(read_recording(august))
    after = fingerprint_of(read_recording(september))

    assert after == before.replace("id=token20", "id=uuid").replace(
        "traits=none", f"traits={traits}"
    )
    assert after != before


def test_a_fingerprint_says_nothing_of_the_document() -> None:
    for name in (*STRUCTURE, *UNDERSTAND, *AGENTIC, *SEPTEMBER):
        fingerprint = fingerprint_of(read_recording(name))
        for text in ("ACME", "Lindstrom", "INV-", "86", "invoice", "vendor"):
            assert text not in fingerprint


@pytest.mark.parametrize(
    "body",
    [
        b"<html>maintenance</html>",
        b"[]",
        b"{}",
        b'{"output": null}',
        b'{"output": []}',
        b'{"output": {"data": []}}',
        b'{"output": {"data": {"a": NaN}}}',
        b'{"output": {"metadata": null}}',
        b'{"status": 200, "errorMessage": "no"}',
    ],
)
def test_an_answer_of_another_shape_is_no_extraction(body: bytes) -> None:
    with pytest.raises(VendorContractError):
        service(answered(body)).extract(DOCUMENT, SCHEMA, mode="understand")


def test_absent_data_and_metadata_are_empty() -> None:
    answer = service(answered({"output": {}})).extract(DOCUMENT, SCHEMA, mode="understand")

    assert (answer.data, answer.metadata) == ({}, {})


# parse_words


@pytest.mark.parametrize("mode", ["structure", "understand", "agentic"])
def test_words_are_asked_for_at_the_top_level(mode: str) -> None:
    vendor = parsed(element(word("a")))

    service(vendor).parse_words(DOCUMENT, mode=mode)

    assert vendor.routes == ["POST /extraction/parse"]
    parts = parts_of(vendor.request)
    assert parts["file"].content == DOCUMENT
    assert json.loads(parts["instructions"].content) == {
        "mode": mode,
        "output": {"format": "spatial", "includeWords": True},
    }


@replays(MESSY)
def test_the_recorded_words_are_read_in_points(recording: bytes) -> None:
    words = service(answered(recording)).parse_words(DOCUMENT, mode="understand")

    recorded = sum(
        len(item.get("words", [])) for item in json.loads(recording)["output"]["elements"]
    )
    assert len(words) == recorded
    first = words[0]
    assert (first.text, first.page_index, first.confidence) == ("ACME", 0, 1.0)
    assert (first.x, first.y) == pytest.approx((39.96, 75.96))
    assert (first.width, first.height) == pytest.approx((59.76, 16.92))
    assert all(w.x >= 0 and w.x + w.width <= 612 and w.y + w.height <= 792 for w in words)


@replays(MESSY)
def test_the_recorded_misread_words_keep_their_low_confidence(recording: bytes) -> None:
    words = service(answered(recording)).parse_words(DOCUMENT, mode="understand")

    scores = {w.text: w.confidence for w in words}
    assert round(min(scores[text] for text in scores if "26.86" in text), 4) == 0.6776
    assert round(min(scores[text] for text in scores if "79.00" in text), 4) == 0.7373


@replays(CLEAN)
def test_text_without_the_words_that_were_asked_for_is_refused(recording: bytes) -> None:
    with pytest.raises(VendorContractError, match="without words"):
        service(answered(recording)).parse_words(DOCUMENT, mode="understand")


@pytest.mark.parametrize(("mode", "x"), [("structure", 100.0), ("understand", 36.0)])
def test_the_mode_tells_the_unit(mode: str, x: float) -> None:
    [found] = service(parsed(element(word("a")))).parse_words(DOCUMENT, mode=mode)

    assert found.x == pytest.approx(x)


def test_words_of_cells_and_pairs_are_found_once() -> None:
    cell = {"text": "b", "words": [word("b"), word("a")]}
    table = element(word("a"), type="table", cells=[cell, {"text": ""}])
    pair = {"key": {"words": [word("c")]}, "value": {"words": [word("d")]}}
    region = element(type="keyValueRegion", pairs=[pair])

    words = service(parsed(table, region)).parse_words(DOCUMENT, mode="understand")

    assert [w.text for w in words] == ["a", "b", "c", "d"]


def test_a_page_of_pictures_has_no_words() -> None:
    picture = {"type": "picture", "page": {"pageIndex": 0}, "altDescription": ""}

    assert service(parsed(picture)).parse_words(DOCUMENT, mode="understand") == ()


def test_the_same_word_on_two_pages_is_two_words() -> None:
    second = element(word("a"), page={"pageIndex": 1})

    words = service(parsed(element(word("a")), second)).parse_words(DOCUMENT, mode="understand")

    assert [w.page_index for w in words] == [0, 1]


@pytest.mark.parametrize(
    "broken",
    [
        element(word("a", confidence=None)),
        element(word("a", confidence=1.1)),
        element(word("a", confidence=-0.1)),
        element(word("a", confidence="0.9")),
        element(word("a", confidence=True)),
        element(word("a", bounds=None)),
        element(word("a", bounds={"x": 1, "y": 1, "width": 1})),
        element({**word("a"), "text": None}),
        element(word("a"), page=None),
        element(word("a"), page={"pageIndex": -1}),
        element(word("a"), page={"pageIndex": True}),
    ],
)
def test_a_word_without_place_or_score_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(VendorContractError):
        service(parsed(broken)).parse_words(DOCUMENT, mode="understand")


@pytest.mark.parametrize("body", [b"{}", b'{"output": {}}', b'{"output": {"elements": {}}}', b"x"])
def test_an_answer_without_elements_is_refused(body: bytes) -> None:
    with pytest.raises(VendorContractError):
        service(answered(body)).parse_words(DOCUMENT, mode="understand")


# errors


@replays("nutrient-extraction-403-2026-08-18.json")
def test_the_other_products_key_is_a_refusal(recording: bytes) -> None:
    vendor = always(httpx.Response(403, content=recording))

    with pytest.raises(VendorRefusedError, match="belongs to this product") as caught:
        service(vendor).parse_words(DOCUMENT, mode="understand")

    assert "GMz6cKyalQQgfKYAAIuR" in str(caught.value)
    assert "Forbidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, VendorRefusedError),
        (401, VendorRefusedError),
        (402, VendorRefusedError),
        (404, VendorRefusedError),
        (408, TransientError),
        (413, VendorRefusedError),
        (422, VendorRefusedError),
        (429, TransientError),
        (500, TransientError),
        (503, TransientError),
    ],
)
def test_each_error_status_says_what_to_do(status: int, error: type[NoUndoError]) -> None:
    body = {"requestId": "not an id", "errorMessage": "Alice is unreadable", "status": status}
    vendor = always(httpx.Response(status, json=body))

    with pytest.raises(NoUndoError) as caught:
        service(vendor).extract(DOCUMENT, SCHEMA, mode="understand")

    assert type(caught.value) is error
    assert len(vendor.requests) == 1
    for forbidden in ("Alice", "our-key", "not an id"):
        assert forbidden not in str(caught.value)


@pytest.mark.parametrize("error", [httpx.ReadTimeout("late"), httpx.ConnectError("refused")])
def test_a_lost_answer_is_to_be_repeated(error: Exception) -> None:
    with pytest.raises(TransientError):
        service(failing(error)).extract(DOCUMENT, SCHEMA, mode="understand")
