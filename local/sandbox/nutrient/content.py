"""Interprets content streams far enough to know where every glyph and picture stands.

Pages, form XObjects, tiling patterns, soft masks and annotation appearances are all content. Each
is parsed once and edited in place: what is cut from a form is cut wherever the form is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pikepdf
from pikepdf import Name

from local.sandbox.nutrient.errors import UnprocessableError
from local.sandbox.nutrient.fonts import FontCache, GlyphFont

Matrix = tuple[float, float, float, float, float, float]
Point = tuple[float, float]

IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
_MAX_DEPTH = 12
_MAX_OPERATORS = 2_000_000
_MAX_GLYPHS = 2_000_000
_MAX_STATES = 512
_MAX_PARENTS = 64
_INVISIBLE = 3  # text render mode: neither filled nor stroked
_MATRIX_NUMBERS = 6


def multiply(m: Matrix, n: Matrix) -> Matrix:
    """Return the matrix that applies `m` first, then `n` (row vectors, ISO 32000-2, 8.3.4)."""
    return (
        m[0] * n[0] + m[1] * n[2],
        m[0] * n[1] + m[1] * n[3],
        m[2] * n[0] + m[3] * n[2],
        m[2] * n[1] + m[3] * n[3],
        m[4] * n[0] + m[5] * n[2] + n[4],
        m[4] * n[1] + m[5] * n[3] + n[5],
    )


def apply(m: Matrix, x: float, y: float) -> Point:
    """Return the point `(x, y)` as `m` places it."""
    return m[0] * x + m[2] * y + m[4], m[1] * x + m[3] * y + m[5]


def name_of(value: Any) -> str:  # noqa: ANN401 - PDF values
    """Return a name or operator as text, whatever bytes it is made of."""
    try:
        return str(value)
    except UnicodeDecodeError:
        return str(value.unparse().decode("latin-1"))


@dataclass(slots=True)
class Content:
    """One parsed content stream.

    Attributes:
        holder: The page dictionary or the stream object it came from.
        resources: Names used in it.
        instructions: Parsed operators; replaced when something is cut.
        open_states: How many `q` are left open at its end.
        edited: True once an instruction was changed.
    """

    holder: pikepdf.Object
    resources: pikepdf.Object | None
    instructions: list[Any]
    open_states: int = 0
    edited: bool = False

    def uses(self, name: str) -> bool:
        """Return True when a `Do` of this content names an XObject."""
        return any(
            name_of(one.operator) == "Do" and name_of(one.operands[0]) == name
            for one in self.instructions
            if not isinstance(one, pikepdf.ContentStreamInlineImage) and len(one.operands)
        )


@dataclass(slots=True, eq=False)
class Glyph:
    """One shown glyph.

    Attributes:
        text: What readers say it is.
        alt: What the font draws where that differs.
        matrix: Glyph space of size 1 to the space of the unit (page or appearance).
        width: Advance for size 1, spacing not included.
        gap_free: Advance for size 1 including character and word spacing.
        ascent: Of the font, size 1.
        descent: Of the font, size 1, negative.
        vertical: True when the advance goes along y.
        invisible: True for render mode 3.
        content: Where it is shown.
        operator: Index into the content's instructions.
        item: Index into a TJ array; 0 for the other operators.
        start: First byte of its code in that string.
        end: One past the last byte.
        adjustment: The TJ number that moves the pen as this glyph did.
    """

    text: str
    alt: str
    matrix: Matrix
    width: float
    gap_free: float
    ascent: float
    descent: float
    vertical: bool
    invisible: bool
    content: Content
    operator: int
    item: int
    start: int
    end: int
    adjustment: float

    @property
    def origin(self) -> Point:
        """Where the pen stood."""
        return self.matrix[4], self.matrix[5]

    @property
    def size(self) -> float:
        """Height of one em in unit space."""
        return float((self.matrix[2] ** 2 + self.matrix[3] ** 2) ** 0.5)

    def corners(self) -> tuple[Point, Point, Point, Point]:
        """Return the oriented box from descent to ascent, in unit space."""
        if self.vertical:
            sides = (-0.5, 0.5, min(0.0, self.width), 0.0)
        else:
            sides = (min(0.0, self.width), max(0.0, self.width), self.descent, self.ascent)
        left, right, bottom, top = sides
        return (
            apply(self.matrix, left, bottom),
            apply(self.matrix, right, bottom),
            apply(self.matrix, right, top),
            apply(self.matrix, left, top),
        )

    def centre(self) -> Point:
        """Return the middle of its box."""
        corners = self.corners()
        return sum(c[0] for c in corners) / 4, sum(c[1] for c in corners) / 4


@dataclass(slots=True, eq=False)
class Picture:
    """One placed image; `matrix` maps the unit square to unit space; inline ones have no name."""

    name: str | None
    image: pikepdf.Object | None
    matrix: Matrix
    content: Content
    operator: int


@dataclass(slots=True, eq=False)
class Drawing:
    """One painted subpath: its bounding box in unit space and its construction operators."""

    box: tuple[float, float, float, float]
    content: Content
    first: int
    last: int


@dataclass(slots=True)
class Unit:
    """Everything drawn by one page, or by one piece of content that stands alone.

    Attributes:
        page_index: The page, or None for content not placed on a page.
        root: The content walked first.
        glyphs: In draw order.
        pictures: In draw order.
        drawings: In draw order.
        unreadable: How many glyphs no map explains.
    """

    page_index: int | None
    root: Content
    glyphs: list[Glyph] = field(default_factory=list[Glyph])
    pictures: list[Picture] = field(default_factory=list[Picture])
    drawings: list[Drawing] = field(default_factory=list[Drawing])
    unreadable: int = 0


@dataclass(slots=True)
class _State:
    ctm: Matrix = IDENTITY
    font: GlyphFont | None = None
    size: float = 0.0
    char_space: float = 0.0
    word_space: float = 0.0
    scale: float = 1.0
    leading: float = 0.0
    rise: float = 0.0
    mode: int = 0


class ContentReader:
    """Reads all content of one document; every stream is parsed once."""

    def __init__(self) -> None:
        self.contents: dict[tuple[int, int], Content] = {}
        self._pages: list[Content] = []
        self._fonts = FontCache()
        self._operators = 0
        self._glyphs = 0

    def page(self, page: pikepdf.Page, index: int) -> Unit:
        """Read one page.

        Raises:
            UnprocessableError: The content cannot be parsed, or is out of bounds.
        """
        resources = page.obj.get(Name.Resources) or _inherited(page.obj, Name.Resources)
        content = self._parse(page.obj, page, resources)
        self._pages.append(content)
        unit = Unit(index, content)
        _Walk(self, unit).run(content, _State(), 0)
        return unit

    def stream(
        self, stream: pikepdf.Object, page_index: int | None, resources: pikepdf.Object | None
    ) -> Unit:
        """Read one stream that is not reached from a page's content."""
        content = self.form(stream, resources)
        unit = Unit(page_index, content)
        _Walk(self, unit).run(content, _State(), 0)
        return unit

    def form(self, stream: pikepdf.Object, fallback: pikepdf.Object | None) -> Content:
        """Return the parsed content of a form, pattern or appearance, the same object each time."""
        key = stream.objgen
        if key not in self.contents:
            resources = stream.get(Name.Resources)
            self.contents[key] = self._parse(
                stream, stream, fallback if resources is None else resources
            )
        return self.contents[key]

    def all_contents(self) -> list[Content]:
        """Return everything read so far, pages first."""
        return [*self._pages, *self.contents.values()]

    def font(self, font: pikepdf.Object | None) -> GlyphFont:
        """Return the decoder of a font."""
        return self._fonts.get(font)

    def count_glyph(self) -> None:
        """Count one glyph against the document's bound."""
        self._glyphs += 1
        if self._glyphs > _MAX_GLYPHS:
            raise UnprocessableError(f"more than {_MAX_GLYPHS} glyphs", path="document")

    def count_operators(self, number: int) -> None:
        """Count operators about to run; forms drawn by forms multiply, so runs count, not bytes."""
        self._operators += number
        if self._operators > _MAX_OPERATORS:
            raise UnprocessableError(f"more than {_MAX_OPERATORS} operators", path="document")

    def _parse(self, holder: pikepdf.Object, source: Any, resources: Any) -> Content:  # noqa: ANN401
        try:
            instructions = list(pikepdf.parse_content_stream(source))
        except (pikepdf.PdfError, TypeError, ValueError) as error:
            raise UnprocessableError("a content stream is broken", path="document") from error
        return Content(holder, resources, instructions)


