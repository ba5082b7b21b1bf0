"""What PDF Services stores for its callers: documents and conversion tasks."""

from __future__ import annotations

import hashlib
from typing import Any

from pydantic import BaseModel, ConfigDict

from local.sandbox.pdf_services.rendering import PageSetup, RenderError, render_html
from local.sandbox.state import Sandbox

_DOCUMENTS = "pdf_documents"
_TASKS = "pdf_tasks"
_IDS = "pdf_ids"


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StoredDocument(_Kept):
    """One stored document; its bytes are gone once it is deleted.

    Attributes:
        number: Where the record lies.
        document_id: 24 hex characters.
        kind: `uploaded` or `produced`.
        content_type: Of the bytes.
        deleted: True after DELETE.
        downloaded_ms: Time of the last download that was let through; None before the first.
    """

    number: int
    document_id: str
    kind: str
    content_type: str
    deleted: bool = False
    downloaded_ms: int | None = None


class Task(_Kept):
    """One conversion.

    Attributes:
        number: Where the record lies.
        task_id: 24 hex characters.
        polls: How often it was asked about.
        result_document_id: The produced document; None when the conversion failed.
        failure: Why it failed; None when it did not.
        never_ends: It stays at work for ever.
    """

    number: int
    task_id: str
    polls: int = 0
    result_document_id: str | None = None
    failure: str | None = None
    never_ends: bool = False


def _fresh_id(sandbox: Sandbox) -> tuple[int, str]:
    """Return the next number and its id: 24 hex characters, the same in every fresh data folder."""
    number = sandbox.store.next_number(_IDS)
    return number, hashlib.sha256(f"sandbox id {number}".encode()).hexdigest()[:24]


def _blob_key(document_id: str) -> str:
    return f"pdf/{document_id}"


def store_document(
    sandbox: Sandbox, content: bytes, *, kind: str, content_type: str
) -> StoredDocument:
    """Keep a document under a fresh id."""
    with sandbox.store.transaction():
        number, document_id = _fresh_id(sandbox)
        document = StoredDocument(
            number=number, document_id=document_id, kind=kind, content_type=content_type
        )
        sandbox.store.put_blob(_blob_key(document_id), content)
        _save_document(sandbox, document)
    return document


def _save_document(sandbox: Sandbox, document: StoredDocument) -> None:
    sandbox.store.put(_DOCUMENTS, document.number, document.model_dump(mode="json"))


def all_documents(sandbox: Sandbox) -> list[StoredDocument]:
    """Return every document ever stored, oldest first, deleted ones included."""
    return [StoredDocument.model_validate(kept) for _, kept in sandbox.store.all(_DOCUMENTS)]


def find_document(sandbox: Sandbox, document_id: str) -> StoredDocument | None:
    """Return a document that is still stored, or None."""
    for document in all_documents(sandbox):
        if document.document_id == document_id and not document.deleted:
            return document
    return None


def document_bytes(sandbox: Sandbox, document: StoredDocument) -> bytes:
    """Return the bytes of a stored document."""
    return sandbox.store.get_blob(_blob_key(document.document_id)) or b""


def delete_document(sandbox: Sandbox, document_id: str) -> bool:
    """Delete a document; False when it is not stored."""
    with sandbox.store.transaction():
        document = find_document(sandbox, document_id)
        if document is None:
            return False
        sandbox.store.remove_blob(_blob_key(document_id))
        _save_document(sandbox, document.model_copy(update={"deleted": True}))
    return True


def claim_download(sandbox: Sandbox, document: StoredDocument) -> bool:
    """Note a download now; False when the last one of this document was too short ago."""
    now = sandbox.now_ms()
    last = document.downloaded_ms
    interval_ms = sandbox.settings.download_interval_seconds * 1000
    if last is not None and now - last < interval_ms:
        return False
    _save_document(sandbox, document.model_copy(update={"downloaded_ms": now}))
    return True


def convert(
    sandbox: Sandbox,
    html: bytes,
    setup: PageSetup,
    *,
    failure: str | None = None,
    never_ends: bool = False,
) -> Task:
    """Convert HTML now and return the task under which the result is to be asked for.

    Args:
        sandbox: The state.
        html: The uploaded document.
        setup: Page size.
        failure: Fail with this reason instead of rendering.
        never_ends: Never show the result.
    """
    result: StoredDocument | None = None
    if failure is None:
        try:
            pdf = render_html(html.decode(), setup)
            result = store_document(sandbox, pdf, kind="produced", content_type="application/pdf")
        except (UnicodeDecodeError, RenderError) as error:
            failure = str(error)
    number, task_id = _fresh_id(sandbox)
    task = Task(
        number=number,
        task_id=task_id,
        result_document_id=result.document_id if result else None,
        failure=failure,
        never_ends=never_ends,
    )
    sandbox.store.put(_TASKS, number, task.model_dump(mode="json"))
    return task


def poll(sandbox: Sandbox, task_id: str) -> Task | None:
    """Count one poll and return the task, or None when there is none with that id."""
    with sandbox.store.transaction():
        for number, kept in sandbox.store.all(_TASKS):
            if kept["task_id"] == task_id:
                task = Task.model_validate({**kept, "polls": kept["polls"] + 1})
                sandbox.store.put(_TASKS, number, task.model_dump(mode="json"))
                return task
    return None


def task_json(task: Task, *, polls_until_done: int) -> dict[str, Any]:
    """Return the task as `GET /api/tasks/{id}` shows it after its latest poll.

    The finished shape is recorded (foxit-pdf-services-task-completed); the name of the working
    state and the shape of a failure are not, these are ours.
    """
    shown: dict[str, Any] = {"taskId": task.task_id}
    if task.never_ends or task.polls < polls_until_done:
        done = 50 if task.never_ends else 100 * task.polls // polls_until_done
        return {**shown, "status": "IN_PROGRESS", "progress": done, "resultDocumentId": None}
    if task.failure is not None:
        error = {"code": "CONVERSION_FAILED", "message": task.failure}
        return {**shown, "status": "FAILED", "progress": 100, "error": error}
    result = task.result_document_id
    return {**shown, "status": "COMPLETED", "progress": 100, "resultDocumentId": result}
