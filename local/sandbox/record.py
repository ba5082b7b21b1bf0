"""Record the sandbox's own answers as fixtures: `python -m local.sandbox.record --date YYYY-MM-DD`.

Every answer is taken from a fresh sandbox with a stopped clock, so that a new recording differs
from the old one only where the sandbox does. Apart from that: signatures and certificates, fresh
ids and measured times of the Nutrient answers, and what OCR reads on another processor.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

import httpx

from local.sandbox.app import create_app
from local.sandbox.nutrient.routes import EXTRACTION_KEY, PROCESSOR_KEY
from local.sandbox.pdf_services.rendering import render_html
from local.sandbox.state import Sandbox

FIXTURES = Path(__file__).parents[2] / "fixtures"
_ESIGN = "/esign/api/v1/folders"
_PDF_SERVICES = "/pdf-services/api"
_ENDINGS = {"application/pdf": ".pdf", "application/zip": ".zip"}
_HTML = (
    "<h1>Freight Invoice</h1><p>Total due $86.86</p>"
    '<p style="color:white;margin-top:50px">${signfield:1:y:____}</p>'
    '<p style="color:white;margin-top:50px">${signfield:2:y:____}</p>'
)
_PARTIES = [
    {
        "firstName": first,
        "lastName": last,
        "emailId": f"{first.lower()}@example.com",
        "permission": "FILL_FIELDS_AND_SIGN",
        "sequence": sequence,
    }
    for sequence, (first, last) in enumerate((("Alice", "Smith"), ("Bob", "Jones")), start=1)
]


@dataclass(frozen=True, slots=True)
class Recorder:
    """Calls the sandbox and writes down what it answered."""

    client: httpx.AsyncClient
    folder: Path
    recorded_on: str

    async def call(
        self,
        name: str | None,
        method: str,
        path: str,
        **request: Any,  # noqa: ANN401 - httpx arguments
    ) -> httpx.Response:
        """Make one call; keep it as `<name>.json` unless the name is None."""
        response = await self.client.request(method, path, **request)
        if name is not None:
            self._write(name, response, request.get("data", {}))
        return response

    def _write(self, name: str, response: httpx.Response, form: dict[str, str]) -> None:
        content_type = response.headers.get("content-type", "").partition(";")[0]
        answer: dict[str, Any] = {"status": response.status_code, "contentType": content_type}
        if content_type == "application/json":
            body = response.json()
            answer["json"] = {**body, _TOKEN: "not recorded"} if _TOKEN in body else body
        elif content_type in _ENDINGS:
            answer["file"] = name + _ENDINGS[content_type]
            (self.folder / answer["file"]).write_bytes(response.content)
        else:
            answer["text"] = response.text
        recording = {
            "source": "vendor sandbox of this repository, not the vendor",
            "recordedOn": self.recorded_on,
            "request": {
                "method": response.request.method,
                "path": response.request.url.raw_path.decode(),
                **{name: json.loads(text) for name, text in form.items()},
            },
            "response": answer,
        }
        text = json.dumps(recording, indent=2, ensure_ascii=False) + "\n"
        (self.folder / f"{name}.json").write_text(text, "utf-8")


async def _record_esign(recorder: Recorder) -> None:
    call = recorder.call
    pdf = render_html(_HTML)
    folder_id = await _create(recorder, "createfolder_draft", pdf)
    query = {"params": {"folderId": folder_id}}
    await call("myfolder_draft", "GET", f"{_ESIGN}/myfolder", **query)
    await call("viewActivityHistory_draft", "GET", f"{_ESIGN}/viewActivityHistory", **query)
    await call("download_not_executed", "GET", f"{_ESIGN}/download", **query)
    await _record_refusals(recorder, folder_id)

    body = {"json": {"folderId": folder_id}}
    await call("sendDraftFolder_success", "POST", f"{_ESIGN}/sendDraftFolder", **body)
    await call("myfolder_shared", "GET", f"{_ESIGN}/myfolder", **query)
    await call("viewActivityHistory_shared", "GET", f"{_ESIGN}/viewActivityHistory", **query)
    days = {"dateFrom": recorder.recorded_on, "dateTo": recorder.recorded_on, "status": "SHARED"}
    list_path = f"{_ESIGN}/getAllFolderIdsByStatus"
    await call("getAllFolderIdsByStatus_shared", "GET", list_path, params=days)

    await call(None, "POST", f"/_sandbox/folders/{folder_id}/sign")
    await call("myfolder_executed", "GET", f"{_ESIGN}/myfolder", **query)
    await call("download_executed", "GET", f"{_ESIGN}/download", **query)
    document = {"params": {"folderId": folder_id, "docNumber": 1}}
    await call("document_download_executed", "GET", f"{_ESIGN}/document/download", **document)
    await _record_endings(recorder, pdf)


async def _record_refusals(recorder: Recorder, folder_id: int) -> None:
    call = recorder.call
    send, create = f"{_ESIGN}/sendDraftFolder", f"{_ESIGN}/createfolder"
    await call("sendDraftFolder_without_folder", "POST", send, json={})
    await call("createfolder_without_files", "POST", create, json={"parties": _PARTIES})
    zero = {"folderId": folder_id, "docNumber": 0}
    await call("document_download_number_0", "GET", f"{_ESIGN}/document/download", params=zero)
    await call("getAllFolderIdsByStatus_without_dates", "GET", f"{_ESIGN}/getAllFolderIdsByStatus")
    await call("myfolder_unknown_folder", "GET", f"{_ESIGN}/myfolder", params={"folderId": 1})
    untagged = await _create(recorder, None, render_html("<p>No tag here</p>"))
    await call("sendDraftFolder_without_tag", "POST", send, json={"folderId": untagged})
    no_secret, no_name = {"client_secret": "wrong"}, {"User-Agent": "Python-urllib/3.11"}
    query = {"folderId": folder_id}
    await call("invalid_credentials", "GET", f"{_ESIGN}/myfolder", params=query, headers=no_secret)
    await call("edge_refusal", "GET", f"{_ESIGN}/myfolder", params=query, headers=no_name)


async def _record_endings(recorder: Recorder, pdf: bytes) -> None:
    call = recorder.call
    for ending in ("cancelled", "declined", "expired"):
        folder_id = await _create(recorder, None, pdf)
        await call(None, "POST", f"{_ESIGN}/sendDraftFolder", json={"folderId": folder_id})
        if ending == "cancelled":
            body = {"folderId": folder_id, "reason_for_cancellation": "recorded for tests"}
            await call("cancelFolder_success", "POST", f"{_ESIGN}/cancelFolder", json=body)
        else:
            verb = {"declined": "decline", "expired": "expire"}[ending]
            await call(None, "POST", f"/_sandbox/folders/{folder_id}/{verb}")
        query = {"folderId": folder_id}
        await call(f"myfolder_{ending}", "GET", f"{_ESIGN}/myfolder", params=query)


async def _create(recorder: Recorder, name: str | None, pdf: bytes) -> int:
    body = {
        "folderName": "Freight Invoice",
        "inputType": "base64",
        "base64FileString": [base64.b64encode(pdf).decode()],
        "fileNames": ["Freight Invoice.pdf"],
        "processTextTags": True,
        "sendNow": False,
        "parties": _PARTIES,
    }
    response = await recorder.call(name, "POST", f"{_ESIGN}/createfolder", json=body)
    return int(response.json()["folder"]["folderId"])


async def _record_pdf_services(recorder: Recorder) -> None:
    call = recorder.call
    upload, create = (
        f"{_PDF_SERVICES}/documents/upload",
        f"{_PDF_SERVICES}/documents/create/pdf-from-html",
    )
    part = {"file": ("invoice.html", _HTML.encode(), "text/html")}
    document_id = (await call("upload", "POST", upload, files=part)).json()["documentId"]
    await call("upload_not_multipart", "POST", upload, content=b"<p>")
    await call("create_without_document", "POST", create, json={})
    body = {"documentId": document_id}
    task_id = (await call("create", "POST", create, json=body)).json()["taskId"]
    task_path = f"{_PDF_SERVICES}/tasks/{task_id}"
    await call("task_working", "GET", task_path)
    done = (await call("task_completed", "GET", task_path)).json()
    result = f"{_PDF_SERVICES}/documents/{done['resultDocumentId']}"
    await call("download", "GET", f"{result}/download")
    await call("download_throttled", "GET", f"{result}/download")
    await call("delete", "DELETE", result)
    await call("download_deleted", "GET", f"{result}/download")
    await call("task_unknown", "GET", f"{_PDF_SERVICES}/tasks/00000000-0000-0000-0000-000000000000")

    await call(
        None, "PUT", "/_sandbox/faults", json=[{"route": "pdf/create", "behaviour": "task_fails"}]
    )
    failing = (await call(None, "POST", create, json=body)).json()["taskId"]
    await call(None, "GET", f"{_PDF_SERVICES}/tasks/{failing}")
    await call("task_failed", "GET", f"{_PDF_SERVICES}/tasks/{failing}")


_INVOICE = FIXTURES / "documents" / "freight_invoice.pdf"
_SCHEMA = FIXTURES / "extraction" / "freight_invoice_schema.json"
_OPTIONS = {"includeCitations": True, "strict": False, "multimodal": False}
_TOKEN = "job_access_token"  # noqa: S105 - the name of a field
"""A second way to a job's result; a recording has no use for it, and no token is kept."""
_ALL_WRONG: dict[str, dict[str, Any]] = {
    "html": {"html_200": True},
    "out_of_credits": {"out_of_credits": True},
    "throttled": {"fail_times": 1, "fail_status": 429},
    "unavailable": {"fail_times": 1, "fail_status": 503},
}
"""Name of an answer to the switches that make the vendor give it."""


