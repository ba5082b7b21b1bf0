"""Versioned documents in memory."""

from __future__ import annotations

import hashlib
from threading import Lock
from urllib.parse import quote

from no_undo.domain.documents import DocumentRef
from no_undo.domain.errors import InvalidRequestError, NotFoundError, TamperedError


class MemoryDocumentStore:
    """Implements `ports.DocumentStore`; its URLs name what they would serve and serve nothing."""

    def __init__(self) -> None:
        """Start empty."""
        self._versions: dict[str, list[bytes]] = {}
        self._removed: set[str] = set()
        self._lock = Lock()

    def put(self, key: str, content: bytes, content_type: str) -> DocumentRef:  # noqa: ARG002
        """Store bytes under a key; returns the version just written."""
        with self._lock:
            versions = self._versions.setdefault(key, [])
            versions.append(content)
            self._removed.discard(key)
            version_id = str(len(versions))
        return DocumentRef(key, version_id, hashlib.sha256(content).hexdigest())

    def get(self, ref: DocumentRef) -> bytes:
        """Return exactly that version.

        Raises:
            TamperedError: The stored bytes do not have the reference's SHA-256.
            NotFoundError: There is no such object.
        """
        versions = self._versions.get(ref.key, [])
        if not ref.version_id.isdecimal() or not 1 <= int(ref.version_id) <= len(versions):
            raise NotFoundError(f"there is no stored object {ref.key}")
        content = versions[int(ref.version_id) - 1]
        if hashlib.sha256(content).hexdigest() != ref.sha256:
            raise TamperedError(f"the stored document {ref.key} does not have its SHA-256")
        return content

    def get_upload(self, key: str, *, max_bytes: int) -> bytes:
        """Return an uploaded object by key alone.

        Raises:
            NotFoundError: Nothing was uploaded there.
            InvalidRequestError: It is larger than `max_bytes`.
        """
        if key not in self._versions or key in self._removed:
            raise NotFoundError(f"there is no stored object {key}")
        content = self._versions[key][-1]
        if len(content) > max_bytes:
            raise InvalidRequestError(f"the uploaded document is larger than {max_bytes} bytes")
        return content

    def delete_upload(self, key: str) -> None:
        """Remove an uploaded object; its versions stay readable, as in a versioned bucket."""
        self._removed.add(key)

    def upload_url(self, key: str, *, expires_seconds: int) -> str:
        """Return a URL that names the key."""
        return f"https://documents.example/{quote(key)}?expires={expires_seconds}"

    def download_url(self, ref: DocumentRef, *, filename: str, expires_seconds: int) -> str:
        """Return a URL that names the version."""
        return (
            f"https://documents.example/{quote(ref.key)}?version={quote(ref.version_id)}"
            f"&filename={quote(filename)}&expires={expires_seconds}"
        )

    def forget(self, ref: DocumentRef) -> None:
        """Lose an object with all its versions: what a deleting administrator would do."""
        del self._versions[ref.key]

    def replace_stored(self, ref: DocumentRef, content: bytes) -> None:
        """Put other bytes in place of a version: what a tampering administrator would do."""
        self._versions[ref.key][int(ref.version_id) - 1] = content
