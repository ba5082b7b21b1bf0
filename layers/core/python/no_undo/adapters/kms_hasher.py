"""Keyed hashes under a KMS key: comparable inside one scope, readable nowhere."""

from __future__ import annotations

import hashlib
import hmac
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from no_undo.adapters.botocore_errors import repeatable

if TYPE_CHECKING:
    from mypy_boto3_kms import KMSClient

MAX_SUBKEYS: Final = 256
"""Subkeys kept in one process; the oldest unused one goes first."""

_PURPOSE: Final = "no-undo keyed hash v1: "


class KmsHasher:
    """Implements `ports.KeyedHasher` with one KMS call per scope (design 11)."""

    def __init__(self, client: KMSClient, key_id: str) -> None:
        """Take the client and the id or ARN of an HMAC_256 key."""
        self._client = client
        self._key_id = key_id
        self._subkey = lru_cache(maxsize=MAX_SUBKEYS)(self._derive)

    def digest(self, scope: str, value: str) -> str:
        """Return the HMAC-SHA-256 (64 hex digits) of a value under the scope's subkey.

        Args:
            scope: Where digests shall be comparable, a request id.
            value: What must not be read.

        Raises:
            TransientError: The subkey could not be had this time.
        """
        return hmac.new(self._subkey(scope), value.encode("utf-8"), hashlib.sha256).hexdigest()

    def _derive(self, scope: str) -> bytes:
        with repeatable("deriving a subkey"):
            answer = self._client.generate_mac(
                KeyId=self._key_id,
                Message=f"{_PURPOSE}{scope}".encode(),
                MacAlgorithm="HMAC_SHA_256",
            )
        return answer["Mac"]