def _inherited(page: pikepdf.Object, key: Name) -> pikepdf.Object | None:
    node, steps = page, 0
    while Name.Parent in node and steps < _MAX_PARENTS:
        node, steps = node.Parent, steps + 1
        if key in node:
            return node[key]
    return None


class _Walk:
    """Runs operators of one unit, descending into forms, patterns and soft masks."""

    def __init__(self, reader: ContentReader, unit: Unit) -> None:
        self._reader = reader
        self._unit = unit
        self._active: list[int] = []
        self._patterns: set[tuple[int, int]] = set()

    def run(self, content: Content, state: _State, depth: int) -> None:
        if depth > _MAX_DEPTH or id(content) in self._active:
            return
        self._reader.count_operators(len(content.instructions))
        self._active.append(id(content))
        _Run(self, content, state, depth).all()
        self._active.pop()

    def descend(
        self,
        stream: Any,  # noqa: ANN401 - PDF values
        parent: Content,
        state: _State,
        depth: int,
    ) -> None:
        """Walk a form XObject, pattern or group with its own matrix applied first."""
        if not isinstance(stream, pikepdf.Stream):
            return
        content = self._reader.form(stream, parent.resources)
        matrix = _matrix_of(stream.get(Name.Matrix))
        self.run(content, replace(state, ctm=multiply(matrix, state.ctm)), depth + 1)

    def pattern(self, stream: Any, parent: Content, depth: int) -> None:  # noqa: ANN401
        """Walk a tiling pattern once; it is placed relative to the unit, not to the CTM."""
        if isinstance(stream, pikepdf.Stream) and stream.objgen not in self._patterns:
            self._patterns.add(stream.objgen)
            self.descend(stream, parent, _State(), depth)

    def font(self, font: pikepdf.Object | None) -> GlyphFont:
        return self._reader.font(font)

    def add_glyph(self, glyph: Glyph) -> None:
        self._reader.count_glyph()
        self._unit.unreadable += not glyph.text and not glyph.alt
        self._unit.glyphs.append(glyph)

    @property
    def unit(self) -> Unit:
        return self._unit


