"""Executed PDFs: signatures, and that what was signed is what was approved (P7)."""

from __future__ import annotations

import io

import pikepdf
import pytest

from no_undo.adapters.pdf_sandboxed import Limits, PdfSandbox
from no_undo.adapters.pyhanko_signatures import PyhankoSignatureValidator
from no_undo.ports import SignatureValidator
from tests.integration.documents.pdf_maker import (
    add_page,
    edited,
    text_pdf,
    updated_in_place,
    with_operators,
)
from tests.integration.documents.pdf_signer import Authority, new_authority, signed
from tests.integration.documents.public_pdfs import NAMES, needs_public_pdfs, public_pdf

APPROVED = text_pdf()
ANY_SIGNER = PyhankoSignatureValidator()


@pytest.fixture(scope="module")
def authority() -> Authority:
    return new_authority()


@pytest.fixture(scope="module")
def executed(authority: Authority) -> bytes:
    return signed(APPROVED, authority, count=2)


def test_two_good_signatures_have_no_problem(executed: bytes, authority: Authority) -> None:
    validator: SignatureValidator = PyhankoSignatureValidator((authority.pem,))

    assert validator.validate(executed) == ()


def test_without_a_root_only_integrity_is_checked_and_that_is_said(executed: bytes) -> None:
    assert ANY_SIGNER.validate(executed) == ()
    assert ANY_SIGNER.scope.startswith("integrity only")


def test_an_unknown_root_is_a_problem_of_each_signature(executed: bytes) -> None:
    problems = PyhankoSignatureValidator((new_authority().pem,)).validate(executed)

    assert problems == (
        "signature 1 of 2: its certificate does not lead to a trusted root",
        "signature 2 of 2: its certificate does not lead to a trusted root",
    )


def test_an_unsigned_document_has_a_problem() -> None:
    assert ANY_SIGNER.validate(APPROVED) == ("it carries no digital signature",)


def test_one_changed_byte_is_a_problem_wherever_it_is(executed: bytes) -> None:
    for place in range(len(APPROVED) // 4, len(APPROVED), len(APPROVED) // 4):
        changed = bytearray(executed)
        changed[place] ^= 0x01
        assert ANY_SIGNER.validate(bytes(changed)), place


def test_content_changed_after_the_last_signature_is_a_problem(executed: bytes) -> None:
    problems = ANY_SIGNER.validate(updated_in_place(executed, ["Other terms"]))

    assert any("changed" in problem for problem in problems)


@pytest.mark.parametrize("document", [b"", b"%PDF-1.7 rubbish", b"no pdf"], ids=len)
def test_what_cannot_be_read_is_a_problem_and_not_an_error(document: bytes) -> None:
    assert len(ANY_SIGNER.validate(document)) == 1
    assert len(ANY_SIGNER.same_content(APPROVED, document)) == 1


def test_a_validation_that_takes_too_long_is_a_problem(executed: bytes) -> None:
    hasty = PyhankoSignatureValidator(sandbox=PdfSandbox(Limits(seconds=0.01)))

    (problem,) = hasty.validate(executed)

    assert "did not finish" in problem


def test_signing_in_the_tag_box_leaves_the_content_the_same(executed: bytes) -> None:
    assert ANY_SIGNER.same_content(APPROVED, executed) == ()


def test_another_amount_is_a_difference() -> None:
    approved = text_pdf(["Total: 86.86"])
    other = text_pdf(["Total: 96.86"])

    problems = ANY_SIGNER.same_content(approved, other)

    assert "page 1: 1 approved words are missing or moved, 1 words are new" in problems


def test_a_later_revision_that_shows_other_terms_is_a_difference(executed: bytes) -> None:
    assert ANY_SIGNER.same_content(APPROVED, updated_in_place(executed, ["Other terms"]))


def test_a_drawing_over_the_terms_is_a_difference() -> None:
    struck = with_operators(b"0 0 0 rg 72 700 300 4 re f")(APPROVED)

    assert ANY_SIGNER.same_content(APPROVED, struck) == (
        "page 1: it looks different outside the signature boxes",
    )


def test_words_in_white_are_a_difference_although_nobody_sees_them() -> None:
    whispered = with_operators(b"1 1 1 rg BT /F1 8 Tf 72 300 Td (net ninety days) Tj ET")(APPROVED)

    assert ANY_SIGNER.same_content(APPROVED, whispered) == (
        "page 1: 0 approved words are missing or moved, 3 words are new",
    )


def test_another_number_of_pages_is_a_difference() -> None:
    def add(pdf: pikepdf.Pdf) -> None:
        add_page(pdf, ["One more page"])

    longer = edited(APPROVED, add)

    assert ANY_SIGNER.same_content(APPROVED, longer) == ("it has 2 pages; 1 were approved",)
    assert ANY_SIGNER.same_content(longer, APPROVED) == ("it has 1 pages; 2 were approved",)


def test_a_rewritten_file_that_shows_the_same_is_the_same() -> None:
    output = io.BytesIO()
    with pikepdf.open(io.BytesIO(APPROVED)) as pdf:
        pdf.save(output, object_stream_mode=pikepdf.ObjectStreamMode.generate, linearize=True)

    assert ANY_SIGNER.same_content(APPROVED, output.getvalue()) == ()


def test_a_signed_public_file_is_validated_without_an_error() -> None:
    problems = ANY_SIGNER.validate(public_pdf("pdfjs__signed_verified.pdf"))

    assert all(problem.startswith("signature 1 of 1:") for problem in problems)


@needs_public_pdfs
@pytest.mark.parametrize("name", NAMES)
def test_public_files_never_raise(name: str) -> None:
    document = public_pdf(name)

    assert isinstance(ANY_SIGNER.validate(document), tuple)
    if name not in ("plumber__empty.pdf", "plumber__password-example.pdf"):
        assert ANY_SIGNER.same_content(document, document) == ()
