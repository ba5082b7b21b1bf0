"""A text with signatures below it, as C2SP signed-note says.

Rules:
1. The text ends with a line feed and holds no other control character; what is signed is the text.
2. Below an empty line stands one line per signature: an em dash, the key's name, and the base64 of
   the key's id (4 bytes) and the signature.
3. An Ed25519 key's id is the start of the SHA-256 of its name, a line feed, the byte 1 and the key.
4. A note has one byte form: what is parsed and written again is the same bytes.

Source: https://c2sp.org/signed-note.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import unicodedata
from dataclasses import dataclass
from typing import Final

KEY_ID_BYTES: Final = 4
SIGNATURE_BYTES: Final = 64
"""Length of an Ed25519 signature (RFC 8032)."""

_DASH: Final = "\u2014 "
_ED25519: Final = b"\x01"


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """One signature line: who signed, with which key, and the 64 bytes."""

    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class SignedNote:
    """A text and its signatures."""

    text: str
    signatures: tuple[NoteSignature, ...]

    def to_bytes(self) -> bytes:
        """Return the note's one byte form (rule 4)."""
        lines = [
            f"{_DASH}{one.name} {base64.b64encode(one.key_id + one.signature).decode('ascii')}\n"
            for one in self.signatures
        ]
        return f"{self.text}\n{''.join(lines)}".encode()


def key_id_of(name: str, public_key: bytes) -> bytes:
    """Return the id of an Ed25519 key (rule 3).

    Args:
        name: The key's name.
        public_key: 32 bytes (RFC 8032).
    """
    return hashlib.sha256(name.encode() + b"\n" + _ED25519 + public_key).digest()[:KEY_ID_BYTES]


def is_key_name(name: str) -> bool:
    """Return whether a name can stand in a signature line: not empty, no space, no plus."""
    return bool(name) and not any(one.isspace() or one == "+" or _control(one) for one in name)


def parse_note(content: bytes) -> SignedNote:
    """Return the note that some bytes hold.

    Raises:
        ValueError: They hold none, or not in its one byte form; says what is wrong.
    """
    try:
        whole = content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("the note is not UTF-8") from None
    text, separator, below = whole.rpartition("\n\n")
    if not separator or not below.endswith("\n"):
        raise ValueError("the note has no signatures below an empty line")
    if any(_control(one) for one in whole.replace("\n", "")):
        raise ValueError("the note holds a control character")
    signatures = tuple(_signature(line) for line in below[:-1].split("\n"))
    note = SignedNote(f"{text}\n", signatures)
    if note.to_bytes() != content:
        raise ValueError("the note is not in its one byte form")
    return note


def _signature(line: str) -> NoteSignature:
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not is_key_name(name):
        raise ValueError("a signature line of the note is malformed")
    try:
        decoded = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raise ValueError("a signature of the note is not base64") from None
    if len(decoded) != KEY_ID_BYTES + SIGNATURE_BYTES:
        raise ValueError("a signature of the note does not have the length of Ed25519")
    return NoteSignature(name, decoded[:KEY_ID_BYTES], decoded[KEY_ID_BYTES:])


def _control(character: str) -> bool:
    return unicodedata.category(character) == "Cc"
