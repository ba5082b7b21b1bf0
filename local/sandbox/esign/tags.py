"""Signature text tags: reading them out of a PDF's text, with the place where they stand."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pypdfium2

from local.sandbox.state import PDFIUM_LOCK

_SIGNATURE_TAG = re.compile(r"\$\{(?:signfield|s):(\d+):[^}]*\}")
"""`${signfield:n:y:____}` and its short form `${s:n:...}` (vendor's sample document)."""


@dataclass(frozen=True, slots=True)
class SignatureTag:
    """One tag.

    Attributes:
        party: Number of the party that signs here, from 1.
        page_index: Page, from 0.
        box: Left, bottom, right, top in PDF points from the page's lower left corner.
        page_width: Width of that page in points.
    """

    party: int
    page_index: int
    box: tuple[float, float, float, float]
    page_width: float


def signature_tags(pdf: bytes) -> list[SignatureTag]:
    """Return the signature tags of a PDF in reading order; none when it cannot be read.

    The tag may be broken over lines or in any colour: only the text counts.
    """
    with PDFIUM_LOCK:
        try:
            document = pypdfium2.PdfDocument(pdf)
        except pypdfium2.PdfiumError:
            return []
        try:
            pages = range(len(document))
            return [tag for index in pages for tag in _tags_on_page(document[index], index)]
        finally:
            document.close()


def _tags_on_page(page: pypdfium2.PdfPage, page_index: int) -> list[SignatureTag]:
    text_page = page.get_textpage()
    characters = [text_page.get_text_range(i, 1) for i in range(text_page.count_chars())]
    solid = [i for i, character in enumerate(characters) if character.strip()]
    text = "".join(characters[i][0] for i in solid)  # one each, so that positions agree
    return [
        SignatureTag(
            party=int(match[1]),
            page_index=page_index,
            box=_union([text_page.get_charbox(i) for i in solid[match.start() : match.end()]]),
            page_width=page.get_width(),
        )
        for match in _SIGNATURE_TAG.finditer(text)
    ]


def _union(boxes: list[tuple[float, ...]]) -> tuple[float, float, float, float]:
    lefts, bottoms, rights, tops = zip(*boxes, strict=True)
    return min(lefts), min(bottoms), max(rights), max(tops)
