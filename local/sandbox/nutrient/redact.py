"""Removes targets from a PDF for good: glyphs, strings, metadata, pictures, older revisions."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pikepdf
from pikepdf import Array, Dictionary, Name

from local.sandbox.nutrient import carriers, surgery
from local.sandbox.nutrient.content import Content, ContentReader, Glyph, Point, Unit, all_form_streams
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
from local.sandbox.nutrient.switches import HONEST, Switches

MAX_PAGES = 400


@dataclass(slots=True)
class _Marks:
    """What was found on one unit: glyphs to cut and shapes to paint over."""

    unit: Unit
    glyphs: list[Glyph] = field(default_factory=list)
    shapes: list[tuple[Point, ...]] = field(default_factory=list)


def redact(
    pdf: bytes, targets: Sequence[Target], switches: Switches = HONEST, *, apply: bool = True
) -> bytes:
    """Return a copy of the document without the targets, or with marks on them.

    Args:
        pdf: Any PDF; an owner password is no obstacle, a user password is.
        targets: What to remove; nothing found is not an error.
        switches: Ways to do it wrong.
        apply: False only stages: redaction annotations over live text.

    Raises:
        UnsupportedFileError: It does not open.
        TooLargeError: Too many pages.
        UnprocessableError: It opens but its content cannot be worked on.
    """
    try:
        with pikepdf.open(io.BytesIO(pdf)) as document:
            return _Redactor(document, targets, switches).run(pdf, apply=apply)
    except SandboxError:
        raise
    except pikepdf.PasswordError as error:
        raise UnsupportedFileError("the PDF needs a password", path="document") from error
    except (pikepdf.PdfError, pikepdf.DataDecodingError) as error:
        raise UnsupportedFileError("the file cannot be opened as a PDF", path="document") from error
    except (ValueError, TypeError, KeyError, AttributeError, RuntimeError) as error:
        # The object tree of an untrusted file may have any shape; a shape this module does not
        # expect is the file's fault and an answer, never a crash.
        raise UnprocessableError("the PDF has a broken structure", path="document") from error


class _Redactor:
    def __init__(
        self, document: pikepdf.Pdf, targets: Sequence[Target], switches: Switches
    ) -> None:
        if len(document.pages) > MAX_PAGES:
            raise TooLargeError(f"the PDF has more than {MAX_PAGES} pages", path="document")
        self._document = document
        self._targets = [t for t in targets if not (switches.preset_noop and t.strategy == "preset")]
        self._switches = switches
        self._reader = ContentReader()

    def run(self, original: bytes, *, apply: bool) -> bytes:
        units = list(self._units())
        texts = {id(unit): self._readings(unit) for unit in units}
        values = self._values(texts.values())
        marks = [self._marks(unit, texts[id(unit)], values) for unit in units]
        if not apply or self._switches.staged_only:
            self._stage(marks)
        elif self._switches.boxes_only:
            self._cover(marks)
        else:
            self._remove(marks, values)
        return self._save(original)

    # finding

    def _units(self) -> Iterator[Unit]:
        for index, page in enumerate(self._document.pages):
            if index + 1 != self._switches.miss_page:
                yield self._reader.page(page, index)
        for stream in all_form_streams(self._document):
            if stream.objgen not in self._reader.contents:
                yield self._reader.stream(stream, None, None)

    def _readings(self, unit: Unit) -> list[Reading]:
        if not self._switches.miss_split_values:
            return readings(unit)
        by_operator: dict[tuple[int, int, int], list[Glyph]] = {}
        for glyph in unit.glyphs:
            key = (id(glyph.content), glyph.operator, glyph.item)
            by_operator.setdefault(key, []).append(glyph)
        return [read(glyphs) for glyphs in by_operator.values()]

    def _values(self, texts: Iterator[list[Reading]] | object) -> dict[str, Target]:
        drawn = [reading.text for group in texts for reading in group]  # type: ignore[attr-defined]
        return found_values(self._targets, [*drawn, *carriers.strings_of(self._document)])

    def _marks(
        self, unit: Unit, texts: Sequence[Reading], values: dict[str, Target]
    ) -> _Marks:
        _, doubles = by_position(unit.glyphs)
        marks = _Marks(unit)
        taken: set[int] = set()
        for reading in texts:
            for start, end in self._spans(unit, reading.text, values):
                for glyph in reading.cut(start, end):
                    for one in (glyph, *doubles.get(id(glyph), ())):
                        if id(one) not in taken and not self._left_alone(one):
                            taken.add(id(one))
                            marks.glyphs.append(one)
        marks.shapes.extend(surgery.quads(marks.glyphs))
        return marks

    def _spans(
        self, unit: Unit, text: str, values: dict[str, Target]
    ) -> Iterator[tuple[int, int]]:
        for target in self._targets:
            pattern = target.pattern()
            if pattern is not None and target.covers(unit.page_index):
                yield from pattern_spans(pattern, text)
        for value, target in values.items():
            if not target.covers(unit.page_index):
                continue
            sensitive = target.case_sensitive
            if target.strategy == "text":
                yield from literal_spans(value, text, case_sensitive=sensitive)
            if not self._switches.miss_split_values:
                yield from squashed_spans(value, text, case_sensitive=sensitive)

    def _left_alone(self, glyph: Glyph) -> bool:
        return self._switches.ocr_layer_left and glyph.invisible

    # changing

    def _remove(self, marks: Sequence[_Marks], values: dict[str, Target]) -> None:
        scrubber = carriers.Scrubber(values.items())
        surgery.cut_glyphs(glyph for mark in marks for glyph in mark.glyphs)
        boxes = {id(mark.unit.root): surgery.paint(mark.shapes) for mark in marks}
        for content in self._contents(marks):
            if not self._switches.miss_metadata:
                content.edited |= carriers.scrub_operands(content.instructions, scrubber)
            painted = boxes.get(id(content), b"")
            if content.edited or painted:
                surgery.store(self._document, content, painted)
        if not self._switches.miss_metadata:
            annotations = any(target.include_annotations for target in self._targets)
            carriers.scrub(self._document, scrubber, annotations=annotations)

    def _contents(self, marks: Sequence[_Marks]) -> list[Content]:
        return [*(mark.unit.root for mark in marks if mark.unit.page_index is not None),
                *self._reader.contents.values()]

    def _cover(self, marks: Sequence[_Marks]) -> None:
        for mark in marks:
            if mark.shapes and mark.unit.page_index is not None:
                surgery.store(self._document, mark.unit.root, surgery.paint(mark.shapes))

    def _stage(self, marks: Sequence[_Marks]) -> None:
        for mark in marks:
            if mark.unit.page_index is None:
                continue
            page = self._document.pages[mark.unit.page_index].obj
            annotations = page.get(Name.Annots)
            if annotations is None:
                page[Name.Annots] = annotations = Array([])
            for shape in mark.shapes:
                annotations.append(self._document.make_indirect(self._mark(shape)))

    def _mark(self, shape: Sequence[Point]) -> Dictionary:
        """Return a redaction annotation with a black appearance over one shape."""
        left, bottom, right, top = surgery.bounds(shape)
        rect = Array([round(edge, 3) for edge in (left, bottom, right, top)])
        look = self._document.make_stream(surgery.paint([shape]))
        look[Name.Type], look[Name.Subtype] = Name.XObject, Name.Form
        look[Name.BBox] = rect
        corners = [round(axis, 3) for n in (3, 2, 0, 1) for axis in shape[n]]
        return Dictionary(
            Type=Name.Annot,
            Subtype=Name.Redact,
            Rect=rect,
            QuadPoints=Array(corners),
            IC=Array([0, 0, 0]),
            F=4,
            AP=Dictionary(N=self._document.make_indirect(look)),
        )

    # saving

    def _save(self, original: bytes) -> bytes:
        target = io.BytesIO()
        self._document.remove_unreferenced_resources()
        self._document.save(
            target,
            deterministic_id=not self._document.is_encrypted,
            encryption=False,
            object_stream_mode=pikepdf.ObjectStreamMode.generate,
            compress_streams=True,
        )
        return target.getvalue()
