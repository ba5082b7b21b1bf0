"""A clock that a test or the crash lab owns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Final

EPOCH: Final = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
"""Where a fresh clock stands: a Monday morning."""


class FixedClock:
    """Implements `ports.Clock`: time moves only when it is told to, or slept."""

    def __init__(self, at: datetime = EPOCH) -> None:
        """Stand at an instant.

        Args:
            at: Aware, UTC.
        """
        self._now = at
        self._lock = Lock()

    def now(self) -> datetime:
        """Return where the clock stands, UTC."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Advance at once instead of waiting."""
        self.advance(timedelta(seconds=seconds))

    def advance(self, by: timedelta) -> None:
        """Move forward."""
        with self._lock:
            self._now += by

    def set(self, at: datetime) -> None:
        """Stand at another instant, aware, UTC."""
        with self._lock:
            self._now = at
