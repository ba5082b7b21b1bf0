"""Documents as the HTML converter makes them: subset fonts, two-byte codes, wrapped cells."""

from __future__ import annotations

from functools import cache

import pytest

from local.sandbox.nutrient.extract import ExtractRequest, extract
from local.sandbox.nutrient.matching import Target
from local.sandbox.nutrient.presets import PRESETS
from local.sandbox.nutrient.redact import redact
from local.sandbox.pdf_services.rendering import render_html
from tests.contract.sandbox.nutrient.reading_back import (
    fixture_json,
    pdfium_text,
    readers_that_see,
    words_with_places,
)

INVOICE = fixture_json("documents/freight_invoice.json")
SCHEMA = fixture_json("extraction/freight_invoice_schema.json")
TRUTH = fixture_json("extraction/freight_invoice_truth.json")
PERSONAL = [
    contact[key]
    for contact in INVOICE["contacts"]
    for key in ("phone", "email", "vehicle_vin")
    if key in contact
]
TARGETS = [
    Target("preset", PRESETS["email-address"]),
    Target("preset", PRESETS["north-american-phone-number"]),
    Target("regex", "[A-HJ-NPR-Z0-9]{17}", case_sensitive=True),
]


@cache
def converted() -> bytes:
    """Return the invoice from HTML, with contacts in cells too narrow for them."""
    lines = "".join(
        f"<tr><td>{line['description']}<td>{line['quantity']}"
        f"<td>${line['unit_price']}<td>${line['total']}"
        for line in INVOICE["lines"]
    )
    contacts = "".join(
        f"<tr><td>{contact['role']}<td>{contact['name']}<td width=60>{contact['phone']}"
        f"<td>{contact['email']}<td>{contact.get('vehicle_vin', '')}"
        for contact in INVOICE["contacts"]
    )
    vendor, payer = INVOICE["vendor"], INVOICE["payer"]
    return render_html(
        f"<h1>{vendor['name']} - Invoice #{INVOICE['invoice_number']}</h1>"
        f"<p>Payer: {payer['name']}, {payer['address']}</p>"
        f"<p>Vendor: {vendor['name']} - {vendor['address']}</p>"
        f"<table><tr><th>Item<th>Qty<th>Unit price<th>Total{lines}</table>"
        f"<p>Subtotal ${INVOICE['subtotal']}</p><p>Tax (7.25%) ${INVOICE['tax']}</p>"
        f"<p>Total due ${INVOICE['total']}</p><h2>Shipment contacts</h2><table>{contacts}</table>"
        '<p style="color:white">${signfield:1:y:____}</p>'
        '<p style="color:white">${signfield:2:y:____}</p>'
    )


def test_the_fields_are_read_right() -> None:
    assert extract(converted(), ExtractRequest(SCHEMA))["output"]["data"] == TRUTH


@pytest.mark.parametrize("value", PERSONAL)
def test_a_value_is_gone_even_where_its_cell_wraps_it(value: str) -> None:
    assert readers_that_see(converted(), value)

    assert readers_that_see(redact(converted(), TARGETS), value) == []


def test_words_outside_the_values_stay_where_they_stood() -> None:
    before = words_with_places(converted())

    after = words_with_places(redact(converted(), TARGETS))

    kept = ("Shipment", "Marcus", "Ruiz", "Bayonne", "$86.86", "${signfield:2:y:____}")
    assert {word: after[word] for word in kept} == {word: before[word] for word in kept}


def test_the_signature_tags_survive() -> None:
    text = pdfium_text(redact(converted(), TARGETS))

    assert "${signfield:1:y:____}" in text
    assert "${signfield:2:y:____}" in text


def test_a_staged_file_gives_every_value_back() -> None:
    staged = redact(converted(), TARGETS, apply=False)

    assert all(readers_that_see(staged, value) for value in PERSONAL)
