"""What the eSign contract tests share: an adapter with a scripted vendor, and odd answers."""

from __future__ import annotations

import httpx

from no_undo.adapters.foxit_esign import DEFAULT_BASE_URL, FoxitESignGateway
from no_undo.domain.recipients import Recipient
from no_undo.ports import EnvelopeDraft
from tests.contract.replay import (
    ScriptedVendor,
    always,
)

PREFIX = "/esign/api/v1"
CLIENT_SECRET = "secret-of-the-account"
PDF = b"%PDF-1.7 signed"
CERTIFICATE = b"%PDF-1.4 certificate"
ALICE = Recipient("Alice Smith", "alice@example.com", 1)
BOB = Recipient("Bob van Dyke", "bob@example.com", 2)
DRAFT = EnvelopeDraft("Freight Invoice [plan 7]", "Freight Invoice.pdf", (ALICE,))
DESCRIBED = "described-foxit-esign-shapes.json"
PROBES = (
    "foxit-esign-probe-2026-08-18.json",
    "foxit-esign-probe-2026-08-29.json",
    "foxit-esign-probe-2026-08-30.json",
)
DROPPED = [
    httpx.ReadTimeout("late"),
    httpx.WriteTimeout("late"),
    httpx.ReadError("reset"),
    httpx.WriteError("reset"),
    httpx.RemoteProtocolError("closed"),
]
NEVER_LEFT = [
    httpx.ConnectError("refused"),
    httpx.ConnectTimeout("late"),
    httpx.PoolTimeout("full"),
]
ODD_ANSWERS = [
    httpx.Response(200, html="<html>maintenance</html>"),
    httpx.Response(200, text=""),
    httpx.Response(200, json={"status": "ok"}),
    httpx.Response(200, json=["success"]),
    httpx.Response(200, json={"result": "Success?"}),
    httpx.Response(302, headers={"Location": "https://other.example/"}),
    httpx.Response(408),
    httpx.Response(500),
    httpx.Response(502, html="<html>bad gateway</html>"),
    httpx.Response(503),
    httpx.Response(504),
]
REFUSAL = httpx.Response(400, text="Alice")
EDGE_REFUSAL = httpx.Response(403, json={"error code": 1010})


def gateway(vendor: ScriptedVendor) -> FoxitESignGateway:
    return FoxitESignGateway(
        DEFAULT_BASE_URL, "our-client", CLIENT_SECRET, transport=vendor.transport
    )


def answered(payload: object) -> ScriptedVendor:
    return always(httpx.Response(200, json=payload))


def folder(**facts: object) -> dict[str, object]:
    return {
        "folderId": 35426627,
        "folderName": "Freight Invoice [plan 7]",
        "folderStatus": "DRAFT",
        "folderSentDate": None,
        **facts,
    }


def party(email: str | None, **facts: object) -> dict[str, object]:
    return {"partyDetails": {"firstName": "Alice", "lastName": "Smith", "emailId": email}, **facts}
