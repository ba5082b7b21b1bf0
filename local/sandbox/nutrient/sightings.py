"""Looks for targets the way a reader outside does: pdfium's text, and OCR of the rendered page.

They find what the own interpreter cannot decode: odd fonts, pictures, outlines. Both answer
polygons in the page's user space.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pypdfium2

from local.sandbox.nutrient import pdfium
from local.sandbox.nutrient.content import Point, Unit
from local.sandbox.nutrient.matching import normalise
from local.sandbox.nutrient.ocr import OcrWord, read_symbols

Shape = tuple[Point, ...]
Spans = Callable[[str], Iterator[tuple[int, int]]]

MAX_OCR_PAGES = 30
_DPI = 200
_MAX_PIXELS = 20_000_000
_MANY_DRAWINGS = 40


def needs_ocr(unit: Unit) -> bool:
    """Return True for pages where text may be drawn without being text."""
    decoded_otherwise = any(glyph.alt for glyph in unit.glyphs)
    unreadable = unit.unreadable > 0 or decoded_otherwise
    return bool(unit.pictures) or len(unit.drawings) >= _MANY_DRAWINGS or unreadable


@dataclass(frozen=True, slots=True)
class Sightings:
    """Opens a document once in pdfium and looks at single pages."""

    document: pypdfium2.PdfDocument

    def in_text(self, page_index: int, spans: Spans) -> list[Shape]:
        """Return a box for every character of every match in pdfium's text of a page."""
        shapes: list[Shape] = []
        with (
            pdfium.page_of(self.document, page_index) as page,
            pdfium.text_of(page) as textpage,
        ):
            text, places = _text_of(textpage)
            for start, end in spans(text):
                shapes.extend(_char_shape(textpage, place) for place in places[start:end])
        return [shape for shape in shapes if shape[0] != shape[2]]

    def in_picture(self, page_index: int, spans: Spans) -> list[Shape]:
        """Return a box for every line of every match that OCR reads on the rendered page."""
        with pdfium.page_of(self.document, page_index) as page:
            area = page.get_width() * page.get_height()
            scale = min(_DPI / 72, math.sqrt(_MAX_PIXELS / max(area, 1.0)))
            picture = page.render(scale=scale, grayscale=True).to_pil()
            symbols = read_symbols(picture)
            text, places = _joined(symbols)
            corner = _Corners(page, picture.width, picture.height)
            return [
                corner.shape(line)
                for start, end in spans(text)
                for line in _by_line(symbols, places[start:end])
            ]


def _text_of(textpage: pypdfium2.PdfTextPage) -> tuple[str, list[int]]:
    """Return the text of a page with ignorable characters left out, and each one's index."""
    characters: list[str] = []
    places: list[int] = []
    for index in range(pdfium.char_count(textpage)):
        for character in normalise(pdfium.char_at(textpage, index)):
            characters.append(character)
            places.append(index)
    return "".join(characters), places


def _char_shape(textpage: pypdfium2.PdfTextPage, index: int) -> Shape:
    left, bottom, right, top = pdfium.loose_char_box(textpage, index)
    return ((left, bottom), (right, bottom), (right, top), (left, top))


def _joined(symbols: Sequence[OcrWord]) -> tuple[str, list[int]]:
    """Join symbols to text: a space at gaps of a third of the height, a line feed between lines."""
    characters: list[str] = []
    places: list[int] = []
    for index, symbol in enumerate(symbols):
        if index:
            last = symbols[index - 1]
            separator = ""
            if last.line != symbol.line:
                separator = "\n"
            elif symbol.left - last.right > 0.35 * max(symbol.bottom - symbol.top, 12):
                separator = " "
            characters.extend(separator)
            places.extend([index] * len(separator))
        characters.extend(symbol.text)
        places.extend([index] * len(symbol.text))
    return "".join(characters), places


def _by_line(symbols: Sequence[OcrWord], places: Sequence[int]) -> Iterator[list[OcrWord]]:
    line: list[OcrWord] = []
    for place in dict.fromkeys(places):
        if line and symbols[place].line != line[-1].line:
            yield line
            line = []
        line.append(symbols[place])
    if line:
        yield line


class _Corners:
    """Turns boxes on a page picture into polygons in user space, rotation and crop included."""

    def __init__(self, page: pypdfium2.PdfPage, width: int, height: int) -> None:
        self._page, self._width, self._height = page, width, height

    def shape(self, line: Sequence[OcrWord]) -> Shape:
        height = max(symbol.bottom - symbol.top for symbol in line)
        margin = max(2, round(0.15 * height))
        left, right = min(s.left for s in line) - margin, max(s.right for s in line) + margin
        top, bottom = min(s.top for s in line) - margin, max(s.bottom for s in line) + margin
        return (
            self._point(left, bottom),
            self._point(right, bottom),
            self._point(right, top),
            self._point(left, top),
        )

    def _point(self, x: int, y: int) -> Point:
        return pdfium.to_page(self._page, self._width, self._height, (x, y))
