"""Tells the words of a text layer that show on the page from those that do not; child process only.

A letter shows when making all text invisible changes pixels where it stands. White letters, letters
under paint, those of an invisible recognition layer and those off the page change none. A letter
that is too small to read counts as hidden too, and so do two that different pieces of text drew in
one place: one of them made the pixels, and nobody can tell which. A word shows when every letter of
it does: one hidden digit behind a printed amount makes another amount.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from PIL import ImageChops
from PIL.Image import Image

from no_undo.adapters.pdfium_reader import Box, Letter, open_pdf, page_letters, place_on_page

_SCALE: Final = 3.0  # pixels per point: a full stop of 6 pt text still changes pixels
_INK_LEVEL: Final = 24  # of 255; anti-aliasing noise and near-white text stay below
_LEAST_POINTS: Final = 4.0  # height of a readable word
_MOST_PICTURED: Final = 0.02  # share of a page that pictures may cover and hold no text
_MOST_PATHS: Final = 400  # rules and boxes; text drawn as outlines needs a path per letter
_DEEPEST_FORM: Final = 15


def read_visible(
    arguments: Mapping[str, Any], documents: Sequence[bytes]
) -> tuple[dict[str, object], Sequence[bytes]]:
    """Return the visible words of each page, how many are hidden, and whether that is all text.

    Args:
        arguments: `max_pages`.
        documents: One PDF.

    Raises:
        InvalidRequestError: The document is broken, encrypted, or over a limit.
    """
    (content,) = documents
    pages: list[list[list[object]]] = []
    hidden, complete = 0, True
    with open_pdf(content, max_pages=arguments["max_pages"]) as pdf:
        for page in pdf:
            words = [[_placed(page, one) for one in word] for word in page_letters(page)]
            complete = complete and bool(words) and _shows_only_text(page)
            changes = _changes_without_text(page)
            crossed = _crossed([letter for word in words for letter in word])
            seen = [word for word in words if all(_shows(changes, one, crossed) for one in word)]
            hidden += len(words) - len(seen)
            pages.append([_word(word) for word in seen])
    return {"words": pages, "hidden": hidden, "complete": complete}, ()


def _shows_only_text(page: pdfium.PdfPage) -> bool:
    """Say whether nothing on a page but its text could be read as text."""
    width, height = page.get_size()
    pictured, paths = 0.0, 0
    for item in page.get_objects(max_depth=_DEEPEST_FORM):
        if item.type == pdfium_c.FPDF_PAGEOBJ_IMAGE:
            left, bottom, right, top = item.get_bounds()
            pictured += abs(right - left) * abs(top - bottom)
        elif item.type == pdfium_c.FPDF_PAGEOBJ_PATH:
            paths += 1
    return pictured <= _MOST_PICTURED * width * height and paths <= _MOST_PATHS


def _changes_without_text(page: pdfium.PdfPage) -> Image:
    """Return the difference that the page's text makes; the page is left without visible text."""
    shown = _render(page)
    for text in page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_TEXT], max_depth=_DEEPEST_FORM):
        pdfium_c.FPDFTextObj_SetTextRenderMode(text, pdfium_c.FPDF_TEXTRENDERMODE_INVISIBLE)
    return ImageChops.difference(shown, _render(page))


def _render(page: pdfium.PdfPage) -> Image:
    picture: Image = page.render(scale=_SCALE, grayscale=True).to_pil()
    return picture


def _placed(page: pdfium.PdfPage, letter: Letter) -> Letter:
    """Return a letter with its box from the page's top left: x, y, width, height."""
    return replace(letter, box=place_on_page(page, letter.box))


def _word(letters: Sequence[Letter]) -> list[object]:
    left = min(one.box[0] for one in letters)
    top = min(one.box[1] for one in letters)
    right = max(one.box[0] + one.box[2] for one in letters)
    bottom = max(one.box[1] + one.box[3] for one in letters)
    return ["".join(one.text for one in letters), left, top, right - left, bottom - top]


def _shows(changes: Image, letter: Letter, crossed: frozenset[int]) -> bool:
    x, y, width, height = letter.box
    if height < _LEAST_POINTS or id(letter) in crossed:
        return False
    window = (
        max(0, int(x * _SCALE)),
        max(0, int(y * _SCALE)),
        min(changes.width, int((x + width) * _SCALE) + 1),
        min(changes.height, int((y + height) * _SCALE) + 1),
    )
    if window[0] >= window[2] or window[1] >= window[3]:
        return False
    return any(changes.crop(window).histogram()[_INK_LEVEL:])


def _crossed(letters: Sequence[Letter]) -> frozenset[int]:
    """Return the letters (by `id`) that share more than half a place with another text's letter."""
    found: set[int] = set()
    down = sorted(letters, key=lambda one: one.box[1])
    for place, one in enumerate(down):
        bottom = one.box[1] + one.box[3]
        for other in down[place + 1 :]:
            if other.box[1] >= bottom:
                break
            if one.source != other.source and _share_a_place(one.box, other.box):
                found |= {id(one), id(other)}
    return frozenset(found)


def _share_a_place(one: Box, other: Box) -> bool:
    across = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    down = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    smaller = min(one[2] * one[3], other[2] * other[3])
    return max(0.0, across) * max(0.0, down) > smaller / 2
