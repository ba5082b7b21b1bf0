"""Every fixture of a vendor's answer is replayed through its adapter, new ones included.

A fixture is a JSON file `{"request": {"method", "path"}, "response": {...}}` in `fixtures/esign`,
`fixtures/pdf`, `fixtures/extraction` or `fixtures/redaction`. The response has a `status` and its
body under `json`, `text`, `file` (a name beside the fixture) or `body`; `headers` and `contentType`
are optional. Of Nutrient's, the request has the `instructions` that were asked with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from http import HTTPStatus
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
from tests.contract.replay import FIXTURES, ScriptedVendor, SteppingClock, parts_of

HOST = "https://vendor.example"
NO = (SendAnswer.REFUSED, ActivityHistory.NOT_SHARED, ActivityHistory.UNKNOWN, None)


@dataclass(frozen=True, slots=True)
class Fixture:
    """One recorded exchange."""

    path: Path
    method: str
    url: httpx.URL
    answer: httpx.Response
    instructions: dict[str, Any]

    @property
    def of_a_job(self) -> bool:
        """Whether this is a step of an asynchronous build."""
        return self.answer.status_code in (202, 409) or "/async/jobs/" in self.url.path

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
        request.get("instructions") or {},
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

SCHEMA = json.loads((FIXTURES / "extraction" / "freight_invoice_schema.json").read_bytes())
MODES = ("structure", "understand", "agentic")
TARGETS = [
    RedactionTarget(TargetType.KIND, "email", "email"),
    RedactionTarget(TargetType.KIND, "vin", "vin"),
    RedactionTarget(TargetType.LITERAL, "Freight", "literal"),
]
"""What the recorded builds asked for, in our words."""


def nutrient_vendor(fixture: Fixture) -> ScriptedVendor:
    """Return a vendor that plays along until the step of the fixture comes."""
    found = re.fullmatch(r"/async/jobs/([^/]+).*", fixture.url.path)
    job_id = found[1] if found else "job-1"
    status, result = f"/async/jobs/{job_id}", f"/async/jobs/{job_id}/result"
    job = {"job_id": job_id, "status": "running", "status_url": status, "result_url": result}
    good = {
        "/build": httpx.Response(202, json=job),
        status: httpx.Response(200, json={**job, "status": "completed"}),
        result: httpx.Response(200, content=b"%PDF result"),
    }
    if fixture.answer.status_code == HTTPStatus.ACCEPTED:
        recorded = fixture.payload
        good[recorded["status_url"]] = httpx.Response(200, json={**recorded, "status": "completed"})
        good[recorded["result_url"]] = good[result]

    def answer(request: httpx.Request) -> httpx.Response:
        return fixture.again() if request.url.path == fixture.url.path else good[request.url.path]

    return ScriptedVendor(answer)


def nutrient_call(fixture: Fixture, vendor: ScriptedVendor) -> Callable[[], object]:
    asked = fixture.instructions
    mode = asked.get("parseConfig", asked).get("mode", "")
    mode = mode if mode in MODES else "understand"
    extraction = NutrientExtraction(HOST, "our-key", transport=vendor.transport)
    redaction = NutrientRedaction(
        HOST,
        "our-key",
        clock=SteppingClock(),
        transport=vendor.transport,
        async_jobs=fixture.of_a_job,
    )
    calls: dict[str, Callable[[], object]] = {
        "/extraction/extract": lambda: extraction.extract(b"%PDF", SCHEMA, mode=mode),
        "/extraction/parse": lambda: extraction.parse_words(b"%PDF", mode=mode),
    }
    return calls.get(
        fixture.url.path, lambda: redaction.redact(b"%PDF", TARGETS, operation_id="recorded")
    )


@pytest.mark.parametrize("path", fixtures_of("extraction", "redaction"))
def test_a_nutrient_answer_is_understood_or_refused(path: Path) -> None:
    fixture = load(path)
    vendor = nutrient_vendor(fixture)

    result = outcome(nutrient_call(fixture, vendor))

    assert f"{fixture.method} {fixture.url.path}" in vendor.routes
    assert (result is None) == fixture.says_no


@pytest.mark.parametrize(
    "path",
    [
        FIXTURES / folder / f"{name}.json"
        for folder, name in (
            ("extraction", "extract_structure"),
            ("extraction", "extract_understand"),
            ("extraction", "extract_agentic"),
            ("extraction", "parse_structure"),
            ("extraction", "parse_understand"),
            ("redaction", "build"),
            ("redaction", "build_accepted"),
        )
    ],
    ids=lambda path: path.stem,
)
def test_what_was_recorded_is_what_the_adapter_asks(path: Path) -> None:
    fixture = load(path)
    vendor = nutrient_vendor(fixture)

    assert outcome(nutrient_call(fixture, vendor)) is not None

    assert json.loads(parts_of(vendor.requests[0])["instructions"].content) == fixture.instructions


@pytest.mark.parametrize("mode", MODES)
def test_every_field_of_a_recorded_extraction_arrives(mode: str) -> None:
    fixture = load(FIXTURES / "extraction" / f"extract_{mode}.json")

    answer = NutrientExtraction(
        HOST, "our-key", transport=nutrient_vendor(fixture).transport
    ).extract(b"%PDF", SCHEMA, mode=mode)

    output = fixture.payload["output"]
    assert answer.data == output["data"]
    assert answer.metadata == output["metadata"]
    assert set(answer.metadata) <= set(SCHEMA["properties"])
    assert "engine=stable" in answer.fingerprint


@pytest.mark.parametrize("mode", ["structure", "understand"])
def test_every_word_of_a_recorded_parse_lies_on_its_page(mode: str) -> None:
    fixture = load(FIXTURES / "extraction" / f"parse_{mode}.json")

    words = NutrientExtraction(
        HOST, "our-key", transport=nutrient_vendor(fixture).transport
    ).parse_words(b"%PDF", mode=mode)

    assert any(word.text.startswith("Freight") for word in words)
    assert all(0 <= word.x <= 842 and 0 <= word.y <= 842 for word in words)
