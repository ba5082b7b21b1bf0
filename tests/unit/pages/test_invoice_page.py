"""The invoice that is rendered to PDF for signing."""

from __future__ import annotations

import json
from pathlib import Path

import pypdfium2
import pytest

from local.sandbox.pdf_services.rendering import render_html
from no_undo.adapters.jinja_pages import JinjaPages
from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.invoice import Invoice, parse_invoice
from no_undo.domain.recipients import Recipient
from no_undo.domain.signature_tags import find_signature_tags
from tests.unit.pages.markup import Page

EXAMPLE = Path(__file__).parents[3] / "fixtures" / "documents" / "freight_invoice.json"
ALICE = Recipient("Alice Example", "alice@example.com", 1)
BOB = Recipient("Bob <Example>", "bob@example.com", 2)
PAGES = JinjaPages()
# A reader that folds compatibility forms sees `${s:1:__}` here.
WIDE_TAG = "\N{FULLWIDTH DOLLAR SIGN}\N{FULLWIDTH LEFT CURLY BRACKET}s:1:__}"


def an_invoice(**changes: object) -> Invoice:
    return parse_invoice(json.loads(EXAMPLE.read_text(encoding="utf-8")) | changes)


def page_texts(pdf: bytes) -> list[str]:
    return [page.get_textpage().get_text_bounded() for page in pypdfium2.PdfDocument(pdf)]


def test_every_figure_and_party_is_printed() -> None:
    text = Page(PAGES.invoice_html(an_invoice(), (ALICE, BOB))).text

    for printed in (
        "Invoice INV-2026-0418",
        "ACME Freight Services Terminal 3, Bayonne NJ",
        "Lindstrom Transport LLC 4th Ave, Brooklyn NY",
        "Invoice date 18 August 2026",
        "Parcel 2 1 $39.99 $39.99",
        "Subtotal $80.99",
        "Tax (7.25%) $5.87",
        "Total due $86.86",
        "plz call before delivery",
        "Marcus Webb (201) 555-0142 m.webb@acmefreight-drivers.example VIN 1FUJGLDR8CLBP8834",
    ):
        assert printed in text


def test_what_is_not_given_is_not_printed() -> None:
    text = Page(PAGES.invoice_html(an_invoice(contacts=[], notes=[]), (ALICE,))).text

    for absent in ("Due date", "PO number", "Notes", "Shipment contacts", "None"):
        assert absent not in text


def test_due_date_and_po_number_are_printed_when_given() -> None:
    invoice = an_invoice(due_date="2026-09-17", po_number="PO-7", tax_rate_percent=None)

    text = Page(PAGES.invoice_html(invoice, (ALICE,))).text

    assert "Due date 17 September 2026" in text
    assert "PO number PO-7" in text
    assert "Tax $5.87" in text


def test_each_recipient_signs_at_the_tag_of_its_order_after_everything_else() -> None:
    page = Page(PAGES.invoice_html(an_invoice(), (ALICE, BOB)))

    places = [(one.text, one["class"]) for one in page.all("p") if "class" in one.attributes][-4:]
    assert places == [
        ("${signfield:1:y:____}", "place"),
        ("Alice Example", "signer"),
        ("${signfield:2:y:____}", "place"),
        ("Bob <Example>", "signer"),
    ]
    assert page.text.index("${signfield:1") > page.text.index("Shipment contacts")


def test_a_signers_address_is_left_out_of_the_contacts() -> None:
    contacts = [{"role": "Payer contact", "name": "Alice", "email": "Alice@Example.com"}]

    html = PAGES.invoice_html(an_invoice(contacts=contacts), (ALICE,))

    assert "alice@example.com" not in html.casefold()
    assert "Payer contact" in html


def test_a_signers_address_anywhere_else_is_refused_without_repeating_it() -> None:
    with pytest.raises(InvalidRequestError, match="mail address of a recipient") as refusal:
        PAGES.invoice_html(an_invoice(notes=["write to ALICE@example.com"]), (ALICE,))

    assert "alice" not in str(refusal.value).casefold()


@pytest.mark.parametrize("tag", ["${signfield:2:y:____}", "${s:1:__}", "$ {t:1:n:x}", WIDE_TAG])
def test_a_text_tag_in_a_value_is_refused(tag: str) -> None:
    with pytest.raises(InvalidRequestError, match="must not contain"):
        PAGES.invoice_html(an_invoice(notes=[tag]), (ALICE,))


def test_values_are_inert() -> None:
    hostile = "</td><script>x</script>\"'&"
    plain = Page(PAGES.invoice_html(an_invoice(notes=["plain"]), (ALICE,)))

    page = Page(PAGES.invoice_html(an_invoice(notes=[hostile], po_number=None), (ALICE,)))

    assert page.shape == plain.shape
    assert hostile in page.text


def test_the_page_loads_nothing() -> None:
    html = PAGES.invoice_html(an_invoice(), (ALICE,))

    assert not Page(html).all("script")
    for loader in ("url(", "@import", "src=", "href="):
        assert loader not in html


@pytest.mark.parametrize(("line_count", "signers"), [(1, 1), (3, 2), (200, 10)])
def test_the_pdf_holds_every_tag_whole_on_the_page_of_its_name(
    line_count: int, signers: int
) -> None:
    lines = [
        {"description": f"Parcel {n}", "quantity": 1, "unit_price": "1"} for n in range(line_count)
    ]
    invoice = an_invoice(lines=lines, subtotal=None, tax=None, total=None)
    recipients = [Recipient(f"Signer {n}", f"s{n}@example.com", n) for n in range(1, signers + 1)]

    texts = page_texts(render_html(PAGES.invoice_html(invoice, recipients)))

    found = [order for text in texts for order in find_signature_tags(text)]
    assert found == list(range(1, signers + 1))
    for order in found:
        [text] = [text for text in texts if f"${{signfield:{order}:y:____}}" in text]
        assert f"Signer {order}" in text  # name and place are not torn apart by a page break
