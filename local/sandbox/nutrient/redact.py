"""Removes targets from a PDF for good: glyphs, strings, metadata, pictures, older revisions.

Order of work:
1. Every content stream is interpreted; pages, and content no page reaches, are units.
2. Targets are looked for in several readings of each unit, in pdfium's text, and by OCR where text
   may be drawn without being text.
3. Glyphs are cut, pictures painted, outlines dropped, a black box is drawn; strings, names,
   metadata, attachments and scripts are cleaned.
4. The file is written anew: what no object reaches is gone.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pikepdf
from pikepdf import Array, Dictionary, Name

from local.sandbox.nutrient import carriers, pdfium, pictures, saving, surgery
from local.sandbox.nutrient.content import (
    Content,
    ContentReader,
    Glyph,
    Unit,
    all_form_streams,
)
from local.sandbox.nutrient.errors import (
    SandboxError,
    TooLargeError,
    UnprocessableError,
    UnsupportedFileError,
)
from local.sandbox.nutrient.matching import (
    Reading,
    Target,
    by_position,
    found_values,
    literal_spans,
    pattern_spans,
    read,
    readings,
    squashed_spans,
)
from local.sandbox.nutrient.sightings import MAX_OCR_PAGES, Shape, Sightings, Spans, needs_ocr
from local.sandbox.nutrient.switches import HONEST, Switches

_BROKEN = (
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    pikepdf.DependencyError,
    struct.error,
)
Values = Mapping[str, Target]


def redact(
    pdf: bytes, targets: Sequence[Target], switches: Switches = HONEST, *, apply: bool = True
) -> bytes:
    """Return a copy of the document without the targets, or with marks on them.

    Args:
        pdf: Any PDF; an owner password is no obstacle, a user password is.
        targets: What to remove; nothing found is not an error.
        switches: Ways to do it wrong.
        apply: False only stages: redaction annotations over live text. True also applies the
            redaction annotations that are already there.

    Raises:
        UnsupportedFileError: It does not open.
        TooLargeError: Too many pages.
        UnprocessableError: It opens but its content cannot be worked on.
    """
    try:
        with pikepdf.open(io.BytesIO(pdf)) as document:
            return _Redactor(document, pdf, targets, switches).run(apply=apply)
    except SandboxError:
        raise
    except pikepdf.PasswordError as error:
        raise UnsupportedFileError("the PDF needs a password", path="document") from error
    except (pikepdf.PdfError, pikepdf.DataDecodingError) as error:
        raise UnsupportedFileError("the file cannot be opened as a PDF", path="document") from error
    except _BROKEN as error:
        # The object tree of an untrusted file may have any shape; a shape this module does not
        # expect is the file's fault and an answer, never a crash.
        raise UnprocessableError("the PDF has a broken structure", path="document") from error


@dataclass(slots=True)
class _Marks:
    """What was found on one unit.

    Attributes:
        unit: The unit.
        glyphs: To cut, in the order found.
        shapes: To paint over, in unit space.
    """

    unit: Unit
    glyphs: list[Glyph] = field(default_factory=list[Glyph])
    shapes: list[Shape] = field(default_factory=list[Shape])


class _Finder:
    """Finds targets on units."""

    def __init__(self, targets: Sequence[Target], switches: Switches) -> None:
        self._targets = targets
        self._switches = switches

    def values(self, texts: Sequence[str]) -> Values:
        return found_values(self._targets, texts)

    def readings(self, unit: Unit) -> list[Reading]:
        """Return the texts of a unit; the lie reads every shown string on its own."""
        if not self._switches.miss_split_values:
            return readings(unit)
        strings: dict[tuple[int, int, int], list[Glyph]] = {}
        for glyph in unit.glyphs:
            key = (id(glyph.content), glyph.operator, glyph.item)
            strings.setdefault(key, []).append(glyph)
        return [read(glyphs) for glyphs in strings.values()]

    def mark(self, unit: Unit, texts: Sequence[Reading], values: Values) -> _Marks:
        """Return the glyphs of every match, doubles included, each once."""
        _, doubles = by_position(unit.glyphs)
        taken: dict[int, Glyph] = {}
        spans = self.spans(unit.page_index, values)
        for reading in texts:
            for start, end in spans(reading.text):
                for glyph in reading.cut(start, end):
                    for one in (glyph, *doubles.get(id(glyph), ())):
                        taken.setdefault(id(one), one)
        glyphs = [glyph for glyph in taken.values() if not self.left_alone(glyph)]
        return _Marks(unit, glyphs, list(surgery.quads(glyphs)))

    def spans(self, page_index: int | None, values: Values) -> Spans:
        """Return a function that yields where any target matches in a text."""
        here = [t for t in self._targets if t.covers(page_index)]
        patterns = [pattern for t in here if (pattern := t.pattern()) is not None]
        literals = [(value, t) for value, t in values.items() if t.covers(page_index)]

        def all_spans(text: str) -> Iterator[tuple[int, int]]:
            for pattern in patterns:
                yield from pattern_spans(pattern, text)
            for value, target in literals:
                sensitive = target.case_sensitive
                if target.strategy == "text":
                    yield from literal_spans(value, text, case_sensitive=sensitive)
                if not self._switches.miss_split_values:
                    yield from squashed_spans(value, text, case_sensitive=sensitive)

        return all_spans

    def left_alone(self, glyph: Glyph) -> bool:
        return self._switches.ocr_layer_left and glyph.invisible


class _Redactor:
    """One run over one document."""

    def __init__(
        self,
        document: pikepdf.Pdf,
        original: bytes,
        targets: Sequence[Target],
        switches: Switches,
    ) -> None:
        if len(document.pages) > pdfium.MAX_PAGES:
            raise TooLargeError(f"the PDF has more than {pdfium.MAX_PAGES} pages", path="document")
        self._document = document
        self._original = original
        self._switches = switches
        self._targets = [
            t for t in targets if not (switches.preset_noop and t.strategy == "preset")
        ]
        self._finder = _Finder(self._targets, switches)
        self._reader = ContentReader()

    def run(self, *, apply: bool) -> bytes:
        marks, values = self._find(with_annotations=apply)
        if not apply or self._switches.staged_only:
            self._stage(marks)
        elif self._switches.boxes_only:
            self._cover(marks)
        else:
            self._remove(marks, values)
        if self._switches.watermark:
            saving.stamp(self._document)
        if self._switches.keep_old_revision:
            return saving.append(self._original, self._document)
        return saving.save(self._document)

    # finding

    def _find(self, *, with_annotations: bool) -> tuple[list[_Marks], Values]:
        units = self._units()
        texts = [self._finder.readings(unit) for unit in units]
        drawn = [reading.text for group in texts for reading in group]
        values = self._finder.values([*drawn, *self._strings()])
        marks = [
            self._finder.mark(unit, group, values) for unit, group in zip(units, texts, strict=True)
        ]
        if with_annotations:
            for mark in marks:
                self._add_shapes(mark, _annotated(self._page(mark.unit)))
        if not self._switches.miss_split_values:
            self._look_again(marks, values)
        return marks, values

    def _strings(self) -> Iterator[str]:
        if not self._switches.miss_metadata:
            yield from carriers.strings_of(self._document)
            for content in self._reader.all_contents():
                yield from carriers.operand_strings(content.instructions)

    def _units(self) -> list[Unit]:
        """Read all content; a page that is missed is read too, so that nobody else touches it."""
        units: list[Unit] = []
        for index, page in enumerate(self._document.pages):
            unit = self._reader.page(page, index)
            if index + 1 != self._switches.miss_page:
                units.append(unit)
        return [*units, *self._loose_units()]

    def _loose_units(self) -> Iterator[Unit]:
        for stream in all_form_streams(self._document):
            if stream.objgen not in self._reader.contents:
                yield self._reader.stream(stream, None, None)

    def _page(self, unit: Unit) -> pikepdf.Object | None:
        if unit.page_index is None:
            return None
        return self._document.pages[unit.page_index].obj

    def _look_again(self, marks: Sequence[_Marks], values: Values) -> None:
        """Add what pdfium and OCR see and the own readings missed."""
        with pdfium.opened(self._original) as opened:
            sightings = Sightings(opened)
            ocr_left = MAX_OCR_PAGES
            for mark in marks:
                index = mark.unit.page_index
                if index is None or index >= len(opened):
                    continue
                spans = self._finder.spans(index, values)
                self._add_shapes(mark, sightings.in_text(index, spans))
                if ocr_left and needs_ocr(mark.unit):
                    ocr_left -= 1
                    self._add_shapes(mark, sightings.in_picture(index, spans))

    def _add_shapes(self, mark: _Marks, shapes: Sequence[Shape]) -> None:
        """Add polygons and the glyphs whose middle they cover, where nothing is marked yet."""
        known = [(shape, surgery.bounds(shape)) for shape in mark.shapes]
        new = [shape for shape in shapes if not _is_known(shape, known)]
        if not new:
            return
        taken = {id(glyph) for glyph in mark.glyphs}
        for glyph in mark.unit.glyphs:
            if id(glyph) in taken or self._finder.left_alone(glyph):
                continue
            centre = glyph.centre()
            if any(surgery.covers(shape, centre) for shape in new):
                mark.glyphs.append(glyph)
        mark.shapes.extend(new)

    # changing

    def _remove(self, marks: Sequence[_Marks], values: Values) -> None:
        self._edit(marks)
        scrubber = carriers.Scrubber(values.items())
        boxes = {id(mark.unit.root): surgery.paint(mark.shapes) for mark in marks}
        for content in self._contents(marks):
            if not self._switches.miss_metadata:
                content.edited |= carriers.scrub_operands(content.instructions, scrubber)
            painted = boxes.get(id(content), b"")
            if content.edited or painted:
                surgery.store(self._document, content, painted)
                pictures.forget_unused(content)
        self._drop_marks()
        if not self._switches.miss_metadata:
            annotations = any(target.include_annotations for target in self._targets)
            carriers.scrub(self._document, scrubber, annotations=annotations)

    def _edit(self, marks: Sequence[_Marks]) -> None:
        book = surgery.EditBook()
        for mark in marks:
            book.cut(mark.glyphs)
            boxes = [(shape, surgery.bounds(shape)) for shape in mark.shapes]
            for picture in mark.unit.pictures:
                area = surgery.picture_bounds(picture)
                hit = [shape for shape, box in boxes if surgery.overlaps(box, area)]
                if hit:
                    pictures.paint_over(self._document, picture, hit, book)
            for drawing in mark.unit.drawings:
                if any(surgery.within(drawing.box, box) for _, box in boxes):
                    book.of(drawing.content).dropped.update(range(drawing.first, drawing.last + 1))
        book.make()

    def _contents(self, marks: Sequence[_Marks]) -> list[Content]:
        pages = [mark.unit.root for mark in marks if mark.unit.page_index is not None]
        return [*pages, *self._reader.contents.values()]

    def _cover(self, marks: Sequence[_Marks]) -> None:
        for mark in marks:
            if mark.shapes and mark.unit.page_index is not None:
                surgery.store(self._document, mark.unit.root, surgery.paint(mark.shapes))

    def _stage(self, marks: Sequence[_Marks]) -> None:
        for mark in marks:
            page = self._page(mark.unit)
            if page is None or not mark.shapes:
                continue
            if Name.Annots not in page:
                page[Name.Annots] = Array([])
            for shape in mark.shapes:
                page.Annots.append(self._document.make_indirect(self._mark(shape)))

    def _mark(self, shape: Shape) -> Dictionary:
        """Return a redaction annotation with a black appearance over one shape."""
        rect = Array([round(edge, 3) for edge in surgery.bounds(shape)])
        look = self._document.make_stream(surgery.paint([shape]))
        look.update(Dictionary(Type=Name.XObject, Subtype=Name.Form, BBox=rect))
        corners = [round(axis, 3) for n in (3, 2, 0, 1) for axis in shape[n]]
        return Dictionary(
            Type=Name.Annot,
            Subtype=Name.Redact,
            Rect=rect,
            QuadPoints=Array(corners),
            IC=Array([0, 0, 0]),
            F=4,
            AP=Dictionary(N=look),
        )

    def _drop_marks(self) -> None:
        for index, page in enumerate(self._document.pages):
            annotations = page.obj.get(Name.Annots)
            if annotations is None or index + 1 == self._switches.miss_page:
                continue
            kept = [one for one in annotations if not _is_mark(one)]
            if len(kept) < len(annotations):
                page.obj[Name.Annots] = Array(kept)


def _is_known(shape: Shape, known: Sequence[tuple[Shape, surgery.Box]]) -> bool:
    """Return True when a marked polygon already covers a shape from end to end.

    Heights are not compared: readers box the same letters tightly, loosely or by the font.
    """
    left, bottom, right, top = surgery.bounds(shape)
    middle = (bottom + top) / 2
    line = (left, middle, right, middle)
    return any(
        surgery.within(line, outer, slack=1.5)
        and surgery.covers(polygon, ((left + right) / 2, middle))
        for polygon, outer in known
    )


def _is_mark(annotation: object) -> bool:
    """Return True for a redaction annotation; arrays of annotations may hold anything."""
    if not isinstance(annotation, pikepdf.Dictionary):
        return False
    return annotation.get(Name.Subtype) == Name.Redact


def _annotated(page: pikepdf.Object | None) -> list[Shape]:
    """Return the areas of a page's redaction annotations."""
    shapes: list[Shape] = []
    for annotation in () if page is None else page.get(Name.Annots, ()):
        if not _is_mark(annotation):
            continue
        numbers = [float(n) for n in annotation.get(Name.QuadPoints, ())]
        for at in range(0, len(numbers) - 7, 8):
            a, b, c, d = (tuple(numbers[at + k : at + k + 2]) for k in (0, 2, 4, 6))
            shapes.append(((c[0], c[1]), (d[0], d[1]), (b[0], b[1]), (a[0], a[1])))
        if not numbers:
            left, bottom, right, top = (float(n) for n in annotation.Rect)
            shapes.append(((left, bottom), (right, bottom), (right, top), (left, top)))
    return shapes
