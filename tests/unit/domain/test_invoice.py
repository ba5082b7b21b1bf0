"""Rules of `domain/invoice.py`, on the fixture every document builder uses."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.invoice import SumResult, money_text, parse_invoice

if TYPE_CHECKING:
    from collections.abc import Callable

FIXTURE = Path(__file__).parents[3] / "fixtures" / "documents" / "freight_invoice.json"
# The figures printed on the recorded invoice (ground truth of the recordings).
PRINTED = {"subtotal": "80.99", "tax": "5.87", "total": "86.86"}


@pytest.fixture
def body() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(FIXTURE.read_text(encoding="utf-8"))
    return loaded


def test_the_fixture_is_the_recorded_invoice_and_every_sum_holds(body: dict[str, Any]) -> None:
    invoice = parse_invoice(body)

    assert invoice.invoice_number == "INV-2026-0418"
    assert (invoice.vendor.name, invoice.payer.name) == (
        "ACME Freight Services",
        "Lindstrom Transport LLC",
    )
    assert [line.total for line in invoice.lines] == [
        Decimal("29.00"),
        Decimal("39.99"),
        Decimal("12.00"),
    ]
    assert invoice.total == Decimal("86.86")
    assert (invoice.issue_date, invoice.due_date) == (date(2026, 8, 18), None)
    assert [contact.name for contact in invoice.contacts] == ["Marcus Webb", "Dana Ruiz"]
    assert {check.result for check in invoice.sums} == {SumResult.HOLDS}
    assert invoice.sums_hold


@pytest.mark.parametrize("figure", sorted(PRINTED))
def test_a_sum_left_out_is_worked_out_and_says_so(body: dict[str, Any], figure: str) -> None:
    del body[figure]

    invoice = parse_invoice(body)

    assert getattr(invoice, figure) == Decimal(PRINTED[figure])
    assert {check.field: check.result for check in invoice.sums}[figure] is SumResult.WORKED_OUT
    assert invoice.sums_hold


@pytest.mark.parametrize(
    ("figure", "stated"), [("subtotal", "80.98"), ("tax", "5.27"), ("total", "86.26")]
)
def test_a_wrong_sum_is_kept_as_stated_and_reported(
    body: dict[str, Any], figure: str, stated: str
) -> None:
    body[figure] = stated

    invoice = parse_invoice(body)

    assert getattr(invoice, figure) == Decimal(stated)
    assert {check.field: check.result for check in invoice.sums}[figure] is SumResult.DIFFERS
    assert not invoice.sums_hold


def test_the_recorded_wrong_pair_that_adds_up_is_caught_by_the_tax_rate(
    body: dict[str, Any],
) -> None:
    body["tax"], body["total"] = "5.27", "86.26"

    results = {check.field: check.result for check in parse_invoice(body).sums}

    assert results["total"] is SumResult.HOLDS
    assert results["tax"] is SumResult.DIFFERS


def test_tax_without_a_rate_is_said_to_be_unchecked(body: dict[str, Any]) -> None:
    del body["tax_rate_percent"]

    results = {check.field: check.result for check in parse_invoice(body).sums}

    assert results["tax"] is SumResult.NOT_CHECKED


def test_an_invoice_without_tax_has_a_tax_of_zero(body: dict[str, Any]) -> None:
    for key in ("tax", "tax_rate_percent", "total"):
        del body[key]

    invoice = parse_invoice(body)

    assert (invoice.tax, invoice.total) == (Decimal("0.00"), Decimal("80.99"))


def test_json_numbers_are_read_as_written(body: dict[str, Any]) -> None:
    body["lines"][0] = {"description": "Parcel 1", "quantity": 2.0, "unit_price": 14.5}

    line = parse_invoice(body).lines[0]

    assert (str(line.quantity), str(line.unit_price), str(line.total)) == ("2", "14.50", "29.00")


def _set(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(body: dict[str, Any]) -> None:
        node: Any = body
        *parents, last = path.replace("[", ".[").split(".")
        for part in parents:
            node = node[int(part[1:-1])] if part.startswith("[") else node[part]
        node[int(last[1:-1]) if last.startswith("[") else last] = value

    return change


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("invoice_number", ""),
        ("invoice_number", 7),
        ("invoice_number", "INV\r\nBcc: x"),
        ("invoice_number", "INV-\u202e8140"),
        ("currency", "usd"),
        ("currency", 840),
        ("issue_date", "18.08.2026"),
        ("issue_date", "2026-02-30"),
        ("due_date", "2026-08-17"),
        ("vendor", "ACME"),
        ("vendor.name", None),
        ("payer.address", "x" * 201),
        ("lines", []),
        ("lines", {}),
        ("lines[0]", "Parcel"),
        ("lines[2].quantity", 0),
        ("lines[2].quantity", "-1"),
        ("lines[2].quantity", "1.2345"),
        ("lines[2].quantity", True),
        ("lines[1].unit_price", "39.999"),
        ("lines[1].unit_price", "1,50"),
        ("lines[1].unit_price", float("nan")),
        ("lines[1].unit_price", 10**12),
        ("lines[1].total", "1e3"),
        ("subtotal", "\u0661"),
        ("tax_rate_percent", "100.1"),
        ("total", []),
        ("contacts[0].role", ""),
        ("contacts[1].email", 5),
        ("notes", "one note"),
        ("notes[1]", None),
    ],
)
def test_a_refusal_names_the_field_path(body: dict[str, Any], path: str, value: object) -> None:
    _set(path, value)(body)

    with pytest.raises(InvalidRequestError) as refusal:
        parse_invoice(body)

    assert refusal.value.field == f"document.invoice.{path}"


@pytest.mark.parametrize(("path", "most"), [("lines", 200), ("contacts", 20), ("notes", 20)])
def test_lists_are_bounded(body: dict[str, Any], path: str, most: int) -> None:
    body[path] = (body[path] * (most + 1))[: most + 1]

    with pytest.raises(InvalidRequestError, match=f"at most {most} entries") as refusal:
        parse_invoice(body)

    assert refusal.value.field == f"document.invoice.{path}"


def test_a_misspelt_key_is_refused_without_repeating_it(body: dict[str, Any]) -> None:
    body["lines"][1]["totl_secret"] = "1.00"

    with pytest.raises(InvalidRequestError) as refusal:
        parse_invoice(body)

    assert refusal.value.field == "document.invoice.lines[1]"
    assert "secret" not in str(refusal.value)


def test_anything_but_an_object_is_refused() -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        parse_invoice(["INV"], field="invoice")

    assert refusal.value.field == "invoice"


@pytest.mark.parametrize(
    ("amount", "currency", "printed"),
    [
        ("1234.5", "USD", "$1,234.50"),
        ("-3", "USD", "-$3.00"),
        ("86.86", "EUR", "€86.86"),
        ("86.86", "CHF", "86.86 CHF"),
        ("-1200", "JPY", "-1,200 JPY"),
        ("1.5", "KWD", "1.500 KWD"),
    ],
)
def test_money_is_printed_with_its_currency(amount: str, currency: str, printed: str) -> None:
    assert money_text(Decimal(amount), currency) == printed
