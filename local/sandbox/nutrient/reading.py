"""Reads a PDF as lines of words: the text layer where there is one, OCR where there is none.

Positions are PDF points from the top left corner of the page as displayed (crop box and page
rotation applied).
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium_c

from local.sandbox.nutrient.errors import TooLargeError, UnsupportedFileError
from local.sandbox.nutrient.ocr import read_words

MAX_PAGES = 400
MAX_OCR_PAGES = 40
MAX_CHARS_PER_PAGE = 200_000
OCR_DPI = 200

_POINTS_PER_INCH = 72.0
_UPRIGHT = 0.002  # radians; anything more is read as pixels, like the vendor's engine does
_MAX_PICTURE_PIXELS = 40_000_000
_DEVICE = 100  # pdfium answers whole device units; this many per point keep two decimals


@dataclass(frozen=True, slots=True)
class ReadWord:
    """One word on a page.

    Attributes:
        text: The characters, never empty.
        x: Left edge, points.
        y: Top edge, points from the top of the page.
        width: Points.
        height: Points.
        baseline: Points from the top of the page.
        confidence: 1.0 from the text layer, else the OCR engine's estimate.
        by_ocr: True when read from pixels.
        line: Reading line within its source, used only to keep OCR lines together.
    """

    text: str
    x: float
    y: float
    width: float
    height: float
    baseline: float
    confidence: float
    by_ocr: bool = False
    line: int = -1

    @property
    def right(self) -> float:
        """Right edge, points."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Bottom edge, points from the top of the page."""
        return self.y + self.height


@dataclass(frozen=True, slots=True)
class Block:
    """One line of words, the unit that citations point to; `block_id` is `b0`, `b1`, ..."""

    block_id: str
    page_index: int
    words: tuple[ReadWord, ...]

    @property
    def text(self) -> str:
        """Return the words joined by single spaces."""
        return " ".join(word.text for word in self.words)

    @property
    def lowest_confidence(self) -> float | None:
        """Return the lowest word confidence, None when nothing here was read from pixels."""
        scores = [word.confidence for word in self.words if word.by_ocr]
        return min(scores) if scores else None


@dataclass(frozen=True, slots=True)
class ReadPage:
    """One page: size in points as displayed, and its lines from top to bottom."""

    index: int
    width: float
    height: float
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class ReadingPlan:
    """How to read.

    Attributes:
        ocr: `never`, `empty_pages` (pages without upright text) or `missing` (also what the
            upright text layer does not cover).
        segmentation: Tesseract page segmentation, see `ocr.SEGMENTATION`.
        dpi: Resolution of the page pictures.
    """

    ocr: str = "missing"
    segmentation: str = "block"
    dpi: int = OCR_DPI


def open_pdf(pdf: bytes) -> pypdfium2.PdfDocument:
    """Open a PDF.

    Raises:
        UnsupportedFileError: pdfium cannot open it (not a PDF, broken, password).
        TooLargeError: More than `MAX_PAGES` pages.
    """
    try:
        document = pypdfium2.PdfDocument(pdf)
    except pypdfium2.PdfiumError as error:
        raise UnsupportedFileError("the file cannot be opened as a PDF", path="file") from error
    if len(document) == 0:
        document.close()
        raise UnsupportedFileError("the PDF has no pages", path="file")
    if len(document) > MAX_PAGES:
        document.close()
        raise TooLargeError(f"the PDF has more than {MAX_PAGES} pages", path="file")
    return document


def read_pages(pdf: bytes, plan: ReadingPlan) -> tuple[ReadPage, ...]:
    """Read every page into lines of words.

    Raises:
        UnsupportedFileError: The file is not a PDF that opens.
        TooLargeError: Too many pages.
    """
    with closing(open_pdf(pdf)) as document:
        pages: list[ReadPage] = []
        first_block, ocr_left = 0, MAX_OCR_PAGES
        for index in range(len(document)):
            words, used_ocr = _page_words(document, index, plan, allow_ocr=ocr_left > 0)
            ocr_left -= used_ocr
            page = _read_page(document, index, words, first_block)
            first_block += len(page.blocks)
            pages.append(page)
        return tuple(pages)


def _read_page(
    document: pypdfium2.PdfDocument, index: int, words: Sequence[ReadWord], first_block: int
) -> ReadPage:
    width, height = document.get_page_size(index)
    blocks = tuple(
        Block(f"b{first_block + number}", index, line) for number, line in enumerate(_lines(words))
    )
    return ReadPage(index, width, height, blocks)


def _page_words(
    document: pypdfium2.PdfDocument, index: int, plan: ReadingPlan, *, allow_ocr: bool
) -> tuple[list[ReadWord], bool]:
    with closing(document[index]) as page:
        words, tilted = _text_layer(page)
        wanted = plan.ocr != "never" and not words
        wanted = wanted or (plan.ocr == "missing" and tilted)
        if not (wanted and allow_ocr):
            return words, False
        seen = _ocr_words(page, plan)
        return words + [word for word in seen if not _covered(word, words)], True


def _covered(word: ReadWord, known: Sequence[ReadWord]) -> bool:
    x, y = word.x + word.width / 2, word.y + word.height / 2
    return any(
        other.x - 2 <= x <= other.right + 2 and other.y - 2 <= y <= other.bottom + 2
        for other in known
    )


