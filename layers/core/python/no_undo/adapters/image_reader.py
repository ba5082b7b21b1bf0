"""Reads the pictures inside a PDF as they are stored, whatever is drawn over them; child process.

A page that is rendered shows the boxes; the picture below them may be whole. Every picture that the
file holds is taken out and read by OCR: drawn, covered, cropped or used by nothing. A picture that
stands sideways on its page is turned first.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pikepdf
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from PIL import Image

from no_undo.adapters.pdfium_reader import open_pdf
from no_undo.adapters.pikepdf_structure import UNDECODABLE, open_structure
from no_undo.adapters.redaction_reports import ReaderReport, compare_passages, to_json
from no_undo.adapters.tesseract import Budget, Tesseract, language_data
from no_undo.domain.redaction import ChannelResult, ChannelVerdict, Passage

_CHANNEL: Final = "stored_pictures"
_DPI: Final = 200
_LEAST_SIDE: Final = 10  # pixels; letters lower than that are not read by anybody
_LEAST_AREA: Final = 1_000
_MOST_PIXELS: Final = 20_000_000
_LETTERHEAD_AREA: Final = 40_000
_QUARTER: Final = 90


def search_images(
    arguments: Mapping[str, Any], documents: Sequence[bytes]
) -> tuple[dict[str, Any], Sequence[bytes]]:
    """Look for values in every picture that the redacted PDF holds.

    Args:
        arguments: `values`, value to kind; `max_pages`; `seconds`, the reader's budget.
        documents: The original, which is not looked at, and the redacted PDF.
    """
    _, after = documents
    budget = Budget(arguments["seconds"])
    pictures = _stored_pictures(after, arguments["max_pages"])
    large = sum(one.width * one.height >= _LETTERHEAD_AREA for one in pictures.images)
    data = language_data()
    if data is None:
        return to_json(_without_ocr(large, pictures.undecodable)), ()
    with Tesseract(data, _DPI) as ocr:
        texts = [
            ocr.text_of(one, dpi=_DPI)
            for one in pictures.images[: budget.pages]
            if not budget.is_spent
        ]
        report = compare_passages(
            ocr.name,
            arguments["values"],
            [],
            [Passage(_CHANNEL, text) for text in texts],
            channels=(_CHANNEL,),
            look_alikes=True,
        )
    row = _with_extent(report.rows[0], len(texts), pictures)
    return to_json(ReaderReport(report.reader, (row,), ())), ()


@dataclass(slots=True)
class _Pictures:
    """The distinct pictures of a file, the largest first.

    Attributes:
        images: As grey pictures.
        undecodable: How many nobody here can decode.
    """

    images: list[Image.Image] = field(default_factory=list[Image.Image])
    undecodable: int = 0


def _stored_pictures(document: bytes, most_pages: int) -> _Pictures:
    with open_pdf(document, max_pages=most_pages) as pdf:
        drawn = list(_drawn(pdf))
    turns = {0, *(turn for _, turn in drawn)}
    with open_structure(document) as structure:
        stored, undecodable = _decoded(structure)
    sizes = {one.size for one in stored}
    # Inline pictures, and those that only pdfium can decode.
    others = [one for one, _ in drawn if one.size not in sizes]
    found = _Pictures(undecodable=max(0, undecodable - len(others)))
    known: set[bytes] = set()
    for one in (*stored, *others):
        digest = hashlib.sha256(one.tobytes()).digest()
        if digest not in known and _may_show_letters(one):
            known.add(digest)
            found.images += [_bounded(one).rotate(turn, expand=True) for turn in sorted(turns)]
    found.images.sort(key=lambda one: -one.width * one.height)
    return found


def _decoded(structure: pikepdf.Pdf) -> tuple[list[Image.Image], int]:
    """Return every picture among the objects, and how many could not be decoded."""
    stored: list[Image.Image] = []
    undecodable = 0
    for stream in structure.objects:
        if isinstance(stream, pikepdf.Stream) and stream.get("/Subtype") == "/Image":
            try:
                stored.append(pikepdf.PdfImage(stream).as_pil_image().convert("L"))
            except (*UNDECODABLE, OSError, ValueError):
                undecodable += 1
    return stored, undecodable


def _drawn(pdf: pdfium.PdfDocument) -> Iterator[tuple[Image.Image, int]]:
    """Yield the pictures that pages draw, as stored, and by how much each has to be turned."""
    for page in pdf:
        for item in page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_IMAGE]):
            try:
                picture = item.get_bitmap(render=False).to_pil().convert("L")
            except (pdfium.PdfiumError, ValueError):
                continue
            matrix = item.get_matrix()
            angle = math.degrees(math.atan2(matrix.b, matrix.a)) - page.get_rotation()
            yield picture, round(angle / _QUARTER) * _QUARTER % 360


def _may_show_letters(picture: Image.Image) -> bool:
    low, high = picture.getextrema()
    sides = picture.size
    return min(sides) >= _LEAST_SIDE and sides[0] * sides[1] >= _LEAST_AREA and low != high


def _bounded(picture: Image.Image) -> Image.Image:
    pixels = picture.width * picture.height
    if pixels <= _MOST_PIXELS:
        return picture
    return picture.reduce(math.ceil(math.sqrt(pixels / _MOST_PIXELS)))


def _without_ocr(large: int, undecodable: int) -> ReaderReport:
    if large or undecodable:
        result, detail = ChannelResult.NOT_PROVEN, f"no OCR is installed for {large} pictures"
    else:
        result, detail = ChannelResult.GONE, "no picture but small ones; those were not looked into"
    return ReaderReport("none", (ChannelVerdict(_CHANNEL, "none", result, detail),), ())


def _with_extent(row: ChannelVerdict, read: int, pictures: _Pictures) -> ChannelVerdict:
    if row.result is ChannelResult.FOUND:
        return row
    unread = len(pictures.images) - read + pictures.undecodable
    if unread:
        return ChannelVerdict(
            row.channel, row.reader, ChannelResult.NOT_PROVEN, f"{unread} pictures were not read"
        )
    detail = f"{row.detail}; {read} pictures were read"
    return ChannelVerdict(row.channel, row.reader, row.result, detail)
