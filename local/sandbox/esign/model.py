"""What a folder (the vendor's word for an envelope) holds."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class FolderStatus(StrEnum):
    """Folder states; the spelling of the last two is ours, the vendor's is not known."""

    DRAFT = "DRAFT"
    SHARED = "SHARED"
    EXECUTED = "EXECUTED"
    CANCELLED = "CANCELLED"
    DECLINED = "DECLINED"
    EXPIRED = "EXPIRED"


class FolderRefusedError(Exception):
    """The vendor says no; the text is its error description."""


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Party(_Kept):
    """One signer; `number` is the party number in text tags, `signed_ms` None until signed."""

    party_id: int
    number: int
    first_name: str
    last_name: str
    email: str
    signed_ms: int | None = None

    @property
    def name(self) -> str:
        """First and last name as one text."""
        return f"{self.first_name} {self.last_name}".strip()


class FolderDocument(_Kept):
    """One document of a folder; its bytes lie in the store."""

    document_id: int
    file_name: str


class HistoryEntry(_Kept):
    """One line of the folder's history; `action` is such as `Created` or `Signed`."""

    first_name: str
    last_name: str
    email: str
    date_ms: int
    action: str


class Folder(_Kept):
    """One folder.

    Attributes:
        folder_id: Integer id, never used twice.
        name: As given.
        parties: In order of their numbers.
        documents: In order; the vendor numbers them from 1.
        sign_in_sequence: Parties must sign in the order of their numbers.
        process_text_tags: False means that no tag becomes a field.
        created_ms: Epoch milliseconds.
        sent_ms: When it was sent first; None while it never was.
        visible_from_ms: Until then readers still see a sent folder as DRAFT.
        status: The true status.
        history: Oldest first.
    """

    folder_id: int
    name: str
    parties: tuple[Party, ...]
    documents: tuple[FolderDocument, ...]
    sign_in_sequence: bool
    process_text_tags: bool
    created_ms: int
    sent_ms: int | None = None
    visible_from_ms: int = 0
    status: FolderStatus = FolderStatus.DRAFT
    history: tuple[HistoryEntry, ...] = ()

    def visible_status(self, now_ms: int) -> FolderStatus:
        """Return the status that a reader sees at this time."""
        lagging = self.status is FolderStatus.SHARED and now_ms < self.visible_from_ms
        return FolderStatus.DRAFT if lagging else self.status

    def with_event(self, action: str, now_ms: int, party: Party | None = None) -> Folder:
        """Return the folder with one more history line, by the owner or by a party."""
        entry = HistoryEntry(
            first_name=party.first_name if party else "Sandbox",
            last_name=party.last_name if party else "Owner",
            email=party.email if party else "owner@example.com",
            date_ms=now_ms,
            action=action,
        )
        return self.model_copy(update={"history": (*self.history, entry)})

    def party(self, number: int) -> Party:
        """Return one party.

        Raises:
            FolderRefusedError: There is no party with that number.
        """
        for party in self.parties:
            if party.number == number:
                return party
        raise FolderRefusedError(f"folder {self.folder_id} has no party {number}")
