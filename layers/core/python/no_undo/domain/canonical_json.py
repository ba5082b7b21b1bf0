"""The one byte form of a JSON value, for hashing (RFC 8785, JSON Canonicalization Scheme).

Rules:
1. Keys are ASCII; values are objects, arrays, strings, integers and booleans. With that subset the
   scheme needs no number formatting: keys sort the same by code point and by UTF-16 unit.
2. Integers stay within the range that every JSON reader keeps exact (RFC 8785 3.2.2.3).
3. Anything else (floats, null, lone surrogates, other keys) is a programming mistake, not data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final

Json = str | int | bool | Mapping[str, "Json"] | Sequence["Json"]

MAX_SAFE_INTEGER: Final = 2**53 - 1


def canonical_bytes(value: Json) -> bytes:
    """Return the RFC 8785 form of a value, as UTF-8.

    Args:
        value: Nested mappings (ASCII keys) and sequences of strings, integers and booleans.

    Raises:
        ValueError: The value lies outside the subset of rules 1 and 2.
    """
    _check(value)
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8")  # a lone surrogate raises UnicodeEncodeError, a ValueError


def sha256_hex(value: Json) -> str:
    """Return the SHA-256 of a value's canonical form as 64 lower-case hex digits."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def _check(value: Json) -> None:
    match value:
        case str() | bool():
            return
        case int():
            if abs(value) > MAX_SAFE_INTEGER:
                raise ValueError("an integer is outside the range every JSON reader keeps exact")
        case Mapping():
            for key, inner in value.items():
                if not _is_ascii_text(key):
                    raise ValueError("keys of canonical JSON must be ASCII text")
                _check(inner)
        case list() | tuple():
            for inner in value:
                _check(inner)
        case _:
            raise ValueError(f"canonical JSON has no form for {type(value).__name__}")


def _is_ascii_text(key: object) -> bool:
    return isinstance(key, str) and key.isascii()
