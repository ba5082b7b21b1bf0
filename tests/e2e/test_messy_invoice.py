"""What OCR misreads on a bad scan goes to a person, and the stored routing says who disagrees."""

from __future__ import annotations

import json
from typing import Any

import httpx

from fixtures.documents.freight_invoice import load, render
from fixtures.documents.messy_invoice import TILT_DEGREES
from fixtures.extraction.scans import FAX, scan
from no_undo.domain.extraction_schema import FREIGHT_INVOICE
from no_undo.domain.field_routing import Scalar, extracted_fields
from tests.e2e.site import FIXTURES, Site

TRUTH: dict[str, Scalar] = {
    field.path: field.value
    for field in extracted_fields(
        json.loads((FIXTURES.parent / "extraction" / "freight_invoice_truth.json").read_text()),
        {},
        FREIGHT_INVOICE,
    )
}


def routed(site: Site, request_id: str) -> dict[str, Any]:
    """Return the stored routing of a request."""
    answer = site.running.aws.client("s3").get_object(
        Bucket=site.running.outputs["DocumentsBucketName"],
        Key=f"requests/{request_id}/round-1/fields.json",
    )
    body: dict[str, Any] = json.loads(answer["Body"].read())
    return body


def test_misread_values_of_the_messy_invoice_are_caught(site: Site) -> None:
    """A real fax of a real page, read by real OCR twice: no witness may let a misreading pass."""
    document = scan(render(load(), tilt_degrees=TILT_DEGREES), FAX)
    upload_id = site.api.upload(document)
    request_id = site.submit("Messy", document={"upload_id": upload_id})
    link = site.link(request_id)

    fields = routed(site, request_id)["fields"]

    assert {one["route"] for one in fields} == {"human"}
    # Rows are compared by their place, and both readings lose the same row of this page.
    misread = {
        one["path"]: one
        for one in fields
        if "[" not in one["path"]
        and one["typed"] is not None
        and one["typed"] != TRUTH[one["path"]]
    }
    assert misread, "the scan was read without a mistake: make it worse"
    assert all(one["disputed"] for one in misread.values()), misread
    page = httpx.get(link, timeout=30).text
    assert "no field is accepted automatically" in page
    assert all(
        kind in {record["kind"] for record in site.chain(request_id)}
        for kind in ("extraction.answered", "fields.routed")
    )