def _upload(part: str, instructions: object, key: str, **headers: str) -> dict[str, Any]:
    """Return the arguments of a multipart call with the invoice and instructions."""
    return {
        "data": {"instructions": json.dumps(instructions)},
        "files": {part: ("document.pdf", _INVOICE.read_bytes(), "application/pdf")},
        "headers": {"Authorization": f"Bearer {key}", **headers},
    }


async def _record_extraction(recorder: Recorder) -> None:
    schema = json.loads(_SCHEMA.read_text("utf-8"))
    extract, parse = "/extraction/extract", "/extraction/parse"

    def fields(mode: str) -> dict[str, object]:
        return {"schema": schema, "parseConfig": {"mode": mode}, "options": _OPTIONS}

    async def ask(
        name: str, path: str, instructions: object, key: str = EXTRACTION_KEY
    ) -> httpx.Response:
        return await recorder.call(name, "POST", path, **_upload("file", instructions, key))

    await ask("extract_agentic", extract, fields("agentic"))
    for mode in ("structure", "understand"):
        await ask(f"extract_{mode}", extract, fields(mode))
        words = {"mode": mode, "output": {"format": "spatial", "includeWords": True}}
        await ask(f"parse_{mode}", parse, words)
    await ask("extract_without_schema", extract, {"parseConfig": {"mode": "structure"}})
    await ask("parse_unknown_mode", parse, {"mode": "guess"})
    await ask("extract_other_products_key", extract, fields("structure"), PROCESSOR_KEY)
    await ask("extract_unknown_key", extract, fields("structure"), "pdf_live_nobody")
    switches = "/_sandbox/nutrient/switches"
    await recorder.call(None, "PUT", switches, json={"august": True})
    await ask("extract_understand_august", extract, fields("understand"))
    for name, wrong in _ALL_WRONG.items():
        await recorder.call(None, "PUT", switches, json=wrong)
        await ask(f"extract_{name}", extract, fields("structure"))


