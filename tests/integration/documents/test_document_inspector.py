"""The document inspector on good, refused and hostile files."""

from __future__ import annotations

import io
import zlib

import pikepdf
import pytest
from pikepdf import Dictionary, Name, String
from PIL import Image

from no_undo.adapters.document_inspector import PdfiumDocumentInspector
from no_undo.adapters.pdf_sandboxed import Limits, PdfSandbox, child_environment
from no_undo.domain.errors import InvalidRequestError
from no_undo.ports import DocumentInspector
from tests.integration.documents.pdf_maker import add_page, edited, saved, text_pdf
from tests.integration.documents.public_pdfs import NAMES, needs_public_pdfs, public_pdf

INSPECTOR = PdfiumDocumentInspector()

REFUSED = {
    "plumber__empty.pdf": "it is empty",
    "plumber__password-example.pdf": "it is encrypted",
}


def refusal(document: bytes, inspector: PdfiumDocumentInspector = INSPECTOR) -> str:
    with pytest.raises(InvalidRequestError) as caught:
        inspector.inspect(document)
    assert caught.value.field == "document"
    return str(caught.value)


def pages_or_none(document: bytes) -> int | None:
    try:
        return INSPECTOR.inspect(document).page_count
    except InvalidRequestError:
        return None


def test_a_plain_document_is_described() -> None:
    inspector: DocumentInspector = INSPECTOR

    facts = inspector.inspect(text_pdf())

    assert (facts.page_count, facts.signed, facts.has_text) == (1, False, True)
    assert facts.active_content == ()


def test_every_answer_can_come_from_one_reading() -> None:
    document = text_pdf(["Contact: Alice"])

    reading = INSPECTOR.read(document, dpi=50)

    assert reading.facts == INSPECTOR.inspect(document)
    assert reading.page_texts == INSPECTOR.page_texts(document)
    assert reading.words == INSPECTOR.words(document)
    assert reading.signature_tags == INSPECTOR.signature_tags(document) == (1,)
    assert reading.pictures == INSPECTOR.page_pictures(document, dpi=50)


def test_words_are_placed_from_the_top_left() -> None:
    word = next(word for word in INSPECTOR.words(text_pdf()) if word.text == "Freight")

    # the first line stands at x 72 with its baseline 72 points below the top
    assert word.x == pytest.approx(72, abs=1)
    assert 55 < word.y < 72 < word.y + word.height < 80
    assert (word.page_index, word.confidence) == (0, 1.0)


def test_words_of_a_rotated_page_are_placed_as_displayed() -> None:
    def turn(pdf: pikepdf.Pdf) -> None:
        pdf.pages[0].rotate(90, relative=False)

    word = next(
        word for word in INSPECTOR.words(edited(text_pdf(), turn)) if word.text == "Freight"
    )

    # turned clockwise, the first line runs down along the right edge of a page 792 points wide
    assert 710 < word.x < 740
    assert word.y == pytest.approx(72, abs=1)
    assert word.height > word.width


def test_pictures_are_png_of_the_asked_size() -> None:
    (picture,) = INSPECTOR.page_pictures(text_pdf(), dpi=72)

    with Image.open(io.BytesIO(picture)) as image:
        assert (image.format, image.size) == ("PNG", (612, 792))


@pytest.mark.parametrize(
    ("lines", "orders"),
    [
        (["${signfield:2:y:____}", "${signfield:1:y:____}"], (1, 2)),
        (["${sign", "field:3:y:__", "__}"], (3,)),
        (["${s:4:____}"], (4,)),
        (["signfield:2:y:____}", "${datefield:3:y:Date:80:18}", "${signfield:1:y:____"], ()),
    ],
    ids=["two", "wrapped over lines", "short form", "broken or of another kind"],
)
def test_signature_tags_are_read_from_the_text_layer(
    lines: list[str], orders: tuple[int, ...]
) -> None:
    with pikepdf.new() as pdf:
        add_page(pdf, lines)
        document = saved(pdf)

    assert INSPECTOR.signature_tags(document) == orders


