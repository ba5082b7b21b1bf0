"""Words with their places on a page, and the printed rows they make.

Rule: words belong to one row while their middles are less than half a word's height apart. Lines
of scans are often slightly rotated, so a row is followed from word to word, not by one height.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Word:
    """One word a reader saw, in PDF points from the top left of its page; confidence 0.0 to 1.0."""

    text: str
    page_index: int
    x: float
    y: float
    width: float
    height: float
    confidence: float

    @property
    def middle(self) -> tuple[float, float]:
        """The middle of the word, in points."""
        return self.x + self.width / 2, self.y + self.height / 2


def rows_by_page(words: Iterable[Word]) -> Mapping[int, tuple[tuple[Word, ...], ...]]:
    """Return the printed rows of each page from top to bottom, words from left to right."""
    pages: defaultdict[int, list[Word]] = defaultdict(list)
    for word in words:
        pages[word.page_index].append(word)
    return {index: tuple(_rows(pages[index])) for index in sorted(pages)}


def page_texts(words: Iterable[Word]) -> tuple[str, ...]:
    """Return the text of each page that has words, one printed row per line."""
    return tuple("\n".join(map(row_text, rows)) for rows in rows_by_page(words).values())


def row_text(row: Sequence[Word]) -> str:
    """Return a row as text; a gap wider than the words are high separates columns."""
    line = ""
    end = 0.0
    for word in row:
        gap = "" if not line else "  " if word.x - end > word.height else " "
        line, end = line + gap + word.text, word.x + word.width
    return line


def _rows(words: Sequence[Word]) -> list[tuple[Word, ...]]:
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda one: one.middle[1]):
        last = rows[-1][-1] if rows else None
        if last and word.middle[1] - last.middle[1] < min(word.height, last.height) / 2:
            rows[-1].append(word)
        else:
            rows.append([word])
    return [tuple(sorted(row, key=lambda one: one.x)) for row in rows]
