"""What holds for every invoice, not only for the fixture."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.invoice import SumResult, parse_invoice

# A busy machine is no finding.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
money = st.decimals(min_value=0, max_value=Decimal("999999.99"), places=2)
quantities = st.decimals(min_value=Decimal("0.001"), max_value=9999, places=3)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
KEYS = ("invoice_number", "currency", "due_date", "vendor", "payer", "lines", "tax", "total")


@unhurried
@given(st.lists(st.tuples(quantities, money), min_size=1, max_size=8), st.integers(0, 100))
def test_an_invoice_whose_sums_are_worked_out_holds_when_they_are_stated(
    figures: list[tuple[Decimal, Decimal]], rate: int
) -> None:
    lines: list[dict[str, object]] = [
        {"description": "Freight", "quantity": str(quantity), "unit_price": str(price)}
        for quantity, price in figures
    ]
    body: dict[str, object] = {
        "invoice_number": "1",
        "vendor": {"name": "Vendor"},
        "payer": {"name": "Payer"},
        "lines": lines,
        "tax_rate_percent": rate,
    }
    worked_out = parse_invoice(body)

    stated = parse_invoice(
        {
            **body,
            "lines": [
                {**line, "total": str(printed.total)}
                for line, printed in zip(lines, worked_out.lines, strict=True)
            ],
            "subtotal": str(worked_out.subtotal),
            "tax": str(worked_out.tax),
            "total": str(worked_out.total),
        }
    )

    assert {check.result for check in worked_out.sums} == {SumResult.WORKED_OUT}
    assert {check.result for check in stated.sums} == {SumResult.HOLDS}
    assert stated.total == worked_out.total


@unhurried
@given(st.dictionaries(st.sampled_from(KEYS), json_values))
def test_any_json_is_an_invoice_or_a_refusal_that_names_a_field(body: dict[str, object]) -> None:
    refused_field = _refused_field(body)

    assert refused_field is None or refused_field.startswith("document.invoice")


def _refused_field(body: dict[str, object]) -> str | None:
    try:
        parse_invoice(body)
    except InvalidRequestError as refusal:
        return refusal.field
    return None
