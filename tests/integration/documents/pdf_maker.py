"""Small PDFs made for tests: one page of text, and the places where a value can hide."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name, String
from PIL import Image, ImageDraw, ImageFont
from pyhanko.pdf_utils.generic import StreamObject as PdfStream
from pyhanko.pdf_utils.generic import pdf_name
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter

VALUE = "alice.trap@example.com"
TAG = "${signfield:1:y:________}"
_PAGE = (612, 792)
_LINES = (
    "Freight invoice INV-2026-0418",
    "Carrier: Example Freight, dock seven",
    "Goods: forty pallets of printing paper, stacked and wrapped in film",
    "Terms: thirty days net, payable to the carrier named above",
)


def text_pdf(lines: Sequence[str] = (), *, tag: str = TAG) -> bytes:
    """Return one Letter page with the invoice's lines, further lines, and a signature tag."""
    with pikepdf.new() as pdf:
        page = add_page(pdf, [*_LINES, *lines])
        page.contents_add(_show(tag, 72, 100, size=32))
        return saved(pdf)


def add_page(pdf: pikepdf.Pdf, lines: Sequence[str]) -> pikepdf.Page:
    """Add a page that shows lines of Helvetica from the top down."""
    page = pdf.add_blank_page(page_size=_PAGE)
    font = Dictionary(
        Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica, Encoding=Name.WinAnsiEncoding
    )
    page.obj.Resources = Dictionary(Font=Dictionary(F1=pdf.make_indirect(font)))
    shown = b"".join(_show(line, 72, 720 - 20 * row) for row, line in enumerate(lines))
    page.obj.Contents = pdf.make_stream(shown)
    return page


def _show(text: str, x: float, y: float, size: float = 12) -> bytes:
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"BT /F1 {size} Tf {x} {y} Td ({escaped}) Tj ET\n".encode("cp1252")


def saved(pdf: pikepdf.Pdf) -> bytes:
    output = io.BytesIO()
    pdf.save(output)
    return output.getvalue()


def edited(document: bytes, edit: Callable[[pikepdf.Pdf], object]) -> bytes:
    """Return the document after one edit of its objects."""
    with pikepdf.open(io.BytesIO(document)) as pdf:
        edit(pdf)
        return saved(pdf)


def with_operators(operators: bytes) -> Callable[[bytes], bytes]:
    """Return a trap that draws more operators at the end of the first page."""

    def spring(document: bytes) -> bytes:
        return edited(document, lambda pdf: pdf.pages[0].contents_add(operators))

    return spring


def _annotation(
    **entries: Any,  # noqa: ANN401 - any PDF value
) -> Callable[[bytes], bytes]:
    def add(pdf: pikepdf.Pdf) -> None:
        note = Dictionary(Type=Name.Annot, Rect=Array([10, 10, 60, 30]), **entries)
        pdf.pages[0].obj.Annots = pdf.make_indirect(Array([pdf.make_indirect(note)]))

    return lambda document: edited(document, add)


def _root(entry: str, build: Callable[[pikepdf.Pdf], pikepdf.Object]) -> Callable[[bytes], bytes]:
    def add(pdf: pikepdf.Pdf) -> None:
        pdf.Root[entry] = pdf.make_indirect(build(pdf))

    return lambda document: edited(document, add)


def _form_xobject(document: bytes) -> bytes:
    def add(pdf: pikepdf.Pdf) -> None:
        page = pdf.pages[0]
        form = pdf.make_stream(
            _show(VALUE, 72, 300),
            Type=Name.XObject,
            Subtype=Name.Form,
            BBox=Array([0, 0, 612, 792]),
            Resources=page.obj.Resources,
        )
        page.obj.Resources.XObject = Dictionary(Fm1=form)
        page.contents_add(b"/Fm1 Do")

    return edited(document, add)


