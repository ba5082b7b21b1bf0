"""How folders may change.

1. DRAFT -> SHARED by a send; every send e-mails all parties, a repeated one as well unless the
   settings let the vendor refuse it.
2. SHARED -> EXECUTED when the last party has signed.
3. SHARED -> CANCELLED, DECLINED or EXPIRED; nothing leaves these states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local.sandbox.esign.model import (
    Folder,
    FolderDocument,
    FolderRefusedError,
    FolderStatus,
    Party,
)
from local.sandbox.esign.shapes import folder_json
from local.sandbox.esign.tags import signature_tags
from local.sandbox.state import Sandbox
from local.sandbox.webhooks import EventName, queue_events

_FOLDERS = "folders"
_EMAILS = "emails"
_FIRST_FOLDER_ID = 36000001
_FIRST_DOCUMENT_ID = 42000001
_FIRST_PARTY_ID = 52000001
_ENDINGS = {
    FolderStatus.CANCELLED: EventName.CANCELLED,
    FolderStatus.DECLINED: EventName.DECLINED,
    FolderStatus.EXPIRED: EventName.EXPIRED,
}


def original_key(folder_id: int, document_number: int) -> str:
    """Return the blob key of a document as uploaded; numbers start at 1."""
    return f"folder/{folder_id}/{document_number}/original"


def signed_key(folder_id: int, document_number: int) -> str:
    """Return the blob key of a document with the signatures made so far; numbers start at 1."""
    return f"folder/{folder_id}/{document_number}/signed"


def certificate_key(folder_id: int) -> str:
    """Return the blob key of the completion certificate."""
    return f"folder/{folder_id}/certificate"


@dataclass(frozen=True, slots=True)
class NewFolder:
    """What a folder is made of.

    Attributes:
        name: Folder name.
        parties: The request's party objects (`firstName`, `lastName`, `emailId`, `sequence`).
        documents: File name and bytes of each document, in order.
        sign_in_sequence: Parties must sign in the order of their numbers.
        process_text_tags: Text tags become fields.
    """

    name: str
    parties: Sequence[Mapping[str, Any]]
    documents: Sequence[tuple[str, bytes]]
    sign_in_sequence: bool
    process_text_tags: bool


def create_folder(sandbox: Sandbox, wanted: NewFolder) -> Folder:
    """Create a draft; nobody is contacted."""
    store = sandbox.store
    with store.transaction():
        folder = Folder(
            folder_id=store.next_number(_FOLDERS, _FIRST_FOLDER_ID),
            name=wanted.name,
            parties=tuple(_party(sandbox, p, n) for n, p in enumerate(wanted.parties, start=1)),
            documents=tuple(_document(sandbox, file_name) for file_name, _ in wanted.documents),
            sign_in_sequence=wanted.sign_in_sequence,
            process_text_tags=wanted.process_text_tags,
            created_ms=sandbox.now_ms(),
        ).with_event("Created", sandbox.now_ms())
        for number, (_, content) in enumerate(wanted.documents, start=1):
            store.put_blob(original_key(folder.folder_id, number), content)
        save_folder(sandbox, folder)
    return folder


def _party(sandbox: Sandbox, given: Mapping[str, Any], position: int) -> Party:
    return Party(
        party_id=sandbox.store.next_number("parties", _FIRST_PARTY_ID),
        number=int(given.get("sequence") or position),
        first_name=str(given.get("firstName") or ""),
        last_name=str(given.get("lastName") or ""),
        email=str(given["emailId"]),
    )


def _document(sandbox: Sandbox, file_name: str) -> FolderDocument:
    number = sandbox.store.next_number("documents", _FIRST_DOCUMENT_ID)
    return FolderDocument(document_id=number, file_name=file_name)


def save_folder(sandbox: Sandbox, folder: Folder) -> None:
    """Keep a folder as it is now."""
    sandbox.store.put(_FOLDERS, folder.folder_id, folder.model_dump(mode="json"))


def find_folder(sandbox: Sandbox, folder_id: int) -> Folder:
    """Return a folder.

    Raises:
        FolderRefusedError: There is none with that id.
    """
    kept = sandbox.store.get(_FOLDERS, folder_id)
    if kept is None:
        raise FolderRefusedError(f"Folder with id {folder_id} does not exist.")
    return Folder.model_validate(kept)


def all_folders(sandbox: Sandbox) -> list[Folder]:
    """Return every folder, oldest first."""
    return [Folder.model_validate(kept) for _, kept in sandbox.store.all(_FOLDERS)]


def send_folder(sandbox: Sandbox, folder_id: int, *, lag_seconds: float = 0.0) -> Folder:
    """Send a folder: from here on all parties have been e-mailed.

    Args:
        sandbox: The state.
        folder_id: Which.
        lag_seconds: How long readers still see DRAFT afterwards.

    Raises:
        FolderRefusedError: No such folder, a party without a signature field, a folder that has
            ended, or a second send where the settings refuse it.
    """
    _require_signature_fields(sandbox, find_folder(sandbox, folder_id))
    with sandbox.store.transaction():
        folder = find_folder(sandbox, folder_id)
        _require_sendable(sandbox, folder)
        now = sandbox.now_ms()
        first_send = folder.status is FolderStatus.DRAFT
        changes: dict[str, Any] = {"status": FolderStatus.SHARED}
        if first_send:
            changes |= {"sent_ms": now, "visible_from_ms": now + int(lag_seconds * 1000)}
        folder = folder.model_copy(update=changes).with_event("Sent", now)
        save_folder(sandbox, folder)
        recipients = [party.email for party in folder.parties]
        mail = {"timeMs": now, "folderId": folder_id, "recipients": recipients}
        sandbox.store.add(_EMAILS, mail)
        announce(sandbox, folder, EventName.SENT)
    return folder


def _require_sendable(sandbox: Sandbox, folder: Folder) -> None:
    refuse_second = sandbox.settings.second_send_refused
    if folder.status is FolderStatus.SHARED and not refuse_second:
        return
    if folder.status is not FolderStatus.DRAFT:
        raise FolderRefusedError(f"Folder {folder.folder_id} is not a draft.")


def _require_signature_fields(sandbox: Sandbox, folder: Folder) -> None:
    tagged: set[int] = set()
    if folder.process_text_tags:
        for number in range(1, len(folder.documents) + 1):
            pdf = sandbox.store.get_blob(original_key(folder.folder_id, number)) or b""
            tagged |= {tag.party for tag in signature_tags(pdf)}
    for party in folder.parties:
        if party.number not in tagged:
            raise FolderRefusedError(f"Please assign a signature field to {party.name}.")


def end_folder(
    sandbox: Sandbox, folder_id: int, status: FolderStatus, *, party_number: int | None = None
) -> Folder:
    """End a sent folder unsigned: CANCELLED, DECLINED (by a party) or EXPIRED.

    Raises:
        FolderRefusedError: It is not waiting for signatures.
    """
    with sandbox.store.transaction():
        folder = find_folder(sandbox, folder_id)
        if folder.status is not FolderStatus.SHARED:
            raise FolderRefusedError(f"Folder {folder_id} is not waiting for signatures.")
        party = None if party_number is None else folder.party(party_number)
        folder = folder.model_copy(update={"status": status})
        folder = folder.with_event(status.capitalize(), sandbox.now_ms(), party)
        save_folder(sandbox, folder)
        announce(sandbox, folder, _ENDINGS[status], signer=party)
    return folder


def announce(
    sandbox: Sandbox, folder: Folder, *events: EventName, signer: Party | None = None
) -> None:
    """Queue webhook events about a folder, in the order in which they happened."""
    shown = folder_json(folder, sandbox.now_ms(), with_owner=True)
    queue_events(sandbox, events, shown, signer_email=signer.email if signer else None)


def sent_emails(sandbox: Sandbox) -> list[dict[str, Any]]:
    """Return every e-mailing so far: `timeMs`, `folderId`, `recipients`; oldest first."""
    return [mail for _, mail in sandbox.store.all(_EMAILS)]


def send_counts(sandbox: Sandbox) -> dict[int, int]:
    """Return how often each folder's parties were e-mailed; folders never sent count 0."""
    counts = {folder.folder_id: 0 for folder in all_folders(sandbox)}
    for mail in sent_emails(sandbox):
        counts[mail["folderId"]] = counts.get(mail["folderId"], 0) + 1
    return counts
