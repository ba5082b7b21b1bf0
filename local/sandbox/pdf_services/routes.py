"""The PDF Services routes below `/pdf-services/api`: upload, convert, poll, download, delete."""

from __future__ import annotations

import io
from typing import Any

from python_multipart import parse_form
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import File
from starlette.responses import JSONResponse, Response

from local.sandbox.answers import throttled
from local.sandbox.calls import VendorCall
from local.sandbox.faults import Behaviour
from local.sandbox.pdf_services import documents
from local.sandbox.pdf_services.rendering import PageSetup
from local.sandbox.pipeline import Endpoint
from local.sandbox.state import Sandbox

_PREFIX = "/pdf-services/api"


def _error(status: int, message: str) -> Response:
    return JSONResponse({"code": status, "message": message}, status_code=status)


def _upload(sandbox: Sandbox, call: VendorCall) -> Response:
    if not call.content_type.startswith("multipart/form-data"):
        return _error(415, "Content-Type must be multipart/form-data")
    uploaded = _file_part(call)
    if uploaded is None:
        return _error(400, "file is required")
    content, content_type = uploaded
    document = documents.store_document(
        sandbox, content, kind="uploaded", content_type=content_type
    )
    return JSONResponse({"documentId": document.document_id})


def _file_part(call: VendorCall) -> tuple[bytes, str] | None:
    """Return bytes and content type of the part named `file`."""
    files: list[File] = []
    headers = {"Content-Type": call.content_type.encode()}
    try:
        parse_form(headers, io.BytesIO(call.body), None, files.append)
    except FormParserError:
        return None
    for file in files:
        if file.field_name == b"file":
            file.file_object.seek(0)
            return file.file_object.read(), file.content_type or "application/octet-stream"
    return None


def _create_pdf_from_html(sandbox: Sandbox, call: VendorCall) -> Response:
    body = call.json_object()
    document_id = body.get("documentId")
    if not isinstance(document_id, str) or not document_id:
        return _error(400, "documentId is required")
    document = documents.find_document(sandbox, document_id)
    if document is None:
        return _error(404, "document not found")
    fails = call.misbehaves(Behaviour.TASK_FAILS)
    task = documents.convert(
        sandbox,
        documents.document_bytes(sandbox, document),
        _page_setup(body.get("config")),
        failure="conversion failed" if fails else None,
        never_ends=call.misbehaves(Behaviour.TASK_NEVER_ENDS) is not None,
    )
    return JSONResponse({"taskId": task.task_id})


def _page_setup(config: Any) -> PageSetup:  # noqa: ANN401 - JSON as it came
    """Read the page size, two strings in points, from the optional `config` (vendor sample)."""
    try:
        dimension = config["dimension"]
        return PageSetup(width=float(dimension["width"]), height=float(dimension["height"]))
    except (KeyError, TypeError, ValueError):
        return PageSetup()


def _task(sandbox: Sandbox, call: VendorCall) -> Response:
    task = documents.poll(sandbox, call.path["task_id"])
    if task is None:
        return _error(404, "task not found")
    if call.misbehaves(Behaviour.TASK_FAILS):
        task = task.model_copy(update={"failure": "conversion failed"})
    if call.misbehaves(Behaviour.TASK_NEVER_ENDS):
        task = task.model_copy(update={"never_ends": True})
    polls = sandbox.settings.polls_until_done
    if call.misbehaves(Behaviour.NO_RESULT_DOCUMENT):
        shown = documents.task_json(task, polls_until_done=0)
        return JSONResponse({key: shown[key] for key in shown if key != "resultDocumentId"})
    return JSONResponse(documents.task_json(task, polls_until_done=polls))


def _download(sandbox: Sandbox, call: VendorCall) -> Response:
    document = documents.find_document(sandbox, call.path["document_id"])
    if document is None:
        return _error(404, "document not found")
    if not documents.claim_download(sandbox, document):
        return throttled()
    content = documents.document_bytes(sandbox, document)
    return Response(content, media_type=document.content_type)


def _delete(sandbox: Sandbox, call: VendorCall) -> Response:
    if not documents.delete_document(sandbox, call.path["document_id"]):
        return _error(404, "document not found")
    return JSONResponse({"success": True})


ENDPOINTS = (
    Endpoint("POST", f"{_PREFIX}/documents/upload", "pdf/upload", _upload),
    Endpoint(
        "POST", f"{_PREFIX}/documents/create/pdf-from-html", "pdf/create", _create_pdf_from_html
    ),
    Endpoint("GET", f"{_PREFIX}/tasks/{{task_id}}", "pdf/task", _task),
    Endpoint("GET", f"{_PREFIX}/documents/{{document_id}}/download", "pdf/download", _download),
    Endpoint("DELETE", f"{_PREFIX}/documents/{{document_id}}", "pdf/delete", _delete),
)
