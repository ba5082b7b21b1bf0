"""Rules of `domain/form_witness.py`: types, decimals and currency."""

from __future__ import annotations

import pytest

from no_undo.domain.field_routing import ExtractedField, Scalar, WitnessSays
from no_undo.domain.form_witness import FormWitness

DOLLARS = "Parcel 1  2  $14.50  $29.00\nHandling  3  $4.00  ¢17.00\nTax ¢5.27\nTotal $86.86"


def disputes(witness: FormWitness, path: str, value: Scalar, asked_type: str = "") -> bool:
    field = ExtractedField(path, value, answered=True, citation={}, asked_type=asked_type)
    said = witness.testify([field])
    assert set(said.values()) <= {WitnessSays.DISAGREES}
    return path in said


@pytest.mark.parametrize(
    ("asked_type", "value", "disputed"),
    [
        ("string", "4", False),
        ("string", 4, True),
        ("string", True, True),
        ("integer", 4, False),
        ("integer", 4.0, False),
        ("integer", 4.5, True),
        ("integer", "4", True),
        ("integer", True, True),
        ("number", 4.25, False),
        ("number", float("inf"), True),
        ("number", "4.25", True),
        ("boolean", False, False),
        ("boolean", 0, True),
        ("array", "x", False),
        ("", "x", False),
        ("number", None, False),
    ],
)
def test_a_value_of_another_type_than_was_asked_for_is_disputed(
    asked_type: str,
    value: Scalar,
    disputed: bool,  # noqa: FBT001 - a row of the table
) -> None:
    assert disputes(FormWitness(), "f", value, asked_type) is disputed


@pytest.mark.parametrize(
    ("path", "value", "disputed"),
    [
        ("total_amount", 86.86, False),
        ("total_amount", 86.865, True),
        ("tax_amount", 5.8, False),
        ("subtotal_amount", 80.991, True),
        ("line_items[0].unit_price", 0.0125, False),
    ],
)
def test_a_sum_has_no_more_decimals_than_its_currency(
    path: str,
    value: Scalar,
    disputed: bool,  # noqa: FBT001 - a row of the table
) -> None:
    assert disputes(FormWitness(), path, value) is disputed


@pytest.mark.parametrize(
    ("value", "page", "disputed"),
    [
        (86.86, DOLLARS, False),
        (5.27, DOLLARS, True),
        (17, DOLLARS, True),
        (99.99, DOLLARS, False),
        ("5.27", DOLLARS, False),
        (5.27, DOLLARS + "\nand $5.27 again", False),
        (5.27, "Tax ¢5.27\nTotal $86.86", False),  # one against one: no currency of the page
        (5.27, "5.27 EUR\n14.50 EUR\nUSD 29.00", False),
        (29, "5.27 EUR\n14.50 EUR\nUSD 29.00", True),
        (29, "5.27 EUR\n14.50 EUR\namateur 29.00", False),
    ],
)
def test_a_value_printed_only_in_another_currency_than_the_page_is_disputed(
    value: Scalar,
    page: str,
    disputed: bool,  # noqa: FBT001 - a row of the table
) -> None:
    assert disputes(FormWitness((page,)), "tax_amount", value) is disputed
