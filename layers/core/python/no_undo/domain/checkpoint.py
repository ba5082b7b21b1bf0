"""A checkpoint: what the whole audit was at one moment, in five lines to be signed.

Rules:
1. The lines are origin, number of records, root of their Merkle tree, and one that names the
   manifest by its SHA-256 (an extension line of C2SP tlog-checkpoint).
2. The origin names the log; it is also the name of the key that signs.
3. A checkpoint has one text form.

Source: https://c2sp.org/tlog-checkpoint.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from typing import Final

from no_undo.domain.merkle import HASH_BYTES
from no_undo.domain.signed_note import is_key_name

_FORM: Final = re.compile(
    r"(?P<origin>[^\n]+)\n(?P<size>0|[1-9][0-9]{0,17})\n(?P<root>[A-Za-z0-9+/=]+)\n"
    r"manifest sha256:(?P<manifest>[0-9a-f]{64})\n",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What is signed.

    Attributes:
        origin: Name of the log, and of the key.
        size: Number of records from the first one on.
        root: Root of the Merkle tree over their hashes, 32 bytes.
        manifest_sha256: 64 hex digits.
    """

    origin: str
    size: int
    root: bytes
    manifest_sha256: str

    def to_text(self) -> str:
        """Return the text to be signed (rule 3)."""
        root = base64.b64encode(self.root).decode("ascii")
        return f"{self.origin}\n{self.size}\n{root}\nmanifest sha256:{self.manifest_sha256}\n"

    def sha256(self) -> str:
        """Return the SHA-256 of the text, by which the next checkpoint names this one."""
        return hashlib.sha256(self.to_text().encode()).hexdigest()


def parse_checkpoint(text: str) -> Checkpoint:
    """Return the checkpoint that a text states.

    Raises:
        ValueError: It states none, or not in its one text form.
    """
    found = _FORM.fullmatch(text)
    if found is None or not is_key_name(found["origin"]):
        raise ValueError("the text is not a checkpoint of this audit")
    try:
        root = base64.b64decode(found["root"], validate=True)
    except binascii.Error:
        raise ValueError("the root of the checkpoint is not base64") from None
    checkpoint = Checkpoint(found["origin"], int(found["size"]), root, found["manifest"])
    if len(root) != HASH_BYTES or checkpoint.to_text() != text:
        raise ValueError("the checkpoint is not in its one text form")
    return checkpoint