def _redactions(*strategies: tuple[str, dict[str, object]]) -> dict[str, object]:
    made = [
        {
            "type": "createRedactions",
            "strategy": name,
            "strategyOptions": {**options, "includeAnnotations": True},
        }
        for name, options in strategies
    ]
    actions = [*made, {"type": "applyRedactions"}]
    return {"parts": [{"file": "document"}], "actions": actions}


async def _record_redaction(recorder: Recorder) -> None:
    asked = _redactions(
        ("preset", {"preset": "email-address"}),
        ("regex", {"regex": "[A-HJ-NPR-Z0-9]{17}"}),
        ("text", {"text": "Freight", "caseSensitive": False}),
    )

    async def ask(
        name: str | None, instructions: object, key: str = PROCESSOR_KEY, **headers: str
    ) -> httpx.Response:
        upload = _upload("document", instructions, key, **headers)
        return await recorder.call(name, "POST", "/build", **upload)

    await ask("build", asked)
    await ask("build_matches_nothing", _redactions(("text", {"text": "nowhere to be found"})))
    await ask("build_unknown_preset", _redactions(("preset", {"preset": "shoe-size"})))
    await ask("build_other_products_key", asked, EXTRACTION_KEY)
    job = {"Prefer": "respond-async", "Idempotency-Key": "recorded"}
    accepted = (await ask("build_accepted", asked, **job)).json()
    await ask("build_key_of_other_work", _redactions(("text", {"text": "else"})), **job)
    bearer = {"headers": {"Authorization": f"Bearer {PROCESSOR_KEY}"}}
    await _finished(recorder, accepted["status_url"], bearer)
    await recorder.call("job_completed", "GET", accepted["status_url"], **bearer)
    await recorder.call("job_result", "GET", accepted["result_url"], **bearer)
    await recorder.call("job_unknown", "GET", "/async/jobs/nobody", **bearer)
    switches = "/_sandbox/nutrient/switches"
    for name, wrong in _ALL_WRONG.items():
        await recorder.call(None, "PUT", switches, json=wrong)
        await ask(f"build_{name}", asked)


