"""What is asked of the extraction service, as the JSON-Schema subset it accepts.

Rules:
1. Allowed words: `type`, `properties`, `items`, `required`, `description`, and for strings
   `format: "date"` (vendor documentation; `$ref`, combinators and ranges are refused there).
2. A property may be asked for that the document does not have (`due_date` and `po_number` are
   absent from the recorded page): the answer must then say "not found", not invent.
3. The wording of a description is part of the question. Changing one makes earlier recordings and
   thresholds answers to another question: give the schema a new version then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NotRequired, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping


class Schema(TypedDict):
    """The accepted subset of JSON Schema."""

    type: Literal["object", "array", "string", "number", "integer", "boolean"]
    description: NotRequired[str]
    format: NotRequired[Literal["date"]]
    properties: NotRequired[dict[str, Schema]]
    items: NotRequired[Schema]
    required: NotRequired[list[str]]


FREIGHT_INVOICE_VERSION: Final = "freight-invoice-1"

FREIGHT_INVOICE: Final[Schema] = {
    "type": "object",
    "properties": {
        "invoice_number": {"type": "string", "description": "Invoice number as printed."},
        "vendor_name": {"type": "string", "description": "Company that issues the invoice."},
        "payer_name": {"type": "string", "description": "Company that has to pay."},
        "total_amount": {"type": "number", "description": "Total due, tax included."},
        "tax_amount": {"type": "number", "description": "Tax on the whole invoice."},
        "due_date": {"type": "string", "format": "date", "description": "Day payment is due."},
        "po_number": {"type": "string", "description": "Purchase order number of the payer."},
        "line_items": {
            "type": "array",
            "description": "Every line of the invoice's table, in order.",
            "items": {
                "type": "object",
                "properties": {
                    "description": {"type": "string"},
                    "quantity": {"type": "integer"},
                    "unit_price": {"type": "number"},
                },
                "required": ["description"],
            },
        },
    },
    "required": ["invoice_number", "total_amount"],
}

SCHEMAS: Final[Mapping[str, Schema]] = {"invoice": FREIGHT_INVOICE}
"""Schema by document type (`field_routing.FLOORS` has a row for each)."""
