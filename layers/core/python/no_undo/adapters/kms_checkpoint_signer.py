"""Signs checkpoints with an Ed25519 key that never leaves KMS.

Source: key spec ECC_NIST_EDWARDS25519, signing algorithm ED25519_SHA_512 with message type RAW, at
most 4,096 bytes (AWS KMS API reference, Sign; service model of botocore 1.44).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from no_undo.adapters.botocore_errors import repeatable
from no_undo.domain.checkpoint import Checkpoint
from no_undo.domain.errors import VendorContractError
from no_undo.domain.signed_note import NoteSignature, SignedNote, key_id_of

if TYPE_CHECKING:
    from mypy_boto3_kms import KMSClient

_SPKI_PREFIX: Final = bytes.fromhex("302a300506032b6570032100")
"""What stands before the 32 bytes of an Ed25519 key in its SubjectPublicKeyInfo (RFC 8410)."""
_SPKI_BYTES: Final = len(_SPKI_PREFIX) + 32


class KmsCheckpointSigner:
    """Implements `ports.CheckpointSigner`."""

    def __init__(self, client: KMSClient, key_id: str) -> None:
        """Take the client and the id or ARN of the signing key."""
        self._client = client
        self._key_id = key_id

    def sign(self, checkpoint: Checkpoint) -> bytes:
        """Return the signed note of a checkpoint.

        Raises:
            TransientError: KMS did not sign this time.
            VendorContractError: The key is not an Ed25519 key.
        """
        text = checkpoint.to_text()
        with repeatable("signing a checkpoint"):
            answer = self._client.sign(
                KeyId=self._key_id,
                Message=text.encode(),
                MessageType="RAW",
                SigningAlgorithm="ED25519_SHA_512",
            )
        key_id = key_id_of(checkpoint.origin, self._public_key)
        signature = NoteSignature(checkpoint.origin, key_id, answer["Signature"])
        return SignedNote(text, (signature,)).to_bytes()

    @cached_property
    def _public_key(self) -> bytes:
        with repeatable("reading the public key"):
            spki = self._client.get_public_key(KeyId=self._key_id)["PublicKey"]
        if len(spki) != _SPKI_BYTES or not spki.startswith(_SPKI_PREFIX):
            raise VendorContractError("the audit's signing key is not an Ed25519 key")
        return spki.removeprefix(_SPKI_PREFIX)
