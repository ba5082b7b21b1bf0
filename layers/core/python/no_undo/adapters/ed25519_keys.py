"""Ed25519 public keys, checked with the `cryptography` library."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_public_key,
    load_pem_public_key,
)

from no_undo.domain.errors import InvalidRequestError


class Ed25519Key:
    """Implements `ports.PublicKey`."""

    def __init__(self, key: Ed25519PublicKey) -> None:
        self._key = key
        self._raw = key.public_bytes(Encoding.Raw, PublicFormat.Raw)

    @property
    def raw(self) -> bytes:
        """The key's 32 bytes."""
        return self._raw

    @property
    def pem(self) -> bytes:
        """The key as PEM, in its one form."""
        return self._key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Return whether this key signed the message."""
        try:
            self._key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


def key_from_pem(content: bytes) -> Ed25519Key:
    """Return the key in a PEM file.

    Raises:
        InvalidRequestError: It holds no Ed25519 public key.
    """
    try:
        key = load_pem_public_key(content)
    except Exception:  # noqa: BLE001 - the library lists no closed set of what a bad file raises
        raise InvalidRequestError("the key file holds no public key in PEM") from None
    return _checked(key)


def key_from_der(content: bytes) -> Ed25519Key:
    """Return the key in a SubjectPublicKeyInfo, as KMS answers it.

    Raises:
        InvalidRequestError: It holds no Ed25519 public key.
    """
    try:
        key = load_der_public_key(content)
    except Exception:  # noqa: BLE001 - as above
        raise InvalidRequestError("the bytes hold no public key in DER") from None
    return _checked(key)


def _checked(key: object) -> Ed25519Key:
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidRequestError("the key is not an Ed25519 key")
    return Ed25519Key(key)
