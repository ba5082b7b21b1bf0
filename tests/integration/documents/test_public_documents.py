"""The verifier on public PDFs and on mutations of them: no crash, no hang, no false proof."""

from __future__ import annotations

import re
from random import Random

import pytest

from no_undo.adapters.document_inspector import PdfiumDocumentInspector
from no_undo.adapters.pyhanko_signatures import PyhankoSignatureValidator
from no_undo.adapters.redaction_verifier import IndependentReadersVerifier
from no_undo.adapters.signature_page import SignaturePageAssembler
from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.recipients import Recipient
from no_undo.domain.redaction import ChannelResult, RedactionVerdict
from tests.integration.documents.public_pdfs import NAMES, needs_public_pdfs, public_pdf

INSPECTOR = PdfiumDocumentInspector()
ASSEMBLER = SignaturePageAssembler()
VERIFIER = IndependentReadersVerifier()
MUTATIONS_IN_A_HURRY = range(6)
MUTATIONS_AT_LEISURE = range(6, 120)


def longest_word(document: bytes) -> str:
    try:
        texts = [page.text for page in INSPECTOR.page_texts(document)]
    except InvalidRequestError:
        return "unreadable"
    words = sorted({word for text in texts for word in re.findall(r"\w+", text)}, key=len)
    return words[-1] if words else "unreadable"


def mutated(document: bytes, random: Random) -> bytes:
    """Flip bits, cut pieces out, copy pieces in and change numbers at a few places."""
    data = bytearray(document)
    for _ in range(random.choice((1, 5, 40))):
        place, other = random.randrange(len(data)), random.randrange(len(data))
        match random.randrange(4):
            case 0:
                data[place] ^= 1 << random.randrange(8)
            case 1:
                del data[place : place + random.randrange(50)]
            case 2:
                data[place:place] = data[other : other + random.randrange(200)]
            case _:
                number = re.search(rb"\d+", bytes(data[place : place + 400]))
                if number:
                    new = str(random.choice((0, -1, 1, 2**31, 99999999))).encode()
                    data[place + number.start() : place + number.end()] = new
    return bytes(data)


def survive_a_mutation(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - test data
    name = random.choice([name for name in NAMES if public_pdf(name)])
    original = public_pdf(name)
    document = mutated(original, random)

    try:
        pages = INSPECTOR.inspect(document).page_count
        ASSEMBLER.append_signature_page(
            document, [Recipient("Alice", "alice@example.com", 1)], title="Signatures"
        )
    except InvalidRequestError as refusal:
        pages = 1
        assert refusal.field == "document"  # noqa: PT017 - either outcome is right
    rows = VERIFIER.verify(original, document, {"alice@example.com": "email"}, signature_fields=0)

    assert pages >= 1
    assert not RedactionVerdict(rows).proven
    assert isinstance(PyhankoSignatureValidator().validate(document), tuple)


@needs_public_pdfs
@pytest.mark.parametrize(
    "name",
    [
        "xray__rectangles_yes.pdf",
        "xray__hidden_text_on_visible_text.pdf",
        "pikepdf__sandwich.pdf",
        "pdfjs__ArabicCIDTrueType.pdf",
        "invoice2data__QualityHosting.pdf",
    ],
)
def test_an_unredacted_public_file_is_found_out_by_two_readers(name: str) -> None:
    document = public_pdf(name)

    rows = VERIFIER.verify(document, document, {longest_word(document): "word"}, signature_fields=0)

    found = {row.reader for row in rows if row.result is ChannelResult.FOUND}
    assert len(found) >= 2


def test_a_word_under_a_rectangle_is_found_in_a_badly_redacted_file() -> None:
    document = public_pdf("xray__rectangles_yes.pdf")
    # these words stand under a black rectangle of the file
    hidden = "but did not disclose all relevant medical history"

    rows = VERIFIER.verify(document, document, {hidden: "sentence"}, signature_fields=0)

    assert not RedactionVerdict(rows).proven
    assert any(row.result is ChannelResult.FOUND for row in rows if row.channel == "page_text")


@needs_public_pdfs
@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_no_public_file_is_proven_free_of_a_word_that_it_shows(name: str) -> None:
    document = public_pdf(name)

    rows = VERIFIER.verify(document, document, {longest_word(document): "word"}, signature_fields=0)

    assert not RedactionVerdict(rows).proven


@needs_public_pdfs
@pytest.mark.parametrize("seed", MUTATIONS_IN_A_HURRY)
def test_a_mutated_public_file_is_read_or_refused(seed: int) -> None:
    survive_a_mutation(seed)


@needs_public_pdfs
@pytest.mark.long
@pytest.mark.parametrize("seed", MUTATIONS_AT_LEISURE)
def test_many_mutated_public_files_are_read_or_refused(seed: int) -> None:
    survive_a_mutation(seed)