class _Run:
    """One pass over one content stream: graphics state, text state, text objects."""

    def __init__(self, walk: _Walk, content: Content, state: _State, depth: int) -> None:
        self._walk = walk
        self._content = content
        self._state = state
        self._depth = depth
        self._stack: list[_State] = []
        self._tm = self._line = IDENTITY
        self._paths: list[Drawing] = []
        self._at = 0

    def all(self) -> None:
        for at, instruction in enumerate(self._content.instructions):
            self._at = at
            if isinstance(instruction, pikepdf.ContentStreamInlineImage):
                self._place_picture(None, None)
                continue
            handler = _HANDLERS.get(name_of(instruction.operator))
            if handler is not None:
                # A malformed operand makes viewers skip the operator; so does this.
                try:
                    handler(self, list(instruction.operands))
                except (TypeError, ValueError, IndexError, KeyError, AttributeError):
                    continue
        self._content.open_states = len(self._stack)

    # graphics state

    def save(self, _: list[Any]) -> None:
        if len(self._stack) < _MAX_STATES:
            self._stack.append(replace(self._state))

    def restore(self, _: list[Any]) -> None:
        if self._stack:
            self._state = self._stack.pop()

    def concat(self, operands: list[Any]) -> None:
        self._state.ctm = multiply(_matrix_of(operands), self._state.ctm)

    def ext_state(self, operands: list[Any]) -> None:
        state = self._resource(Name.ExtGState, operands[0])
        if state is None:
            return
        if Name.Font in state:
            font, size = state.Font
            self._state.font, self._state.size = self._walk.font(font), float(size)
        mask = state.get(Name.SMask)
        if isinstance(mask, pikepdf.Dictionary):
            self._walk.descend(mask.get(Name.G), self._content, self._state, self._depth)

    def paint_with(self, operands: list[Any]) -> None:
        if operands and isinstance(operands[-1], pikepdf.Name):
            pattern = self._resource(Name.Pattern, operands[-1])
            self._walk.pattern(pattern, self._content, self._depth)

    def do(self, operands: list[Any]) -> None:
        target = self._resource(Name.XObject, operands[0])
        if not isinstance(target, pikepdf.Stream):
            return
        if target.get(Name.Subtype) == Name.Form:
            self._walk.descend(target, self._content, self._state, self._depth)
        elif target.get(Name.Subtype) == Name.Image:
            self._place_picture(name_of(operands[0]), target)

    def _place_picture(self, name: str | None, image: pikepdf.Object | None) -> None:
        self._walk.unit.pictures.append(
            Picture(name, image, self._state.ctm, self._content, self._at)
        )

    def _resource(self, kind: Name, name: Any) -> Any:  # noqa: ANN401 - PDF values
        resources = self._content.resources
        group = None if resources is None else resources.get(kind)
        return None if group is None else group.get(name)

    # paths

    def path_move(self, operands: list[Any]) -> None:
        x, y = apply(self._state.ctm, float(operands[0]), float(operands[1]))
        self._paths.append(Drawing((x, y, x, y), self._content, self._at, self._at))

    def path_points(self, operands: list[Any]) -> None:
        if not self._paths:
            return
        numbers = [float(value) for value in operands]
        path = self._paths[-1]
        path.last = self._at
        for x, y in zip(numbers[::2], numbers[1::2], strict=False):
            px, py = apply(self._state.ctm, x, y)
            left, bottom, right, top = path.box
            path.box = (min(left, px), min(bottom, py), max(right, px), max(top, py))

    def rectangle(self, operands: list[Any]) -> None:
        x, y, width, height = (float(value) for value in operands)
        self.path_move([x, y])
        self.path_points([x + width, y + height, x + width, y, x, y + height])

    def paint_path(self, _: list[Any]) -> None:
        self._walk.unit.drawings.extend(self._paths)
        self._paths = []

    def end_path(self, _: list[Any]) -> None:
        self._paths = []

    # text state

    def begin_text(self, _: list[Any]) -> None:
        self._tm = self._line = IDENTITY

    def set_font(self, operands: list[Any]) -> None:
        self._state.font = self._walk.font(self._resource(Name.Font, operands[0]))
        self._state.size = float(operands[1])

    def set_char_space(self, operands: list[Any]) -> None:
        self._state.char_space = float(operands[0])

    def set_word_space(self, operands: list[Any]) -> None:
        self._state.word_space = float(operands[0])

    def set_scale(self, operands: list[Any]) -> None:
        self._state.scale = float(operands[0]) / 100

    def set_leading(self, operands: list[Any]) -> None:
        self._state.leading = float(operands[0])

    def set_rise(self, operands: list[Any]) -> None:
        self._state.rise = float(operands[0])

    def set_mode(self, operands: list[Any]) -> None:
        self._state.mode = int(operands[0])

    # text position

    def move(self, operands: list[Any]) -> None:
        shift = (1.0, 0.0, 0.0, 1.0, float(operands[0]), float(operands[1]))
        self._tm = self._line = multiply(shift, self._line)

    def move_leading(self, operands: list[Any]) -> None:
        self._state.leading = -float(operands[1])
        self.move(operands)

    def set_matrix(self, operands: list[Any]) -> None:
        self._tm = self._line = _matrix_of(operands)

    def next_line(self, _: list[Any]) -> None:
        self.move([0.0, -self._state.leading])

    # text showing

    def show(self, operands: list[Any]) -> None:
        self._show_string(operands[-1], 0)

    def show_array(self, operands: list[Any]) -> None:
        for item, entry in enumerate(operands[0]):
            if isinstance(entry, pikepdf.String):
                self._show_string(entry, item)
            else:
                self._advance(-float(entry) / 1000 * self._state.size)

    def show_on_next_line(self, operands: list[Any]) -> None:
        spacing = operands[:-1]
        if spacing:
            self._state.word_space, self._state.char_space = map(float, spacing)
        self.next_line([])
        self.show(operands)

    def _show_string(self, shown: Any, item: int) -> None:  # noqa: ANN401 - PDF values
        state = self._state
        font = state.font or self._walk.font(None)
        frame = (state.size * state.scale, 0.0, 0.0, state.size, 0.0, state.rise)
        for code in font.decode(bytes(shown)):
            spacing = state.char_space + (state.word_space if code.is_space else 0.0)
            step = code.width * state.size + spacing
            glyph = Glyph(
                code.text,
                code.alt,
                multiply(frame, multiply(self._tm, state.ctm)),
                code.width,
                step / state.size if state.size else 0.0,
                font.ascent,
                font.descent,
                font.vertical,
                state.mode == _INVISIBLE,
                self._content,
                self._at,
                item,
                code.start,
                code.end,
                -step / state.size * 1000 if state.size else 0.0,
            )
            self._walk.add_glyph(glyph)
            self._advance(step)

    def _advance(self, step: float) -> None:
        vertical = self._state.font is not None and self._state.font.vertical
        shift = (0.0, step) if vertical else (step * self._state.scale, 0.0)
        self._tm = multiply((1.0, 0.0, 0.0, 1.0, *shift), self._tm)


