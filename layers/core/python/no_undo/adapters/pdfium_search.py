"""Looks with pdfium at page text, earlier revisions and text under paint; child process only."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from PIL import ImageChops
from PIL.Image import Image

from no_undo.adapters.pdfium_reader import (
    READER,
    Box,
    open_pdf,
    page_texts,
    page_words,
    place_on_page,
)
from no_undo.adapters.redaction_reports import compare_passages, to_json
from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.redaction import (
    EVALUATION_NOTICE,
    ChannelResult,
    ChannelVerdict,
    Passage,
    squash,
)
from no_undo.domain.signature_tags import find_signature_tags

_PAGE_TEXT: Final = "page_text"
_REVISIONS: Final = "earlier_revisions"
_COVERED: Final = "covered_text"
_END: Final = re.compile(rb"%%EOF\s?")
_MOST_REVISIONS: Final = 20
_LINEARIZED_WINDOW: Final = 1024
# The vendor's wording is not recorded; a mark that says none of these is not recognised.
_NOTICE: Final = re.compile(
    "evaluation|trial(?:version|key|license|licence|mode)|unlicensed|unregistered|demoversion"
    "|notforproduction|watermark"
)
_INK_SCALE: Final = 1.5  # pixels per point: thin strokes of 6 pt text still change pixels
_LEAST_LETTERS: Final = 3  # a box may well cover the comma behind what it removed
_SAME_PLACE_POINTS: Final = 3.0
_INK_LEVEL: Final = 24  # of 255; anti-aliasing noise stays below


def search_pdfium(
    arguments: Mapping[str, Any], documents: Sequence[bytes]
) -> tuple[dict[str, Any], Sequence[bytes]]:
    """Look for values in the text of two PDFs, and for text that paint merely covers.

    Args:
        arguments: `values`, value to kind; `max_pages`.
        documents: The original and the redacted PDF.
    """
    most = arguments["max_pages"]
    before, after = documents
    with open_pdf(before, max_pages=most) as old, open_pdf(after, max_pages=most) as new:
        old_texts, new_texts = page_texts(old), page_texts(new)
        covered = _covered_row(old, new)
    old_revisions, _ = _earlier_revisions(before, max_pages=most)
    revisions, unread = _earlier_revisions(after, max_pages=most)
    report = compare_passages(
        READER,
        arguments["values"],
        [*_passages(old_texts), *old_revisions],
        [*_passages(new_texts), *revisions],
        channels=(_PAGE_TEXT, _REVISIONS),
        fragment_channels=(_PAGE_TEXT,),
    )
    rows = tuple(_judged_revisions(row, unread) for row in report.rows)
    notice = _notice_row(old_texts, new_texts)
    facts = {
        "pages": [len(old_texts), len(new_texts)],
        "tags": [_tags(old_texts), _tags(new_texts)],
        "words": [sum(len(text.split()) for text in texts) for texts in (old_texts, new_texts)],
    }
    return to_json(replace(report, rows=(*rows, covered, notice), facts=facts)), ()


def _passages(texts: Sequence[str]) -> list[Passage]:
    return [Passage(_PAGE_TEXT, text, index) for index, text in enumerate(texts)]


def _tags(texts: Sequence[str]) -> list[int]:
    return sorted(order for text in texts for order in find_signature_tags(text))


def _earlier_revisions(document: bytes, *, max_pages: int) -> tuple[list[Passage], int]:
    """Return the text of every earlier revision, and how many could not be read."""
    ends = [match.end() for match in _END.finditer(document)][:-1]
    if b"/Linearized" in document[:_LINEARIZED_WINDOW]:
        ends = ends[1:]  # a linearized file's first end closes its first-page section
    passages: list[Passage] = []
    unread = max(0, len(ends) - _MOST_REVISIONS)
    for end in ends[:_MOST_REVISIONS]:
        try:
            with open_pdf(document[:end], max_pages=max_pages) as pdf:
                passages += [Passage(_REVISIONS, text) for text in page_texts(pdf)]
        except InvalidRequestError:
            unread += 1
    return passages, unread


def _judged_revisions(row: ChannelVerdict, unread: int) -> ChannelVerdict:
    if row.channel != _REVISIONS or row.result is ChannelResult.FOUND or not unread:
        return row
    detail = f"{unread} earlier revisions could not be read"
    return replace(row, result=ChannelResult.NOT_PROVEN, detail=detail)


def _notice_row(before: Sequence[str], after: Sequence[str]) -> ChannelVerdict:
    """Find words of a trial's notice on pages that did not show them before."""
    pages = [
        index + 1
        for index, text in enumerate(after)
        if _notices(text) - (_notices(before[index]) if index < len(before) else Counter())
    ]
    if not pages:
        detail = "no page says more about a trial than before"
        return ChannelVerdict(EVALUATION_NOTICE, READER, ChannelResult.GONE, detail)
    detail = f"{len(pages)} pages carry a notice of an evaluation that they did not carry before"
    return ChannelVerdict(EVALUATION_NOTICE, READER, ChannelResult.FOUND, detail, tuple(pages))


