"""What the demo checks of its own result, with libraries that decide nothing in the product."""

import io
import json
from pathlib import Path
from typing import Any

import pypdfium2
from pdfminer.high_level import extract_text

from local.demo.people import DemoError
from local.stack.stack import RunningStack
from no_undo.adapters.pyhanko_signatures import PyhankoSignatureValidator
from no_undo.domain.audit_chain import AuditRecord, verify_chain

INVOICE_DATA = Path(__file__).resolve().parents[2] / "fixtures/documents/freight_invoice.json"


def personal_data() -> list[str]:
    """Return every name, number and address in the invoice's block of contacts."""
    contacts: list[dict[str, str]] = json.loads(INVOICE_DATA.read_text())["contacts"]
    return [value for one in contacts for key, value in one.items() if key != "role"]


def check_signed(signed: Path, root: bytes) -> str:
    """Check signatures and redaction of the signed document; return what was found.

    Raises:
        DemoError: A signature is not valid, or a value is still there.
    """
    content = signed.read_bytes()
    problems = PyhankoSignatureValidator((root,)).validate(content)
    if problems:
        raise DemoError("the signed document does not validate: " + "; ".join(problems))
    values = personal_data()
    for reader, text in (("pdfium", _pdfium_text(content)), ("pdfminer", _pdfminer_text(content))):
        left = sum(_squeezed(value) in _squeezed(text) for value in values)
        if left:
            raise DemoError(f"{left} values can still be read by {reader}")
    return f"all signatures validate; none of {len(values)} values is left (pdfium, pdfminer)"


def check_audit(running: RunningStack, request_id: str) -> str:
    """Verify the request's audit chain from the stored records; return what was found."""
    table = running.aws.client("dynamodb")
    pages = table.get_paginator("query").paginate(
        TableName=running.outputs["AuditTableName"],
        KeyConditionExpression="chain_id = :chain",
        ExpressionAttributeValues={":chain": {"S": request_id}},
        ConsistentRead=True,
    )
    items: list[dict[str, Any]] = [item for page in pages for item in page["Items"]]
    records = [
        AuditRecord(request_id, int(one["seq"]["N"]), one["line"]["S"], one["hash"]["S"])
        for one in items
    ]
    head = verify_chain(request_id, records)
    return f"the audit chain of {head.seq} records verifies, head {head.hash[:16]}..."


def _pdfium_text(content: bytes) -> str:
    document: Any = pypdfium2.PdfDocument(content)
    return "\n".join(page.get_textpage().get_text_range() for page in document)


def _pdfminer_text(content: bytes) -> str:
    return extract_text(io.BytesIO(content))


def _squeezed(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())
