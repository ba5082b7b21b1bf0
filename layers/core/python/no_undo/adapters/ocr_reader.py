"""Reads the pictures of a PDF with Tesseract, where it is installed; child process only.

Without Tesseract, a page that is mostly picture cannot be judged, and its row says so. "Not seen"
in a picture is weaker than "not there": faint or tiny text can escape any OCR.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any, Final, Self

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from no_undo.adapters.pdfium_reader import open_pdf, page_texts
from no_undo.adapters.redaction_reports import ReaderReport, compare_passages, to_json
from no_undo.domain.redaction import ChannelResult, ChannelVerdict, Passage, ValueSearch

_CHANNEL: Final = "pictures"
_DPI: Final = 200
_SECOND_DPI: Final = 300
_PICTURE_SHARE: Final = 0.02  # of the page; a logo stays below, a scan or a line of text does not
_LETTER_SEGMENTS: Final = 7  # rules and boxes have fewer: letters drawn as outlines have more
_MANY_LETTERS: Final = 20


def search_pictures(
    arguments: Mapping[str, Any], documents: Sequence[bytes]
) -> tuple[dict[str, Any], Sequence[bytes]]:
    """Look for values in the pages of two PDFs that show pictures.

    Args:
        arguments: `values`, value to kind; `max_pages`.
        documents: The original and the redacted PDF.
    """
    before, after = documents
    most = arguments["max_pages"]
    with open_pdf(before, max_pages=most) as old, open_pdf(after, max_pages=most) as new:
        data = language_data()
        if data is None:
            report = _report_without_ocr(new)
        else:
            report = _report(old, new, arguments["values"], data)
    return to_json(report), ()


def _report(
    old: pdfium.PdfDocument, new: pdfium.PdfDocument, values: Mapping[str, str], data: Path
) -> ReaderReport:
    # pages whose original is read are read in the output too, and the other way round
    pages = sorted({*_pages_to_read(old), *_pages_to_read(new)})
    with _Ocr(data) as ocr:
        before = list(ocr.passages(old, pages, _DPI))
        after = list(ocr.passages(new, pages, _DPI))
        bare = [index for index, text in enumerate(page_texts(old)) if not text.strip()]
        second = list(ocr.passages(old, bare, _SECOND_DPI))
    report = compare_passages(
        ocr.name,
        values,
        before,
        after,
        channels=(_CHANNEL,),
        fragment_channels=(_CHANNEL,),
        look_alikes=True,
    )
    search = ValueSearch(list(values), look_alikes=True)
    seen_again = {sighting.value_index for sighting in search.whole(second)}
    rows = tuple(_with_extent(row, len(pages)) for row in report.rows)
    facts = {"second_control": sorted(seen_again), "second_dpi": _SECOND_DPI}
    return replace(report, rows=rows, facts=facts)


def _with_extent(row: ChannelVerdict, pages: int) -> ChannelVerdict:
    if row.result is ChannelResult.FOUND:
        return row
    return replace(row, detail=f"{row.detail}; {pages} pages with pictures were read")


def _report_without_ocr(new: pdfium.PdfDocument) -> ReaderReport:
    """Answer without Tesseract: clean only where no page depends on its pictures."""
    unread = [str(index + 1) for index, page in enumerate(new) if _depends_on_pictures(page)]
    if unread:
        result = ChannelResult.NOT_PROVEN
        detail = f"no OCR is installed and page {', '.join(unread)} shows pictures"
    else:
        result = ChannelResult.GONE
        detail = "no page shows more than small pictures; those were not looked into"
    return ReaderReport("none", (ChannelVerdict(_CHANNEL, "none", result, detail),), ())


def _pages_to_read(pdf: pdfium.PdfDocument) -> Iterator[int]:
    for index, page in enumerate(pdf):
        images = page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_IMAGE])
        if any(images) or _draws_letters(page) or _shows_no_text(page):
            yield index


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


class _Ocr:
    """One Tesseract with its English data; closed on exit."""

    def __init__(self, data: Path) -> None:
        import tesserocr  # noqa: PLC0415 - an optional library of the documents layer

        self.name = f"tesseract (tesserocr {metadata.version('tesserocr')}) at {_DPI} dpi"
        self._api = tesserocr.PyTessBaseAPI(path=str(data), lang="eng")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._api.End()

    def passages(
        self, pdf: pdfium.PdfDocument, page_indexes: Sequence[int], dpi: int
    ) -> Iterator[Passage]:
        """Yield what the rendered pages show, form fields and annotations included."""
        pdf.init_forms()
        for index in page_indexes:
            if index < len(pdf):
                picture = pdf[index].render(scale=dpi / 72, grayscale=True).to_pil()
                self._api.SetImage(picture)
                self._api.SetSourceResolution(dpi)
                yield Passage(_CHANNEL, str(self._api.GetUTF8Text()), index)


def language_data() -> Path | None:
    """Find Tesseract's English data: named by the environment, in a layer, or in its prefix.

    Returns:
        The folder, or None where the library or its data is not installed.
    """
    if importlib.util.find_spec("tesserocr") is None:
        return None
    named = os.environ.get("TESSDATA_PREFIX")
    roots = [*([Path(named)] if named else [])]
    roots += [Path(root) / "share" / "tessdata" for root in (*sys.path, sys.prefix) if root]
    return next((root for root in roots if (root / "eng.traineddata").is_file()), None)