async def _finished(recorder: Recorder, status_url: str, bearer: dict[str, Any]) -> None:
    for _ in range(600):
        job = (await recorder.call(None, "GET", status_url, **bearer)).json()
        if job["status"] != "running":
            return
        await asyncio.sleep(0.05)


_RECORDINGS: dict[str, Callable[[Recorder], Awaitable[None]]] = {
    "esign": _record_esign,
    "pdf": _record_pdf_services,
    "extraction": _record_extraction,
    "redaction": _record_redaction,
}


async def record(folder: Path, recorded_on: str) -> None:
    """Write all recordings below `folder`, as of noon UTC of the day `recorded_on`."""
    noon = datetime.combine(datetime.fromisoformat(recorded_on), time(12), UTC).timestamp()
    for name, script in _RECORDINGS.items():
        target = folder / name
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as data:
            sandbox = Sandbox(Path(data), clock=lambda: noon)
            headers = {
                "User-Agent": "no-undo-record",
                "client_id": sandbox.credentials.client_id,
                "client_secret": sandbox.credentials.client_secret,
            }
            transport = httpx.ASGITransport(create_app(sandbox))
            async with httpx.AsyncClient(
                transport=transport, base_url="http://sandbox.example", headers=headers
            ) as client:
                await script(Recorder(client, target, recorded_on))
            sandbox.store.close()


def main(arguments: list[str] | None = None) -> int:
    """Record into `fixtures/`; returns 0."""
    parser = argparse.ArgumentParser(prog="python -m local.sandbox.record", description=__doc__)
    parser.add_argument("--date", default=datetime.now(UTC).date().isoformat())
    parser.add_argument("--into", type=Path, default=FIXTURES)
    options = parser.parse_args(arguments)
    asyncio.run(record(options.into, options.date))
    return 0


if __name__ == "__main__":
    sys.exit(main())
