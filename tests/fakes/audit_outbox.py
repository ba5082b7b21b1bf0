"""The audit's outbox, archive and signer in memory, with the rules of the real ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from no_undo.domain.audit_chain import AuditRecord
from no_undo.domain.audit_export import ExportHead
from no_undo.domain.checkpoint import Checkpoint
from no_undo.domain.errors import StaleError
from no_undo.domain.receipt import Anchor
from no_undo.ports import Claim, ExportState
from tests.fakes.audit_exports import SIGNER, Files, Signer


@dataclass(slots=True)
class InMemoryOutbox:
    """Implements `ports.AuditOutbox` and `ports.AnchorSource`."""

    waiting: dict[tuple[str, int], AuditRecord] = field(
        default_factory=dict[tuple[str, int], AuditRecord]
    )
    anchors: dict[str, Anchor] = field(default_factory=dict[str, Anchor])
    stored: ExportState = field(default_factory=ExportState)

    def add(self, records: Iterable[AuditRecord]) -> None:
        self.waiting |= {(one.chain_id, one.seq): one for one in records}

    def state(self) -> ExportState:
        return self.stored

    def pending(self, *, limit: int) -> tuple[AuditRecord, ...]:
        return tuple(self.waiting[place] for place in sorted(self.waiting)[:limit])

    def claim(self, state: ExportState, claim: Claim) -> ExportState:
        self._move(state, replace(state, revision=state.revision + 1, claim=claim))
        return self.stored

    def advance(self, state: ExportState, head: ExportHead) -> None:
        self._move(state, ExportState(state.revision + 1, head))

    def keep_anchors(self, anchors: Sequence[Anchor]) -> None:
        self.anchors |= {one.request_id: one for one in anchors}

    def anchor(self, request_id: str) -> Anchor | None:
        return self.anchors.get(request_id)

    def clear(self, records: Iterable[tuple[str, int]]) -> None:
        for place in records:
            self.waiting.pop(place, None)

    def _move(self, before: ExportState, after: ExportState) -> None:
        if before.revision != self.stored.revision:
            raise StaleError("another run was faster")
        self.stored = after


@dataclass(slots=True)
class InMemoryArchive:
    """Implements `ports.AuditArchive`: a name is written once, or the test fails."""

    files: Files = field(default_factory=dict[str, bytes])
    puts: list[str] = field(default_factory=list[str])

    def put_once(self, name: str, content: bytes) -> bytes:
        self.puts.append(name)
        return self.files.setdefault(name, content)


@dataclass(slots=True)
class InMemorySigner:
    """Implements `ports.CheckpointSigner`."""

    signer: Signer = SIGNER

    def sign(self, checkpoint: Checkpoint) -> bytes:
        return self.signer.note(checkpoint)
