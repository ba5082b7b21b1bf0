"""Reads PDFs with pdfium; runs in the child process of `pdf_sandboxed` only."""

from __future__ import annotations

import ctypes
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from no_undo.adapters.pikepdf_structure import active_content, open_structure
from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.signature_tags import find_signature_tags, tag_spans

READER: Final = f"pdfium {pdfium.PDFIUM_INFO.build}"

_BYTE_RANGE: Final = re.compile(rb"/ByteRange\s*\[")
_SUBUNITS: Final = 100  # page-to-device answers whole numbers: ask in hundredths of a point
_SURROGATES: Final = range(0xD800, 0xE000)
_MAX_PICTURE_PIXELS: Final = 40_000_000


def read(
    arguments: Mapping[str, Any], documents: Sequence[bytes]
) -> tuple[dict[str, object], list[bytes]]:
    """Answer several questions about one PDF.

    Args:
        arguments: `questions`, names out of facts, texts, words, tags, pictures; `max_pages`;
            `dpi` for pictures.
        documents: One PDF.

    Raises:
        InvalidRequestError: The document is broken, encrypted, or over a limit.
    """
    (content,) = documents
    with open_pdf(content, max_pages=arguments["max_pages"]) as pdf:
        questions = arguments["questions"]
        texts = page_texts(pdf)
        answers: dict[str, Callable[[], object]] = {
            "facts": lambda: _facts(pdf, content, texts),
            "texts": lambda: texts,
            "words": lambda: [_words(page) for page in pdf],
            "tags": lambda: sorted(order for text in texts for order in find_signature_tags(text)),
        }
        facts = {name: answers[name]() for name in questions if name in answers}
        pictures = list(_pictures(pdf, arguments["dpi"])) if "pictures" in questions else []
    return facts, pictures


def read_text(
    arguments: Mapping[str, Any], documents: Sequence[bytes]
) -> tuple[dict[str, Any], Sequence[bytes]]:
    """Return the text layer of every page of one PDF.

    Args:
        arguments: `max_pages`.
        documents: One PDF.

    Returns:
        `reader`; `pages`, index and text of every page; `unread`, always empty.
    """
    (content,) = documents
    with open_pdf(content, max_pages=arguments["max_pages"]) as pdf:
        pages = [[index, text] for index, text in enumerate(page_texts(pdf))]
    return {"reader": READER, "pages": pages, "unread": []}, ()


def open_pdf(content: bytes, *, max_pages: int) -> pdfium.PdfDocument:
    """Open a PDF under the page limit.

    Raises:
        InvalidRequestError: Encrypted, broken, without pages, or with too many.
    """
    try:
        pdf = pdfium.PdfDocument(content)
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == pdfium_c.FPDF_ERR_PASSWORD:
            raise _refused("it is encrypted; remove the password and submit it again") from error
        raise _refused(_why_broken(content)) from error
    if pdfium_c.FPDF_GetSecurityHandlerRevision(pdf) != -1:
        raise _refused("it is encrypted; remove the protection and submit it again")
    count = len(pdf)
    if count == 0:
        raise _refused("it has no pages")
    if count > max_pages:
        raise _refused(f"it has {count} pages; at most {max_pages} are accepted")
    return pdf


def _why_broken(content: bytes) -> str:
    """Tell a sound file without pages, which pdfium does not open, from a broken one."""
    with open_structure(content) as pdf:
        return "it has no pages" if not pdf.pages else "it is broken and cannot be opened as a PDF"


def page_texts(pdf: pdfium.PdfDocument) -> list[str]:
    """Return the text layer of every page, in pdfium's order."""
    return [_page_text(page) for page in pdf]


def is_signed(pdf: pdfium.PdfDocument, content: bytes) -> bool:
    """Say whether the PDF carries a digital signature, in its form or anywhere in its bytes."""
    return pdfium_c.FPDF_GetSignatureCount(pdf) > 0 or _BYTE_RANGE.search(content) is not None


def _refused(why: str) -> InvalidRequestError:
    return InvalidRequestError(f"The document was refused: {why}.", field="document")


