"""Exports made in memory with a key of their own: for tests of the verifier, and for benchmarks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from no_undo.adapters.chain_ends import BoundedChainEnds
from no_undo.adapters.ed25519_keys import Ed25519Key
from no_undo.domain.audit_chain import (
    AuditEvent,
    AuditRecord,
    ChainHead,
    Provenance,
    next_record,
)
from no_undo.domain.audit_export import (
    PUBLIC_KEY_NAME,
    ExportHead,
    Planned,
    checkpoint_name,
    manifest_name,
    plan_checkpoint,
)
from no_undo.domain.checkpoint import Checkpoint
from no_undo.domain.signed_note import NoteSignature, SignedNote, key_id_of
from no_undo.use_cases.verify_audit import Verification, verify_audit

ORIGIN = "audit.example/no-undo"
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
PROVENANCE = Provenance("1.2.3", "c" * 16)

Files = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class FilesInMemory:
    """Implements `ports.ExportedFiles`."""

    files: Mapping[str, bytes]

    def names(self) -> tuple[str, ...]:
        return tuple(self.files)

    def read(self, name: str, limit: int) -> bytes | None:
        content = self.files.get(name)
        return None if content is None else content[:limit]


@dataclass(frozen=True, slots=True)
class Signer:
    """A key pair in memory."""

    private: Ed25519PrivateKey

    @classmethod
    def of(cls, seed: int) -> Signer:
        """Return the same key pair for the same number."""
        return cls(Ed25519PrivateKey.from_private_bytes(seed.to_bytes(32, "big")))

    @property
    def public(self) -> Ed25519Key:
        return Ed25519Key(self.private.public_key())

    def note(self, checkpoint: Checkpoint) -> bytes:
        """Return the signed note of a checkpoint."""
        text = checkpoint.to_text()
        signature = NoteSignature(
            checkpoint.origin,
            key_id_of(checkpoint.origin, self.public.raw),
            self.private.sign(text.encode()),
        )
        return SignedNote(text, (signature,)).to_bytes()


SIGNER = Signer.of(1)


@dataclass(slots=True)
class Exporter:
    """Exports batches of records into files in memory, as the product does."""

    signer: Signer = SIGNER
    origin: str = ORIGIN
    head: ExportHead = field(default_factory=ExportHead)
    files: Files = field(default_factory=dict[str, bytes])

    def export(self, records: Sequence[AuditRecord] = ()) -> Planned:
        at = NOON + timedelta(minutes=5 * self.head.number)
        planned = plan_checkpoint(self.head, records, at, self.origin)
        number = planned.head.number
        self.files |= planned.segments
        self.files[manifest_name(number)] = planned.manifest.to_bytes()
        self.files[checkpoint_name(number)] = self.signer.note(planned.checkpoint)
        self.head = planned.head
        return planned

    def with_key(self) -> Files:
        """Return the files with a copy of the key beside them."""
        return {**self.files, PUBLIC_KEY_NAME: self.signer.public.pem}


def chain(
    chain_id: str, length: int, start: ChainHead | None = None, note: str = "x"
) -> list[AuditRecord]:
    """Return records that follow each other on one chain."""
    return list(_chain(start or ChainHead(chain_id), length, note))


def _chain(head: ChainHead, length: int, note: str) -> Iterator[AuditRecord]:
    for number in range(length):
        event = AuditEvent("plan.begun", "send_envelope", NOON, {"n": number, "note": note})
        record = next_record(head, event, PROVENANCE)
        head = ChainHead(head.chain_id, record.seq, record.hash)
        yield record


def small_export() -> Exporter:
    """Return three checkpoints: two chains, nothing, and more of one of the chains."""
    exporter = Exporter()
    first = chain("r1", 3)
    exporter.export([*first, *chain("r2", 2)])
    exporter.export()
    exporter.export(chain("r1", 2, ChainHead("r1", 3, first[-1].hash)))
    return exporter


def verify(
    files: Mapping[str, bytes],
    keys: Sequence[Ed25519Key] = (SIGNER.public,),
    kept: Iterable[Checkpoint] = (),
) -> Verification:
    """Verify files in memory."""
    return verify_audit(FilesInMemory(files), keys, BoundedChainEnds(), kept=tuple(kept))
