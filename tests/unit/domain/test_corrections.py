"""What may be corrected, and into what."""

from __future__ import annotations

import pytest

from no_undo.domain.corrections import FieldShape, corrected_value, shape_at
from no_undo.domain.errors import InvalidRequestError


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("invoice_number", FieldShape.TEXT),
        ("total_amount", FieldShape.NUMBER),
        ("due_date", FieldShape.DATE),
        ("line_items[12].quantity", FieldShape.WHOLE),
        ("line_items[0].unit_price", FieldShape.NUMBER),
        ("line_items", None),
        ("line_items[0]", None),
        ("line_items[0].invented", None),
        ("invented", None),
        ('notes["total_amount"]', None),
        ("total_amount.x", None),
        ("", None),
    ],
)
def test_rule_1_only_what_the_schema_asks_for_has_a_shape(
    path: str, shape: FieldShape | None
) -> None:
    assert shape_at(path) is shape


@pytest.mark.parametrize(
    ("typed", "shape", "value"),
    [
        (" 86.86 ", FieldShape.NUMBER, "86.86"),
        ("-5", FieldShape.NUMBER, "-5"),
        ("12", FieldShape.WHOLE, "12"),
        ("2026-09-30", FieldShape.DATE, "2026-09-30"),
        ("Lindström & Söhne", FieldShape.TEXT, "Lindström & Söhne"),
        ("-", FieldShape.TEXT, None),
        ("-", FieldShape.NUMBER, None),
    ],
)
def test_rule_2_a_correction_is_printed_as_it_was_typed(
    typed: str, shape: FieldShape, value: str | None
) -> None:
    assert corrected_value(typed, shape) == value


@pytest.mark.parametrize(
    ("typed", "shape"),
    [
        ("", FieldShape.TEXT),
        ("  ", FieldShape.TEXT),
        ("x" * 501, FieldShape.TEXT),
        ("two\nlines", FieldShape.TEXT),
        ("right\N{RIGHT-TO-LEFT OVERRIDE}left", FieldShape.TEXT),
        ("${signfield:1:y:____}", FieldShape.TEXT),
        ("1,234.50", FieldShape.NUMBER),
        ("86,86", FieldShape.NUMBER),
        ("\N{ARABIC-INDIC DIGIT ONE}", FieldShape.NUMBER),
        ("1.5", FieldShape.WHOLE),
        ("30.09.2026", FieldShape.DATE),
        ("2026-02-30", FieldShape.DATE),
    ],
)
def test_rule_2_nothing_is_guessed_and_no_value_is_quoted(typed: str, shape: FieldShape) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        corrected_value(typed, shape)

    assert not typed.strip() or typed not in str(refused.value)
