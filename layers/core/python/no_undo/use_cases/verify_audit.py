"""Verify Audit: check an export with its files and the public key, and nothing else (P9).

The steps below are numbered as docs/audit.md lists them. Nothing is unpacked or parsed as a record
before a signature covers it. The first thing that does not verify ends the run and is named.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from no_undo.domain.audit_chain import ZERO_HASH, Link, link_of
from no_undo.domain.audit_export import (
    PUBLIC_KEY_NAME,
    ExportHead,
    Manifest,
    Segment,
    checkpoint_name,
    checkpoint_number,
    manifest_name,
    parse_manifest,
    segment_name,
)
from no_undo.domain.checkpoint import Checkpoint, parse_checkpoint
from no_undo.domain.merkle import Frontier, is_consistent
from no_undo.domain.signed_note import SignedNote, key_id_of, parse_note
from no_undo.ports import ExportedFiles, PublicKey

MAX_NOTE_BYTES = 16 * 1024
MAX_MANIFEST_BYTES = 256 * 1024

_NOTHING = (0, ZERO_HASH)
"""Where a chain ends that has no record yet."""


class ChainEnds(Protocol):
    """Where each chain ended so far; grows with the number of chains, not of records."""

    def get(self, chain_id: str) -> tuple[int, str] | None:
        """Return number and hash of the newest record of a chain, or None."""
        ...

    def set(self, chain_id: str, end: tuple[int, str]) -> None:
        """Note the newest record of a chain."""
        ...


@dataclass(frozen=True, slots=True)
class Failure:
    """The first thing that does not verify.

    Attributes:
        where: File, and the record inside where it is one.
        why: One sentence.
    """

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What was verified.

    Attributes:
        records: Records that verified.
        checkpoints: Checkpoints that verified.
        newest: When the last verified checkpoint says it was made; empty when none verified.
        failure: None when everything verified.
    """

    records: int
    checkpoints: int
    newest: str
    failure: Failure | None


