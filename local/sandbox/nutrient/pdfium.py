"""Opens PDFs in pdfium for as long as a block lasts, and asks for single characters.

Everything else here talks to pdfium through these few functions.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pypdfium2
import pypdfium2.raw as pdfium_c

from local.sandbox.nutrient.errors import TooLargeError, UnsupportedFileError

MAX_PAGES = 400
MAX_CHARS_PER_PAGE = 200_000

Point = tuple[float, float]
_SURROGATES = range(0xD800, 0xE000)
_NO_CHARACTER = (0, 0xFFFE, 0xFFFF)
_LINE_END_HYPHEN = 2


@contextmanager
def opened(pdf: bytes) -> Generator[pypdfium2.PdfDocument, None, None]:
    """Open a PDF for the length of a block.

    Raises:
        UnsupportedFileError: pdfium cannot open it (not a PDF, broken, password, no pages).
        TooLargeError: More than `MAX_PAGES` pages.
    """
    try:
        document = pypdfium2.PdfDocument(pdf)
    except pypdfium2.PdfiumError as error:
        raise UnsupportedFileError("the file cannot be opened as a PDF", path="file") from error
    try:
        if len(document) == 0:
            raise UnsupportedFileError("the PDF has no pages", path="file")
        if len(document) > MAX_PAGES:
            raise TooLargeError(f"the PDF has more than {MAX_PAGES} pages", path="file")
        yield document
    finally:
        document.close()


@contextmanager
def page_of(
    document: pypdfium2.PdfDocument, index: int
) -> Generator[pypdfium2.PdfPage, None, None]:
    """Load one page for the length of a block.

    Raises:
        UnsupportedFileError: The page cannot be loaded.
    """
    try:
        page = document[index]
    except pypdfium2.PdfiumError as error:
        raise UnsupportedFileError(f"page {index + 1} cannot be read", path="file") from error
    try:
        yield page
    finally:
        page.close()


@contextmanager
def text_of(page: pypdfium2.PdfPage) -> Generator[pypdfium2.PdfTextPage, None, None]:
    """Load the text of one page for the length of a block."""
    try:
        textpage = page.get_textpage()
    except pypdfium2.PdfiumError as error:
        raise UnsupportedFileError("the text of a page cannot be read", path="file") from error
    try:
        yield textpage
    finally:
        textpage.close()


def char_count(textpage: pypdfium2.PdfTextPage) -> int:
    """Return how many characters to look at."""
    return min(int(textpage.count_chars()), MAX_CHARS_PER_PAGE)


def char_at(textpage: pypdfium2.PdfTextPage, index: int) -> str:
    """Return one character, empty where there is none; a line-end hyphen is a hyphen."""
    code = int(pdfium_c.FPDFText_GetUnicode(textpage, index))
    if code in _SURROGATES or code > sys.maxunicode or code in _NO_CHARACTER:
        return ""
    return "-" if code == _LINE_END_HYPHEN else chr(code)


def char_box(textpage: pypdfium2.PdfTextPage, index: int) -> tuple[float, float, float, float]:
    """Return left, bottom, right and top of one character in user space."""
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    pdfium_c.FPDFText_GetCharBox(
        textpage,
        index,
        ctypes.byref(left),
        ctypes.byref(right),
        ctypes.byref(bottom),
        ctypes.byref(top),
    )
    return left.value, bottom.value, right.value, top.value


def loose_char_box(
    textpage: pypdfium2.PdfTextPage, index: int
) -> tuple[float, float, float, float]:
    """Return a character's box with the full height of its font; the tight one where unknown."""
    box = pdfium_c.FS_RECTF()
    if not pdfium_c.FPDFText_GetLooseCharBox(textpage, index, ctypes.byref(box)):
        return char_box(textpage, index)
    return float(box.left), float(box.bottom), float(box.right), float(box.top)


def char_origin(textpage: pypdfium2.PdfTextPage, index: int) -> Point:
    """Return where the pen stood for one character, in user space."""
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium_c.FPDFText_GetCharOrigin(textpage, index, ctypes.byref(x), ctypes.byref(y))
    return x.value, y.value


def char_angle(textpage: pypdfium2.PdfTextPage, index: int) -> float:
    """Return the direction of one character in radians."""
    return float(pdfium_c.FPDFText_GetCharAngle(textpage, index))


def to_device(page: pypdfium2.PdfPage, width: int, height: int, point: Point) -> tuple[int, int]:
    """Turn user space into pixels of a `width` by `height` picture, rotation and crop included."""
    x, y = ctypes.c_int(), ctypes.c_int()
    pdfium_c.FPDF_PageToDevice(
        page, 0, 0, width, height, 0, point[0], point[1], ctypes.byref(x), ctypes.byref(y)
    )
    return x.value, y.value


def to_page(page: pypdfium2.PdfPage, width: int, height: int, pixel: tuple[int, int]) -> Point:
    """Turn a pixel of a `width` by `height` picture of a page into user space."""
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium_c.FPDF_DeviceToPage(
        page, 0, 0, width, height, 0, pixel[0], pixel[1], ctypes.byref(x), ctypes.byref(y)
    )
    return x.value, y.value
