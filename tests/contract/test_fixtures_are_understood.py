"""Every fixture of a vendor's answer is replayed through its adapter, new ones included.

A fixture is a JSON file `{"request": {"method", "path"}, "response": {...}}` in `fixtures/esign`,
`fixtures/pdf`, `fixtures/extraction` or `fixtures/redaction`. The response has a `status` and its
body under `json`, `text`, `file` (a name beside the fixture) or `body`; `headers` and `contentType`
are optional.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import pytest

from no_undo.adapters.foxit_esign import FoxitESignGateway
from no_undo.adapters.foxit_pdf_services import FoxitPdfServices
from no_undo.adapters.json_answers import json_object
from no_undo.adapters.nutrient_extraction import NutrientExtraction
from no_undo.adapters.nutrient_redaction import NutrientRedaction
from no_undo.domain.envelope import ActivityHistory, SendAnswer
from no_undo.domain.errors import NoUndoError
from no_undo.domain.recipients import Recipient
from no_undo.domain.redaction import RedactionTarget, TargetType
from no_undo.ports import EnvelopeDraft
from tests.contract.replay import FIXTURES, ScriptedVendor, SteppingClock

HOST = "https://vendor.example"
NO = (SendAnswer.REFUSED, ActivityHistory.NOT_SHARED, ActivityHistory.UNKNOWN, None)


@dataclass(frozen=True, slots=True)
class Fixture:
    """One recorded exchange."""

    path: Path
    method: str
    url: httpx.URL
    answer: httpx.Response

    @property
    def payload(self) -> dict[str, Any]:
        """The JSON body, or nothing."""
        return json_object(self.answer.content) or {}

    @property
    def says_no(self) -> bool:
        """Whether the answer refuses, fails, or is none."""
        return (
            not self.answer.is_success
            or self.payload.get("result") == "error"
            or self.payload.get("allow") is False
            or (self.is_task and self.payload.get("status") != "COMPLETED")
            or self.answer.headers.get("content-type", "").startswith("text/html")
        )

    @property
    def is_task(self) -> bool:
        """Whether this is a poll of a conversion."""
        return "/api/tasks/" in self.url.path

    def again(self) -> httpx.Response:
        """The answer, fresh."""
        return httpx.Response(
            self.answer.status_code, headers=self.answer.headers, content=self.answer.content
        )


def load(path: Path) -> Fixture:
    recorded = json.loads(path.read_text(encoding="utf-8"))
    request, response = recorded["request"], recorded["response"]
    headers = dict(response.get("headers") or {})
    if "contentType" in response:
        headers["content-type"] = response["contentType"]
    return Fixture(
        path,
        request["method"],
        httpx.URL(HOST).join(request.get("path") or request["url"]),
        httpx.Response(response["status"], headers=headers, content=body_of(response, path)),
    )


def body_of(response: dict[str, Any], path: Path) -> bytes:
    if "file" in response:
        return (path.parent / str(response["file"])).read_bytes()
    body = response.get("json", response.get("text", response.get("body", "")))
    text: str = body if isinstance(body, str) else json.dumps(body)
    return text.encode()


def fixtures_of(*folders: str) -> list[Any]:
    paths = [path for folder in folders for path in sorted((FIXTURES / folder).glob("*.json"))]
    recorded = [path for path in paths if '"response"' in path.read_text(encoding="utf-8")]
    return [pytest.param(path, id=f"{path.parent.name}/{path.stem}") for path in recorded]


def outcome(call: Callable[[], object]) -> object:
    """Return what a call gives, or None when it refuses with one of our errors."""
    try:
        return call()
    except NoUndoError:
        return None


# esign


def esign_call(adapter: FoxitESignGateway, fixture: Fixture) -> Callable[[], object]:
    folder_id = fixture.url.params.get("folderId", "1")
    draft = EnvelopeDraft("name", "a.pdf", (Recipient("Alice Smith", "alice@example.com", 1),))
    calls: dict[str, Callable[[], object]] = {
        "createfolder": lambda: adapter.create_draft(draft, b"%PDF"),
        "sendDraftFolder": lambda: adapter.send_draft(folder_id),
        "myfolder": lambda: adapter.read_envelope(folder_id),
        "getAllFolderIdsByStatus": lambda: adapter.find_envelopes(
            date(2026, 12, 1), date(2026, 12, 1)
        ),
        "viewActivityHistory": lambda: adapter.activity_history(folder_id),
        "download": lambda: adapter.download_signed(folder_id),
        "cancelFolder": lambda: cancelled(adapter, folder_id),
    }
    return calls[fixture.url.path.rsplit("/", 1)[-1]]


def cancelled(adapter: FoxitESignGateway, folder_id: str) -> str:
    adapter.cancel(folder_id, "reason")
    return "cancelled"


@pytest.mark.parametrize("path", fixtures_of("esign"))
def test_an_esign_answer_is_understood_or_refused(path: Path) -> None:
    fixture = load(path)
    vendor = ScriptedVendor(
        lambda request: (
            fixture.again()
            if request.url.path == fixture.url.path
            else httpx.Response(400 if "document" in request.url.path else 404)
        )
    )
    adapter = FoxitESignGateway(HOST, "our-client", "our-secret", transport=vendor.transport)

    result = outcome(esign_call(adapter, fixture))

    assert fixture.method in {request.method for request in vendor.requests}
    assert (result in NO) == fixture.says_no


# pdf

PDF_STEPS = {
    "upload": r"POST .*/documents/upload",
    "create": r"POST .*/create/pdf-from-html",
    "task": r"GET .*/tasks/(?P<id>[^/]+)",
    "download": r"GET .*/documents/(?P<id>[^/]+)/download",
    "delete": r"DELETE .*/documents/(?P<id>[^/]+)",
}


def pdf_step(method: str, path: str) -> tuple[str, str]:
    """Return which step a request is, and the id in its path."""
    for step, route in PDF_STEPS.items():
        if match := re.fullmatch(route, f"{method} {path}"):
            return step, match.groupdict().get("id", "")
    raise AssertionError(f"no adapter uses {method} {path}")


def pdf_vendor(fixture: Fixture) -> ScriptedVendor:
    """Return a vendor that plays along until the step of the fixture comes."""
    step, found_id = pdf_step(fixture.method, fixture.url.path)
    good = {
        "upload": {"documentId": found_id if step == "delete" else "source-1"},
        "create": {"taskId": found_id if step == "task" else "task-1"},
        "task": {
            "status": "COMPLETED",
            "resultDocumentId": found_id if step == "download" else "result-1",
        },
        "delete": {},
    }

    def answer(request: httpx.Request) -> httpx.Response:
        asked, _ = pdf_step(request.method, request.url.path)
        if asked == step:
            return fixture.again()
        if asked == "download":
            return httpx.Response(200, content=b"%PDF")
        return httpx.Response(200, json=good[asked])

    return ScriptedVendor(answer)


@pytest.mark.parametrize("path", fixtures_of("pdf"))
def test_a_pdf_services_answer_is_understood_or_refused(path: Path) -> None:
    fixture = load(path)
    vendor = pdf_vendor(fixture)
    adapter = FoxitPdfServices(
        HOST,
        "our-client",
        "our-secret",
        clock=SteppingClock(),
        transport=vendor.transport,
    )

    result = outcome(lambda: adapter.render_html("<p>text</p>", name="name"))

    assert f"{fixture.method} {fixture.url.path}" in vendor.routes
    assert (result is None) == (fixture.says_no and fixture.method != "DELETE")


# nutrient


@pytest.mark.parametrize("path", fixtures_of("extraction", "redaction"))
def test_a_nutrient_answer_is_understood_or_refused(path: Path) -> None:
    fixture = load(path)
    vendor = ScriptedVendor(lambda _request: fixture.again())
    mode = fixture.payload.get("configuration", {}).get("mode", "understand")
    extraction = NutrientExtraction(HOST, "our-key", transport=vendor.transport)
    redaction = NutrientRedaction(
        HOST, "our-key", clock=SteppingClock(), transport=vendor.transport
    )
    target = RedactionTarget(TargetType.KIND, "email", "email")
    calls: dict[str, Callable[[], object]] = {
        "/extraction/extract": lambda: extraction.extract(b"%PDF", {}, mode=mode),
        "/extraction/parse": lambda: extraction.parse_words(b"%PDF", mode=mode),
        "/build": lambda: redaction.redact(b"%PDF", [target], operation_id="1"),
    }

    result = outcome(calls[fixture.url.path])

    assert vendor.routes == [f"{fixture.method} {fixture.url.path}"]
    assert (result is None) == fixture.says_no
