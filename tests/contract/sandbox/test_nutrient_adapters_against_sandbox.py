"""The Nutrient adapters over real sockets, against the sandbox in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest

from local.sandbox.nutrient.routes import EXTRACTION_KEY, PROCESSOR_KEY
from no_undo.adapters.nutrient_extraction import NutrientExtraction
from no_undo.adapters.nutrient_redaction import NutrientRedaction
from no_undo.domain.errors import (
    NoUndoError,
    TransientError,
    VendorContractError,
    VendorRefusedError,
)
from no_undo.domain.redaction import RedactionTarget, TargetType
from tests.contract.replay import FIXTURES, REPOSITORY, SteppingClock

PROPERTIES = {
    "invoice_number": {"type": "string", "description": "Number of the invoice"},
    "total_amount": {"type": "number", "description": "Total due"},
}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": ["invoice_number"]}


@pytest.fixture(scope="module")
def sandbox_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the sandbox of this module listens."""
    data = tmp_path_factory.mktemp("sandbox")
    command = [sys.executable, "-m", "local.sandbox", "--port", "0", "--data", str(data)]
    with subprocess.Popen(  # noqa: S603 -- our own program
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().removeprefix("sandbox ready ").strip().rstrip("/")
        finally:
            process.terminate()


@pytest.fixture
def sandbox(sandbox_url: str) -> Iterator[httpx.Client]:
    """A client for the control routes of a sandbox that behaves."""
    with httpx.Client(base_url=sandbox_url, timeout=10.0) as client:
        client.delete("/_sandbox/nutrient/switches").raise_for_status()
        yield client


def invoice() -> bytes:
    return (FIXTURES / "documents" / "freight_invoice.pdf").read_bytes()


def extraction(sandbox: httpx.Client) -> NutrientExtraction:
    return NutrientExtraction(str(sandbox.base_url), EXTRACTION_KEY)


def redaction(sandbox: httpx.Client) -> NutrientRedaction:
    return NutrientRedaction(str(sandbox.base_url), PROCESSOR_KEY, clock=SteppingClock())


def test_fields_are_extracted_with_citations(sandbox: httpx.Client) -> None:
    answer = extraction(sandbox).extract(invoice(), SCHEMA, mode="understand")

    assert answer.metadata.keys() == set(PROPERTIES)
    assert answer.mode == "understand"
    assert "api=2026-05-25 engine=stable id=uuid" in answer.fingerprint


def test_words_are_read_with_places_on_the_page(sandbox: httpx.Client) -> None:
    words = extraction(sandbox).parse_words(invoice(), mode="structure")

    assert words
    assert all(0 <= word.confidence <= 1 for word in words)
    assert all(0 <= word.x <= 842 and 0 <= word.y <= 842 for word in words)


def test_both_units_give_the_same_places(sandbox: httpx.Client) -> None:
    in_points = extraction(sandbox).parse_words(invoice(), mode="structure")
    in_pixels = extraction(sandbox).parse_words(invoice(), mode="understand")

    places = {word.text: word for word in in_points}
    shared = [(word, places[word.text]) for word in in_pixels if word.text in places]
    assert shared
    near = [abs(a.x - b.x) < 3 and abs(a.y - b.y) < 3 for a, b in shared]
    assert sum(near) / len(near) > 0.8


def test_a_redaction_comes_back_as_another_pdf(sandbox: httpx.Client) -> None:
    targets = [
        RedactionTarget(TargetType.KIND, "email", "email"),
        RedactionTarget(TargetType.KIND, "vin", "vin"),
        RedactionTarget(TargetType.LITERAL, "Freight", "literal"),
    ]

    redacted = redaction(sandbox).redact(invoice(), targets, operation_id="1")

    assert redacted.startswith(b"%PDF")
    assert redacted != invoice()


def test_the_other_products_key_is_refused(sandbox: httpx.Client) -> None:
    wrong = NutrientExtraction(str(sandbox.base_url), PROCESSOR_KEY)

    with pytest.raises(VendorRefusedError, match="belongs to this product"):
        wrong.parse_words(invoice(), mode="structure")


@pytest.mark.parametrize(
    ("switches", "error"),
    [
        ({"out_of_credits": True}, VendorRefusedError),
        ({"html_200": True}, VendorContractError),
        ({"fail_times": 1, "fail_status": 503}, TransientError),
        ({"fail_times": 1, "fail_status": 429}, TransientError),
    ],
)
def test_a_nutrient_fault_says_what_to_do(
    sandbox: httpx.Client, switches: dict[str, object], error: type[NoUndoError]
) -> None:
    target = RedactionTarget(TargetType.KIND, "email", "email")
    sandbox.put("/_sandbox/nutrient/switches", json=switches)
    with pytest.raises(error):
        extraction(sandbox).extract(invoice(), SCHEMA, mode="structure")
    sandbox.put("/_sandbox/nutrient/switches", json=switches)
    with pytest.raises(error):
        redaction(sandbox).redact(invoice(), [target], operation_id="1")


def test_the_shape_of_august_has_another_fingerprint(sandbox: httpx.Client) -> None:
    now = extraction(sandbox).extract(invoice(), SCHEMA, mode="structure").fingerprint
    sandbox.put("/_sandbox/nutrient/switches", json={"august": True})
    before = extraction(sandbox).extract(invoice(), SCHEMA, mode="structure").fingerprint

    assert now != before
    assert "id=token20" in before