def _notices(text: str) -> Counter[str]:
    return Counter(_NOTICE.findall(squash(text)))


def _covered_row(before: pdfium.PdfDocument, after: pdfium.PdfDocument) -> ChannelVerdict:
    """Find words that showed in the original and are now in the text layer but under paint.

    That is what a staged redaction looks like: a box over live text. Words that were invisible
    all along (a text layer under a scan, white signature tags) are no redaction's doing.
    """
    counts: dict[int, int] = {}
    already = 0
    for index in range(min(len(before), len(after))):
        newly, of_old = _covered(before[index], after[index])
        already += of_old
        if newly:
            counts[index + 1] = newly
    if not counts:
        detail = f"paint covers no word that showed before; {already} words were hidden already"
        return ChannelVerdict(_COVERED, READER, ChannelResult.GONE, detail)
    pages = ", ".join(map(str, counts))
    detail = f"{sum(counts.values())} words are covered, not removed; page {pages}"
    return ChannelVerdict(_COVERED, READER, ChannelResult.FOUND, detail, tuple(counts))


_Word = tuple[str, Box]


def _covered(before: pdfium.PdfPage, after: pdfium.PdfPage) -> tuple[int, int]:
    """Count the hidden words of a page that showed before, and those that did not."""
    hidden = hidden_words(after)
    before_hidden = hidden_words(before) if hidden else []
    newly = sum(not any(_same_place(word, old) for old in before_hidden) for word in hidden)
    return newly, len(hidden) - newly


def _same_place(one: _Word, other: _Word) -> bool:
    return one[0] == other[0] and all(
        abs(a - b) < _SAME_PLACE_POINTS for a, b in zip(one[1][:2], other[1][:2], strict=True)
    )


def hidden_words(page: pdfium.PdfPage) -> list[_Word]:
    """Return the words, with their places, that change no pixel when all text is made invisible."""
    if not _has_paint(page):
        return []
    words = [(text, place_on_page(page, box)) for text, box in page_words(page)]
    shown = _render(page)
    for text in page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_TEXT]):
        pdfium_c.FPDFTextObj_SetTextRenderMode(text, pdfium_c.FPDF_TEXTRENDERMODE_INVISIBLE)
    changes = ImageChops.difference(shown, _render(page))
    return [
        (text, box)
        for text, box in words
        if len(squash(text)) >= _LEAST_LETTERS and _is_still(changes, box)
    ]


def _has_paint(page: pdfium.PdfPage) -> bool:
    return any(item.type != pdfium_c.FPDF_PAGEOBJ_TEXT for item in page.get_objects()) or (
        pdfium_c.FPDFPage_GetAnnotCount(page) > 0
    )


def _render(page: pdfium.PdfPage) -> Image:
    picture: Image = page.render(scale=_INK_SCALE, grayscale=True).to_pil()
    return picture


def _is_still(changes: Image, box: Box) -> bool:
    """Say whether no pixel changed where a word stands; a word off the page cannot be judged."""
    x, y, width, height = (side * _INK_SCALE for side in box)
    window = (
        max(0, int(x)),
        max(0, int(y)),
        min(changes.width, int(x + width) + 1),
        min(changes.height, int(y + height) + 1),
    )
    if window[0] >= window[2] or window[1] >= window[3]:
        return False
    strongest = max(changes.crop(window).histogram()[_INK_LEVEL:])
    return strongest == 0
