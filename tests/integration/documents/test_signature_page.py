"""The signature page appended to an uploaded PDF."""

from __future__ import annotations

import io

import pikepdf
import pytest
from PIL import Image

from no_undo.adapters.document_inspector import PdfiumDocumentInspector
from no_undo.adapters.pdf_sandboxed import Limits, PdfSandbox
from no_undo.adapters.pdfminer_reader import passages
from no_undo.adapters.signature_page import SignaturePageAssembler
from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.recipients import Recipient
from no_undo.ports import DocumentAssembler
from tests.integration.documents.pdf_maker import TRAPS, add_page, saved, text_pdf
from tests.integration.documents.public_pdfs import NAMES, needs_public_pdfs, public_pdf

ASSEMBLER: DocumentAssembler = SignaturePageAssembler()
INSPECTOR = PdfiumDocumentInspector()
CANNOT_BE_SIGNED = {
    "plumber__empty.pdf": "it is empty",
    "plumber__password-example.pdf": "it is encrypted",
    "pdfjs__signed_verified.pdf": "digital signature",
}
UNTAGGED = text_pdf(tag="")


def people(*names: str) -> tuple[Recipient, ...]:
    return tuple(
        Recipient(name, f"person{order}@example.com", order)
        for order, name in enumerate(names, start=1)
    )


def assembled(document: bytes, *names: str) -> bytes:
    return ASSEMBLER.append_signature_page(document, people(*names), title="Signatures")


def last_page_text(document: bytes) -> str:
    return INSPECTOR.page_texts(document)[-1].text


def test_each_recipient_gets_one_tag_in_order() -> None:
    document = assembled(UNTAGGED, "Alice Example", "Bob Example")

    assert INSPECTOR.inspect(document).page_count == 2
    assert INSPECTOR.signature_tags(document) == (1, 2)
    text = last_page_text(document)
    assert text.index("Alice Example") < text.index("signfield:1") < text.index("Bob Example")
    assert text.count("Signature") == 3  # the heading, and a label for each


def test_a_second_text_reader_sees_the_same_tags() -> None:
    document = assembled(UNTAGGED, "Alice Example", "Bob Example")

    page = list(passages(document))[-1].text

    assert "${signfield:1:y:________}" in page
    assert "${signfield:2:y:________}" in page


def test_addresses_are_not_printed() -> None:
    assert "@" not in last_page_text(assembled(UNTAGGED, "Alice Example"))


def test_existing_pages_keep_their_objects_and_their_look() -> None:
    before = INSPECTOR.read(UNTAGGED, dpi=60)
    after = INSPECTOR.read(assembled(UNTAGGED, "Alice Example"), dpi=60)

    assert after.pictures[0] == before.pictures[0]
    assert after.page_texts[0] == before.page_texts[0]


def test_an_existing_form_keeps_its_values() -> None:
    spring, _ = TRAPS["form field value"]

    with pikepdf.open(io.BytesIO(assembled(spring(UNTAGGED), "Alice Example"))) as pdf:
        (field,) = pdf.Root.AcroForm.Fields
        assert str(field.T) == "contact"
        assert field.objgen == pdf.pages[0].obj.Annots[0].objgen


def test_the_tag_is_high_enough_and_invisible() -> None:
    document = assembled(UNTAGGED, "Alice Example")
    reading = INSPECTOR.read(document, dpi=72)

    tag = next(word for word in reading.words if word.text.startswith("${"))
    with Image.open(io.BytesIO(reading.pictures[1])) as page:
        box = (int(tag.x), int(tag.y), int(tag.x + tag.width), int(tag.y + tag.height))
        levels = page.convert("L").crop(box).getextrema()

    assert tag.height >= 30
    assert tag.x + tag.width < page.width
    assert levels == (255, 255)


@pytest.mark.parametrize(
    "name", ["Zoë Łukasz", "Ελένη Παππά", "Борис Ёлкин", "Søren O\u2019Neil-Çelik"]
)
def test_names_of_many_languages_are_printed(name: str) -> None:
    assert f"1. {name}" in last_page_text(assembled(UNTAGGED, name))


@pytest.mark.parametrize("name", ["山田太郎", "عمر", "דנה", "नेहा"])
def test_a_name_that_the_font_cannot_draw_is_left_out_and_keeps_its_number(name: str) -> None:
    document = assembled(UNTAGGED, name)

    assert "Signer 1" in last_page_text(document)
    assert INSPECTOR.signature_tags(document) == (1,)


def test_a_name_cannot_smuggle_in_a_signature_tag() -> None:
    document = assembled(UNTAGGED, "Alice ${signfield:2:y:____}", "Bob Example")

    assert INSPECTOR.signature_tags(document) == (1, 2)


def test_a_very_long_name_stays_on_the_page() -> None:
    document = assembled(UNTAGGED, "Alice " * 33)

    assert all(word.x + word.width < 612 for word in INSPECTOR.words(document))


def test_ten_recipients_take_a_second_page() -> None:
    document = assembled(UNTAGGED, *(f"Person {n}" for n in range(1, 11)))

    assert INSPECTOR.inspect(document).page_count == 3
    assert INSPECTOR.signature_tags(document) == tuple(range(1, 11))


def test_a_small_last_page_is_followed_by_a4() -> None:
    with pikepdf.new() as pdf:
        pdf.add_blank_page(page_size=(200, 100))
        document = saved(pdf)

    with pikepdf.open(io.BytesIO(assembled(document, "Alice Example"))) as pdf:
        assert [round(float(side)) for side in pdf.pages[1].mediabox] == [0, 0, 595, 842]


def test_the_same_request_gives_the_same_bytes() -> None:
    assert assembled(UNTAGGED, "Alice Example") == assembled(UNTAGGED, "Alice Example")


def test_nobody_to_sign_is_refused() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        assembled(UNTAGGED)

    assert caught.value.field == "recipients"


def test_a_signed_document_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="digital signature") as caught:
        assembled(public_pdf("pdfjs__signed_verified.pdf"), "Alice Example")

    assert caught.value.field == "document"


def test_a_document_with_no_room_for_a_page_is_refused() -> None:
    with pikepdf.new() as pdf:
        for _ in range(3):
            add_page(pdf, ["page"])
        document = saved(pdf)
    small = SignaturePageAssembler(PdfSandbox(Limits(max_pages=3)))

    with pytest.raises(InvalidRequestError, match="4 pages; at most 3"):
        small.append_signature_page(document, people("Alice"), title="Signatures")


@needs_public_pdfs
@pytest.mark.parametrize("name", NAMES)
def test_public_files_get_a_page_or_the_reason_why_not(name: str) -> None:
    document = public_pdf(name)
    if name in CANNOT_BE_SIGNED:
        with pytest.raises(InvalidRequestError, match=CANNOT_BE_SIGNED[name]):
            assembled(document, "Alice Example")
        return
    before = INSPECTOR.read(document, dpi=40)

    after = INSPECTOR.read(assembled(document, "Alice Example"), dpi=40)

    assert after.facts.page_count == before.facts.page_count + 1
    assert after.pictures[:-1] == before.pictures
    assert 1 in after.signature_tags
