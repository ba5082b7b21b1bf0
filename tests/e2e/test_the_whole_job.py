"""The main job: one sentence and a document in, a signed PDF out, sent once, told in full."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from pdfminer.high_level import extract_text

from fixtures.documents.messy_invoice import messy_invoice
from local.demo.__main__ import UNLISTED_PROMPT, unlisted_invoice, warned_of
from local.demo.checks import personal_data
from local.demo.people import approve
from local.sandbox.nutrient.ocr import read_words
from tests.e2e.conftest import WholeJob
from tests.e2e.site import NAMES, Site

# pyHanko's types are partial, so its modules are taken as they come.
_keys: Any = import_module("pyhanko.keys")
_reader: Any = import_module("pyhanko.pdf_utils.reader")
_validation: Any = import_module("pyhanko.sign.validation")
_context: Any = import_module("pyhanko_certvalidator")

TOLD = (
    "request.submitted",
    "request.parsed",
    "document.assembled",
    "document.redacted",
    "redaction.verified",
    "draft.created",
    "plan.proposed",
    "approval.asked",
    "plan.approved",
    "plan.begun",
    "plan.executed",
    "plan.followed_up",
    "signed_document.downloaded",
    "signed_document.archived",
    "request.closed",
)


def valid_signatures(document: bytes, root: bytes) -> int:
    """Count the signatures; each must be intact, cover all that was there, and be trusted."""
    roots = list(_keys.load_certs_from_pemder_data(root))
    context = _context.ValidationContext(trust_roots=roots)
    signatures = _reader.PdfFileReader(io.BytesIO(document)).embedded_signatures
    for signature in signatures:
        status = _validation.validate_pdf_signature(signature, context)
        assert status.bottom_line, status.pretty_print_details()
    return len(signatures)


def still_readable(document: bytes, values: Iterable[str]) -> list[str]:
    """Return the values that pdfium or pdfminer still finds, however they are spaced."""
    pdf: Any = pypdfium2.PdfDocument(document)
    seen = "".join(page.get_textpage().get_text_range() for page in pdf)
    texts = [squeezed(seen), squeezed(extract_text(io.BytesIO(document)))]
    return [value for value in values if any(squeezed(value) in text for text in texts)]


def ocr_text(document: bytes) -> str:
    """Return what OCR reads on the first page."""
    with pypdfium2.PdfDocument(document) as pdf:
        picture = pdf[0].render(scale=200 / 72).to_pil()
    return " ".join(word.text for word in read_words(picture))


def squeezed(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def in_order(told: Iterable[str], expected: Iterable[str]) -> bool:
    """Tell whether what is expected was told, in this order, whatever else was told between."""
    rest = iter(told)
    return all(kind in rest for kind in expected)


def test_an_uploaded_pdf_comes_back_signed_by_everybody(site: Site, whole_job: WholeJob) -> None:
    assert whole_job.view["state"] == "COMPLETED"
    [approver] = whole_job.view["approvers"]
    assert (approver["address"], approver["says"]) == ("approver@example.com", "approve")
    assert valid_signatures(whole_job.signed, site.vendor.root_certificate()) == 2


@pytest.mark.skipif(shutil.which("pdfsig") is None, reason="pdfsig (poppler) is not installed")
def test_the_signed_pdf_validates_with_a_second_program(
    whole_job: WholeJob, tmp_path: Path
) -> None:
    signed = tmp_path / "signed.pdf"
    signed.write_bytes(whole_job.signed)

    said = subprocess.run(  # noqa: S603 - a file of ours
        ["pdfsig", "-nocert", str(signed)],  # noqa: S607 - the system's pdfsig
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert said.count("Signature is Valid") == 2


def test_p8_no_value_of_the_contact_block_and_neither_name_can_be_read_in_it(
    whole_job: WholeJob,
) -> None:
    values = personal_data()

    assert len(values) == 7
    assert set(NAMES) <= set(values)
    assert still_readable(whole_job.signed, values) == []
    assert still_readable(whole_job.signed, ["INV-2026-0418"]) == ["INV-2026-0418"]


def test_p2_the_sandbox_mailed_the_signers_once(site: Site, whole_job: WholeJob) -> None:
    assert site.sends(whole_job.request_id) == 1
    assert whole_job.view["attempts"] == 1


def test_p9_the_audit_chain_verifies_and_tells_the_story_from_submission_to_archive(
    site: Site, whole_job: WholeJob
) -> None:
    kinds = site.kinds(whole_job.request_id)

    assert in_order(kinds, TOLD), kinds
    assert kinds.count("plan.begun") == 1


def test_p8_a_messy_scan_is_redacted_in_its_pixels_proven_by_ocr_and_signed(site: Site) -> None:
    pytest.importorskip("tesserocr")
    upload_id = site.api.upload(messy_invoice())
    request_id = site.submit("Scan", redact=True, document={"upload_id": upload_id})
    approve(site.link(request_id))
    site.wait(request_id, "AWAITING_SIGNATURE")
    site.signed(request_id)

    signed = site.api.download(f"/requests/{request_id}/document")
    seen = squeezed(ocr_text(signed))
    assert [value for value in personal_data() if squeezed(value) in seen] == []
    assert squeezed("Lindstrom Transport") in seen
    assert valid_signatures(signed, site.vendor.root_certificate()) == 2


def test_an_iban_and_a_passport_number_that_nobody_listed_stand_on_the_card(site: Site) -> None:
    document = {"upload_id": site.api.upload(unlisted_invoice())}
    request_id = site.submit("Unlisted", redact=True, document=document, prompt=UNLISTED_PROMPT)

    assert warned_of(site.link(request_id)) == ["IBAN", "passport number"]
    site.api.post(f"/requests/{request_id}/withdraw", {})


def test_structured_data_is_rendered_redacted_and_signed_too(site: Site) -> None:
    """And both documents that the PDF vendor stored for it are deleted again."""
    before = site.vendor.documents()

    request_id = site.submit("Data", redact=True)
    approve(site.link(request_id))
    site.wait(request_id, "AWAITING_SIGNATURE")
    site.signed(request_id)

    signed = site.api.download(f"/requests/{request_id}/document")
    after = site.vendor.documents()
    assert valid_signatures(signed, site.vendor.root_certificate()) == 2
    assert still_readable(signed, personal_data()) == []
    assert site.sends(request_id) == 1
    assert in_order(site.kinds(request_id), TOLD)
    assert (after["stored"], after["deleted"]) == (before["stored"], before["deleted"] + 2)
