"""The audit chain: one line per request, each record holding the hash of the one before.

Rules:
1. The stored line is the RFC 8785 canonical JSON of the record; its SHA-256 is the record's hash.
2. A record carries the hash of its predecessor; the first carries 64 zeros.
3. Sequence numbers start at 1 and have no gaps.
4. A record names who acted, as authenticated, and what happened; never a token, a document value or
   a recipient (P10).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from no_undo.domain.canonical_json import Json, canonical_bytes
from no_undo.domain.errors import TamperedError

SCHEMA_VERSION = 1
ZERO_HASH = "0" * 64


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """What happened, before it has a place in a chain.

    Attributes:
        kind: `<noun>.<past participle>`, for example `plan.approved`.
        actor: Who, as authenticated: a caller identity, an approver address, or a function name.
        at: When, UTC.
        details: ASCII keys; strings, integers, booleans.
        plan_id: The plan it concerns, or empty.
    """

    kind: str
    actor: str
    at: datetime
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])
    plan_id: str = ""


@dataclass(frozen=True, slots=True)
class ChainHead:
    """Where a chain ends: number and hash of its newest record; 0 and zeros when empty."""

    chain_id: str
    seq: int = 0
    hash: str = ZERO_HASH


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One stored record: its place, its exact line, and the line's SHA-256."""

    chain_id: str
    seq: int
    line: str
    hash: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """Which code and configuration wrote a record."""

    code_version: str
    config_digest: str


def next_record(head: ChainHead, event: AuditEvent, provenance: Provenance) -> AuditRecord:
    """Return the record that follows the head of a chain (rules 1 to 3)."""
    body: Json = {
        "v": SCHEMA_VERSION,
        "chain": head.chain_id,
        "seq": head.seq + 1,
        "prev": head.hash,
        "at": event.at.astimezone(UTC).isoformat(timespec="milliseconds"),
        "kind": event.kind,
        "actor": event.actor,
        "plan": event.plan_id,
        "details": dict(event.details),
        "code": provenance.code_version,
        "config": provenance.config_digest,
    }
    line = canonical_bytes(body)
    return AuditRecord(
        chain_id=head.chain_id,
        seq=head.seq + 1,
        line=line.decode("utf-8"),
        hash=hashlib.sha256(line).hexdigest(),
    )


def verify_chain(chain_id: str, records: Iterable[AuditRecord]) -> ChainHead:
    """Check a whole chain from its first record; return where it ends.

    A cut tail cannot be seen from a chain alone: compare the returned head with a checkpoint.

    Raises:
        TamperedError: Names the first record that does not verify, and why.
    """
    head = ChainHead(chain_id)
    for record in records:
        head = _follow(head, record)
    return head


def _follow(head: ChainHead, record: AuditRecord) -> ChainHead:
    where = f"record {head.seq + 1} of chain {head.chain_id}"
    try:
        line = record.line.encode("utf-8")
        body: Json = json.loads(line)
        canonical = canonical_bytes(body)
    except (ValueError, RecursionError) as error:
        raise TamperedError(f"{where}: the line is not canonical JSON") from error
    if hashlib.sha256(line).hexdigest() != record.hash:
        raise TamperedError(f"{where}: the line does not have the stored hash")
    if canonical != line or not isinstance(body, Mapping):
        raise TamperedError(f"{where}: the line is not a record in canonical form")
    expected: dict[str, Json] = {"chain": head.chain_id, "seq": head.seq + 1, "prev": head.hash}
    for key, value in expected.items():
        found = body.get(key)
        # To Python, the number 1 and the word true are equal.
        if type(found) is not type(value) or found != value:
            raise TamperedError(f"{where}: {key} is not what the chain requires")
    return ChainHead(head.chain_id, head.seq + 1, record.hash)
