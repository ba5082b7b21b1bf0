"""The eSign routes below `/esign/api/v1/folders`: read the call, do it, answer as recorded.

Left out on purpose, because nobody has captured their bodies: reminders, deletion, the recycle
bin, changes to a sent folder, templates, users.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import wraps
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from starlette.responses import JSONResponse, Response

from local.sandbox.answers import SUCCESS, business_error, plain_refusal
from local.sandbox.calls import VendorCall
from local.sandbox.esign import folders
from local.sandbox.esign.model import Folder, FolderRefusedError, FolderStatus
from local.sandbox.esign.shapes import folder_json, history_json
from local.sandbox.esign.signing import envelope_zip
from local.sandbox.faults import Behaviour
from local.sandbox.pipeline import Endpoint, Handler
from local.sandbox.state import Sandbox

_PREFIX = "/esign/api/v1/folders"
_NO_FILES = "fileUrls or base64FileString cannot be empty"


class CreateFolderBody(BaseModel):
    """The body of createfolder; keys that the sandbox does not act on are let through."""

    model_config = ConfigDict(alias_generator=to_camel, extra="allow", frozen=True)

    folder_name: str = ""
    base64_file_string: list[str] = Field(default_factory=list)
    file_names: list[str] = Field(default_factory=list)
    parties: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    process_text_tags: bool = False
    sign_in_sequence: bool = False
    send_now: bool = False
    create_embedded_signing_session: bool = False
    create_embedded_signing_session_for_all_parties: bool = False

    @property
    def sends_at_once(self) -> bool:
        """True when creating also sends: asked for, or by an embedded session (seen once)."""
        embedded = self.create_embedded_signing_session
        return self.send_now or embedded or self.create_embedded_signing_session_for_all_parties

    def documents(self) -> list[tuple[str, bytes]]:
        """Return file name and bytes of every document.

        Raises:
            FolderRefusedError: No files, unequal lists, or not a PDF in base64.
        """
        if not self.base64_file_string:
            raise FolderRefusedError(_NO_FILES)
        if len(self.file_names) != len(self.base64_file_string):
            raise FolderRefusedError("fileNames must name every file.")
        contents = [_decode_pdf(text) for text in self.base64_file_string]
        return list(zip(self.file_names, contents, strict=True))


def _decode_pdf(text: str) -> bytes:
    try:
        content = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise FolderRefusedError("base64FileString is not valid base64.") from error
    if not content.startswith(b"%PDF"):
        raise FolderRefusedError("Only PDF files are accepted.")
    return content


def _refusals_as_200(work: Callable[[Sandbox, VendorCall], Response]) -> Handler:
    """Answer a refusal the vendor's way: HTTP 200 with `result: error`."""

    @wraps(work)
    def handler(sandbox: Sandbox, call: VendorCall) -> Response:
        try:
            return work(sandbox, call)
        except FolderRefusedError as refusal:
            return business_error(str(refusal))

    return handler


def _refusals_as_400(work: Callable[[Sandbox, VendorCall], Response]) -> Handler:
    """Answer a refusal as the download routes do: HTTP 400, plain text."""

    @wraps(work)
    def handler(sandbox: Sandbox, call: VendorCall) -> Response:
        try:
            return work(sandbox, call)
        except FolderRefusedError as refusal:
            return plain_refusal(str(refusal))

    return handler


@_refusals_as_200
def _create_folder(sandbox: Sandbox, call: VendorCall) -> Response:
    try:
        body = CreateFolderBody.model_validate(call.json_object())
    except ValidationError as error:
        raise FolderRefusedError("The request body is not valid.") from error
    documents = body.documents()
    if not body.parties or not all(party.get("emailId") for party in body.parties):
        raise FolderRefusedError("parties cannot be empty and need an emailId each.")
    wanted = folders.NewFolder(
        name=body.folder_name,
        parties=body.parties,
        documents=documents,
        sign_in_sequence=body.sign_in_sequence,
        process_text_tags=body.process_text_tags,
    )
    folder = folders.create_folder(sandbox, wanted)
    if body.sends_at_once:
        folder = folders.send_folder(sandbox, folder.folder_id)
    return JSONResponse({"folder": folder_json(folder, sandbox.now_ms(), with_owner=False)})


@_refusals_as_200
def _send_draft_folder(sandbox: Sandbox, call: VendorCall) -> Response:
    lag = call.misbehaves(Behaviour.STATUS_LAGS)
    folders.send_folder(sandbox, _folder_id(call), lag_seconds=lag.seconds if lag else 0.0)
    return JSONResponse(SUCCESS)


