"""Takes glyphs out of shown strings and leaves every neighbour where it stood.

A cut string becomes a TJ array whose number moves the pen exactly as the removed glyphs did
(ISO 32000-2, 9.4.3). Nothing of a removed code stays in the file.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pikepdf
from pikepdf import ContentStreamInstruction, Name, Operator

from local.sandbox.nutrient.content import Content, Glyph, Picture, Point, name_of

Box = tuple[float, float, float, float]
_Cuts = dict[int, list[tuple[int, int, float]]]


@dataclass(slots=True)
class Edits:
    """What shall change in one content, by operator index of its parsed form.

    Attributes:
        content: The content.
        cuts: Byte ranges to remove from shown strings, with the pen movement that replaces them.
        dropped: Operators to leave out.
        drawn_instead: XObject names to draw in place of an image operator.
    """

    content: Content
    cuts: dict[int, _Cuts] = field(default_factory=dict[int, _Cuts])
    dropped: set[int] = field(default_factory=set[int])
    drawn_instead: dict[int, str] = field(default_factory=dict[int, str])

    def cut(self, glyph: Glyph) -> None:
        """Mark one glyph for removal."""
        items = self.cuts.setdefault(glyph.operator, defaultdict(list))
        items[glyph.item].append((glyph.start, glyph.end, glyph.adjustment))

    def make(self) -> None:
        """Rewrite the content's instructions."""
        rewritten: list[Any] = []
        for index, instruction in enumerate(self.content.instructions):
            if index in self.dropped:
                continue
            if index in self.cuts:
                rewritten.extend(_without(instruction, self.cuts[index]))
            elif index in self.drawn_instead:
                name = Name(self.drawn_instead[index])
                rewritten.append(ContentStreamInstruction([name], Operator("Do")))
            else:
                rewritten.append(instruction)
        self.content.instructions = rewritten
        self.content.edited = True


class EditBook:
    """The edits of a whole document, one set for each content."""

    def __init__(self) -> None:
        self._edits: dict[int, Edits] = {}

    def of(self, content: Content) -> Edits:
        """Return the edits of one content."""
        return self._edits.setdefault(id(content), Edits(content))

    def cut(self, glyphs: Iterable[Glyph]) -> None:
        """Mark glyphs for removal; a form drawn twice shows the same code as two glyphs."""
        seen: set[tuple[int, int, int, int]] = set()
        for glyph in glyphs:
            place = (id(glyph.content), glyph.operator, glyph.item, glyph.start)
            if place not in seen:
                seen.add(place)
                self.of(glyph.content).cut(glyph)

    def make(self) -> None:
        """Make all edits."""
        for edits in self._edits.values():
            edits.make()


def _without(instruction: Any, cuts: _Cuts) -> list[Any]:  # noqa: ANN401 - pikepdf instruction
    operator, operands = name_of(instruction.operator), list(instruction.operands)
    items = list(operands[0]) if operator == "TJ" else [operands[-1]]
    array = _Array()
    for position, item in enumerate(items):
        if isinstance(item, pikepdf.String):
            array.add_string(bytes(item), cuts.get(position, []))
        else:
            array.add_number(float(item))
    shown = ContentStreamInstruction([array.finish()], Operator("TJ"))
    return [*_line_moves(operator, operands), shown]


def _line_moves(operator: str, operands: Sequence[Any]) -> list[Any]:
    """Return what `'` and `"` do before they show."""
    moves: list[Any] = []
    if operator == '"':
        moves.append(ContentStreamInstruction([operands[0]], Operator("Tw")))
        moves.append(ContentStreamInstruction([operands[1]], Operator("Tc")))
    if operator in ("'", '"'):
        moves.append(ContentStreamInstruction([], Operator("T*")))
    return moves


class _Array:
    """Builds one TJ array; numbers in a row are added up."""

    def __init__(self) -> None:
        self._items: list[Any] = []
        self._pending = 0.0

    def add_number(self, number: float) -> None:
        self._pending += number

    def add_string(self, shown: bytes, cuts: Iterable[tuple[int, int, float]]) -> None:
        at = 0
        for start, end, adjustment in sorted(cuts):
            self._add_bytes(shown[at:start])
            self._pending += adjustment
            at = end
        self._add_bytes(shown[at:])

    def _add_bytes(self, part: bytes) -> None:
        if part:
            self._flush()
            self._items.append(pikepdf.String(part))

    def _flush(self) -> None:
        if self._pending:
            self._items.append(Decimal(f"{self._pending:.4f}"))
            self._pending = 0.0

    def finish(self) -> pikepdf.Array:
        self._flush()
        return pikepdf.Array(self._items)