def _page_text(page: pdfium.PdfPage) -> str:
    textpage = page.get_textpage()
    return str(textpage.get_text_range())


def _facts(pdf: pdfium.PdfDocument, content: bytes, texts: Sequence[str]) -> dict[str, object]:
    return {
        "page_count": len(pdf),
        "active_content": active_content(content),
        "signed": is_signed(pdf, content),
        "has_text": any(text.strip() for text in texts),
    }


def _words(page: pdfium.PdfPage) -> list[list[object]]:
    """Return [text, x, y, width, height] of every word, in points from the page's top left."""
    return [[text, *place_on_page(page, box)] for text, box in page_words(page)]


Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Letter:
    """One character of a page.

    Attributes:
        text: The character.
        box: Left, bottom, right, top in the page's own coordinates.
        source: Which text object drew it; None where pdfium does not say.
    """

    text: str
    box: Box
    source: int | None


def page_words(page: pdfium.PdfPage) -> Iterator[tuple[str, Box]]:
    """Yield every word with its box (left, bottom, right, top) in the page's own coordinates."""
    for letters in page_letters(page):
        yield "".join(one.text for one in letters), _around([one.box for one in letters])


def page_letters(page: pdfium.PdfPage) -> Iterator[list[Letter]]:
    """Yield the letters of every word."""
    textpage = page.get_textpage()
    word: list[Letter] = []
    for index in range(textpage.count_chars()):
        code = pdfium_c.FPDFText_GetUnicode(textpage, index)
        char = chr(code) if code and code not in _SURROGATES else " "
        if not char.isspace():
            drawn_by = pdfium_c.FPDFText_GetTextObject(textpage, index)
            source = ctypes.cast(drawn_by, ctypes.c_void_p).value
            word.append(Letter(char, textpage.get_charbox(index, loose=True), source))
        elif word:
            yield word
            word = []
    if word:
        yield word


def _around(boxes: Sequence[Box]) -> Box:
    lefts, bottoms, rights, tops = zip(*boxes, strict=True)
    return min(lefts), min(bottoms), max(rights), max(tops)


def tag_places(page: pdfium.PdfPage) -> list[Box]:
    """Return where the signature tags stand: (x, y, width, height) from the page's top left."""
    textpage = page.get_textpage()
    codes = [
        pdfium_c.FPDFText_GetUnicode(textpage, index) for index in range(textpage.count_chars())
    ]
    chars = ["" if code in _SURROGATES else chr(code) for code in codes]
    return [
        place_on_page(
            page,
            _around([textpage.get_charbox(index, loose=True) for index in range(first, last + 1)]),
        )
        for first, last in tag_spans(chars)
    ]


def place_on_page(page: pdfium.PdfPage, box: Box) -> Box:
    """Turn a box in page coordinates into (x, y, width, height) from the page's top left.

    The page is taken as displayed: cropped and rotated.
    """
    left, bottom, right, top = box
    xs, ys = zip(*(_to_display(page, x, y) for x, y in ((left, bottom), (right, top))), strict=True)
    return min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)


def _to_display(page: pdfium.PdfPage, x: float, y: float) -> tuple[float, float]:
    across, down = ctypes.c_int(), ctypes.c_int()
    width, height = (round(side * _SUBUNITS) for side in page.get_size())
    pdfium_c.FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, across, down)
    return across.value / _SUBUNITS, down.value / _SUBUNITS


def _pictures(pdf: pdfium.PdfDocument, dpi: int) -> Iterator[bytes]:
    """Render every page as PNG, forms drawn as a reader of the document would see them."""
    pdf.init_forms()
    for page in pdf:
        stream = io.BytesIO()
        page.render(scale=safe_scale(page, dpi)).to_pil().save(stream, format="PNG")
        yield stream.getvalue()


def safe_scale(page: pdfium.PdfPage, dpi: int) -> float:
    """Return pixels per point for a resolution, less than asked for where a page is huge."""
    scale = dpi / 72
    width, height = page.get_size()
    pixels = width * height * scale * scale
    return float(
        scale if pixels <= _MAX_PICTURE_PIXELS else scale * (_MAX_PICTURE_PIXELS / pixels) ** 0.5
    )