@_refusals_as_200
def _my_folder(sandbox: Sandbox, call: VendorCall) -> Response:
    folder = folders.find_folder(sandbox, _folder_id(call))
    now = sandbox.now_ms()
    shown = folder_json(folder, now, with_owner=True)
    unknown = call.misbehaves(Behaviour.UNKNOWN_STATUS)
    if unknown is not None:
        shown["folderStatus"] = unknown.status_text
    history = history_json(folder, now)
    return JSONResponse({"result": "success", "folder": shown, "Folder History": history})


@_refusals_as_200
def _view_activity_history(sandbox: Sandbox, call: VendorCall) -> Response:
    folder = folders.find_folder(sandbox, _folder_id(call))
    now = sandbox.now_ms()
    shared = folder.visible_status(now) is not FolderStatus.DRAFT
    if call.misbehaves(Behaviour.CONTRADICTING_HISTORY) is not None:
        shared = not shared
    if not shared:
        raise FolderRefusedError("logs of a non-shared folder can not be viewed.")
    return JSONResponse({"result": "success", "Folder History": history_json(folder, now)})


@_refusals_as_200
def _list_folder_ids(sandbox: Sandbox, call: VendorCall) -> Response:
    first, last = _day(call, "dateFrom"), _day(call, "dateTo")
    wanted = call.query.get("status")
    now = sandbox.now_ms()
    ids = [
        folder.folder_id
        for folder in folders.all_folders(sandbox)
        if first <= _created_on(folder) <= last
        and wanted in (None, "", folder.visible_status(now).value)
    ]
    message = f"{len(ids)} folders found."
    return JSONResponse({"result": "success", "message": message, "allFolderIds": ids})


@_refusals_as_200
def _cancel_folder(sandbox: Sandbox, call: VendorCall) -> Response:
    folder_id = _folder_id(call)
    if not call.json_object().get("reason_for_cancellation"):
        raise FolderRefusedError("reason_for_cancellation parameter must be required.")
    folders.end_folder(sandbox, folder_id, FolderStatus.CANCELLED)
    return JSONResponse(SUCCESS)


@_refusals_as_400
def _download_document(sandbox: Sandbox, call: VendorCall) -> Response:
    folder = folders.find_folder(sandbox, _folder_id(call))
    number = _document_number(call, folder)
    _require_executed(folder)
    pdf = sandbox.store.get_blob(folders.signed_key(folder.folder_id, number)) or b""
    return Response(pdf, media_type="application/pdf")


@_refusals_as_400
def _download_envelope(sandbox: Sandbox, call: VendorCall) -> Response:
    folder = folders.find_folder(sandbox, _folder_id(call))
    _require_executed(folder)
    return Response(envelope_zip(sandbox, folder), media_type="application/zip")


def _require_executed(folder: Folder) -> None:
    if folder.status is not FolderStatus.EXECUTED:
        raise FolderRefusedError(f"folder {folder.folder_id} is not executed yet.")


def _document_number(call: VendorCall, folder: Folder) -> int:
    given = call.query.get("docNumber", "")
    if not given.isdecimal() or not 1 <= int(given) <= len(folder.documents):
        raise FolderRefusedError("invalid document index number")
    return int(given)


def _folder_id(call: VendorCall) -> int:
    if call.folder_id is None:
        raise FolderRefusedError("folderId parameter must be required.")
    return call.folder_id


def _day(call: VendorCall, name: str) -> date:
    given = call.query.get(name)
    if not given:
        raise FolderRefusedError(f"The parameters {name} can not be empty.")
    try:
        return date.fromisoformat(given)
    except ValueError as error:
        raise FolderRefusedError(f"The parameter {name} must be YYYY-MM-DD.") from error


def _created_on(folder: Folder) -> date:
    return datetime.fromtimestamp(folder.created_ms / 1000, UTC).date()


ENDPOINTS = (
    Endpoint("POST", f"{_PREFIX}/createfolder", "createfolder", _create_folder),
    Endpoint("POST", f"{_PREFIX}/sendDraftFolder", "sendDraftFolder", _send_draft_folder),
    Endpoint("GET", f"{_PREFIX}/myfolder", "myfolder", _my_folder),
    Endpoint(
        "GET", f"{_PREFIX}/getAllFolderIdsByStatus", "getAllFolderIdsByStatus", _list_folder_ids
    ),
    Endpoint(
        "GET", f"{_PREFIX}/viewActivityHistory", "viewActivityHistory", _view_activity_history
    ),
    Endpoint("GET", f"{_PREFIX}/document/download", "document/download", _download_document),
    Endpoint("GET", f"{_PREFIX}/download", "download", _download_envelope),
    Endpoint("POST", f"{_PREFIX}/cancelFolder", "cancelFolder", _cancel_folder),
)
