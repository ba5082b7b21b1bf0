"""Paints over parts of images: decoded, painted, encoded anew; dropped where that cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pikepdf
from pikepdf import Dictionary, Name
from PIL import Image, ImageDraw

from local.sandbox.nutrient.content import Content, Picture, Point
from local.sandbox.nutrient.surgery import EditBook

_MAX_PIXELS = 60_000_000
_SMALLEST_AREA = 1e-9


def paint_over(
    pdf: pikepdf.Pdf, picture: Picture, shapes: Sequence[Sequence[Point]], book: EditBook
) -> None:
    """Replace one placed image by a copy that is black under the shapes.

    Args:
        pdf: The document.
        picture: Where and what.
        shapes: Polygons in the picture's unit space.
        book: Where the change is noted.
    """
    edits = book.of(picture.content)
    painted = _painted(pdf, picture, shapes)
    if painted is None:
        edits.dropped.add(picture.operator)
        return
    edits.drawn_instead[picture.operator] = _add_resource(picture.content, painted)


def _painted(
    pdf: pikepdf.Pdf, picture: Picture, shapes: Sequence[Sequence[Point]]
) -> pikepdf.Object | None:
    """Return the new image object, None when the old one cannot be decoded or placed."""
    decoded = _decode(picture)
    if decoded is None:
        return None
    polygons = _in_pixels(picture, shapes, decoded.size)
    if polygons is None:
        return None
    is_mask = picture.image is not None and bool(picture.image.get(Name.ImageMask, False))
    if is_mask:
        return _paint_mask(pdf, picture, decoded, polygons)
    image = decoded.convert("L" if decoded.mode in ("1", "L") else "RGB")
    _draw(image, polygons, 0)
    made = _stream(pdf, image)
    soft = None if picture.image is None else picture.image.get(Name.SMask)
    if isinstance(soft, pikepdf.Stream):
        made[Name.SMask] = _paint_soft_mask(pdf, picture, soft, shapes)
    return made


def _decode(picture: Picture) -> Image.Image | None:
    source: Any = picture.image
    if source is None:
        source = picture.content.instructions[picture.operator].iimage
    elif int(source.get(Name.Width, 0)) * int(source.get(Name.Height, 0)) > _MAX_PIXELS:
        return None
    else:
        source = pikepdf.PdfImage(source)
    # Decoders raise whatever they trip over; an image that cannot be decoded is dropped.
    try:
        return source.as_pil_image()  # type: ignore[no-any-return]
    except Exception:  # noqa: BLE001 - see above
        return None


def _in_pixels(
    picture: Picture, shapes: Sequence[Sequence[Point]], size: tuple[int, int]
) -> list[list[Point]] | None:
    a, b, c, d, e, f = picture.matrix
    area = a * d - b * c
    if abs(area) < _SMALLEST_AREA:
        return None
    polygons: list[list[Point]] = []
    for shape in shapes:
        unit = [
            ((d * (x - e) - c * (y - f)) / area, (a * (y - f) - b * (x - e)) / area)
            for x, y in shape
        ]
        polygons.append([(u * size[0], (1 - v) * size[1]) for u, v in unit])
    return polygons


def _draw(image: Image.Image, polygons: Sequence[Sequence[Point]], fill: int) -> None:
    pen = ImageDraw.Draw(image)
    for polygon in polygons:
        colour = fill if image.mode in ("1", "L") else (fill, fill, fill)
        pen.polygon([(round(x), round(y)) for x, y in polygon], fill=colour, outline=colour)


def _paint_mask(
    pdf: pikepdf.Pdf, picture: Picture, image: Image.Image, polygons: Sequence[Sequence[Point]]
) -> pikepdf.Object:
    """Return a stencil mask that paints nothing under the shapes; the box there is drawn later."""
    source = picture.image
    inverted = source is not None and list(source.get(Name.Decode, [0, 1])) == [1, 0]
    stencil = image.convert("1")
    _draw(stencil, polygons, 0 if inverted else 255)
    made = pdf.make_stream(stencil.tobytes())
    made.update(
        Dictionary(
            Type=Name.XObject,
            Subtype=Name.Image,
            Width=stencil.width,
            Height=stencil.height,
            ImageMask=True,
            BitsPerComponent=1,
            Decode=[1, 0] if inverted else [0, 1],
        )
    )
    return made


def _paint_soft_mask(
    pdf: pikepdf.Pdf, picture: Picture, mask: pikepdf.Object, shapes: Sequence[Sequence[Point]]
) -> pikepdf.Object:
    placed = Picture(None, mask, picture.matrix, picture.content, picture.operator)
    decoded = _decode(placed)
    polygons = None if decoded is None else _in_pixels(placed, shapes, decoded.size)
    if decoded is None or polygons is None:
        return _stream(pdf, Image.new("L", (1, 1), 255))
    image = decoded.convert("L")
    _draw(image, polygons, 255)
    return _stream(pdf, image)


def _stream(pdf: pikepdf.Pdf, image: Image.Image) -> pikepdf.Object:
    made = pdf.make_stream(image.tobytes())
    made.update(
        Dictionary(
            Type=Name.XObject,
            Subtype=Name.Image,
            Width=image.width,
            Height=image.height,
            ColorSpace=Name.DeviceGray if image.mode == "L" else Name.DeviceRGB,
            BitsPerComponent=8,
        )
    )
    return made


def _add_resource(content: Content, image: pikepdf.Object) -> str:
    """Give a content its own resource dictionary with one more image; return the image's name."""
    resources = _copy(content.resources)
    xobjects = _copy(resources.get(Name.XObject))
    number = 1
    while f"/Painted{number}" in xobjects:
        number += 1
    name = f"/Painted{number}"
    xobjects[name] = image
    resources[Name.XObject] = xobjects
    content.holder[Name.Resources] = resources
    content.resources = resources
    return name


def _copy(entries: pikepdf.Object | None) -> Dictionary:
    return Dictionary({} if entries is None else dict(entries.items()))


def forget_unused(content: Content) -> None:
    """Take images and forms that a content no longer draws out of its own resources."""
    xobjects = None if content.resources is None else content.resources.get(Name.XObject)
    if xobjects is None:
        return
    for name, _ in list(xobjects.items()):
        if not content.uses(name):
            del xobjects[name]
