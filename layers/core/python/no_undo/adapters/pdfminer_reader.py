"""Reads page text with pdfminer, the second and unrelated text reader; child process only."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

import pdfminer
from pdfminer.converter import PDFPageAggregator
from pdfminer.layout import LAParams, LTContainer, LTItem, LTText
from pdfminer.pdfinterp import PDFPageInterpreter, PDFResourceManager
from pdfminer.pdfpage import PDFPage

from no_undo.adapters.redaction_reports import compare_passages, to_json
from no_undo.domain.redaction import Passage

READER: Final = f"pdfminer {pdfminer.__version__}"

_BY_POSITION: Final = "page_text"
_AS_DRAWN: Final = "drawn_text"
_CHANNELS: Final = (_BY_POSITION, _AS_DRAWN)
_UNREAD_CODE: Final = "(cid:"


def search_pdfminer(
    arguments: Mapping[str, Any], documents: Sequence[bytes]
) -> tuple[dict[str, Any], Sequence[bytes]]:
    """Look for values in the page text of two PDFs, ordered by position.

    Args:
        arguments: `values`, value to kind.
        documents: The original and the redacted PDF.
    """
    before, after = (list(passages(document)) for document in documents)
    report = compare_passages(
        READER,
        arguments["values"],
        before,
        after,
        channels=_CHANNELS,
        fragment_channels=_CHANNELS,
    )
    facts = {"unread_codes": [_unread_codes(before), _unread_codes(after)]}
    return to_json(replace(report, facts=facts)), ()


def read_positions(
    _arguments: Mapping[str, Any], documents: Sequence[bytes]
) -> tuple[dict[str, Any], Sequence[bytes]]:
    """Return the text of every page of one PDF, ordered by position, hidden text included.

    Returns:
        `reader`; `pages`, index and text of every page; `unread`, always empty.
    """
    (content,) = documents
    seen = [one for one in passages(content) if one.channel == _BY_POSITION]
    pages = [[one.page_index, one.text] for one in seen]
    return {"reader": READER, "pages": pages, "unread": []}, ()


def passages(document: bytes) -> Iterator[Passage]:
    """Yield the text of every page twice: as drawn, and ordered by position.

    Hidden layers, clipped and white text are included.
    """
    # Grouping boxes by flow can take a minute a page, and the order of boxes does not matter here.
    by_position = LAParams(all_texts=True, detect_vertical=True, boxes_flow=None)
    resources = PDFResourceManager()
    device = PDFPageAggregator(resources, laparams=None)
    interpreter = PDFPageInterpreter(resources, device)
    for page_index, page in enumerate(PDFPage.get_pages(io.BytesIO(document))):
        interpreter.process_page(page)
        layout = device.get_result()
        yield Passage(_AS_DRAWN, "".join(_texts(layout)), page_index)
        layout.analyze(by_position)
        yield Passage(_BY_POSITION, "".join(_texts(layout)), page_index)


def _texts(item: LTItem) -> Iterator[str]:
    if isinstance(item, LTText):
        yield item.get_text()
    elif isinstance(item, LTContainer):
        for child in cast("Iterable[LTItem]", item):
            yield from _texts(child)


def _unread_codes(passages_seen: Sequence[Passage]) -> int:
    return sum(passage.text.count(_UNREAD_CODE) for passage in passages_seen)
