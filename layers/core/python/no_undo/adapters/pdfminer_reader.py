"""Reads page text with pdfminer, the second and unrelated text reader; child process only."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

import pdfminer
from pdfminer.high_level import extract_pages
from pdfminer.layout import LAParams, LTContainer, LTItem, LTText

from no_undo.adapters.redaction_reports import compare_passages, to_json
from no_undo.domain.redaction import Passage

READER: Final = f"pdfminer {pdfminer.__version__}"

_CHANNEL: Final = "page_text"
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
        channels=(_CHANNEL,),
        fragment_channels=(_CHANNEL,),
    )
    facts = {"unread_codes": [_unread_codes(before), _unread_codes(after)]}
    return to_json(replace(report, facts=facts)), ()


def passages(document: bytes) -> Iterator[Passage]:
    """Yield the text of every page, hidden layers, clipped and white text included."""
    layout = LAParams(all_texts=True)
    for page_index, page in enumerate(extract_pages(io.BytesIO(document), laparams=layout)):
        yield Passage(_CHANNEL, "".join(_texts(page)), page_index)


def _texts(item: LTItem) -> Iterator[str]:
    if isinstance(item, LTText):
        yield item.get_text()
    elif isinstance(item, LTContainer):
        for child in cast("Iterable[LTItem]", item):
            yield from _texts(child)


def _unread_codes(passages_seen: Sequence[Passage]) -> int:
    return sum(passage.text.count(_UNREAD_CODE) for passage in passages_seen)