def store(pdf: pikepdf.Pdf, content: Content, appended: bytes = b"") -> None:
    """Write a content back to where it came from, with black boxes behind it for pages."""
    body = pikepdf.unparse_content_stream(content.instructions)
    if isinstance(content.holder, pikepdf.Stream):
        content.holder.write(body)
        return
    closing = b" Q" * (content.open_states + 1)
    content.holder[Name.Contents] = pdf.make_stream(
        b"q\n" + body + b"\n" + closing + b"\n" + appended
    )


def quads(glyphs: Sequence[Glyph]) -> list[tuple[Point, ...]]:
    """Return oriented boxes over glyphs, one for each run of neighbours on a line."""
    out: list[tuple[Point, ...]] = []
    run: list[Glyph] = []
    for glyph in glyphs:
        if run and not _continues(run[-1], glyph):
            out.append(_quad(run))
            run = []
        run.append(glyph)
    if run:
        out.append(_quad(run))
    return out


def _continues(last: Glyph, following: Glyph) -> bool:
    if last.vertical or following.vertical:
        return False
    same = all(
        math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-6)
        for a, b in zip(last.matrix[:4], following.matrix[:4], strict=True)
    )
    if not same:
        return False
    (x, y), size = last.origin, last.size or 1.0
    dx, dy = following.origin[0] - x, following.origin[1] - y
    length = math.hypot(*last.matrix[:2]) or 1.0
    ux, uy = last.matrix[0] / length, last.matrix[1] / length
    along, across = dx * ux + dy * uy, dy * ux - dx * uy
    gap = along - last.gap_free * length
    return abs(across) < 0.1 * size and abs(gap) < 0.15 * size


def _quad(run: Sequence[Glyph]) -> tuple[Point, ...]:
    first, last = run[0].corners(), run[-1].corners()
    return (first[0], last[1], last[2], first[3])


def paint(shapes: Iterable[Sequence[Point]], colour: str = "0 0 0") -> bytes:
    """Return operators that fill polygons."""
    lines: list[str] = []
    for shape in shapes:
        path = " ".join(f"{x:.3f} {y:.3f} {'l' if n else 'm'}" for n, (x, y) in enumerate(shape))
        lines.append(f"{path} h f")
    return f"q {colour} rg\n".encode() + "\n".join(lines).encode() + b"\nQ\n" if lines else b""


def bounds(shape: Sequence[Point]) -> Box:
    """Return the upright box around a polygon."""
    xs, ys = [p[0] for p in shape], [p[1] for p in shape]
    return min(xs), min(ys), max(xs), max(ys)


def overlaps(a: Box, b: Box) -> bool:
    """Return True when two boxes share area."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def within(inner: Box, outer: Box, slack: float = 1.0) -> bool:
    """Return True when a box lies inside another, give or take `slack` points."""
    return (
        inner[0] >= outer[0] - slack
        and inner[1] >= outer[1] - slack
        and inner[2] <= outer[2] + slack
        and inner[3] <= outer[3] + slack
    )


def covers(shape: Sequence[Point], point: Point) -> bool:
    """Return True when a point lies in a convex polygon."""
    x, y = point
    turns = [
        (bx - ax) * (y - ay) - (by - ay) * (x - ax)
        for (ax, ay), (bx, by) in zip(shape, [*shape[1:], shape[0]], strict=True)
    ]
    if not any(turns):
        return False  # a polygon without area, such as the box of a generated space
    return all(turn >= 0 for turn in turns) or all(turn <= 0 for turn in turns)


def picture_bounds(picture: Picture) -> Box:
    """Return the upright box of a placed picture."""
    a, b, c, d, e, f = picture.matrix
    return bounds(((e, f), (e + a, f + b), (e + c, f + d), (e + a + c, f + b + d)))
