"""Parked task tokens in memory."""

from __future__ import annotations

from threading import Lock

from no_undo.domain.waiting import Wait, WaitKind


class MemoryWaits:
    """Implements `ports.WaitStore`; safe to share between threads."""

    def __init__(self) -> None:
        """Start empty."""
        self._waits: dict[tuple[str, WaitKind], Wait] = {}
        self._lock = Lock()

    def put(self, wait: Wait) -> None:
        """Store a token; replaces an older one of the same wait, never a newer one."""
        key = (wait.plan_id, wait.kind)
        with self._lock:
            known = self._waits.get(key)
            if known is None or known.stored_at <= wait.stored_at:
                self._waits[key] = wait

    def get(self, plan_id: str, kind: WaitKind) -> Wait | None:
        """Return the newest token of a wait, or None."""
        with self._lock:
            return self._waits.get((plan_id, kind))

    def delete(self, wait: Wait) -> None:
        """Forget a token that was answered; no effect when a newer one has replaced it."""
        key = (wait.plan_id, wait.kind)
        with self._lock:
            known = self._waits.get(key)
            if known is not None and known.task_token == wait.task_token:
                del self._waits[key]
