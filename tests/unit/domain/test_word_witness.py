"""Rules of `domain/word_witness.py`: what the words at a value's own place say."""

from __future__ import annotations

import pytest

from no_undo.domain.field_routing import ExtractedField, Place, Scalar, WitnessSays
from no_undo.domain.word_witness import ParseWordsWitness
from no_undo.domain.words import Word

AGREES, DISAGREES, CANNOT_SAY = WitnessSays
SURE_FROM = 0.7


def row(y: float, *words: tuple[str, float]) -> list[Word]:
    """Return a printed row: words 60 points apart, 50 wide and 10 high."""
    return [
        Word(text, 0, 60.0 * index, y, 50, 10, confidence)
        for index, (text, confidence) in enumerate(words)
    ]


PAGE = (
    *row(100, ("Payer:", 0.75), ("Lindstrom", 0.86), ("Transport", 0.96), ("LLC.", 0.77)),
    *row(120, ("Vendor:", 0.92), ("ACME", 0.96), ("Fre", 0.78), ("ight", 0.92)),
    *row(140, ("Parcel1", 0.89), ("2", 0.91), ("$14.50", 0.9), ("$29.00", 0.65)),
    *row(160, ("Tax", 0.96), ("$5.87", 0.57)),
    *row(180, ("Total", 0.97), ("due", 0.97), ("$86.86", 0.9)),
)


def box(y: float, first: int, last: int) -> dict[str, object]:
    """Return the citation of a value that stands in some columns of a row, in points."""
    sides = {"x": 60 * first, "y": y, "width": 60 * (last - first) + 50, "height": 10}
    return {"match": "id_match", "pageIndex": 0, "bbox": sides}


def says(
    path: str,
    value: Scalar,
    citation: dict[str, object],
    *,
    other_reader: bool,
    is_date: bool = False,
) -> WitnessSays:
    fields = [
        ExtractedField(path, value, answered=True, citation=citation, is_date=is_date),
        ExtractedField("payer_name", None, answered=False, citation={}, asked_type="string"),
        ExtractedField("vendor_name", None, answered=False, citation={}, asked_type="string"),
    ]
    mode = "agentic" if other_reader else "understand"
    witness = ParseWordsWitness(PAGE, "understand", mode, 1.0, SURE_FROM)
    return witness.testify(fields).get(path, CANNOT_SAY)


@pytest.mark.parametrize(
    ("path", "value", "citation", "same", "other"),
    [
        # path, value, place, says the same reader, says another reader
        ("payer_name", "Lindstrom Transport LLC", box(100, 1, 3), CANNOT_SAY, AGREES),
        ("payer_name", "Lindstrom", box(100, 1, 3), CANNOT_SAY, CANNOT_SAY),
        ("vendor_name", "Lindstrom Transport LLC", box(100, 1, 3), CANNOT_SAY, CANNOT_SAY),
        ("payer_name", "Kingston Haulage", box(100, 1, 3), DISAGREES, DISAGREES),
        ("total_amount", 86.86, box(180, 2, 2), CANNOT_SAY, AGREES),
        ("total_amount", 26.86, box(180, 2, 2), DISAGREES, DISAGREES),
        ("total_amount", 86.86, box(180, 0, 1), CANNOT_SAY, CANNOT_SAY),
        # Its own word is doubted; the reader that answered shares the doubt, another has its own.
        ("tax_amount", 5.87, box(160, 1, 1), DISAGREES, CANNOT_SAY),
        ("tax_amount", 5.27, box(160, 1, 1), DISAGREES, CANNOT_SAY),
        # The line's worst word is not the value's own.
        ("line_items[0].unit_price", 14.5, box(140, 0, 3), CANNOT_SAY, CANNOT_SAY),
        ("line_items[0].quantity", 2, box(140, 0, 3), CANNOT_SAY, CANNOT_SAY),
        ("line_items[0].quantity", 1, box(140, 1, 1), DISAGREES, DISAGREES),
        # Letters in another spacing.
        ("line_items[0].description", "Parcel 1", box(140, 0, 0), CANNOT_SAY, CANNOT_SAY),
        ("vendor_name", "ACME Freight", box(120, 1, 3), CANNOT_SAY, CANNOT_SAY),
        # Nothing stands there.
        ("total_amount", 86.86, box(400, 0, 3), CANNOT_SAY, CANNOT_SAY),
        ("total_amount", None, box(180, 2, 2), CANNOT_SAY, CANNOT_SAY),
    ],
)
def test_the_own_words_of_a_value_speak(
    path: str,
    value: Scalar,
    citation: dict[str, object],
    same: WitnessSays,
    other: WitnessSays,
) -> None:
    assert says(path, value, citation, other_reader=False) is same
    assert says(path, value, citation, other_reader=True) is other


@pytest.mark.parametrize(
    "citation",
    [
        {},
        {"match": "id_match", "pageIndex": 0},
        {"match": "id_match", "bbox": {"x": 0, "y": 0, "width": 9, "height": 9}},
        {"pageIndex": -1, "bbox": {"x": 0, "y": 0, "width": 9, "height": 9}},
        {"pageIndex": True, "bbox": {"x": 0, "y": 0, "width": 9, "height": 9}},
        {"pageIndex": 0, "bbox": {"x": 0, "y": 0, "width": 9}},
        {"pageIndex": 0, "bbox": {"x": 0, "y": float("nan"), "width": 9, "height": 9}},
        {"pageIndex": 0, "bbox": {"x": 10**400, "y": 0, "width": 9, "height": 9}},
        {"pageIndex": 7, "bbox": {"x": 0, "y": 180, "width": 900, "height": 10}},
    ],
)
def test_without_a_place_nothing_is_said(citation: dict[str, object]) -> None:
    assert says("total_amount", 26.86, citation, other_reader=True) is CANNOT_SAY


@pytest.mark.parametrize(("mode", "answer_mode"), [("", "understand"), ("understand", "")])
def test_words_of_an_unnamed_mode_say_nothing(mode: str, answer_mode: str) -> None:
    field = ExtractedField("total_amount", 26.86, answered=True, citation=box(180, 2, 2))

    assert ParseWordsWitness(PAGE, mode, answer_mode, 1.0, SURE_FROM).testify([field]) == {}


def test_places_are_compared_in_points() -> None:
    pixels = Place(0, 120, 180, 50, 10).scaled(200 / 72)
    sides = {"x": pixels.x, "y": pixels.y, "width": pixels.width, "height": pixels.height}
    citation: dict[str, object] = {"match": "id_match", "pageIndex": 0, "bbox": sides}
    field = ExtractedField("total_amount", 26.86, answered=True, citation=citation)

    witness = ParseWordsWitness(PAGE, "understand", "understand", 72 / 200, SURE_FROM)

    assert witness.testify([field]) == {"total_amount": DISAGREES}
