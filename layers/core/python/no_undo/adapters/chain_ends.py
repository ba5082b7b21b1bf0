"""Where each chain ended so far, in bounded memory: old chains move into a temporary file."""

from __future__ import annotations

import sqlite3
from itertools import islice
from typing import Final

IN_MEMORY: Final = 200_000
"""Chains kept in memory; about 60 MB. Of more, the half that was met first is moved out."""


class BoundedChainEnds:
    """Implements `use_cases.verify_audit.ChainEnds`."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        """Take how many chains to keep in memory, at least 2."""
        self._limit = in_memory
        self._near: dict[str, tuple[int, str]] = {}
        self._far: sqlite3.Connection | None = None

    def get(self, chain_id: str) -> tuple[int, str] | None:
        """Return number and hash of the newest record of a chain, or None."""
        near = self._near.get(chain_id)
        if near is not None or self._far is None:
            return near
        found = self._far.execute("SELECT seq, hash FROM ends WHERE chain = ?", (chain_id,))
        row: tuple[int, str] | None = found.fetchone()
        return row

    def set(self, chain_id: str, end: tuple[int, str]) -> None:
        """Note the newest record of a chain."""
        self._near[chain_id] = end
        if len(self._near) > self._limit:
            self._move_out()

    def close(self) -> None:
        """Remove the temporary file, if there is one."""
        if self._far is not None:
            self._far.close()

    def _move_out(self) -> None:
        if self._far is None:
            # An empty name is a private file that SQLite removes when it is closed.
            self._far = sqlite3.connect("", isolation_level=None)
            self._far.execute("PRAGMA synchronous = OFF")
            self._far.execute(
                "CREATE TABLE ends (chain TEXT PRIMARY KEY, seq INTEGER, hash TEXT) WITHOUT ROWID"
            )
        old = [(chain, *end) for chain, end in islice(self._near.items(), self._limit // 2)]
        self._far.execute("BEGIN")
        self._far.executemany("INSERT OR REPLACE INTO ends VALUES (?, ?, ?)", old)
        self._far.execute("COMMIT")
        for chain, *_end in old:
            del self._near[chain]
