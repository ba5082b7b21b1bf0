"""The document that is made again from fields."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from local.sandbox.pdf_services.rendering import render_html
from no_undo.adapters.document_inspector import PdfiumDocumentInspector
from no_undo.adapters.jinja_pages import JinjaPages
from no_undo.domain.corrections import Correction, standing
from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.rebuilt_document import PrintedField, RebuiltDocument, rebuilt
from no_undo.domain.recipients import Recipient
from tests.unit.pages.markup import Page

PAGES = JinjaPages()
NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
SIGNERS = (
    Recipient("Alice Example", "alice@example.com", 1),
    Recipient("Bob <Example>", "bob@example.com", 2),
)
FIELDS = (
    PrintedField("invoice_number", "Invoice number", "INV-7"),
    PrintedField("total_amount", "Total amount", "86.26"),
    PrintedField("due_date", "Due date", None),
    PrintedField("line_items[0].description", "Line items 1, description", "Parcel <1>"),
    PrintedField("line_items[0].quantity", "Line items 1, quantity", "2"),
    PrintedField("line_items[1].description", "Line items 2, description", "Parcel 2"),
    PrintedField("invented[0].by", "Invented", "the service"),
)


def a_document(*fields: PrintedField, corrections: tuple[Correction, ...] = ()) -> RebuiltDocument:
    return rebuilt("Freight invoice", fields or FIELDS, standing(corrections))


def test_every_field_that_was_asked_for_is_printed_as_the_card_shows_it() -> None:
    text = Page(PAGES.rebuilt_html(a_document(), SIGNERS)).text

    for printed in (
        "Invoice number INV-7",
        "Total amount 86.26",
        "Due date not stated",
        "Line items Description Quantity Parcel <1> 2 Parcel 2 not stated",
    ):
        assert printed in text
    assert "the service" not in text


def test_the_newest_correction_replaces_what_was_read() -> None:
    wrong = Correction("total_amount", "dave@example.com", NOON, "86.26", "8.86")
    right = Correction("total_amount", "erin@example.com", NOON, "8.86", "86.86")
    none = Correction("invoice_number", "erin@example.com", NOON, "INV-7", None)

    text = Page(PAGES.rebuilt_html(a_document(corrections=(wrong, right, none)), SIGNERS)).text

    assert "Total amount 86.86" in text
    assert "Invoice number not stated" in text
    assert "86.26" not in text


def test_the_rendered_document_carries_one_signature_tag_per_recipient() -> None:
    pdf = render_html(PAGES.rebuilt_html(a_document(), SIGNERS))

    assert PdfiumDocumentInspector().signature_tags(pdf) == (1, 2)


@pytest.mark.parametrize("value", ["${s:1:____}", "Pay alice@example.com"])
def test_text_of_the_document_adds_no_signature_tag_and_no_signer(value: str) -> None:
    document = a_document(PrintedField("invoice_number", "Invoice number", value))

    with pytest.raises(InvalidRequestError) as refused:
        PAGES.rebuilt_html(document, SIGNERS)

    assert value not in str(refused.value)
