"""Finds targets in drawn glyphs, whatever order and pieces they were drawn in.

A page's glyphs are read three times: in draw order, by position, and by what the fonts draw where
that differs from what they claim. Patterns run over each reading; every value found (and every
literal target) is then looked for in squashed form: letters and digits only, so that split lines,
odd spaces, soft hyphens, ligatures and letter spacing do not hide it.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import median

from local.sandbox.nutrient.content import Glyph, Unit

#: Below this many letters and digits a squashed value is too common to search for.
SQUASH_MINIMUM = 6
_LINE_END, _PARAGRAPH_END = "\n", "\f"
_BREAKING_MARKS = "-\u2010\u2011@_/"
_ENOUGH = 4  # gaps; fewer say nothing about what is usual on a line

# All in ems of the glyph before.
_SAME_LINE = 0.4
_FURTHEST_BACK = -0.6
_FURTHEST_ON = 30.0
_NEXT_LINE = (-3.0, -0.4)
_SAME_DIRECTION = 0.99  # cosine
_IGNORED = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u200f"))
_RIGHT_TO_LEFT = frozenset({"R", "AL"})


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to remove.

    Attributes:
        strategy: `text` (substring), `regex`, or `preset`; presets carry their pattern in `value`.
        value: The text or the regular expression; None for a preset that matches nothing.
        case_sensitive: Whether case counts.
        include_annotations: Whether annotations are searched too.
        start: First page, from 0.
        limit: How many pages from there; None means to the end.
    """

    strategy: str
    value: str | None
    case_sensitive: bool = False
    include_annotations: bool = True
    start: int = 0
    limit: int | None = None

    def covers(self, page_index: int | None) -> bool:
        """Return True when this page is in the target's range; loose content always is."""
        if page_index is None:
            return True
        after = page_index - self.start
        return after >= 0 and (self.limit is None or after < self.limit)

    def pattern(self) -> re.Pattern[str] | None:
        """Return the compiled pattern, None for literal text and for presets without one."""
        if self.value is None or self.strategy == "text":
            return None
        return re.compile(self.value, 0 if self.case_sensitive else re.IGNORECASE)


def normalise(text: str) -> str:
    """Return NFKC text without zero-width characters and soft hyphens."""
    return unicodedata.normalize("NFKC", text).translate(_IGNORED)


def squash(text: str) -> str:
    """Return the letters and digits of a text, case folded."""
    return "".join(c for c in normalise(text).casefold() if c.isalnum())


@dataclass(frozen=True, slots=True)
class Reading:
    """Glyphs in one order as text; `sources[i]` is the glyph position of character `i`, or -1."""

    glyphs: Sequence[Glyph]
    text: str
    sources: Sequence[int]

    def cut(self, start: int, end: int) -> list[Glyph]:
        """Return every glyph from the first to the last character of a span."""
        hit = [source for source in self.sources[start:end] if source >= 0]
        return list(self.glyphs[min(hit) : max(hit) + 1]) if hit else []

    def unwrapped(self) -> Reading:
        """Return the text with its lines joined, as a value broken over a line end needs it.

        After a hyphen (or another mark that values are broken at) nothing stands between the
        lines, elsewhere a space. Paragraphs stay apart.
        """
        characters: list[str] = []
        sources: list[int] = []
        for index, character in enumerate(self.text):
            at_line_end = character == _LINE_END
            if at_line_end and index and self.text[index - 1] in _BREAKING_MARKS:
                continue
            characters.append(" " if at_line_end else character)
            sources.append(self.sources[index])
        return Reading(self.glyphs, "".join(characters), sources)


def readings(unit: Unit) -> list[Reading]:
    """Return the texts of a unit: draw order, by position, and by what the fonts draw.

    Each comes as it stands and with its lines joined.
    """
    drawn = unit.glyphs
    placed, _ = by_position(drawn)
    made = [read(drawn), read(placed)]
    if any(glyph.alt for glyph in drawn):
        made.append(read(placed, text_of=lambda glyph: glyph.alt or glyph.text))
    return [*made, *(reading.unwrapped() for reading in made if _LINE_END in reading.text)]


def _own_text(glyph: Glyph) -> str:
    return glyph.text or glyph.alt


