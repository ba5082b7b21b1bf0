"""The audit chain: one line per request, each record holding the hash of the one before.

Rules:
1. The stored line is the RFC 8785 canonical JSON of the record; its SHA-256 is the record's hash.
2. A record carries the hash of its predecessor; the first carries 64 zeros.
3. Sequence numbers start at 1 and have no gaps.
4. A record names who acted, as authenticated, and what happened; never a token, a document value or
   a recipient (P10).
5. A line says by which version of the schema it was written (docs/audit.md); every version that was
   ever written stays readable.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, NoReturn

from no_undo.domain.canonical_json import MAX_SAFE_INTEGER, Json, canonical_bytes
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


class Link(NamedTuple):
    """What a line says about its place: its chain (in JSON's own spelling), number, predecessor."""

    chain: str
    seq: int
    prev: str


def follow(head: ChainHead, line: bytes) -> ChainHead:
    """Return where a chain ends once this line follows its head (rules 1 to 3).

    Raises:
        TamperedError: The line does not follow; names the record and says why.
    """
    where = f"record {head.seq + 1} of chain {head.chain_id}"
    try:
        link = link_of(line)
    except ValueError as error:
        raise TamperedError(f"{where}: {error}") from None
    for key, found, expected in (
        ("chain", link.chain, spelled(head.chain_id)),
        ("seq", link.seq, head.seq + 1),
        ("prev", link.prev, head.hash),
    ):
        if found != expected:
            raise TamperedError(f"{where}: {key} is not what the chain requires")
    return ChainHead(head.chain_id, head.seq + 1, hashlib.sha256(line).hexdigest())


def _follow(head: ChainHead, record: AuditRecord) -> ChainHead:
    after = follow(head, record.line.encode("utf-8", "surrogatepass"))
    if after.hash != record.hash:
        where = f"record {after.seq} of chain {head.chain_id}"
        raise TamperedError(f"{where}: the line does not have the stored hash")
    return after


def spelled(text: str) -> str:
    """Return a text as it stands between the quotation marks of canonical JSON."""
    return _encode(text)[1:-1]


_PLAIN: Final = r"[^\"\\\x00-\x1f]*+"
_ESCAPED: Final = r"\\(?:[\"\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f]))"
_TEXT: Final = f"{_PLAIN}(?:{_ESCAPED}{_PLAIN})*+"
_VERSION_1: Final = re.compile(
    rf'{{"actor":"{_TEXT}","at":"{_TEXT}","chain":"(?P<chain>{_TEXT})","code":"{_TEXT}",'
    rf'"config":"{_TEXT}","details":(?P<details>{{.*}}),"kind":"{_TEXT}","plan":"{_TEXT}",'
    r'"prev":"(?P<prev>[0-9a-f]{64})","seq":(?P<seq>[1-9][0-9]{0,14}),"v":1}'
)
SCHEMAS: Final = (_VERSION_1,)
"""The canonical form of a line, for each version that ever wrote one (rule 5).

A line of one of these forms is canonical JSON once its `details` are; see docs/audit.md.
"""


def _whole(text: str) -> int:
    number = int(text)
    if abs(number) > MAX_SAFE_INTEGER:
        raise ValueError("an integer is outside the range every JSON reader keeps exact")
    return number


def _refused(_text: str) -> NoReturn:
    raise ValueError("a number is not whole")


_read: Final = json.JSONDecoder(
    parse_float=_refused, parse_int=_whole, parse_constant=_refused
).raw_decode
_encode: Final = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False
).encode


def link_of(line: bytes) -> Link:
    """Return the place that a stored line claims.

    A line that is not canonical JSON is refused: two readers could read two things in it.

    Raises:
        ValueError: The line is not a record; says why, without quoting it.
    """
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("the line is not UTF-8") from None
    for schema in SCHEMAS:
        found = schema.fullmatch(text)
        if found is not None:
            chain, details, prev, seq = found.group("chain", "details", "prev", "seq")
            if not _is_canonical(details):
                raise ValueError("the details of the line are not canonical JSON")
            return Link(chain, int(seq), prev)
    raise ValueError("the line is not a record of a known version in canonical form")


def _is_canonical(text: str) -> bool:
    try:
        value, end = _read(text)
        if end != len(text) or _encode(value) != text:
            return False
        if text.isascii() and "null" not in text:
            return True
        return canonical_bytes(value) == text.encode()
    except (ValueError, RecursionError):
        return False


def record_of(line: bytes) -> dict[str, Any]:
    """Return the members of a stored line.

    Raises:
        ValueError: The line is not a record; says why, without quoting it.
    """
    link_of(line)
    body: dict[str, Any] = json.loads(line)
    return body