def _ocr_words(page: pypdfium2.PdfPage, plan: ReadingPlan) -> list[ReadWord]:
    scale = plan.dpi / _POINTS_PER_INCH
    pixels = page.get_width() * page.get_height() * scale * scale
    if pixels > _MAX_PICTURE_PIXELS:
        scale *= math.sqrt(_MAX_PICTURE_PIXELS / pixels)
    picture = page.render(scale=scale, grayscale=True).to_pil()
    return [
        ReadWord(
            text=word.text,
            x=word.left / scale,
            y=word.top / scale,
            width=(word.right - word.left) / scale,
            height=(word.bottom - word.top) / scale,
            baseline=word.bottom / scale,
            confidence=word.confidence,
            by_ocr=True,
            line=word.line,
        )
        for word in read_words(picture, segmentation=plan.segmentation)
    ]


@dataclass(slots=True)
class _Char:
    text: str
    left: float
    top: float
    right: float
    bottom: float
    baseline: float
    tilted: bool


def _text_layer(page: pypdfium2.PdfPage) -> tuple[list[ReadWord], bool]:
    """Return the upright words of the text layer, and whether tilted text was left out."""
    words: list[ReadWord] = []
    tilted = False
    with closing(page.get_textpage()) as textpage:
        for chars in _char_runs(page, textpage):
            if chars[0].tilted:
                tilted = True
            else:
                words.append(_word(chars))
    return words, tilted


def _word(chars: Sequence[_Char]) -> ReadWord:
    left, top = min(c.left for c in chars), min(c.top for c in chars)
    right, bottom = max(c.right for c in chars), max(c.bottom for c in chars)
    text = "".join(c.text for c in chars)
    return ReadWord(text, left, top, right - left, bottom - top, chars[0].baseline, 1.0)


def _char_runs(
    page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage
) -> Iterator[list[_Char]]:
    """Split the characters of a page into words at white space and at jumps."""
    place = _Placer(page)
    run: list[_Char] = []
    for index in range(min(textpage.count_chars(), MAX_CHARS_PER_PAGE)):
        text = _char_text(textpage, index)
        if not text.strip():
            if run:
                yield run
            run = []
            continue
        char = place.char(textpage, index, text)
        if run and (abs(char.baseline - run[-1].baseline) > 1.5 and not char.tilted):
            yield run
            run = []
        run.append(char)
    if run:
        yield run


def _char_text(textpage: pypdfium2.PdfTextPage, index: int) -> str:
    code = pdfium_c.FPDFText_GetUnicode(textpage, index)
    if 0xD800 <= code <= 0xDFFF or code > 0x10FFFF or code in (0xFFFE, 0xFFFF):
        return ""
    return "-" if code == 2 else chr(code)  # pdfium reports a line-end hyphen as U+0002


class _Placer:
    """Turns pdfium's character boxes into points from the top left of the displayed page."""

    def __init__(self, page: pypdfium2.PdfPage) -> None:
        self._page = page
        self._upright = math.radians(page.get_rotation())
        self._width = round(page.get_width() * _DEVICE)
        self._height = round(page.get_height() * _DEVICE)

    def char(self, textpage: pypdfium2.PdfTextPage, index: int, text: str) -> _Char:
        box = [ctypes.c_double() for _ in range(4)]  # left, right, bottom, top
        pdfium_c.FPDFText_GetCharBox(textpage, index, *(ctypes.byref(edge) for edge in box))
        origin = [ctypes.c_double(), ctypes.c_double()]
        pdfium_c.FPDFText_GetCharOrigin(textpage, index, *(ctypes.byref(axis) for axis in origin))
        left, right, bottom, top = (edge.value for edge in box)
        corner_a, corner_b = self._point(left, top), self._point(right, bottom)
        angle = pdfium_c.FPDFText_GetCharAngle(textpage, index)
        return _Char(
            text,
            min(corner_a[0], corner_b[0]),
            min(corner_a[1], corner_b[1]),
            max(corner_a[0], corner_b[0]),
            max(corner_a[1], corner_b[1]),
            self._point(origin[0].value, origin[1].value)[1],
            tilted=self._is_tilted(angle),
        )

    def _is_tilted(self, angle: float) -> bool:
        turns = (angle - self._upright, angle + self._upright)
        return min(abs(math.remainder(turn, math.tau)) for turn in turns) > _UPRIGHT

    def _point(self, x: float, y: float) -> tuple[float, float]:
        device_x, device_y = ctypes.c_int(), ctypes.c_int()
        pdfium_c.FPDF_PageToDevice(
            self._page,
            0,
            0,
            self._width,
            self._height,
            0,
            x,
            y,
            ctypes.byref(device_x),
            ctypes.byref(device_y),
        )
        return device_x.value / _DEVICE, device_y.value / _DEVICE


def _lines(words: Sequence[ReadWord]) -> list[tuple[ReadWord, ...]]:
    """Group words into lines, top to bottom, each from left to right."""
    lines: list[list[ReadWord]] = []
    by_ocr: dict[int, list[ReadWord]] = {}
    for word in sorted(words, key=lambda word: (word.baseline, word.x)):
        if word.by_ocr:
            by_ocr.setdefault(word.line, []).append(word)
        elif lines and abs(lines[-1][0].baseline - word.baseline) <= _same_line(word):
            lines[-1].append(word)
        else:
            lines.append([word])
    lines.extend(by_ocr.values())
    lines.sort(key=lambda line: sum(word.baseline for word in line) / len(line))
    return [tuple(sorted(line, key=lambda word: word.x)) for line in lines]


def _same_line(word: ReadWord) -> float:
    return max(2.0, 0.3 * word.height)
