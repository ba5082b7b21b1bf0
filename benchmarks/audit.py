"""How fast an audit export verifies, beside parsing its JSON and hashing its lines alone."""

from __future__ import annotations

import hashlib
import json
import tempfile
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from benchmarks.rows import Row, cpu_seconds, seconds
from no_undo.adapters.chain_ends import BoundedChainEnds
from no_undo.adapters.export_folder import ExportFolder
from no_undo.domain.audit_chain import AuditEvent, AuditRecord, ChainHead, next_record
from no_undo.domain.audit_export import MAX_RECORDS, lines_of
from no_undo.use_cases.verify_audit import Verification, verify_audit
from tests.fakes.audit_exports import NOON, PROVENANCE, SIGNER, Exporter

RECORDS_A_REQUEST = 25
"""As a request has from submission to archive."""
FEW, MANY = 20_000, 1_000_000
AIM = 2.5
LIMIT = 4.0
"""A ratio that no machine should show; the aim is what to look at."""


def measure(*, full: bool) -> Iterator[Row]:
    """Measure the verifier; with `full` also a million records, once."""
    with tempfile.TemporaryDirectory() as folder:
        lines = write_export(Path(folder), FEW)
        ours = cpu_seconds(lambda: _verified(Path(folder)))
        reference = cpu_seconds(lambda: parse_and_hash(lines))
        note = f"{FEW} records, {len(b''.join(lines)) // FEW} bytes each, files in the page cache"
        yield Row(
            "audit verify: time over JSON parsing and SHA-256",
            ours / FEW * 1e6,
            reference / FEW * 1e6,
            "us/record",
            aim=AIM,
            limit=LIMIT,
            note=note,
        )
    for count in (FEW // 4, FEW):
        yield _memory(count)
    if full:
        yield _a_million()


def _memory(count: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        write_export(Path(folder), count)
        tracemalloc.start()
        _verified(Path(folder), in_memory=100)
        _now, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    note = "100 chains kept in memory, the others in a temporary file"
    return Row(f"audit verify: peak memory, {count} records", peak / 2**20, None, "MiB", note=note)


def _a_million() -> Row:
    with tempfile.TemporaryDirectory() as folder:
        write_export(Path(folder), MANY)
        ours = seconds(lambda: _verified(Path(folder)), repeats=1)
    return Row(f"audit verify: {MANY} records, once", ours, None, "s")


def _verified(folder: Path, in_memory: int = 200_000) -> Verification:
    done = verify_audit(ExportFolder(folder), [SIGNER.public], BoundedChainEnds(in_memory))
    if done.failure is not None:
        raise AssertionError(done.failure)
    return done


def parse_and_hash(lines: list[bytes]) -> None:
    """Do what no verifier can do without: read every line as JSON, and hash it."""
    for line in lines:
        json.loads(line)
        hashlib.sha256(line).digest()


def write_export(folder: Path, count: int) -> list[bytes]:
    """Write an export of some records, and return its lines."""
    exporter, written = Exporter(), list[bytes]()
    waiting: list[AuditRecord] = []
    for record in records(count):
        waiting.append(record)
        if len(waiting) == MAX_RECORDS:
            waiting = _export(exporter, waiting, folder, written)
    while waiting:
        waiting = _export(exporter, waiting, folder, written)
    return written if count <= FEW else []


def _export(
    exporter: Exporter, waiting: list[AuditRecord], folder: Path, written: list[bytes]
) -> list[AuditRecord]:
    planned = exporter.export(waiting)
    for name, content in exporter.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    exporter.files.clear()
    if len(written) < FEW:
        for content in planned.segments.values():
            written += lines_of(content)
    return waiting[sum(one.records for one in planned.manifest.segments) :]


def records(count: int) -> Iterator[AuditRecord]:
    """Yield records as a busy deployment writes them: many requests at once, each in its chain."""
    open_chains = [ChainHead(_chain_id(number)) for number in range(40)]
    started = len(open_chains)
    for number in range(count):
        place = number % len(open_chains)
        head = open_chains[place]
        if head.seq == RECORDS_A_REQUEST:
            head, started = ChainHead(_chain_id(started)), started + 1
        record = next_record(head, _event(head, number), PROVENANCE)
        open_chains[place] = replace(head, seq=record.seq, hash=record.hash)
        yield record


def _chain_id(number: int) -> str:
    return f"{number:026d}"


def _event(head: ChainHead, number: int) -> AuditEvent:
    digest = hashlib.sha256(str(number).encode()).hexdigest()
    return AuditEvent(
        kind="plan.begun",
        actor="send_envelope",
        at=NOON + timedelta(seconds=number),
        plan_id=f"{head.chain_id}#1",
        details={
            "attempt": digest[:26],
            "number": 1,
            "digest": digest,
            "leaseExpiresAt": NOON.isoformat(),
        },
    )
