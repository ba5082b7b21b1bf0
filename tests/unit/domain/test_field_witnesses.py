"""Rules of `domain/field_witnesses.py`, on the recorded page's printed text."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from no_undo.domain.field_routing import ExtractedField, Scalar, WitnessSays
from no_undo.domain.field_witnesses import (
    DateWitness,
    PrintedArithmeticWitness,
    SecondReadingWitness,
    TextLayerWitness,
    amounts_in,
)

if TYPE_CHECKING:
    from no_undo.domain.field_routing import Witness

AGREES, DISAGREES, CANNOT_SAY = WitnessSays

PAGE = """\
ACME Freight Services - Invoice #INV-2026-0418
Received Aug 18 2026
Payer: Lindstrom Transport LLC, 4th Ave, Brooklyn NY
Vendor: ACME Freight Services - terminal 3, Bayonne NJ
Item Qty Unit price Total
Parcel 1 2 $14.50 $29.00
Parcel 2 1 $39.99 $39.99
Handling 3 $4.00 $12.00
Subtotal $80.99
Tax (7.25%) $5.87
Total due $86.86
"""


def says(witness: Witness, values: dict[str, Scalar], *dates: str) -> dict[str, WitnessSays]:
    fields = [
        ExtractedField(path, value, answered=True, citation={}, is_date=path in dates)
        for path, value in values.items()
    ]
    said = witness.testify(fields)
    return {path: said.get(path, CANNOT_SAY) for path in values}


def invoice(
    *rows: tuple[int, float], tax: float | None = 5.87, total: float | None = 86.86
) -> dict[str, Scalar]:
    values: dict[str, Scalar] = {"tax_amount": tax, "total_amount": total}
    for index, (quantity, price) in enumerate(rows or ((2, 14.5), (1, 39.99), (3, 4))):
        values[f"line_items[{index}].quantity"] = quantity
        values[f"line_items[{index}].unit_price"] = price
    return values


@pytest.mark.parametrize(
    ("path", "value", "verdict"),
    [
        ("invoice_number", "INV-2026-0418", AGREES),
        ("invoice_number", "inv-2026-0418", AGREES),
        ("vendor_name", "ACME Freight Services", AGREES),
        ("payer_name", "Lindstrom Transport LLC", AGREES),
        ("total_amount", 86.86, AGREES),
        ("taxAmount", 5.87, AGREES),
        ("subtotal_amount", 80.99, AGREES),
        ("payer_name", "Lindstrom Transport", CANNOT_SAY),
        ("payer_name", "Parcel", CANNOT_SAY),
        ("payer_name", "Parcel1", CANNOT_SAY),
        ("invoice_number", "2026-0418", CANNOT_SAY),
        ("payer_name", "NY", CANNOT_SAY),
        ("total_amount", 2, CANNOT_SAY),
        ("total_amount", True, CANNOT_SAY),
        ("total_amount", None, CANNOT_SAY),
        ("total_amount", 26.86, DISAGREES),
        ("tax_amount", 5.27, DISAGREES),
        ("payer_name", "Kingston Haulage", DISAGREES),
    ],
)
def test_the_text_layer_knows_only_what_stands_by_itself_behind_its_label(
    path: str, value: Scalar, verdict: WitnessSays
) -> None:
    whole = says(TextLayerWitness((PAGE,), complete=True), {path: value})[path]
    scan = says(TextLayerWitness((PAGE,)), {path: value})[path]

    assert whole is verdict
    assert scan is (CANNOT_SAY if verdict is DISAGREES else verdict)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("vendor_name", "Lindstrom Transport LLC"),
        ("payer_name", "ACME Freight Services"),
        ("payer_name", "4th Ave"),
        ("total_amount", 80.99),
        ("total_amount", 5.87),
        ("tax_amount", 86.86),
        ("line_items[0].unit_price", 14.5),
    ],
)
def test_the_text_layer_does_not_vouch_for_a_value_on_another_fields_line(
    path: str, value: Scalar
) -> None:
    asked: dict[str, Scalar] = {
        "vendor_name": None,
        "payer_name": None,
        "total_amount": None,
        "tax_amount": None,
    }

    said = says(TextLayerWitness((PAGE,), complete=True), asked | {path: value})

    assert said[path] is CANNOT_SAY


@pytest.mark.parametrize("line", ["Total tax $5.87", "Tax total $5.87", "Total before tax $5.87"])
def test_a_line_that_announces_two_fields_vouches_for_neither(line: str) -> None:
    said = says(TextLayerWitness((line,)), {"total_amount": 5.87, "tax_amount": 5.87})

    assert set(said.values()) == {CANNOT_SAY}


@pytest.mark.parametrize(
    ("printed", "verdict"),
    [
        ("f:\nAir Freight\n", CANNOT_SAY),
        ("f Freight", CANNOT_SAY),
        ("f: Freight", AGREES),
        ("f: Air Freight, Freight.", CANNOT_SAY),
        ("f no.\tFreight\tsea", AGREES),
        ("f by\tFreight\tsea", CANNOT_SAY),
        ("f (7.25%) - Freight", AGREES),
        ("f: a very long line of Freight", CANNOT_SAY),
        ("f  Freight  2  $14.50", AGREES),
        ("f  Freight 2", CANNOT_SAY),
        ("Freight", CANNOT_SAY),
    ],
)
def test_a_value_stands_by_itself_between_edges(printed: str, verdict: WitnessSays) -> None:
    assert says(TextLayerWitness((printed,)), {"f": "Freight"})["f"] is verdict


def test_a_page_without_text_says_nothing() -> None:
    witness = TextLayerWitness(("", " \n"), complete=True)

    assert says(witness, {"total": 86.86, "name": "ACME Freight Services"}) == {
        "total": CANNOT_SAY,
        "name": CANNOT_SAY,
    }


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("1,234.50", 1234.5),
        ("1.234,50 EUR", 1234.5),
        ("CHF 1'234.50", 1234.5),
        ("$1,234", 1234),
        ("1234.5", 1234.5),
        ("(1,234,567)", 1234567),
        ("-12.50", -12.5),
        ("Qty 2 100.00", 100),
    ],
)
def test_amounts_are_understood_as_printed(printed: str, value: float) -> None:
    assert Decimal(repr(value)) in amounts_in(printed)


@pytest.mark.parametrize(
    "printed",
    ["Due 2026-09-17.", "due: 17 September 2026", "Due Sep 17, 2026", "Due 17th Sept. 2026"],
)
def test_a_date_is_recognised_in_any_form_that_reads_one_way(printed: str) -> None:
    said = says(TextLayerWitness((printed,)), {"due_date": "2026-09-17"}, "due_date")

    assert said["due_date"] is AGREES


@pytest.mark.parametrize("printed", ["09/10/2026", "2026-13-40", "no date"])
def test_a_date_that_reads_two_ways_is_no_evidence(printed: str) -> None:
    witness = TextLayerWitness((printed,), complete=True)

    assert says(witness, {"due_date": "2026-10-09"}, "due_date")["due_date"] is CANNOT_SAY


def test_dates_out_of_order_or_not_dates_are_disputed() -> None:
    witness = DateWitness()
    names = ("issue_date", "due_date")

    assert says(witness, {"issue_date": "2026-08-18", "due_date": "2026-09-17"}, *names) == {
        "issue_date": CANNOT_SAY,
        "due_date": CANNOT_SAY,
    }
    assert says(witness, {"issue_date": "2026-08-18", "due_date": "2026-08-17"}, *names) == {
        "issue_date": DISAGREES,
        "due_date": DISAGREES,
    }
    assert says(witness, {"due_date": "17.09.2026"}, *names) == {"due_date": DISAGREES}
    assert says(witness, {"due_date": None}, *names) == {"due_date": CANNOT_SAY}


def test_the_arithmetic_of_the_page_confirms_the_right_figures() -> None:
    said = says(PrintedArithmeticWitness((PAGE,)), invoice())

    assert set(said.values()) == {AGREES}


@pytest.mark.parametrize(
    ("tax", "total"),
    [
        (5.27, 26.86),  # understand, 20 and 29 August 2026
        (5.27, 86.26),  # understand, 3 September 2026: adds up with the lines
    ],
)
def test_the_recorded_wrong_amounts_are_disputed(tax: float, total: float) -> None:
    said = says(PrintedArithmeticWitness((PAGE,)), invoice(tax=tax, total=total))

    assert (said["tax_amount"], said["total_amount"]) == (DISAGREES, DISAGREES)


def test_the_recorded_swapped_quantities_are_disputed() -> None:
    said = says(PrintedArithmeticWitness((PAGE,)), invoice((1, 14.5), (2, 39.99), (3, 4)))

    assert said["line_items[0].quantity"] is DISAGREES
    assert said["line_items[1].unit_price"] is DISAGREES
    assert said["line_items[2].quantity"] is AGREES
    assert said["total_amount"] is AGREES  # from the printed subtotal, not from the wrong rows


def test_without_a_printed_subtotal_the_confirmed_rows_stand_in() -> None:
    page = PAGE.replace("Subtotal $80.99\n", "")

    right = says(PrintedArithmeticWitness((page,)), invoice(tax=5.27))
    unsure = says(PrintedArithmeticWitness((page,)), invoice((1, 14.5), (2, 39.99), (3, 4)))

    assert (right["tax_amount"], right["total_amount"]) == (DISAGREES, AGREES)
    assert (unsure["tax_amount"], unsure["total_amount"]) == (CANNOT_SAY, CANNOT_SAY)


def test_without_a_printed_rate_the_printed_tax_makes_the_total() -> None:
    page = PAGE.replace("(7.25%) ", "")

    said = says(PrintedArithmeticWitness((page,)), invoice(total=86.26))

    assert (said["tax_amount"], said["total_amount"]) == (CANNOT_SAY, DISAGREES)


@pytest.mark.parametrize(
    "extra",
    ["Discount 10% -$8.10\n", "State tax (1%) $0.81\n", "Shipping $4.00\n"],
)
def test_an_invoice_with_other_charges_is_not_judged_by_its_total(extra: str) -> None:
    page = PAGE.replace("Total due", extra + "Total due")

    said = says(PrintedArithmeticWitness((page,)), invoice(total=82.76))

    assert said["total_amount"] is CANNOT_SAY


def test_a_blank_page_proves_nothing() -> None:
    said = says(PrintedArithmeticWitness(("",)), {**invoice(), "line_items[0].quantity": None})

    assert set(said.values()) == {CANNOT_SAY}


def test_a_second_mode_agrees_only_with_the_very_same_value() -> None:
    witness = SecondReadingWitness(
        "understand", "agentic", {"a": 1, "b": "Parcel 1", "c": None, "d": 4, "e": True}
    )

    assert says(witness, {"a": 1.0, "b": "Parcel1", "c": 3, "d": "4", "e": 1, "f": 2}) == {
        "a": AGREES,
        "b": DISAGREES,
        "c": CANNOT_SAY,
        "d": DISAGREES,
        "e": DISAGREES,
        "f": CANNOT_SAY,
    }


def test_two_modes_of_one_reader_contradict_each_other_and_never_confirm() -> None:
    witness = SecondReadingWitness("understand", "structure", {"a": 1, "b": 2})

    assert says(witness, {"a": 1, "b": 3}) == {"a": CANNOT_SAY, "b": DISAGREES}


@pytest.mark.parametrize(("mode", "other"), [("agentic", "next"), ("", "agentic"), ("next", "")])
def test_a_mode_that_nobody_knows_confirms_nothing(mode: str, other: str) -> None:
    assert says(SecondReadingWitness(mode, other, {"a": 1}), {"a": 1}) == {"a": CANNOT_SAY}


def test_one_mode_twice_is_no_second_witness() -> None:
    witness = SecondReadingWitness("understand", "understand", {"total_amount": 26.86})

    assert says(witness, {"total_amount": 26.86})["total_amount"] is CANNOT_SAY
