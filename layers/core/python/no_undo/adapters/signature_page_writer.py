"""Draws the signature page and appends it; runs in the child process only.

The page is drawn with pdfium, which embeds a subset of the bundled font with its Unicode map, and
appended with pikepdf, which leaves every existing object as it is. Existing pages, forms and
outlines keep working; a digital signature would not, so a signed PDF is refused.
"""

from __future__ import annotations

import ctypes
import hashlib
import io
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import pikepdf
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from pdfminer.pdffont import TrueTypeFont

from no_undo.adapters.pdfium_reader import is_signed, open_pdf
from no_undo.adapters.pikepdf_structure import open_structure
from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.signature_tags import signature_tag

_FONT: Final = Path(__file__).parent / "fonts" / "DejaVuSans.ttf"
_A4: Final = (595.276, 841.89)
_LEAST: Final = (590.0, 500.0)  # narrower, the tag would run over the edge
_MOST: Final = 1300.0
_MARGIN: Final = 50.0
_TITLE_SIZE: Final = 15.0
_NAME_SIZE: Final = 11.0
_SMALL_SIZE: Final = 8.0
_LEAST_SIZE: Final = 6.0
# The vendor makes the field as high as the tag's font, and one under about 30 pt is invisible.
_TAG_SIZE: Final = 32.0
_TAG_UNDERSCORES: Final = 8
_HEADING_HEIGHT: Final = 44.0
_BLOCK_HEIGHT: Final = 84.0
_RULE_WIDTH: Final = 300.0
_RULE_THICKNESS: Final = 0.7
_CID_FONT: Final = True
_PLAIN_TITLE: Final = "Signatures"
_BLACK: Final = (0, 0, 0)
_WHITE: Final = (255, 255, 255)
_TAG_CHARACTERS: Final = "${}"
_UNSHAPED: Final = frozenset({"R", "AL", "AN"})  # right-to-left scripts need a shaping engine


def append_signature_page(
    arguments: Mapping[str, Any], documents: Sequence[bytes]
) -> tuple[dict[str, int], list[bytes]]:
    """Append the signature page or pages to one PDF.

    Args:
        arguments: `names` in signing order, `title`, `max_pages`.
        documents: The PDF.

    Raises:
        InvalidRequestError: It is signed, encrypted, broken, or would get too many pages.
    """
    (content,) = documents
    most = arguments["max_pages"]
    with open_pdf(content, max_pages=most) as pdf:
        if is_signed(pdf, content):
            raise _refused("it carries a digital signature, which a further page would break")
        size = _page_size(pdf[len(pdf) - 1])
        count = len(pdf)
    drawn, added = _draw(arguments["names"], arguments["title"], size)
    if count + added > most:
        raise _refused(
            f"with its signature page it has {count + added} pages; at most {most} are accepted"
        )
    subset = _subset_tag("\n".join([arguments["title"], *arguments["names"]]))
    return {"pages_added": added}, [_appended(content, drawn, subset)]


def _refused(why: str) -> InvalidRequestError:
    return InvalidRequestError(f"The document was refused: {why}.", field="document")


def _page_size(page: pdfium.PdfPage) -> tuple[float, float]:
    """Return the displayed size of the last page, or A4 where a signature would not fit."""
    width, height = page.get_size()
    if _LEAST[0] <= width <= _MOST and _LEAST[1] <= height <= _MOST:
        return width, height
    return _A4


def _appended(content: bytes, drawn: bytes, subset: str) -> bytes:
    """Append the drawn pages; the same request gives the same bytes."""
    output = io.BytesIO()
    with open_structure(content) as pdf, open_structure(drawn) as pages:
        for thing in pages.objects:
            if isinstance(thing, pikepdf.Dictionary):
                _rename_subset(thing, subset)
        pdf.pages.extend(pages.pages)
        pdf.save(output, deterministic_id=True)
    return output.getvalue()


def _subset_tag(text: str) -> str:
    """Derive the six capitals that ISO 32000-1 9.6.4 puts before the name of a font subset."""
    digest = hashlib.sha256(text.encode()).digest()
    return "".join(chr(ord("A") + byte % 26) for byte in digest[:6])


def _rename_subset(font: pikepdf.Dictionary, subset: str) -> None:
    """Replace the random subset tag that pdfium chose."""
    for key in ("/BaseFont", "/FontName"):
        if key in font:
            name = str(font[key]).rpartition("+")[2]
            font[key] = pikepdf.Name(f"/{subset}+{name}")


