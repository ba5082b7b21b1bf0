"""A scan on its way through detection, the sandbox's redactor and the proof: pixels throughout."""

from __future__ import annotations

import io

import pikepdf
import pypdfium2
import pytest

from fixtures.documents.freight_invoice import load
from fixtures.documents.messy_invoice import messy_invoice
from local.sandbox.nutrient.matching import Target
from local.sandbox.nutrient.redact import redact
from local.sandbox.nutrient.switches import Switches
from no_undo.adapters.pii_validators import PatternPiiDetector
from no_undo.domain.redaction import ChannelResult, ChannelVerdict, RedactionVerdict, squash
from no_undo.use_cases.detection import detected
from tests.integration.documents.in_process import READERS, VERIFIER
from tests.integration.documents.pdf_maker import edited, with_operators

pytest.importorskip("tesserocr")

CONTACTS = load()["contacts"]
NAMES = [contact["name"] for contact in CONTACTS]


@pytest.fixture(scope="module")
def scanned() -> bytes:
    return messy_invoice()


@pytest.fixture(scope="module")
def values(scanned: bytes) -> dict[str, str]:
    """The detected values as OCR read them, and the names as a caller lists them."""
    sights = detected(READERS.read(scanned), PatternPiiDetector())
    return {one.value: one.kind for one in sights} | dict.fromkeys(NAMES, "literal")


def redacted(document: bytes, values: dict[str, str], switches: Switches) -> bytes:
    return redact(document, [Target("text", value) for value in values], switches)


def verified(
    before: bytes, after: bytes, values: dict[str, str]
) -> tuple[RedactionVerdict, dict[str, ChannelVerdict]]:
    rows = VERIFIER.verify(before, after, values, signature_fields=0)
    return RedactionVerdict(rows), {row.channel: row for row in rows}


def test_every_contact_of_the_messy_invoice_is_detected_in_its_pixels(
    values: dict[str, str],
) -> None:
    found = {squash(value) for value in values}
    for contact in CONTACTS:
        assert squash(contact["phone"]) in found
        assert any(squash(contact["email"]) in one for one in found)
    assert sorted(values.values()) == ["email"] * 2 + ["literal"] * 2 + ["phone"] * 2 + ["vin"]


def test_a_scan_has_no_text_for_the_text_engines(scanned: bytes) -> None:
    text, positions, pictures = READERS.read(scanned)

    assert not any(page.text.strip() for page in (*text.pages, *positions.pages))
    assert pictures.unread == ()
    assert "Lindstrom Transport" in pictures.pages[0].text


def test_redaction_reaches_the_pixels_and_is_proven(scanned: bytes, values: dict[str, str]) -> None:
    after = redacted(scanned, values, Switches())

    verdict, _ = verified(scanned, after, values)

    assert verdict.proven, [row for row in verdict.channels if row.result is not ChannelResult.GONE]
    left = detected(READERS.read(after), PatternPiiDetector())
    assert [one.kind for one in left] == []


def test_a_scan_that_was_not_redacted_is_found_out_by_ocr(
    scanned: bytes, values: dict[str, str]
) -> None:
    verdict, rows = verified(scanned, scanned, values)

    assert not verdict.proven
    assert rows["pictures"].result is ChannelResult.FOUND
    assert "page 1" in rows["pictures"].detail


def test_boxes_painted_over_a_picture_do_not_hide_the_picture(
    scanned: bytes, values: dict[str, str]
) -> None:
    """The picture under the boxes is whole; whoever takes the boxes off reads everything."""
    verdict, rows = verified(scanned, redacted(scanned, values, Switches(boxes_only=True)), values)

    assert not verdict.proven
    assert rows["pictures"].result is ChannelResult.GONE
    assert rows["stored_pictures"].result is ChannelResult.FOUND


def test_a_covered_picture_is_found_when_its_page_is_turned(
    scanned: bytes, values: dict[str, str]
) -> None:
    def turned(document: bytes) -> bytes:
        """Store the sheet lying on its side and let the page stand it up again."""
        with pypdfium2.PdfDocument(document) as pdf:
            sheet = pdf[0].render(scale=200 / 72, grayscale=True).to_pil()
        target = io.BytesIO()
        sheet.rotate(90, expand=True).save(target, "PDF", resolution=200)

        def stand_up(pdf: pikepdf.Pdf) -> None:
            pdf.pages[0].obj.Rotate = 90

        return edited(target.getvalue(), stand_up)

    sideways = turned(scanned)
    covered = with_operators(b"0 g 0 0 792 612 re f")(sideways)

    _, rows = verified(sideways, covered, values)

    assert rows["stored_pictures"].result is ChannelResult.FOUND
