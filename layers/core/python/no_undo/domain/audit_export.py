"""What the audit looks like outside: segments of records, and per checkpoint a manifest and a note.

Rules:
1. Checkpoints are numbered from 1 without gaps. Number n consists of `checkpoints/n`, the signed
   note; `manifests/n.json`; and the segments that the manifest names. Nothing else is exported.
2. A segment is stored lines, each as hashed, each ended by a line feed, compressed by gzip without
   a time stamp or a name.
3. The leaves of one Merkle tree are the SHA-256 of the lines, in exported order.
4. A manifest is canonical JSON. It names the checkpoint before by the SHA-256 of its text, its
   segments by SHA-256 and length, and proves that the tree before is a part of the tree now.
5. The checkpoint names the manifest by its SHA-256, so one signature covers every byte.
6. A checkpoint is made also when nothing happened: then it has no segments.
7. Planning the same records on the same head at the same time gives the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, cast

from no_undo.domain.audit_chain import ZERO_HASH, AuditRecord
from no_undo.domain.canonical_json import Json, canonical_bytes
from no_undo.domain.checkpoint import Checkpoint
from no_undo.domain.merkle import Frontier, consistency_proof, leaf_hash

MANIFEST_VERSION: Final = 1
MAX_RECORDS: Final = 1_000
"""Most records of one checkpoint."""
MAX_SEGMENT_BYTES: Final = 256 * 1024
"""Most compressed bytes of one checkpoint: they are kept with its claim, in one DynamoDB item."""
PUBLIC_KEY_NAME: Final = "public-key.pem"
"""A copy of the key may lie beside an export; it proves nothing by itself."""

_CHECKPOINT: Final = re.compile(r"checkpoints/([0-9]{12})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ExportHead:
    """How far the export has come.

    Attributes:
        number: Of the newest checkpoint; 0 before the first.
        frontier: The Merkle tree over everything exported.
        previous: SHA-256 of the newest checkpoint's text; 64 zeros before the first.
    """

    number: int = 0
    frontier: Frontier = field(default_factory=Frontier)
    previous: str = ZERO_HASH


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of records, as its manifest names it.

    Attributes:
        name: For example `segments/000000000007-0001.jsonl.gz`.
        sha256: Of the compressed bytes, 64 hex digits.
        bytes: Compressed length.
        records: Number of lines.
    """

    name: str
    sha256: str
    bytes: int
    records: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What one checkpoint adds.

    Attributes:
        number: Of the checkpoint, from 1.
        previous: SHA-256 of the text of the checkpoint before; 64 zeros for the first.
        at: When it was claimed, in ISO 8601; what the exporter says, not a proof of time.
        first: Place of its first record among all exported ones, from 0.
        segments: Its files, in order.
        consistency: Proof that the tree before is a part of the tree now (RFC 9162 2.1.4), hex.
    """

    number: int
    previous: str
    at: str
    first: int
    segments: tuple[Segment, ...]
    consistency: tuple[str, ...]

    def to_bytes(self) -> bytes:
        """Return the manifest's one byte form (rule 4)."""
        return canonical_bytes(
            {
                "v": MANIFEST_VERSION,
                "checkpoint": self.number,
                "previous": self.previous,
                "at": self.at,
                "first": self.first,
                "segments": [
                    {"name": s.name, "sha256": s.sha256, "bytes": s.bytes, "records": s.records}
                    for s in self.segments
                ],
                "consistency": list(self.consistency),
            }
        )


@dataclass(frozen=True, slots=True)
class Planned:
    """One checkpoint, complete but for its signature.

    Attributes:
        manifest: What it adds.
        checkpoint: What is to be signed.
        segments: Compressed bytes by name; none when nothing happened.
        head: The head once it is written.
    """

    manifest: Manifest
    checkpoint: Checkpoint
    segments: Mapping[str, bytes]
    head: ExportHead


def checkpoint_name(number: int) -> str:
    """Return the file name of a checkpoint's signed note."""
    return f"checkpoints/{number:012d}"


def manifest_name(number: int) -> str:
    """Return the file name of a checkpoint's manifest."""
    return f"manifests/{number:012d}.json"


def segment_name(number: int, part: int) -> str:
    """Return the file name of a segment; parts count from 1."""
    return f"segments/{number:012d}-{part:04d}.jsonl.gz"