def read(glyphs: Sequence[Glyph], text_of: Callable[[Glyph], str] = _own_text) -> Reading:
    """Join glyphs to text, with spaces at gaps and line feeds at jumps."""
    parts: list[str] = []
    sources: list[int] = []
    separators = _separators(glyphs)
    for index, glyph in enumerate(glyphs):
        if separators[index]:
            parts.append(separators[index])
            sources.append(-1)
        for character in normalise(text_of(glyph)):
            parts.append(character)
            sources.append(index)
    return Reading(glyphs, "".join(parts), sources)


def _separators(glyphs: Sequence[Glyph]) -> list[str]:
    """Return what stands before each glyph: nothing, a space, a line or a paragraph end."""
    out: list[str] = []
    line: list[Glyph] = []
    before = ""
    for glyph in glyphs:
        if line and _gap(line[-1], glyph) is None:
            out.extend((before, *_spaces(line)))
            before = _LINE_END if _is_next_line(line[0], glyph) else _PARAGRAPH_END
            line = []
        line.append(glyph)
    return [*out, before, *_spaces(line)] if line else out


def _is_next_line(start: Glyph, following: Glyph) -> bool:
    """Return True when a glyph stands shortly below the line that began with `start`."""
    _, across = _offset(start, following.origin)
    return _NEXT_LINE[0] <= across <= _NEXT_LINE[1] and not _turned(start, following)


def _spaces(line: Sequence[Glyph]) -> list[str]:
    """Return a space for every gap wider than its line explains, before all but the first glyph.

    A space needs a gap of a fifth of an em, and more than the usual gap of its line: letter-spaced
    text has a gap after every letter. Letters set at one pitch, as on a grid, are parted only
    where the pitch is.
    """
    gaps = [_gap(a, b) or 0.0 for a, b in pairwise(line)]
    pitches = [_offset(a, b.origin)[0] for a, b in pairwise(line)]
    if len(gaps) >= _ENOUGH and _is_grid(pitches):
        limit, measured = 1.5 * median(pitches), pitches
    else:
        usual = median(gaps) if len(gaps) >= _ENOUGH else 0.0
        limit, measured = max(0.2, 1.6 * usual), gaps
    return [" " if value > limit else "" for value in measured]


def _is_grid(pitches: Sequence[float]) -> bool:
    usual = median(pitches)
    even = sum(1 for pitch in pitches if abs(pitch - usual) <= 0.02 * abs(usual))
    return usual > 0 and even >= 0.8 * len(pitches)


def _gap(last: Glyph, following: Glyph) -> float | None:
    """Return the gap between two glyphs in ems, None when they are not on one line."""
    along, across = _offset(last, following.origin)
    if abs(across) > _SAME_LINE:
        return None
    if last.matrix[:4] != following.matrix[:4] and _turned(last, following):
        return None
    gap = along - last.gap_free * _stretch(last)
    return None if not _FURTHEST_BACK <= gap <= _FURTHEST_ON else gap


def _stretch(glyph: Glyph) -> float:
    """Return glyph-space x in ems: 1 unless text is scaled horizontally."""
    size = glyph.size
    return math.hypot(glyph.matrix[0], glyph.matrix[1]) / size if size and not glyph.vertical else 1


def _axis(glyph: Glyph) -> tuple[float, float]:
    a, b = (glyph.matrix[2], glyph.matrix[3]) if glyph.vertical else glyph.matrix[:2]
    length = math.hypot(a, b) or 1.0
    return a / length, b / length


def _turned(last: Glyph, following: Glyph) -> bool:
    (ax, ay), (bx, by) = _axis(last), _axis(following)
    return ax * bx + ay * by < _SAME_DIRECTION


def _offset(glyph: Glyph, point: tuple[float, float]) -> tuple[float, float]:
    """Return a point relative to a glyph, along and across its line, in ems."""
    size = glyph.size or 1.0
    ux, uy = _axis(glyph)
    dx, dy = point[0] - glyph.matrix[4], point[1] - glyph.matrix[5]
    return (dx * ux + dy * uy) / size, (dy * ux - dx * uy) / size


