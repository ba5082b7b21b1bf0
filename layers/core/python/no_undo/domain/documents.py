"""References to stored bytes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DocumentRef:
    """One stored object.

    Attributes:
        key: Object key.
        version_id: Immutable version of that key.
        sha256: SHA-256 of the bytes, 64 lower-case hex digits.
    """

    key: str
    version_id: str
    sha256: str