def _draw(names: Sequence[str], title: str, size: tuple[float, float]) -> tuple[bytes, int]:
    """Draw one block per name; return the PDF and its number of pages."""
    width, height = size
    per_page = int((height - 2 * _MARGIN - _HEADING_HEIGHT) // _BLOCK_HEIGHT)
    with _Canvas(width, height) as canvas:
        for index, name in enumerate(names):
            row = index % per_page
            if row == 0 and index:
                canvas.next_page()
            if row == 0:
                heading = canvas.printable(title) or _PLAIN_TITLE
                canvas.write(heading, _MARGIN, height - _MARGIN - _TITLE_SIZE, _TITLE_SIZE)
            top = height - _MARGIN - _HEADING_HEIGHT - row * _BLOCK_HEIGHT
            _draw_block(canvas, index + 1, name, top)
        return canvas.saved(), -(-len(names) // per_page)


def _draw_block(canvas: _Canvas, order: int, name: str, top: float) -> None:
    """Draw name, tag, rule and label of one signer, from `top` down."""
    printed = canvas.printable(name)
    canvas.write(
        f"{order}. {printed}" if printed else f"Signer {order}", _MARGIN, top - 12, _NAME_SIZE
    )
    canvas.write(
        signature_tag(order, underscores=_TAG_UNDERSCORES), _MARGIN, top - 48, _TAG_SIZE, _WHITE
    )
    canvas.rule(_MARGIN, top - 58, _RULE_WIDTH)
    canvas.write("Signature", _MARGIN, top - 68, _SMALL_SIZE)


class _Canvas:
    """One pdfium document being drawn with the bundled font; closed on exit."""

    def __init__(self, width: float, height: float) -> None:
        self._size = (width, height)
        self._pdf = pdfium.PdfDocument.new()
        self._page = self._pdf.new_page(width, height)
        data = _FONT.read_bytes()
        self._font_data = (ctypes.c_uint8 * len(data)).from_buffer_copy(data)
        self._font = pdfium_c.FPDFText_LoadFont(
            self._pdf, self._font_data, len(data), pdfium_c.FPDF_FONT_TRUETYPE, _CID_FONT
        )
        font_map = TrueTypeFont("bundled", io.BytesIO(data)).create_unicode_map()
        self._drawable = frozenset(font_map.cid2unichr.values())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pdfium_c.FPDFFont_Close(self._font)
        self._pdf.close()

    def next_page(self) -> None:
        """Finish the current page and begin another."""
        self._page.gen_content()
        self._page = self._pdf.new_page(*self._size)

    def saved(self) -> bytes:
        """Finish and return the PDF; only the glyphs used are embedded."""
        self._page.gen_content()
        output = io.BytesIO()
        self._pdf.save(output, flags=pdfium_c.FPDF_SUBSET_NEW_FONTS)
        return output.getvalue()

    def printable(self, text: str) -> str:
        """Return what of a text can be drawn truthfully, or nothing when a letter cannot be.

        Letters without a glyph and scripts that need shaping would turn into garbage. The signs of
        a text tag are left out: a name must not be able to place a signature field.
        """
        plain = " ".join(unicodedata.normalize("NFC", text).split())
        kept = "".join(char for char in plain if char not in _TAG_CHARACTERS)
        return kept if all(map(self._can_draw, kept)) else ""

    def _can_draw(self, char: str) -> bool:
        return (
            char in self._drawable
            and unicodedata.bidirectional(char) not in _UNSHAPED
            and unicodedata.category(char)[0] != "M"
        )

    def write(
        self, text: str, x: float, y: float, size: float, colour: tuple[int, int, int] = _BLACK
    ) -> None:
        """Write one line from (x, y) on, smaller where it would run over the right margin."""
        room = self._size[0] - x - _MARGIN
        line = self._line(text, size)
        while (wide := _width(line) - room) > 0 and size > _LEAST_SIZE:
            size = max(_LEAST_SIZE, size * room / (room + wide))
            line = self._line(text, size)
        while _width(line) > room:
            text = f"{text[:-2]}…"
            line = self._line(text, size)
        pdfium_c.FPDFPageObj_Transform(line, 1, 0, 0, 1, x, y)
        pdfium_c.FPDFPageObj_SetFillColor(line, *colour, 255)
        pdfium_c.FPDFPage_InsertObject(self._page, line)

    def _line(self, text: str, size: float) -> object:
        line = pdfium_c.FPDFPageObj_CreateTextObj(self._pdf, self._font, size)
        encoded = ctypes.create_string_buffer(f"{text}\0".encode("utf-16-le"))
        pdfium_c.FPDFText_SetText(line, ctypes.cast(encoded, ctypes.POINTER(ctypes.c_ushort)))
        return line

    def rule(self, x: float, y: float, length: float) -> None:
        """Draw a thin horizontal line."""
        rule = pdfium_c.FPDFPageObj_CreateNewRect(x, y, length, _RULE_THICKNESS)
        pdfium_c.FPDFPageObj_SetFillColor(rule, *_BLACK, 255)
        pdfium_c.FPDFPath_SetDrawMode(rule, pdfium_c.FPDF_FILLMODE_WINDING, 0)
        pdfium_c.FPDFPage_InsertObject(self._page, rule)


def _width(line: object) -> float:
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    pdfium_c.FPDFPageObj_GetBounds(line, left, bottom, right, top)
    return right.value - left.value
