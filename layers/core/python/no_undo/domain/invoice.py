"""A freight invoice handed in as structured data, to be filled into a template.

The caller's JSON (`document.invoice` of a request; a whole example is
`fixtures/documents/freight_invoice.json`)::

    {"invoice_number": TEXT,                      required
     "currency": "USD",                           optional; one of `MINOR_DIGITS`; default USD
     "issue_date": "2026-08-18" | null,           optional; ISO 8601 calendar date
     "due_date": "2026-09-17" | null,             optional; not before issue_date
     "po_number": TEXT | null,                    optional
     "vendor": {"name": TEXT, "address": TEXT},   name required, address optional
     "payer": {"name": TEXT, "address": TEXT},    name required, address optional
     "lines": [{"description": TEXT,              1 to 200 lines
                "quantity": NUMBER,               more than 0, at most 3 decimals
                "unit_price": MONEY,
                "total": MONEY}],                 optional; worked out when absent
     "subtotal": MONEY,                           optional; worked out when absent
     "tax_rate_percent": NUMBER,                  optional; 0 to 100, at most 4 decimals
     "tax": MONEY,                                optional; worked out when absent
     "total": MONEY,                              optional; worked out when absent
     "contacts": [{"role": TEXT, "name": TEXT,    optional, up to 20: "Shipment contacts"
                   "phone": TEXT, "email": TEXT, "vehicle_vin": TEXT}],
     "notes": [TEXT]}                             optional, up to 20

TEXT is one line of plain text. MONEY and NUMBER are decimal text (`"14.50"`, exact) or a JSON
number.

Rules:
1. An unknown key is refused: a misspelt `totl` must not turn into a worked-out total.
2. Money is decimal, never binary; it has at most the currency's minor digits.
3. What the caller states is kept as stated. Sums are checked and reported, never corrected.
4. A sum the caller left out is worked out and reported as such. Rounding is half up, to the
   currency's minor digits, once per printed figure.
5. Refusals name the field path, never the value: contacts are personal data (P10).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.json_object import JsonObject
from no_undo.domain.plain_text import plain_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date

MAX_LINES = 200
MAX_CONTACTS = 20
MAX_NOTES = 20

# ISO 4217 minor units of the currencies an invoice may be in.
MINOR_DIGITS: Mapping[str, int] = {
    "AUD": 2, "CAD": 2, "CHF": 2, "CNY": 2, "CZK": 2, "DKK": 2, "EUR": 2, "GBP": 2, "HKD": 2,
    "INR": 2, "JPY": 0, "KRW": 0, "KWD": 3, "MXN": 2, "NOK": 2, "NZD": 2, "PLN": 2, "SEK": 2,
    "SGD": 2, "USD": 2,
}  # fmt: skip

_SYMBOLS: Mapping[str, str] = {"USD": "$", "EUR": "€", "GBP": "£"}
_Entry = TypeVar("_Entry")
# Enough for every product of two accepted numbers to be exact.
_WORKING_DIGITS = 60


class SumResult(StrEnum):
    """What checking one sum found."""

    HOLDS = "holds"
    DIFFERS = "differs"
    WORKED_OUT = "worked_out"
    NOT_CHECKED = "not_checked"


@dataclass(frozen=True, slots=True)
class SumCheck:
    """One sum of the invoice.

    Attributes:
        field: Path below the invoice, for example `lines[1].total`.
        rule: The sum in words, for example `quantity x unit price`.
        result: `holds`, `differs`, `worked_out` (the caller left it out), or `not_checked`
            (tax without a rate).
    """

    field: str
    rule: str
    result: SumResult


@dataclass(frozen=True, slots=True)
class Party:
    """Vendor or payer; `address` is empty when the caller gave none."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class Contact:
    """A person named on the invoice: personal data. Absent details are empty text."""

    role: str
    name: str
    phone: str
    email: str
    vehicle_vin: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line; `total` as stated, or quantity x unit price where the caller left it out."""

    description: str
    quantity: Decimal
    unit_price: Decimal
    total: Decimal


@dataclass(frozen=True, slots=True)
class Invoice:
    """A whole invoice, every printed figure present.

    Attributes:
        invoice_number: As the vendor wrote it.
        currency: ISO 4217 code, a key of `MINOR_DIGITS`.
        issue_date: None when not given.
        due_date: None when not given; never before `issue_date`.
        po_number: Purchase order number, empty when not given.
        vendor: Who is owed.
        payer: Who pays.
        lines: 1 to 200, in the caller's order.
        subtotal: Sum of the lines, as stated or worked out.
        tax_rate_percent: 0 to 100, or None when not given.
        tax: As stated; else from the rate; else 0.
        total: Subtotal plus tax, as stated or worked out.
        contacts: The "Shipment contacts" block, may be empty.
        notes: Free lines, may be empty.
        sums: What checking each sum found, in printing order.
    """

    invoice_number: str
    currency: str
    issue_date: date | None
    due_date: date | None
    po_number: str
    vendor: Party
    payer: Party
    lines: tuple[Line, ...]
    subtotal: Decimal
    tax_rate_percent: Decimal | None
    tax: Decimal
    total: Decimal
    contacts: tuple[Contact, ...]
    notes: tuple[str, ...]
    sums: tuple[SumCheck, ...]

    @property
    def sums_hold(self) -> bool:
        """True when no stated figure differs from its sum."""
        return all(check.result is not SumResult.DIFFERS for check in self.sums)


def parse_invoice(value: object, *, field: str = "document.invoice") -> Invoice:
    """Turn the caller's JSON into an invoice.

    Args:
        value: Decoded JSON in the shape of the module docstring.
        field: Where it stood in the request; prefixes every refusal.

    Raises:
        InvalidRequestError: Its `field` is the path at fault, for example
            `document.invoice.lines[2].quantity`.
    """
    with localcontext(prec=_WORKING_DIGITS):
        return _invoice(JsonObject.of(value, field, _INVOICE_KEYS))


def money_text(amount: Decimal, currency: str) -> str:
    """Return an amount as printed: `$1,234.50`, or `1,234.50 CHF` without a common symbol."""
    digits = f"{abs(amount):,.{MINOR_DIGITS[currency]}f}"
    sign = "-" if amount < 0 else ""
    symbol = _SYMBOLS.get(currency)
    return f"{sign}{symbol}{digits}" if symbol else f"{sign}{digits} {currency}"


_INVOICE_KEYS = frozenset(
    {
        "invoice_number",
        "currency",
        "issue_date",
        "due_date",
        "po_number",
        "vendor",
        "payer",
        "lines",
        "subtotal",
        "tax_rate_percent",
        "tax",
        "total",
        "contacts",
        "notes",
    }
)
_PARTY_KEYS = frozenset({"name", "address"})
_LINE_KEYS = frozenset({"description", "quantity", "unit_price", "total"})
_CONTACT_KEYS = frozenset({"role", "name", "phone", "email", "vehicle_vin"})


def _short(number: Decimal) -> Decimal:
    """Drop trailing zeros without an exponent: 2.000 becomes 2, 100 stays 100."""
    return round(number, 0) if number == round(number, 0) else number.normalize()


def _invoice(node: JsonObject) -> Invoice:
    currency = _currency(node)
    lines, line_checks = _lines(node, MINOR_DIGITS[currency])
    totals, total_checks = _totals(node, lines, MINOR_DIGITS[currency])
    issue_date = node.calendar_date("issue_date")
    return Invoice(
        invoice_number=node.text("invoice_number"),
        currency=currency,
        issue_date=issue_date,
        due_date=_due_date(node, issue_date),
        po_number=node.optional_text("po_number"),
        vendor=_party(node, "vendor"),
        payer=_party(node, "payer"),
        lines=lines,
        subtotal=totals.subtotal,
        tax_rate_percent=totals.tax_rate_percent,
        tax=totals.tax,
        total=totals.total,
        contacts=_contacts(node),
        notes=_notes(node),
        sums=(*line_checks, *total_checks),
    )


def _currency(node: JsonObject) -> str:
    currency = node.optional_text("currency") or "USD"
    if currency not in MINOR_DIGITS:
        raise InvalidRequestError(
            f"{node.at('currency')} must be one of: {', '.join(MINOR_DIGITS)}.",
            field=node.at("currency"),
        )
    return currency


def _due_date(node: JsonObject, issue_date: date | None) -> date | None:
    due_date = node.calendar_date("due_date")
    if due_date and issue_date and due_date < issue_date:
        raise InvalidRequestError(
            f"{node.at('due_date')} must not be before the issue date.", field=node.at("due_date")
        )
    return due_date


def _party(node: JsonObject, key: str) -> Party:
    party = JsonObject.of(node.values.get(key), node.at(key), _PARTY_KEYS)
    return Party(name=party.text("name"), address=party.optional_text("address"))


def _contacts(node: JsonObject) -> tuple[Contact, ...]:
    def contact(value: object, path: str) -> Contact:
        entry = JsonObject.of(value, path, _CONTACT_KEYS)
        return Contact(
            role=entry.text("role"),
            name=entry.text("name"),
            phone=entry.optional_text("phone"),
            email=entry.optional_text("email"),
            vehicle_vin=entry.optional_text("vehicle_vin"),
        )

    return _each(node, "contacts", MAX_CONTACTS, contact)


def _notes(node: JsonObject) -> tuple[str, ...]:
    return _each(
        node, "notes", MAX_NOTES, lambda value, path: plain_line(value, field=path, max_length=500)
    )


def _each(
    node: JsonObject, key: str, most: int, read: Callable[[object, str], _Entry]
) -> tuple[_Entry, ...]:
    entries = node.items(key, most=most)
    return tuple(read(value, f"{node.at(key)}[{index}]") for index, value in enumerate(entries))


def _lines(node: JsonObject, digits: int) -> tuple[tuple[Line, ...], tuple[SumCheck, ...]]:
    values = node.items("lines", most=MAX_LINES)
    if not values:
        raise InvalidRequestError(
            f"{node.at('lines')} must have at least one line.", field=node.at("lines")
        )
    lines: list[Line] = []
    checks: list[SumCheck] = []
    for index, value in enumerate(values):
        line, check = _line(value, node.at(f"lines[{index}]"), index, digits)
        lines.append(line)
        checks.append(check)
    return tuple(lines), tuple(checks)


def _line(value: object, path: str, index: int, digits: int) -> tuple[Line, SumCheck]:
    node = JsonObject.of(value, path, _LINE_KEYS)
    quantity = node.number("quantity", decimals=3)
    if quantity <= 0:
        raise InvalidRequestError(
            f"{node.at('quantity')} must be more than 0.", field=node.at("quantity")
        )
    unit_price = node.number("unit_price", decimals=digits)
    total, check = _figure(
        stated=node.optional_number("total", decimals=digits),
        due=_rounded(quantity * unit_price, digits),
        field=f"lines[{index}].total",
        rule="quantity x unit price",
    )
    return Line(node.text("description"), _short(quantity), unit_price, total), check


@dataclass(frozen=True, slots=True)
class _Totals:
    subtotal: Decimal
    tax_rate_percent: Decimal | None
    tax: Decimal
    total: Decimal


def _totals(
    node: JsonObject, lines: Sequence[Line], digits: int
) -> tuple[_Totals, tuple[SumCheck, ...]]:
    """Read or work out subtotal, tax and total, each from the figures printed above it."""
    subtotal, subtotal_check = _figure(
        stated=node.optional_number("subtotal", decimals=digits),
        due=sum((line.total for line in lines), Decimal()),
        field="subtotal",
        rule="sum of the line totals",
    )
    rate = _tax_rate(node)
    stated_tax = node.optional_number("tax", decimals=digits)
    due_tax = stated_tax if rate is None else _rounded(subtotal * rate / 100, digits)
    tax, tax_check = _figure(
        stated=stated_tax,
        due=due_tax or _rounded(Decimal(), digits),
        field="tax",
        rule="subtotal x tax rate",
    )
    if rate is None:
        tax_check = SumCheck("tax", "subtotal x tax rate", SumResult.NOT_CHECKED)
    total, total_check = _figure(
        stated=node.optional_number("total", decimals=digits),
        due=subtotal + tax,
        field="total",
        rule="subtotal + tax",
    )
    return _Totals(subtotal, rate, tax, total), (subtotal_check, tax_check, total_check)


def _tax_rate(node: JsonObject) -> Decimal | None:
    rate = node.optional_number("tax_rate_percent", decimals=4)
    if rate is not None and not 0 <= rate <= 100:  # noqa: PLR2004 - a percentage
        raise InvalidRequestError(
            f"{node.at('tax_rate_percent')} must be from 0 to 100.",
            field=node.at("tax_rate_percent"),
        )
    return None if rate is None else _short(rate)


def _figure(
    *, stated: Decimal | None, due: Decimal, field: str, rule: str
) -> tuple[Decimal, SumCheck]:
    """Return the printed figure (rules 3 and 4) and what checking it found."""
    if stated is None:
        return due, SumCheck(field, rule, SumResult.WORKED_OUT)
    result = SumResult.HOLDS if stated == due else SumResult.DIFFERS
    return stated, SumCheck(field, rule, result)


def _rounded(amount: Decimal, digits: int) -> Decimal:
    return amount.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
