"""Reads the pictures of a PDF with Tesseract, where it is installed; child process only.

Which pages are looked at, in this order, until the pages or the seconds run out:
1. Pages that depend on pictures: scans, letters drawn as outlines, no text at all. One of them
   that nobody could look at is not proven.
2. Pages with any other picture.
3. Pages of plain text, coarser and in the output only: a font may claim other letters than it
   draws, and only a reader of pixels sees that. Those left out are named, and prove nothing wrong.

"Not seen" in a picture is weaker than "not there": faint or tiny text can escape any OCR.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from no_undo.adapters.pdfium_reader import open_pdf
from no_undo.adapters.redaction_reports import ReaderReport, compare_passages, to_json
from no_undo.adapters.tesseract import Budget, Tesseract, language_data
from no_undo.domain.redaction import ChannelResult, ChannelVerdict, Passage, ValueSearch

_CHANNEL: Final = "pictures"
_TEXT_PAGES: Final = "drawn_letters"
_DPI: Final = 200
_SECOND_DPI: Final = 300
_TEXT_PAGE_DPI: Final = 120
_PICTURE_SHARE: Final = 0.02  # of the page; a logo stays below, a scan or a line of text does not
_LETTER_SEGMENTS: Final = 7  # rules and boxes have fewer: letters drawn as outlines have more
_MANY_LETTERS: Final = 20
_NO_OCR: Final = "none"


def search_pictures(
    arguments: Mapping[str, Any], documents: Sequence[bytes]
) -> tuple[dict[str, Any], Sequence[bytes]]:
    """Look for values in the rendered pages of two PDFs.

    Args:
        arguments: `values`, value to kind; `max_pages`; `seconds`, the reader's budget.
        documents: The original and the redacted PDF.
    """
    before, after = documents
    most = arguments["max_pages"]
    budget = Budget(arguments["seconds"])
    with open_pdf(before, max_pages=most) as old, open_pdf(after, max_pages=most) as new:
        data = language_data()
        if data is None:
            report = _report_without_ocr(old, new)
        else:
            with Tesseract(data, _DPI) as ocr:
                report = _Comparison(ocr, budget, old, new).report(arguments["values"])
    return to_json(report), ()


def read_pictures(
    arguments: Mapping[str, Any], documents: Sequence[bytes]
) -> tuple[dict[str, Any], Sequence[bytes]]:
    """Return what the pages that depend on pictures show.

    Args:
        arguments: `max_pages`; `seconds`, the reader's budget.
        documents: One PDF.

    Returns:
        `reader`; `pages`, index and text of every page that was read; `unread`, indexes of those
        that should have been.
    """
    (content,) = documents
    budget = Budget(arguments["seconds"])
    with open_pdf(content, max_pages=arguments["max_pages"]) as pdf:
        wanted = [index for index, page in enumerate(pdf) if _depends_on_pictures(page)]
        data = language_data()
        if data is None or not wanted:
            return {"reader": _NO_OCR, "pages": [], "unread": wanted}, ()
        with Tesseract(data, _DPI) as ocr:
            seen = [
                Passage(_CHANNEL, text, index)
                for index, text in ocr.pages(pdf, wanted, _DPI, budget)
            ]
            name = ocr.name
    pages = [[one.page_index, one.text] for one in seen]
    read = {one.page_index for one in seen}
    unread = [index for index in wanted if index not in read]
    return {"reader": name, "pages": pages, "unread": unread}, ()


class _Comparison:
    """One look at both documents."""

    def __init__(
        self, ocr: Tesseract, budget: Budget, old: pdfium.PdfDocument, new: pdfium.PdfDocument
    ) -> None:
        self._ocr, self._budget, self._old, self._new = ocr, budget, old, new
        # pages whose original is read are read in the output too, and the other way round
        both = range(max(len(old), len(new)))
        pages = [(_page(old, index), _page(new, index)) for index in both]
        self._dependent = [n for n, pair in enumerate(pages) if any(map(_depends, pair))]
        self._pictured = [n for n, pair in enumerate(pages) if any(map(_shows_pictures, pair))]
        self._plain = [n for n in both if n not in self._pictured and n < len(new)]

    def report(self, values: Mapping[str, str]) -> ReaderReport:
        order = [*self._dependent, *(n for n in self._pictured if n not in self._dependent)]
        chosen = order[: self._budget.pages]
        after = self._read(self._new, chosen, _DPI)
        before = self._read(self._old, chosen, _DPI)
        again = self._read(self._old, self._dependent, _SECOND_DPI)
        plain_pages = self._plain[: max(0, self._budget.pages - len(chosen))]
        plain = self._read(self._new, plain_pages, _TEXT_PAGE_DPI, channel=_TEXT_PAGES)
        report = compare_passages(
            self._ocr.name,
            values,
            before,
            [*after, *plain],
            channels=(_CHANNEL, _TEXT_PAGES),
            fragment_channels=(_CHANNEL,),
            look_alikes=True,
        )
        seen_again = ValueSearch(list(values), look_alikes=True).whole(again)
        facts = {
            "second_control": sorted({sighting.value_index for sighting in seen_again}),
            "second_dpi": _SECOND_DPI,
        }
        read = _read_in_both(before, after)
        rows = (
            _pictures_row(report.rows[0], self._pictured, self._dependent, read),
            _with_left_out(report.rows[1], self._plain, {one.page_index for one in plain}),
        )
        return replace(report, rows=rows, facts=facts)

    def _read(
        self, pdf: pdfium.PdfDocument, indexes: Sequence[int], dpi: int, channel: str = _CHANNEL
    ) -> list[Passage]:
        pages = self._ocr.pages(pdf, indexes, dpi, self._budget)
        return [Passage(channel, text, index) for index, text in pages]


def _page(pdf: pdfium.PdfDocument, index: int) -> pdfium.PdfPage | None:
    return pdf[index] if index < len(pdf) else None


def _read_in_both(before: Sequence[Passage], after: Sequence[Passage]) -> set[int | None]:
    return {one.page_index for one in after} & {one.page_index for one in before}


def _pictures_row(
    row: ChannelVerdict, pictured: Sequence[int], dependent: Sequence[int], read: set[int | None]
) -> ChannelVerdict:
    """Say which pages were looked at; a page that depends on its picture must have been."""
    if row.result is ChannelResult.FOUND:
        return row
    unread = [index for index in dependent if index not in read]
    if unread:
        detail = f"the budget ended before page {_numbers(unread)}, which shows pictures"
        pages = tuple(index + 1 for index in unread)
        return replace(row, result=ChannelResult.NOT_PROVEN, detail=detail, pages=pages)
    return _with_left_out(row, pictured, read)


def _with_left_out(
    row: ChannelVerdict, wanted: Sequence[int], read: set[int | None]
) -> ChannelVerdict:
    if row.result is ChannelResult.FOUND:
        return row
    looked_at = sum(index in read for index in wanted)
    left_out = [index for index in wanted if index not in read]
    if not left_out:
        return replace(row, detail=f"{row.detail}; {looked_at} pages were read")
    rest = f"Page {_numbers(left_out)} not looked at by OCR."
    return replace(row, detail=f"{row.detail}; {looked_at} pages were read. {rest}", warning=rest)


def _numbers(indexes: Sequence[int]) -> str:
    return ", ".join(str(index + 1) for index in indexes)


def _report_without_ocr(old: pdfium.PdfDocument, new: pdfium.PdfDocument) -> ReaderReport:
    """Answer without Tesseract: clean only where no page depends on its pictures."""
    count = max(len(old), len(new))
    unread = [
        index
        for index in range(count)
        if _depends(_page(old, index)) or _depends(_page(new, index))
    ]
    if unread:
        result = ChannelResult.NOT_PROVEN
        detail = f"no OCR is installed and page {_numbers(unread)} shows pictures"
    else:
        result = ChannelResult.GONE
        detail = "no page shows more than small pictures; those were not looked into"
    return ReaderReport(_NO_OCR, (ChannelVerdict(_CHANNEL, _NO_OCR, result, detail),), ())


def _depends(page: pdfium.PdfPage | None) -> bool:
    return page is not None and _depends_on_pictures(page)


def _shows_pictures(page: pdfium.PdfPage | None) -> bool:
    if page is None:
        return False
    images = page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_IMAGE])
    return any(images) or _depends_on_pictures(page)


def _depends_on_pictures(page: pdfium.PdfPage) -> bool:
    """Say whether a reader of text alone would miss a good part of this page."""
    if not any(page.get_objects()):
        return False
    width, height = page.get_size()
    covered = sum(
        (right - left) * (top - bottom)
        for image in page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_IMAGE])
        for left, bottom, right, top in (image.get_bounds(),)
    )
    return covered > _PICTURE_SHARE * width * height or _draws_letters(page) or _shows_no_text(page)


def _draws_letters(page: pdfium.PdfPage) -> bool:
    """Say whether a page has as many complex outlines as text drawn letter by letter."""
    paths = page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_PATH])
    letters = sum(pdfium_c.FPDFPath_CountSegments(path) >= _LETTER_SEGMENTS for path in paths)
    return bool(letters >= _MANY_LETTERS)


def _shows_no_text(page: pdfium.PdfPage) -> bool:
    return not str(page.get_textpage().get_text_range()).strip()