def checkpoint_number(name: str) -> int | None:
    """Return which checkpoint's note a file name stands for, or None when it is none."""
    found = _CHECKPOINT.fullmatch(name)
    return int(found[1]) if found else None


def leaf_of(line: bytes) -> bytes:
    """Return the leaf hash of a stored line (rule 3)."""
    return leaf_hash(hashlib.sha256(line).digest())


def plan_checkpoint(
    head: ExportHead, records: Sequence[AuditRecord], at: datetime, origin: str
) -> Planned:
    """Plan the next checkpoint over as many of these records as fit into one, from the first on.

    Args:
        head: How far the export has come.
        records: In the order in which they are to be exported.
        at: Now.
        origin: Name of the log.

    Raises:
        ValueError: A single record does not fit into a segment.
    """
    number = head.number + 1
    lines, segments = _fitting([one.line.encode() for one in records[:MAX_RECORDS]], number)
    leaves = [leaf_of(one) for one in lines]
    manifest = Manifest(
        number=number,
        previous=head.previous,
        at=at.astimezone(UTC).isoformat(timespec="milliseconds"),
        first=head.frontier.size,
        segments=tuple(
            Segment(name, hashlib.sha256(content).hexdigest(), len(content), len(lines))
            for name, content in segments.items()
        ),
        consistency=tuple(one.hex() for one in consistency_proof(head.frontier, leaves)),
    )
    return planned(head, manifest, segments, origin)


def planned(
    head: ExportHead, manifest: Manifest, segments: Mapping[str, bytes], origin: str
) -> Planned:
    """Return the checkpoint that a manifest and its segments make on a head (rule 7)."""
    leaves = (leaf_of(line) for name in segments for line in lines_of(segments[name]))
    frontier = head.frontier.extended(leaves)
    checkpoint = Checkpoint(
        origin=origin,
        size=frontier.size,
        root=frontier.root(),
        manifest_sha256=hashlib.sha256(manifest.to_bytes()).hexdigest(),
    )
    after = ExportHead(manifest.number, frontier, checkpoint.sha256())
    return Planned(manifest, checkpoint, segments, after)


def _fitting(lines: list[bytes], number: int) -> tuple[list[bytes], dict[str, bytes]]:
    """Return the longest prefix, halving, whose segment is small enough."""
    while lines:
        content = segment_of(lines)
        if len(content) <= MAX_SEGMENT_BYTES:
            return lines, {segment_name(number, 1): content}
        if len(lines) == 1:
            raise ValueError("one audit record is larger than a whole segment may be")
        lines = lines[: len(lines) // 2]
    return [], {}


def segment_of(lines: Iterable[bytes]) -> bytes:
    """Return the segment that holds these lines (rule 2)."""
    return gzip.compress(b"".join(line + b"\n" for line in lines), mtime=0)


def lines_of(segment: bytes) -> list[bytes]:
    """Return the lines of a segment that this system made itself."""
    return gzip.decompress(segment).split(b"\n")[:-1]


def parse_manifest(content: bytes) -> Manifest:
    """Return the manifest that some bytes hold.

    Raises:
        ValueError: They hold none, or not in its one byte form.
    """
    try:
        manifest = _manifest(json.loads(content))
        same = manifest.to_bytes() == content
    except (KeyError, TypeError, AttributeError, RecursionError, ValueError):
        raise ValueError("it is not a manifest of this version") from None
    if not same:
        raise ValueError("it is not in its one byte form")
    return manifest


def _manifest(body: dict[str, Json]) -> Manifest:
    segments = cast("list[dict[str, Json]]", body["segments"])
    return Manifest(
        number=_count(body["checkpoint"]),
        previous=_text(body["previous"]),
        at=_text(body["at"]),
        first=_count(body["first"]),
        segments=tuple(
            Segment(
                _text(one["name"]),
                _text(one["sha256"]),
                _count(one["bytes"]),
                _count(one["records"]),
            )
            for one in segments
        ),
        consistency=tuple(map(_text, cast("list[Json]", body["consistency"]))),
    )


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is expected")
    return value


def _count(value: Json) -> int:
    if type(value) is not int or value < 0:
        raise TypeError("a count is expected")
    return value
