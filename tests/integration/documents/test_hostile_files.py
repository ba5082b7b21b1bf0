"""Files made to hurt: answered with a reason, under limits, never a crash or a proof."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name

from no_undo.adapters.document_inspector import PdfiumDocumentInspector
from no_undo.adapters.pdf_sandboxed import Limits, PdfSandbox
from no_undo.adapters.redaction_verifier import IndependentReadersVerifier
from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.redaction import RedactionVerdict
from tests.integration.documents.in_process import VERIFIER as IN_PROCESS
from tests.integration.documents.pdf_maker import VALUE, edited, text_pdf

ORIGINAL = text_pdf([f"Contact: {VALUE}"])
REDACTED = text_pdf(["Contact:"])
LIMITS = Limits(memory_bytes=768 * 1024 * 1024, seconds=20.0)
INSPECTOR = PdfiumDocumentInspector(PdfSandbox(LIMITS))
VERIFIER = IndependentReadersVerifier(PdfSandbox(LIMITS), seconds_per_reader=10.0)


def _cyclic_form(pdf: pikepdf.Pdf) -> None:
    """A form that draws itself."""
    form = pdf.make_stream(
        b"/Me Do", Type=Name.XObject, Subtype=Name.Form, BBox=Array([0, 0, 9, 9])
    )
    form.Resources = Dictionary(XObject=Dictionary(Me=form))
    pdf.pages[0].obj.Resources.XObject = Dictionary(Me=form)
    pdf.pages[0].contents_add(b"/Me Do")


def _cyclic_outline(pdf: pikepdf.Pdf) -> None:
    """A bookmark that follows itself."""
    item = pdf.make_indirect(Dictionary(Title="again"))
    item.Next = item
    item.Parent = item
    pdf.Root.Outlines = pdf.make_indirect(Dictionary(First=item, Last=item, Count=1))


def _bomb(pdf: pikepdf.Pdf) -> None:
    """A content stream of a few kilobytes that inflates to 256 MiB."""
    packer = zlib.compressobj(9)
    zeros = b" " * (1 << 20)
    packed = b"".join([*(packer.compress(zeros) for _ in range(256)), packer.flush()])
    stream = pikepdf.Stream(pdf, packed)
    stream.Filter = Name.FlateDecode
    pdf.pages[0].obj.Contents = pdf.make_indirect(stream)


def _jbig2_as_content(pdf: pikepdf.Pdf) -> None:
    """Page content behind a filter for pictures, which needs an outside decoder."""
    stream = pikepdf.Stream(pdf, b"\x97JB2 no picture at all")
    stream.Filter = Name.JBIG2Decode
    pdf.pages[0].obj.Contents = Array([pdf.pages[0].obj.Contents, pdf.make_indirect(stream)])


def _jbig2_picture(pdf: pikepdf.Pdf) -> None:
    """A picture that nobody here can decode."""
    picture = pikepdf.Stream(pdf, b"\x97JB2 no picture at all")
    picture.update(
        Dictionary(
            Type=Name.XObject,
            Subtype=Name.Image,
            Width=600,
            Height=600,
            ColorSpace=Name.DeviceGray,
            BitsPerComponent=1,
            Filter=Name.JBIG2Decode,
        )
    )
    pdf.pages[0].obj.Resources.XObject = Dictionary(Im1=pdf.make_indirect(picture))


HOSTILE: dict[str, Callable[[pikepdf.Pdf], None]] = {
    "cyclic form": _cyclic_form,
    "cyclic outline": _cyclic_outline,
    "bomb": _bomb,
    "JBIG2 as page content": _jbig2_as_content,
    "JBIG2 picture": _jbig2_picture,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_described_or_refused_with_the_reason(name: str) -> None:
    try:
        assert INSPECTOR.inspect(edited(ORIGINAL, HOSTILE[name])).page_count == 1
    except InvalidRequestError as refusal:
        assert refusal.field == "document"  # noqa: PT017 - either outcome is right


@pytest.mark.parametrize("name", ["bomb", "JBIG2 as page content"])
def test_what_a_reader_cannot_take_in_is_not_proven(name: str) -> None:
    rows = VERIFIER.verify(
        ORIGINAL, edited(REDACTED, HOSTILE[name]), {VALUE: "email"}, signature_fields=0
    )

    assert not RedactionVerdict(rows).proven


def test_a_picture_that_nobody_can_decode_is_not_proven() -> None:
    rows = IN_PROCESS.verify(
        ORIGINAL, edited(REDACTED, _jbig2_picture), {VALUE: "email"}, signature_fields=0
    )

    assert "stored_pictures" in {row.channel for row in rows if row.result != "gone"}


def test_thousands_of_pages_are_refused_before_they_are_read() -> None:
    target = io.BytesIO()
    with pikepdf.open(io.BytesIO(ORIGINAL)) as pdf:
        for _ in range(3_000):
            pdf.pages.append(pdf.pages[0])
        pdf.save(target)

    with pytest.raises(InvalidRequestError, match="3001 pages; at most 50"):
        INSPECTOR.inspect(target.getvalue())