def _unused_form(document: bytes) -> bytes:
    def add(pdf: pikepdf.Pdf) -> None:
        form = pdf.make_stream(
            _show(VALUE, 72, 300), Type=Name.XObject, Subtype=Name.Form, BBox=Array([0, 0, 9, 9])
        )
        pdf.pages[0].obj.Resources.XObject = Dictionary(Old=form)

    return edited(document, add)


def _pattern(document: bytes) -> bytes:
    def add(pdf: pikepdf.Pdf) -> None:
        page = pdf.pages[0]
        tile = pdf.make_stream(
            _show(VALUE, 0, 0),
            Type=Name.Pattern,
            PatternType=1,
            PaintType=1,
            TilingType=1,
            BBox=Array([0, 0, 200, 20]),
            XStep=200,
            YStep=20,
            Resources=page.obj.Resources,
        )
        page.obj.Resources.Pattern = Dictionary(P1=tile)

    return edited(document, add)


def _form_field(document: bytes) -> bytes:
    def add(pdf: pikepdf.Pdf) -> None:
        field = Dictionary(
            Type=Name.Annot,
            Subtype=Name.Widget,
            FT=Name.Tx,
            T=String("contact"),
            V=String(VALUE),
            Rect=Array([10, 10, 90, 30]),
        )
        held = pdf.make_indirect(field)
        pdf.pages[0].obj.Annots = Array([held])
        pdf.Root.AcroForm = Dictionary(Fields=Array([held]))

    return edited(document, add)


def _hidden_layer(document: bytes) -> bytes:
    def add(pdf: pikepdf.Pdf) -> None:
        layer = pdf.make_indirect(Dictionary(Type=Name.OCG, Name=String("notes")))
        pdf.Root.OCProperties = Dictionary(
            OCGs=Array([layer]), D=Dictionary(OFF=Array([layer]), Order=Array([layer]))
        )
        page = pdf.pages[0]
        page.obj.Resources.Properties = Dictionary(L1=layer)
        page.contents_add(b"/OC /L1 BDC\n" + _show(VALUE, 72, 300) + b"EMC")

    return edited(document, add)


def _metadata(document: bytes) -> bytes:
    def add(pdf: pikepdf.Pdf) -> None:
        pdf.docinfo["/Subject"] = f"for {VALUE}"

    return edited(document, add)


def _xmp(document: bytes) -> bytes:
    packet = (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF '
        'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" '
        'xmlns:pdf="http://ns.adobe.com/pdf/1.3/"><pdf:Keywords>'
        f"{VALUE.replace('@', '&#64;')}</pdf:Keywords></rdf:Description></rdf:RDF></x:xmpmeta>"
    )

    def add(pdf: pikepdf.Pdf) -> None:
        pdf.Root.Metadata = pdf.make_stream(
            packet.encode(), Type=Name.Metadata, Subtype=Name("/XML")
        )

    return edited(document, add)


def with_attachment(content: bytes, name: str = "notes.txt") -> Callable[[bytes], bytes]:
    """Return a trap that embeds a file."""

    def add(pdf: pikepdf.Pdf) -> None:
        pdf.attachments[name] = content

    return lambda document: edited(document, add)


def _outline(document: bytes) -> bytes:
    def add(pdf: pikepdf.Pdf) -> None:
        with pdf.open_outline() as outline:
            outline.root.append(pikepdf.OutlineItem(VALUE, 0))

    return edited(document, add)


def _structure(pdf: pikepdf.Pdf) -> Dictionary:
    element = pdf.make_indirect(Dictionary(Type=Name.StructElem, S=Name.Figure, Alt=String(VALUE)))
    return Dictionary(Type=Name.StructTreeRoot, K=element)


def _piece_info(document: bytes) -> bytes:
    def add(pdf: pikepdf.Pdf) -> None:
        private = Dictionary(Private=Array([Dictionary(Author=String(VALUE))]))
        pdf.pages[0].obj.PieceInfo = Dictionary(Maker=private)

    return edited(document, add)


