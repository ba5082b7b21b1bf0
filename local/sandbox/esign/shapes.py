"""Folders in the vendor's JSON, key by key as recorded (foxit-esign-probe-*) and described."""

from __future__ import annotations

from typing import Any

from local.sandbox.esign.model import Folder, FolderDocument, FolderStatus, HistoryEntry, Party

_NO_OWNER: dict[str, Any] = {
    "folderAuthorId": 0,
    "folderAuthorFirstName": None,
    "folderAuthorLastName": None,
    "folderAuthorEmail": None,
    "folderAuthorRole": None,
}
_OWNER: dict[str, Any] = {
    "folderAuthorId": 0,
    "folderAuthorFirstName": "Sandbox",
    "folderAuthorLastName": "Owner",
    "folderAuthorEmail": "owner@example.com",
    "folderAuthorRole": "super_admin",
}
_DOCUMENT_STATUS = {
    FolderStatus.DRAFT: "DRAFT",
    FolderStatus.SHARED: "WAITING_FOR_SIGNATURE",
}


def folder_json(folder: Folder, now_ms: int, *, with_owner: bool) -> dict[str, Any]:
    """Return the `folder` object of an answer or an event.

    Args:
        folder: The folder.
        now_ms: Reading time; a lagging folder still shows DRAFT.
        with_owner: True in `myfolder`; createfolder answers null author fields.
    """
    status = folder.visible_status(now_ms)
    return {
        "folderId": folder.folder_id,
        "folderName": folder.name,
        "folderCustomName": "${doc_name}",
        "folderPassword": None,
        **(_OWNER if with_owner else _NO_OWNER),
        "folderCompanyId": 0,
        "folderCreationDate": folder.created_ms,
        "folderSentDate": None if status is FolderStatus.DRAFT else folder.sent_ms,
        "folderStatus": status.value,
        "custom_field1": None,
        "custom_field2": None,
        "metadata": None,
        "folderDocumentIds": [document.document_id for document in folder.documents],
        "documentsList": [
            _document_json(folder, document, status) for document in folder.documents
        ],
        "folderRecipientParties": [_party_json(folder, party) for party in folder.parties],
        "draftFolderAccessURL": None,
    }


def _document_json(
    folder: Folder, document: FolderDocument, status: FolderStatus
) -> dict[str, Any]:
    return {
        "documentId": document.document_id,
        "contractId": document.document_id,
        "companyId": 0,
        "contractCreatedBy": 0,
        "contractCreatedOn": folder.created_ms,
        "contractType": None,
        "contractStatus": _DOCUMENT_STATUS.get(status, status.value),
        "editable": False,
        "contractVersionId": document.document_id,
        "contractVersionName": document.file_name,
        "contractVersionDesc": None,
        "versionCreatedby": 0,
        "versionCreatedOn": folder.created_ms,
        "contractVersionNumber": 1,
        "contractTransactionSource": None,
    }


def _party_json(folder: Folder, party: Party) -> dict[str, Any]:
    return {
        "partyId": party.party_id,
        "partyDetails": {
            "partyId": party.party_id,
            "firstName": party.first_name,
            "lastName": party.last_name,
            "emailId": party.email,
            "placeholder": False,
            "address": "",
            "dateCreated": folder.created_ms,
            "optOutEmails": False,
            "authenticationLevel": "NO",
            "passwordUpdateDate": None,
            "passwordUpdateStatus": False,
        },
        "contractPermissions": "FILL_FIELDS_AND_SIGN",
        "partySequence": party.number,
        "workflowSignSequence": party.number if folder.sign_in_sequence else 1,
    }


def history_json(folder: Folder, now_ms: int) -> list[dict[str, Any]]:
    """Return the entries under the vendor's key `Folder History`, a lagging send left out."""
    draft = folder.visible_status(now_ms) is FolderStatus.DRAFT
    shown = folder.history[:1] if draft else folder.history
    return [_entry_json(folder, entry) for entry in shown]


def _entry_json(folder: Folder, entry: HistoryEntry) -> dict[str, Any]:
    return {
        "firstName": entry.first_name,
        "lastName": entry.last_name,
        "email": entry.email,
        "envelopeId": folder.folder_id,
        "dateChanged": entry.date_ms,
        "action": entry.action,
    }