def _matrix_of(values: Any) -> Matrix:  # noqa: ANN401 - PDF values
    if values is None:
        return IDENTITY
    numbers = [float(value) for value in values]
    if len(numbers) != _MATRIX_NUMBERS:
        raise ValueError("a matrix has six numbers")
    return (numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5])


_Handler = Callable[[_Run, list[Any]], None]
_HANDLERS: Mapping[str, _Handler] = {
    "q": _Run.save,
    "Q": _Run.restore,
    "cm": _Run.concat,
    "gs": _Run.ext_state,
    "scn": _Run.paint_with,
    "SCN": _Run.paint_with,
    "Do": _Run.do,
    "m": _Run.path_move,
    "l": _Run.path_points,
    "c": _Run.path_points,
    "v": _Run.path_points,
    "y": _Run.path_points,
    "h": _Run.path_points,
    "re": _Run.rectangle,
    **dict.fromkeys(("f", "F", "f*", "S", "s", "B", "B*", "b", "b*"), _Run.paint_path),
    "n": _Run.end_path,
    "BT": _Run.begin_text,
    "Tf": _Run.set_font,
    "Tc": _Run.set_char_space,
    "Tw": _Run.set_word_space,
    "Tz": _Run.set_scale,
    "TL": _Run.set_leading,
    "Ts": _Run.set_rise,
    "Tr": _Run.set_mode,
    "Td": _Run.move,
    "TD": _Run.move_leading,
    "Tm": _Run.set_matrix,
    "T*": _Run.next_line,
    "Tj": _Run.show,
    "TJ": _Run.show_array,
    "'": _Run.show_on_next_line,
    '"': _Run.show_on_next_line,
}


def all_form_streams(pdf: pikepdf.Pdf) -> Iterator[pikepdf.Object]:
    """Yield every stream of a document that holds drawing operators, used or not."""
    for page in pdf.pages:
        for annotation in page.obj.get(Name.Annots, ()):
            if isinstance(annotation, pikepdf.Dictionary):
                yield from _appearances(annotation.get(Name.AP))
    for candidate in pdf.objects:
        if isinstance(candidate, pikepdf.Stream) and (
            candidate.get(Name.Subtype) == Name.Form or candidate.get(Name.PatternType) == 1
        ):
            yield candidate


def _appearances(looks: pikepdf.Object | None) -> Iterator[pikepdf.Object]:
    """Yield the streams of an appearance dictionary: N, R and D, each alone or by state."""
    if not isinstance(looks, pikepdf.Dictionary):
        return
    for look in looks.values():
        if isinstance(look, pikepdf.Stream):
            yield look
        elif isinstance(look, pikepdf.Dictionary):
            yield from (state for state in look.values() if isinstance(state, pikepdf.Stream))
