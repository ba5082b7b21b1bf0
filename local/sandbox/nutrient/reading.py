"""Reads a PDF as lines of words: the text layer where there is one, OCR where there is none.

Positions are PDF points from the top left corner of the page as displayed (crop box and page
rotation applied).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pypdfium2

from local.sandbox.nutrient import pdfium
from local.sandbox.nutrient.ocr import read_words

MAX_OCR_PAGES = 40
OCR_DPI = 200

_POINTS_PER_INCH = 72.0
_SAME_BASELINE = 1.5  # points
_UPRIGHT = 0.002  # radians; anything more is read as pixels, like the vendor's engine does
_MAX_PICTURE_PIXELS = 40_000_000
_SPAN = 1000.0  # points; how far apart the map between page and picture is measured
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


def read_pages(pdf: bytes, plan: ReadingPlan) -> tuple[ReadPage, ...]:
    """Read every page into lines of words.

    Raises:
        UnsupportedFileError: The file is not a PDF that opens.
        TooLargeError: Too many pages.
    """
    with pdfium.opened(pdf) as document:
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
    with pdfium.page_of(document, index) as page:
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
    with pdfium.text_of(page) as textpage:
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


def _char_runs(page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage) -> Iterator[list[_Char]]:
    """Split the characters of a page into words at white space and at jumps."""
    place = _Placer(page)
    run: list[_Char] = []
    for index in range(pdfium.char_count(textpage)):
        text = pdfium.char_at(textpage, index)
        if not text.strip():
            if run:
                yield run
            run = []
            continue
        char = place.char(textpage, index, text)
        if run and _jumps(run[-1], char):
            yield run
            run = []
        run.append(char)
    if run:
        yield run


def _jumps(last: _Char, following: _Char) -> bool:
    apart = abs(following.baseline - last.baseline)
    return apart > _SAME_BASELINE and not following.tilted


class _Placer:
    """Turns pdfium's character boxes into points from the top left of the displayed page."""

    def __init__(self, page: pypdfium2.PdfPage) -> None:
        size = round(page.get_width() * _DEVICE), round(page.get_height() * _DEVICE)
        self._upright = math.radians(page.get_rotation())
        # Both spaces are affine to each other: three points tell the whole map.
        origin, along, up = (
            pdfium.to_device(page, *size, point) for point in ((0, 0), (_SPAN, 0), (0, _SPAN))
        )
        per_point = _SPAN * _DEVICE
        self._x = tuple((n - origin[0]) / per_point for n in (along[0], up[0]))
        self._y = tuple((n - origin[1]) / per_point for n in (along[1], up[1]))
        self._origin = origin[0] / _DEVICE, origin[1] / _DEVICE

    def char(self, textpage: pypdfium2.PdfTextPage, index: int, text: str) -> _Char:
        left, bottom, right, top = pdfium.char_box(textpage, index)
        corners = self._point((left, top)), self._point((right, bottom))
        (ax, ay), (bx, by) = corners
        baseline = self._point(pdfium.char_origin(textpage, index))[1]
        tilted = self._is_tilted(pdfium.char_angle(textpage, index))
        return _Char(text, min(ax, bx), min(ay, by), max(ax, bx), max(ay, by), baseline, tilted)

    def _is_tilted(self, angle: float) -> bool:
        turns = (angle - self._upright, angle + self._upright)
        return min(abs(math.remainder(turn, math.tau)) for turn in turns) > _UPRIGHT

    def _point(self, point: pdfium.Point) -> pdfium.Point:
        x, y = point
        return (
            self._origin[0] + x * self._x[0] + y * self._x[1],
            self._origin[1] + x * self._y[0] + y * self._y[1],
        )


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