def test_active_content_is_named() -> None:
    def activate(pdf: pikepdf.Pdf) -> None:
        pdf.Root.OpenAction = Dictionary(S=Name.JavaScript, JS=String("app.alert(1)"))
        pdf.attachments["notes.txt"] = b"notes"

    facts = INSPECTOR.inspect(edited(text_pdf(), activate))

    assert facts.active_content == ("attachment", "javascript")


def test_an_empty_document_is_refused() -> None:
    assert "it is empty" in refusal(b"")


def test_a_document_without_a_pdf_header_is_refused() -> None:
    assert "not a PDF" in refusal(b"PK\x03\x04" + bytes(100))


def test_a_broken_document_is_refused() -> None:
    assert "broken" in refusal(b"%PDF-1.7\n" + bytes(500))


def test_a_truncated_document_is_refused_or_repaired_but_never_crashes() -> None:
    document = text_pdf()
    pages = [
        pages_or_none(document[:length]) for length in range(60, len(document), len(document) // 12)
    ]

    assert set(pages) <= {1, None}


@pytest.mark.parametrize("user", ["", "secret"], ids=["owner password only", "user password"])
def test_an_encrypted_document_is_refused(user: str) -> None:
    output = io.BytesIO()
    with pikepdf.open(io.BytesIO(text_pdf())) as pdf:
        pdf.save(output, encryption=pikepdf.Encryption(owner="owner", user=user))

    assert "encrypted" in refusal(output.getvalue())


def test_a_document_without_pages_is_refused() -> None:
    with pikepdf.new() as pdf:
        document = saved(pdf)

    assert "no pages" in refusal(document)


def test_a_document_with_too_many_pages_is_refused() -> None:
    with pikepdf.new() as pdf:
        for _ in range(51):
            add_page(pdf, ["page"])
        document = saved(pdf)

    assert "it has 51 pages; at most 50" in refusal(document)


def test_a_document_that_is_too_large_is_refused() -> None:
    small = PdfiumDocumentInspector(PdfSandbox(Limits(max_bytes=100)))

    assert "at most 100 are accepted" in refusal(text_pdf(), small)


def test_a_document_that_takes_too_long_is_refused() -> None:
    hasty = PdfiumDocumentInspector(PdfSandbox(Limits(seconds=0.01)))

    assert "did not finish within 0.01 seconds" in refusal(text_pdf(), hasty)


def test_a_document_that_takes_too_much_memory_is_refused() -> None:
    bomb = zlib.compress(bytes(600 * 1024 * 1024), 9)

    def plant(pdf: pikepdf.Pdf) -> None:
        stream = pdf.make_stream(b"", Type=Name.XObject)
        stream.write(bomb, filter=Name.FlateDecode, type_check=False)
        pdf.pages[0].obj.Contents = stream

    tight = PdfiumDocumentInspector(PdfSandbox(Limits(memory_bytes=400 * 1024 * 1024)))
    document = edited(text_pdf(), plant)

    assert "cannot be opened safely" in refusal(document, tight)


def test_the_child_process_sees_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "example")

    assert set(child_environment()) <= {
        "PATH",
        "LD_LIBRARY_PATH",
        "LANG",
        "TZ",
        "TMPDIR",
        "TESSDATA_PREFIX",
        "PYTHONPATH",
        "PYTHONDONTWRITEBYTECODE",
        "OMP_THREAD_LIMIT",
    }


@needs_public_pdfs
@pytest.mark.parametrize("name", NAMES)
def test_public_files_are_read_or_refused_with_the_reason(name: str) -> None:
    document = public_pdf(name)

    if name in REFUSED:
        assert REFUSED[name] in refusal(document)
    else:
        reading = INSPECTOR.read(document, dpi=40)
        assert len(reading.pictures) == reading.facts.page_count == len(reading.page_texts)


def test_a_signed_public_file_is_recognised() -> None:
    assert INSPECTOR.inspect(public_pdf("pdfjs__signed_verified.pdf")).signed