class _BrokenError(Exception):
    """Something does not verify; ends the run."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}")
        self.failure = Failure(where, why)


def verify_audit(
    files: ExportedFiles,
    keys: Sequence[PublicKey],
    ends: ChainEnds,
    *,
    kept: Sequence[Checkpoint] = (),
    progress: Callable[[int], None] = lambda _checkpoints: None,
) -> Verification:
    """Verify a whole export from its first record.

    Args:
        files: The exported files.
        keys: Public keys in the order in which they were used; a later one ends the earlier ones.
        ends: Keeps where each chain ended; empty at the start.
        kept: Checkpoints that somebody kept elsewhere; each must be part of this export. Without
            one, an export whose newest checkpoints were all cut off looks like an older export.
        progress: Told the number of verified checkpoints.
    """
    run = _Run(files, keys, ends, kept)
    try:
        for number in run.verified():
            progress(number)
    except _BrokenError as broken:
        return Verification(run.head.frontier.size, run.head.number, run.newest, broken.failure)
    return Verification(run.head.frontier.size, run.head.number, run.newest, None)


def opened_note(content: bytes, keys: Sequence[PublicKey]) -> tuple[Checkpoint, int]:
    """Return the checkpoint in a note that one of the keys signed, and which key did.

    Raises:
        ValueError: It is no such note; says why.
    """
    note = parse_note(content)
    checkpoint = parse_checkpoint(note.text)
    return checkpoint, _signer(note, checkpoint.origin, keys)


def _signer(note: SignedNote, origin: str, keys: Sequence[PublicKey]) -> int:
    [one, *more] = note.signatures
    if more or one.name != origin:
        raise ValueError("the note must have one signature, by the key named like its origin")
    for index, key in enumerate(keys):
        if key_id_of(origin, key.raw) == one.key_id:
            if key.verifies(one.signature, note.text.encode()):
                return index
            raise ValueError("the signature does not verify")
    raise ValueError("it is signed by another key")


class _Run:
    """One walk through an export."""

    def __init__(
        self,
        files: ExportedFiles,
        keys: Sequence[PublicKey],
        ends: ChainEnds,
        kept: Sequence[Checkpoint],
    ) -> None:
        self._files = files
        self._keys = keys
        self._ends = ends
        self._missing = {one.to_text() for one in kept}
        self._oldest_key = 0
        self._origin = ""
        self.head = ExportHead()
        self.newest = ""

    def verified(self) -> Iterator[int]:
        """Verify one checkpoint after the other; yield the number of each."""
        names = set(self._files.names())
        self._check_public_key(names)
        while checkpoint_name(self.head.number + 1) in names:
            names -= self._checkpoint(self.head.number + 1)
            yield self.head.number
        self._check_end(names)

    def _check_public_key(self, names: set[str]) -> None:
        """1. A copy of the key beside the export must be the key that is verified with."""
        if PUBLIC_KEY_NAME not in names:
            return
        names.discard(PUBLIC_KEY_NAME)
        if self._read(PUBLIC_KEY_NAME, MAX_NOTE_BYTES) not in [one.pem for one in self._keys]:
            raise _BrokenError(PUBLIC_KEY_NAME, "it is not the key that was given")

    def _checkpoint(self, number: int) -> set[str]:
        """Verify one checkpoint and what it adds; return the names of its files."""
        name = checkpoint_name(number)
        checkpoint = self._opened(name)
        manifest = self._manifest(number, checkpoint)
        old = (self.head.frontier.size, self.head.frontier.root())
        frontier = self.head.frontier
        for segment in manifest.segments:
            frontier = frontier.extended(self._leaves(segment))
        self._check_tree(name, checkpoint, frontier, old, manifest)
        self._missing.discard(checkpoint.to_text())
        self.head = ExportHead(number, frontier, checkpoint.sha256())
        self.newest = manifest.at
        return {name, manifest_name(number), *(one.name for one in manifest.segments)}

    def _opened(self, name: str) -> Checkpoint:
        """2. The note is signed by a key that may still sign, and belongs to this log."""
        content = self._read(name, MAX_NOTE_BYTES)
        try:
            checkpoint, key = opened_note(content, self._keys)
        except ValueError as error:
            raise _BrokenError(name, str(error)) from None
        if key < self._oldest_key:
            raise _BrokenError(name, "it is signed by a key that an earlier checkpoint replaced")
        self._oldest_key = key
        self._origin = self._origin or checkpoint.origin
        if checkpoint.origin != self._origin:
            raise _BrokenError(name, "it belongs to another log than the checkpoints before")
        return checkpoint

    def _manifest(self, number: int, checkpoint: Checkpoint) -> Manifest:
        """3. The manifest is the one that was signed, and follows the checkpoint before."""
        name = manifest_name(number)
        content = self._read(name, MAX_MANIFEST_BYTES)
        if hashlib.sha256(content).hexdigest() != checkpoint.manifest_sha256:
            raise _BrokenError(name, "its SHA-256 is not what the checkpoint names")
        try:
            manifest = parse_manifest(content)
        except ValueError as error:
            raise _BrokenError(name, str(error)) from None
        expected = [segment_name(number, 1 + part) for part in range(len(manifest.segments))]
        for wrong, why in (
            (manifest.number != number, "it belongs to another checkpoint"),
            (manifest.previous != self.head.previous, "it follows another checkpoint"),
            (manifest.first != self.head.frontier.size, "it begins at another record"),
            ([one.name for one in manifest.segments] != expected, "it names its segments wrongly"),
        ):
            if wrong:
                raise _BrokenError(name, why)
        return manifest

    def _leaves(self, segment: Segment) -> Iterator[bytes]:
        """4. The segment is the one that was signed; 5. each record follows in its chain."""
        content = self._read(segment.name, segment.bytes)
        if hashlib.sha256(content).hexdigest() != segment.sha256:
            raise _BrokenError(segment.name, "its SHA-256 is not what the manifest names")
        try:
            *lines, rest = gzip.decompress(content).split(b"\n")
        except (OSError, EOFError, zlib.error):
            raise _BrokenError(segment.name, "it is not compressed as a segment is") from None
        if rest or len(lines) != segment.records:
            raise _BrokenError(segment.name, "it does not hold as many lines as the manifest names")
        return self._followed(segment.name, lines)

    def _followed(self, name: str, lines: Sequence[bytes]) -> Iterator[bytes]:
        """Yield the leaf of each line that follows in its chain; this is the inner loop."""
        sha256, get, put = hashlib.sha256, self._ends.get, self._ends.set
        for place, line in enumerate(lines, start=1):
            try:
                link = link_of(line)
            except ValueError as error:
                raise _BrokenError(f"{name} line {place}", str(error)) from None
            before = get(link.chain) or _NOTHING
            if link.seq != before[0] + 1 or link.prev != before[1]:
                raise _BrokenError(*_gap(name, place, link, before))
            digest = sha256(line)
            put(link.chain, (link.seq, digest.hexdigest()))
            yield sha256(b"\x00" + digest.digest()).digest()

    def _check_tree(
        self,
        name: str,
        checkpoint: Checkpoint,
        frontier: Frontier,
        old: tuple[int, bytes],
        manifest: Manifest,
    ) -> None:
        """6. Number and root are what was signed, and the tree before is a part of the tree now."""
        if (frontier.size, frontier.root()) != (checkpoint.size, checkpoint.root):
            raise _BrokenError(name, "number or root of the records is not what was signed")
        new = (checkpoint.size, checkpoint.root)
        try:
            proof = [bytes.fromhex(one) for one in manifest.consistency]
        except ValueError:
            proof = []
        if not is_consistent(old, new, proof):
            raise _BrokenError(manifest_name(manifest.number), "its consistency proof is wrong")

    def _check_end(self, names: set[str]) -> None:
        """7. Nothing is left over, and every kept checkpoint was met."""
        if names:
            first = min(names)
            later = [n for n in map(checkpoint_number, names) if n is not None]
            if later:
                raise _BrokenError(
                    checkpoint_name(self.head.number + 1), "it is missing, and later ones are there"
                )
            raise _BrokenError(
                first,
                "no checkpoint covers it: the checkpoint was removed, the file was added, or the "
                "copy was made during an export (copy again)",
            )
        if not self.head.number:
            raise _BrokenError(checkpoint_name(1), "it is missing: there is nothing to verify")
        if self._missing:
            raise _BrokenError(
                checkpoint_name(self.head.number + 1),
                "a checkpoint that was kept elsewhere is not part of this export: its end was cut "
                "off, or it is another history",
            )

    def _read(self, name: str, limit: int) -> bytes:
        content = self._files.read(name, limit + 1)
        if content is None:
            raise _BrokenError(name, "it is missing")
        if len(content) > limit:
            raise _BrokenError(name, "it is longer than it may be")
        return content


def _gap(name: str, place: int, link: Link, before: tuple[int, str]) -> tuple[str, str]:
    """Say where a record does not follow, and why."""
    where = f"{name} line {place} (record {link.seq} of chain {link.chain})"
    expected = before[0] + 1
    if link.seq > expected:
        return where, f"record {expected} of this chain is missing"
    if link.seq < expected:
        return where, "the chain has a record of this number already"
    return where, "it does not follow the record before it: that one was rewritten, or this one"
