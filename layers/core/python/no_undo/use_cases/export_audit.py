"""Export Audit: what is in the outbox becomes files that nobody can change (P9, design 11).

A run claims the next checkpoint with everything in it by one conditional write, puts its files,
then clears the outbox and advances the head. Whoever comes after a run that died finds the claim
and repeats it to the byte, so nothing is lost and nothing is written twice under another name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from no_undo.domain.audit_chain import AuditRecord, record_of
from no_undo.domain.audit_export import (
    MAX_RECORDS,
    ExportHead,
    Planned,
    checkpoint_name,
    leaf_of,
    lines_of,
    manifest_name,
    plan_checkpoint,
    planned,
)
from no_undo.domain.errors import StaleError, TamperedError
from no_undo.domain.merkle import inclusion_proof
from no_undo.domain.receipt import ENDING, Anchor
from no_undo.domain.signed_note import parse_note
from no_undo.ports import AuditArchive, AuditOutbox, CheckpointSigner, Claim, Clock, ExportState

logger = logging.getLogger(__name__)

MAX_TRIES: Final = 4
"""How often a run tries to claim when others are faster."""
MAX_ROUNDS: Final = 50
"""Checkpoints that one run writes at most."""
SECONDS_A_ROUND: Final = 30.0
"""Time that one checkpoint may need; with less left, a run ends."""


@dataclass(frozen=True, slots=True)
class Exporting:
    """The ports of the export.

    Attributes:
        outbox: What is to be exported, and how far the export has come.
        archive: Where the files go.
        signer: Signs checkpoints.
        clock: Time; only told in the manifests.
        origin: Name of the log and of its key.
    """

    outbox: AuditOutbox
    archive: AuditArchive
    signer: CheckpointSigner
    clock: Clock
    origin: str


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What a run did.

    Attributes:
        checkpoints: Checkpoints that it wrote or finished.
        records: Records in them.
        lag: Age of the oldest record that is still not exported; zero when none is left.
    """

    checkpoints: int
    records: int
    lag: timedelta


def export_audit(exporting: Exporting, remaining_seconds: Callable[[], float]) -> ExportReport:
    """Write checkpoints until nothing is left; at least one, also when nothing happened.

    Args:
        exporting: The ports.
        remaining_seconds: Time this invocation has left.

    Raises:
        TamperedError: A stored record does not have its hash, or a file in the archive is not what
            was claimed; nothing more is exported until a person has looked.
        TransientError: A store gave no answer this time; the next run goes on.
    """
    checkpoints = records = 0
    left: tuple[AuditRecord, ...] = ()
    for _ in range(MAX_ROUNDS):
        written = _write_next(exporting)
        checkpoints, records = checkpoints + 1, records + _size(written)
        left = exporting.outbox.pending(limit=MAX_RECORDS)
        if not left or remaining_seconds() < SECONDS_A_ROUND:
            break
    return ExportReport(checkpoints, records, _age(left, exporting.clock.now()))


def _write_next(exporting: Exporting) -> Planned:
    """Claim the next checkpoint, or take over a claim, and write it completely."""
    state, claim = _claimed(exporting)
    plan = planned(state.head, claim.manifest, claim.segments, exporting.origin)
    note = _put_files(plan, exporting)
    lines = [line for content in claim.segments.values() for line in lines_of(content)]
    exporting.outbox.keep_anchors(anchors_of(state.head, lines, note))
    exporting.outbox.clear(_places(lines))
    try:
        exporting.outbox.advance(state, plan.head)
    except StaleError:
        logger.info("another run finished the same checkpoint")
    return plan


def _claimed(exporting: Exporting) -> tuple[ExportState, Claim]:
    """Return the claim that is there, or make one.

    Raises:
        StaleError: Other runs were faster each time.
    """
    for _ in range(MAX_TRIES):
        state = exporting.outbox.state()
        if state.claim is not None:
            return state, state.claim
        records = exporting.outbox.pending(limit=MAX_RECORDS)
        plan = plan_checkpoint(state.head, records, exporting.clock.now(), exporting.origin)
        claim = Claim(plan.manifest, plan.segments)
        try:
            return exporting.outbox.claim(state, claim), claim
        except StaleError:
            continue  # another run was faster: its claim is finished here too, which does no harm
    raise StaleError("other runs are exporting; this one ends")


def _put_files(plan: Planned, exporting: Exporting) -> bytes:
    """Put segments, manifest and checkpoint, in this order; return the signed note as stored."""
    number = plan.head.number
    for name, content in plan.segments.items():
        _put_same(name, content, exporting.archive)
    _put_same(manifest_name(number), plan.manifest.to_bytes(), exporting.archive)
    name = checkpoint_name(number)
    stored = exporting.archive.put_once(name, exporting.signer.sign(plan.checkpoint))
    try:
        same = parse_note(stored).text == plan.checkpoint.to_text()
    except ValueError:
        same = False
    if not same:
        raise TamperedError(f"{name} in the archive is not the checkpoint that was claimed")
    return stored


def _put_same(name: str, content: bytes, archive: AuditArchive) -> None:
    if archive.put_once(name, content) != content:
        raise TamperedError(f"{name} in the archive is not what was claimed")


def anchors_of(head: ExportHead, lines: list[bytes], note: bytes) -> tuple[Anchor, ...]:
    """Return the anchor of every ending among the lines that a checkpoint adds."""
    leaves = [leaf_of(line) for line in lines]
    anchors: list[Anchor] = []
    for place, line in enumerate(lines):
        record = record_of(line)
        if record["kind"] == ENDING:
            index = head.frontier.size + place
            anchors.append(
                Anchor(
                    request_id=record["chain"],
                    seq=record["seq"],
                    index=index,
                    proof=inclusion_proof(index, head.frontier, leaves),
                    note=note,
                )
            )
    return tuple(anchors)


def _places(lines: list[bytes]) -> list[tuple[str, int]]:
    found = (record_of(line) for line in lines)
    return [(one["chain"], one["seq"]) for one in found]


def _size(plan: Planned) -> int:
    return sum(one.records for one in plan.manifest.segments)


def _age(records: tuple[AuditRecord, ...], now: datetime) -> timedelta:
    times = (record_of(one.line.encode())["at"] for one in records)
    oldest = min((datetime.fromisoformat(one) for one in times), default=now)
    return max(now - oldest, timedelta())
