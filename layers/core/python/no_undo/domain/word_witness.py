"""What the words at a value's own place say: how surely they were read, and what they read.

Rules:
1. The recognition score of an answer is the lowest word confidence of the whole source line. This
   witness looks at the value's **own** words: on the recorded page "Brooklyn" made a correct
   payer look misread, and a misread line total its correct neighbours.
2. Words of the same reader that answered never agree: reader and answer share their mistakes (the
   run-together "Parcel1" was read with 0.89, more than most of what was right). They disagree when
   the reader doubts the value's own words, or when it read something else there.
3. Words of another reader agree when they are surely read, are exactly the value and stand by
   themselves right behind the field's label; they disagree when they are surely read and are
   something else.
4. Run-together or split words are neither: the letters are there, the spacing cannot be told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from no_undo.domain.field_labels import Labels
from no_undo.domain.field_routing import ExtractedField, Place, WitnessSays
from no_undo.domain.field_witnesses import (
    FEWEST_CHARACTERS,
    FEWEST_DIGITS,
    amounts_in,
    announced_in,
    as_decimal,
    digits_of,
    folded,
    independent,
)
from no_undo.domain.words import Word, row_text, rows_by_page

_EDGES: Final = ".,;:()[]#\"'"
_SAME_PLACE_POINTS: Final = 2.0
"""Boxes of two answers about one line differ by about a point (recorded: 0.04 to 0.8 pixels)."""


_Rows = Sequence[Sequence[Word]]


@dataclass(frozen=True, slots=True)
class ParseWordsWitness:
    """Reads the words at each value's cited place.

    Attributes:
        words: Of the parse answer, in PDF points.
        mode: Mode that read the words.
        answer_mode: Mode of the answer that is judged.
        points_per_unit: Points in one unit of the judged answer's coordinates.
        sure_from: Smallest word confidence that is not doubted, 0 to 1 (`Floors.own_words`).
    """

    words: tuple[Word, ...]
    mode: str
    answer_mode: str
    points_per_unit: float
    sure_from: float
    name: str = "parse words"

    def testify(self, fields: Sequence[ExtractedField]) -> Mapping[str, WitnessSays]:
        """Return what it says by path."""
        if not self.mode or not self.answer_mode:
            return {}
        rows = rows_by_page(self.words)
        labels = Labels.of(fields)
        return {
            field.path: self._says(field, place, rows.get(place.page_index, ()), labels)
            for field in fields
            if field.value is not None and (place := field.place) is not None
        }

    def _says(
        self, field: ExtractedField, place: Place, rows: _Rows, labels: Labels
    ) -> WitnessSays:
        there = _at(place.scaled(self.points_per_unit), rows)
        own = list(_own(field, there))
        if own:
            return self._about_own(field, own, rows, labels)
        if not there or _letters_are_there(field, there):
            return WitnessSays.CANNOT_SAY
        surely = all(word.confidence >= self.sure_from for row in there for word in row)
        doubted = not surely and independent(self.mode, self.answer_mode)
        return WitnessSays.CANNOT_SAY if doubted else WitnessSays.DISAGREES

    def _about_own(
        self,
        field: ExtractedField,
        own: _Rows,
        rows: _Rows,
        labels: Labels,
    ) -> WitnessSays:
        surely = all(word.confidence >= self.sure_from for words in own for word in words)
        if not independent(self.mode, self.answer_mode):
            return WitnessSays.CANNOT_SAY if surely else WitnessSays.DISAGREES
        lines = [folded(row_text(row)) for row in rows if any(words[0] in row for words in own)]
        announced = any(announced_in(line, field, labels) for line in lines)
        agrees = surely and announced and _telling(field)
        return WitnessSays.AGREES if agrees else WitnessSays.CANNOT_SAY


def _at(place: Place, rows: _Rows) -> list[list[Word]]:
    """Return the words of each row whose middle lies in a place."""
    left, right = place.x - _SAME_PLACE_POINTS, place.x + place.width + _SAME_PLACE_POINTS
    top, bottom = place.y - _SAME_PLACE_POINTS, place.y + place.height + _SAME_PLACE_POINTS
    found = [
        [
            word
            for word in row
            if left <= word.middle[0] <= right and top <= word.middle[1] <= bottom
        ]
        for row in rows
    ]
    return [row for row in found if row]


def _own(field: ExtractedField, there: _Rows) -> Iterator[Sequence[Word]]:
    """Yield the runs of words that are exactly the value."""
    number = as_decimal(field.value)
    if number is not None:
        yield from ((word,) for row in there for word in row if amounts_in(word.text) == [number])
        return
    wanted = [_plain(word) for word in str(field.value).split()]
    for row in there:
        texts = [_plain(word.text) for word in row]
        for start in range(len(row) - len(wanted) + 1):
            if texts[start : start + len(wanted)] == wanted:
                yield row[start : start + len(wanted)]


def _letters_are_there(field: ExtractedField, there: _Rows) -> bool:
    """Say whether the value's characters stand there in another spacing (rule 4).

    Numbers have no spacing: another number is another number.
    """
    if as_decimal(field.value) is not None or field.is_date:
        return not any(amounts_in(word.text) for row in there for word in row)
    squeezed = "".join(_plain(word.text) for row in there for word in row)
    return "".join(_plain(word) for word in str(field.value).split()) in squeezed


def _plain(text: str) -> str:
    return folded(text).strip(_EDGES)


def _telling(field: ExtractedField) -> bool:
    number = as_decimal(field.value)
    if number is not None:
        return digits_of(number) >= FEWEST_DIGITS
    return len("".join(str(field.value).split())) >= FEWEST_CHARACTERS