def updated_in_place(document: bytes, lines: Sequence[str]) -> bytes:
    """Show other lines by an incremental update: the earlier revision stays in the file."""
    writer: Any = IncrementalPdfFileWriter(io.BytesIO(document))
    page: Any = writer.root["/Pages"]["/Kids"][0]
    shown = b"".join(_show(line, 72, 720 - 20 * row) for row, line in enumerate(lines))
    shown += _show(TAG, 72, 100, size=32)
    page[pdf_name("/Contents")] = writer.add_object(PdfStream(stream_data=shown))
    writer.update_container(page)
    output = io.BytesIO()
    writer.write(output)
    return output.getvalue()


def appended_object(payload: bytes) -> Callable[[bytes], bytes]:
    """Return a trap that puts an unreferenced Flate stream before the cross-references."""
    packed = zlib.compress(payload)

    def spring(document: bytes) -> bytes:
        head, marker, tail = document.rpartition(b"\nxref")
        orphan = b"\n999 0 obj\n<< /Length %d /Filter /FlateDecode >>\nstream\n" % len(packed)
        moved = head + orphan + packed + b"\nendstream\nendobj" + marker + tail
        start = moved.rindex(b"\nxref") + 1
        before, _, _ = moved.rpartition(b"startxref")
        return before + b"startxref\n%d\n%%%%EOF\n" % start

    return spring


def picture(text: str, *, size: tuple[int, int] = (1000, 120), fill: int = 0) -> Image.Image:
    """Return a white picture that shows a text."""
    image = Image.new("L", size, 255)
    font = ImageFont.load_default(size=60)
    ImageDraw.Draw(image).text((20, 20), text, fill=fill, font=font)
    return image


def with_picture(image: Image.Image, *, width: float, height: float) -> Callable[[bytes], bytes]:
    """Return a trap that draws a picture on the first page."""

    def add(pdf: pikepdf.Pdf) -> None:
        page = pdf.pages[0]
        stream = pdf.make_stream(
            image.tobytes(),
            Type=Name.XObject,
            Subtype=Name.Image,
            Width=image.width,
            Height=image.height,
            ColorSpace=Name.DeviceGray,
            BitsPerComponent=8,
        )
        page.obj.Resources.XObject = Dictionary(Im1=stream)
        page.contents_add(f"q {width} 0 0 {height} 72 300 cm /Im1 Do Q".encode())

    return lambda document: edited(document, add)


def _hex(text: str) -> bytes:
    return text.encode().hex().encode()


def _each_glyph_backwards() -> bytes:
    return b"".join(
        _show(char, 72 + 9 * index, 300) for index, char in reversed(list(enumerate(VALUE)))
    )


_USER, _DOMAIN = VALUE.split("@")
_HALF = len(VALUE) // 2