def by_position(glyphs: Sequence[Glyph]) -> tuple[list[Glyph], dict[int, list[Glyph]]]:
    """Sort glyphs into reading order; a glyph drawn twice in one place is kept once.

    Returns:
        The glyphs, and the doubles by the `id` of the glyph that was kept.
    """
    directions: dict[int, list[tuple[float, float, Glyph]]] = {}
    for glyph in glyphs:
        ux, uy = _axis(glyph)
        x, y = glyph.origin
        turn = round(math.degrees(math.atan2(uy, ux)))
        directions.setdefault(turn, []).append((y * ux - x * uy, x * ux + y * uy, glyph))
    ordered: list[Glyph] = []
    doubles: dict[int, list[Glyph]] = {}
    for turn in sorted(directions):
        for line in _position_lines(directions[turn]):
            ordered.extend(_without_doubles(line, doubles))
    return ordered, doubles


def _position_lines(
    placed: list[tuple[float, float, Glyph]],
) -> Iterator[list[tuple[float, float, Glyph]]]:
    placed.sort(key=lambda entry: (-entry[0], entry[1]))
    line: list[tuple[float, float, Glyph]] = []
    for entry in placed:
        if line and line[0][0] - entry[0] > 0.35 * max(entry[2].size, 0.5):
            yield sorted(line, key=lambda e: e[1])
            line = []
        line.append(entry)
    if line:
        yield sorted(line, key=lambda e: e[1])


def _without_doubles(
    line: Sequence[tuple[float, float, Glyph]], doubles: dict[int, list[Glyph]]
) -> Iterator[Glyph]:
    recent: list[tuple[float, Glyph]] = []
    for _, along, glyph in line:
        reach = 0.12 * max(glyph.size, 0.5)
        recent = [entry for entry in recent if along - entry[0] <= reach]
        twin = next((kept for _, kept in recent if kept.text == glyph.text), None)
        if twin is None:
            recent.append((along, glyph))
            yield glyph
        else:
            doubles.setdefault(id(twin), []).append(glyph)


def pattern_spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield where a pattern matches, empty matches left out."""
    for hit in pattern.finditer(text):
        if hit.end() > hit.start():
            yield hit.span()


def literal_spans(value: str, text: str, *, case_sensitive: bool) -> Iterator[tuple[int, int]]:
    """Yield where a text occurs as it stands."""
    plain = normalise(value)
    if plain:
        flags = 0 if case_sensitive else re.IGNORECASE
        yield from pattern_spans(re.compile(re.escape(plain), flags), text)


def squashed_spans(value: str, text: str, *, case_sensitive: bool) -> Iterator[tuple[int, int]]:
    """Yield where the letters and digits of a value occur, whatever stands between them."""
    plain = normalise(value)
    wanted = _fold(plain, case_sensitive=case_sensitive)
    if len(wanted) < SQUASH_MINIMUM:
        return
    squashed, places = _squashed(text, case_sensitive=case_sensitive)
    forms = {wanted, wanted[::-1]} if _is_right_to_left(plain) else {wanted}
    for form in forms:
        start = squashed.find(form)
        while start >= 0:
            yield places[start], places[start + len(form) - 1] + 1
            start = squashed.find(form, start + 1)


def _is_right_to_left(text: str) -> bool:
    return any(unicodedata.bidirectional(c) in _RIGHT_TO_LEFT for c in text)


def _fold(text: str, *, case_sensitive: bool) -> str:
    folded = text if case_sensitive else text.casefold()
    return "".join(c for c in folded if c.isalnum())


@lru_cache(maxsize=16)  # every value is looked for in one text before the next comes
def _squashed(text: str, *, case_sensitive: bool) -> tuple[str, list[int]]:
    letters: list[str] = []
    places: list[int] = []
    for index, character in enumerate(text):
        for folded in character if case_sensitive else character.casefold():
            if folded.isalnum():
                letters.append(folded)
                places.append(index)
    return "".join(letters), places


def found_values(targets: Iterable[Target], texts: Iterable[str]) -> dict[str, Target]:
    """Return every literal target, and every value the patterns match in these texts."""
    kept = list(targets)
    values = {t.value: t for t in kept if t.strategy == "text" and t.value}
    patterns = [(t, p) for t in kept if (p := t.pattern()) is not None]
    for text in texts:
        for target, pattern in patterns:
            for start, end in pattern_spans(pattern, text):
                values.setdefault(text[start:end], target)
    return values
