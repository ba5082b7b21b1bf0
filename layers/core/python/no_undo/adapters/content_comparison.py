"""Compares a signed PDF with the approved one, outside the signature boxes; child process only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from PIL import Image, ImageChops, ImageDraw

from no_undo.adapters.pdfium_reader import Box, open_pdf, page_words, place_on_page, tag_places

_SCALE: Final = 1.5  # pixels per point
_SAME_PLACE_POINTS: Final = 3.0
_CHANGED_LEVEL: Final = 96  # of 255: re-encoded edges stay below, a changed letter does not
_CHANGED_PIXELS: Final = 12  # a full stop of 6 pt text has more
_SPACES: Final = re.compile(r"\s+")


def compare_content(
    arguments: Mapping[str, Any], documents: Sequence[bytes]
) -> tuple[dict[str, list[str]], Sequence[bytes]]:
    """Say how the second PDF differs from the first.

    Args:
        arguments: `max_pages`.
        documents: The approved and the signed PDF.
    """
    approved, signed = documents
    most = arguments["max_pages"]
    with open_pdf(approved, max_pages=most) as old, open_pdf(signed, max_pages=2 * most) as new:
        for pdf in (old, new):
            pdf.init_forms()
        problems = list(_differences(old, new))
    return {"problems": problems}, ()


def _differences(old: pdfium.PdfDocument, new: pdfium.PdfDocument) -> Iterator[str]:
    if len(old) != len(new):
        yield f"it has {len(new)} pages; {len(old)} were approved"
    for index in range(min(len(old), len(new))):
        for difference in _page_differences(old[index], new[index]):
            yield f"page {index + 1}: {difference}"


def _page_differences(old: pdfium.PdfPage, new: pdfium.PdfPage) -> Iterator[str]:
    if any(abs(a - b) > 1 for a, b in zip(old.get_size(), new.get_size(), strict=True)):
        yield "it has another size"
        return
    fields = [*tag_places(old), *_signature_widgets(old)]
    boxes = [_grown(box) for box in fields]
    approved, shown = _words(old), _words(new)
    lost = _unmatched([word for word in approved if not _in_any(word[1], fields)], shown)
    added = _unmatched([word for word in shown if not _in_any(word[1], boxes)], approved)
    if lost or added:
        yield f"{lost} approved words are missing or moved, {added} words are new"
    if _changed_pixels(old, new, boxes) > _CHANGED_PIXELS:
        yield "it looks different outside the signature boxes"


_Word = tuple[str, Box]


def _words(page: pdfium.PdfPage) -> list[_Word]:
    return [(text, place_on_page(page, box)) for text, box in page_words(page)]


def _unmatched(words: Sequence[_Word], others: Sequence[_Word]) -> int:
    """Count the words that the other page does not show in the same place."""
    places: dict[str, list[Box]] = {}
    for text, box in others:
        places.setdefault(text, []).append(box)
    return sum(not any(_near(box, other) for other in places.get(text, ())) for text, box in words)


def _near(one: Box, other: Box) -> bool:
    return all(abs(a - b) < _SAME_PLACE_POINTS for a, b in zip(one[:2], other[:2], strict=True))


def _grown(box: Box) -> Box:
    """Return the box with its own height added on every side."""
    x, y, width, height = box
    return x - height, y - height, width + 2 * height, height * 3


def _in_any(box: Box, boxes: Sequence[Box]) -> bool:
    """Say whether the middle of a box lies in one of the others."""
    x, y = box[0] + box[2] / 2, box[1] + box[3] / 2
    return any(
        left <= x <= left + width and top <= y <= top + height for left, top, width, height in boxes
    )


def _signature_widgets(page: pdfium.PdfPage) -> Iterator[Box]:
    """Yield the places of the page's signature form fields."""
    form = page.pdf.formenv
    for index in range(pdfium_c.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium_c.FPDFPage_GetAnnot(page, index)
        rectangle = pdfium_c.FS_RECTF()
        if (
            form is not None
            and pdfium_c.FPDFAnnot_GetFormFieldType(form, annotation)
            == pdfium_c.FPDF_FORMFIELD_SIGNATURE
            and pdfium_c.FPDFAnnot_GetRect(annotation, rectangle)
        ):
            box = (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
            yield place_on_page(page, box)
        pdfium_c.FPDFPage_CloseAnnot(annotation)


def _changed_pixels(old: pdfium.PdfPage, new: pdfium.PdfPage, boxes: Sequence[Box]) -> int:
    pictures: list[Image.Image] = []
    for page in (old, new):
        picture: Image.Image = page.render(scale=_SCALE, grayscale=True).to_pil()
        pen = ImageDraw.Draw(picture)
        for box in boxes:
            x, y, width, height = (side * _SCALE for side in box)
            pen.rectangle((x, y, x + width, y + height), fill=255)
        pictures.append(picture)
    first, second = pictures
    common = (0, 0, min(first.width, second.width), min(first.height, second.height))
    return sum(
        ImageChops.difference(first.crop(common), second.crop(common)).histogram()[_CHANGED_LEVEL:]
    )