# name -> (how the value is left behind, the channel that must tell)
TRAPS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "plain text": (with_operators(_show(VALUE, 72, 300)), "page_text"),
    "text split over operators": (
        with_operators(
            f"BT /F1 12 Tf 72 300 Td ({VALUE[:_HALF]}) Tj ({VALUE[_HALF:]}) Tj ET".encode()
        ),
        "page_text",
    ),
    "kerned text": (
        with_operators(
            b"BT /F1 12 Tf 72 300 Td ["
            + b"".join(b"(" + char.encode() + b") -20 " for char in VALUE)
            + b"] TJ ET"
        ),
        "page_text",
    ),
    "hexadecimal string": (
        with_operators(b"BT /F1 12 Tf 72 300 Td <" + _hex(VALUE) + b"> ' ET"),
        "page_text",
    ),
    "letters spaced out": (
        with_operators(f"BT /F1 12 Tf 9 Tc 72 300 Td ({VALUE}) Tj ET".encode()),
        "page_text",
    ),
    "rotated text": (
        with_operators(f"BT /F1 12 Tf 0 1 -1 0 300 300 Tm ({VALUE}) Tj ET".encode()),
        "page_text",
    ),
    "one glyph at a time, backwards": (with_operators(_each_glyph_backwards()), "page_text"),
    "split over two lines": (
        with_operators(_show(f"{_USER}@", 72, 300) + _show(_DOMAIN, 72, 286)),
        "page_text",
    ),
    "half of the value": (with_operators(_show(VALUE[:_HALF], 72, 300)), "page_text"),
    "written backwards": (with_operators(_show(VALUE[::-1], 72, 300)), "page_text"),
    "white text": (with_operators(b"1 1 1 rg\n" + _show(VALUE, 72, 300)), "page_text"),
    "text off the page": (with_operators(_show(VALUE, 72, -300)), "page_text"),
    "clipped text": (
        with_operators(b"q 0 0 1 1 re W n\n" + _show(VALUE, 72, 300) + b"Q"),
        "page_text",
    ),
    "invisible text": (with_operators(b"3 Tr\n" + _show(VALUE, 72, 300)), "page_text"),
    "hidden layer": (_hidden_layer, "page_text"),
    "form XObject": (_form_xobject, "page_text"),
    "form XObject that no page draws": (_unused_form, "content_streams"),
    "tiling pattern": (_pattern, "content_streams"),
    "box over the text": (
        with_operators(_show(VALUE, 72, 300) + b"0 0 0 rg 60 295 220 20 re f"),
        "page_text",
    ),
    "replacement text of other glyphs": (
        with_operators(
            f"/Span << /ActualText ({VALUE}) >> BDC\n".encode() + _show("x", 72, 300) + b"EMC"
        ),
        "content_streams",
    ),
    "annotation contents": (
        _annotation(Subtype=Name.Text, Contents=String(f"mail {VALUE}")),
        "annotations",
    ),
    "annotation with soft hyphens": (
        _annotation(Subtype=Name.Text, Contents=String("\u00ad".join(VALUE))),
        "annotations",
    ),
    "annotation in full-width letters": (
        _annotation(
            Subtype=Name.Text,
            Contents=String("".join(chr(ord(char) + 0xFEE0) for char in VALUE)),
        ),
        "annotations",
    ),
    "link with escaped address": (
        _annotation(
            Subtype=Name.Link,
            A=Dictionary(S=Name.URI, URI=String(f"mailto:{VALUE.replace('@', '%40')}")),
        ),
        "annotations",
    ),
    "form field value": (_form_field, "form_fields"),
    "document information": (_metadata, "metadata"),
    "XMP with character references": (_xmp, "metadata"),
    "text attachment": (with_attachment(f"call {VALUE}".encode()), "attachments"),
    "UTF-16 attachment": (with_attachment(f"call {VALUE}".encode("utf-16")), "attachments"),
    "bookmark": (_outline, "outlines"),
    "alternate description": (_root("/StructTreeRoot", _structure), "structure_text"),
    "script": (
        _root("/OpenAction", lambda _: Dictionary(S=Name.JavaScript, JS=String(f"//{VALUE}"))),
        "other_objects",
    ),
    "page label": (
        _root("/PageLabels", lambda _: Dictionary(Nums=Array([0, Dictionary(P=String(VALUE))]))),
        "other_objects",
    ),
    "name object": (_root("/Extra", lambda _: Dictionary(Who=Name(f"/{VALUE}"))), "names"),
    "private data of a producer": (_piece_info, "other_objects"),
    "form data in XML": (
        _root(
            "/AcroForm",
            lambda pdf: Dictionary(
                Fields=Array([]), XFA=pdf.make_stream(f"<xfa><v>{VALUE}</v></xfa>".encode())
            ),
        ),
        "other_streams",
    ),
    "earlier revision": (
        lambda _: updated_in_place(text_pdf([f"Contact: {VALUE}"]), [*_LINES, "Contact:"]),
        "earlier_revisions",
    ),
    "orphan stream": (appended_object(_show(VALUE, 72, 300)), "raw_bytes"),
    "bytes after the end": (lambda document: document + f"\n% {VALUE}".encode(), "raw_bytes"),
}
