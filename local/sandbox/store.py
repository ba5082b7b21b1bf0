"""Where the sandbox keeps things: one SQLite file, so that a killed sandbox loses nothing."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    collection TEXT NOT NULL, id INTEGER NOT NULL, data TEXT NOT NULL, PRIMARY KEY (collection, id)
);
CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS blobs (key TEXT PRIMARY KEY, content BLOB NOT NULL);
"""


class Store:
    """A small document store: JSON records in numbered collections, blobs by key, counters.

    Safe to call from any thread: one connection behind one reentrant lock. Numbers are never
    given out twice, also not after `clear`.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the file; nothing may be called afterwards."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def transaction(self) -> Generator[None, None, None]:
        """Make everything inside all-or-nothing and serial with every other caller."""
        with self._lock:
            if self._depth == 0:
                self._connection.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
            except BaseException:
                self._leave("ROLLBACK")
                raise
            self._leave("COMMIT")

    def _leave(self, verb: str) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._connection.execute(verb)

    def next_number(self, name: str, first: int = 1) -> int:
        """Return the next number of a counter that starts at `first`."""
        with self.transaction():
            self._connection.execute(
                "INSERT INTO counters VALUES (?, ?) "
                "ON CONFLICT (name) DO UPDATE SET value = value + 1",
                (name, first),
            )
            row = self._connection.execute("SELECT value FROM counters WHERE name = ?", (name,))
            return int(row.fetchone()[0])

    def add(self, collection: str, data: dict[str, Any]) -> int:
        """Store a record under a fresh number and return the number."""
        with self.transaction():
            number = self.next_number(collection)
            self.put(collection, number, data)
            return number

    def put(self, collection: str, number: int, data: dict[str, Any]) -> None:
        """Store a record under a number, replacing what was there."""
        with self.transaction():
            self._connection.execute(
                "INSERT OR REPLACE INTO records VALUES (?, ?, ?)",
                (collection, number, json.dumps(data)),
            )

    def get(self, collection: str, number: int) -> dict[str, Any] | None:
        """Return one record, or None."""
        with self._lock:
            row = self._connection.execute(
                "SELECT data FROM records WHERE collection = ? AND id = ?", (collection, number)
            ).fetchone()
        return None if row is None else json.loads(row[0])

    def all(self, collection: str) -> list[tuple[int, dict[str, Any]]]:
        """Return every record of a collection with its number, lowest first."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT id, data FROM records WHERE collection = ? ORDER BY id", (collection,)
            ).fetchall()
        return [(int(number), json.loads(data)) for number, data in rows]

    def remove(self, collection: str, number: int) -> None:
        """Forget one record; no error when it is gone already."""
        with self.transaction():
            self._connection.execute(
                "DELETE FROM records WHERE collection = ? AND id = ?", (collection, number)
            )

    def clear_collection(self, collection: str) -> None:
        """Forget every record of one collection."""
        with self.transaction():
            self._connection.execute("DELETE FROM records WHERE collection = ?", (collection,))

    def put_blob(self, key: str, content: bytes) -> None:
        """Store bytes under a key, replacing what was there."""
        with self.transaction():
            self._connection.execute("INSERT OR REPLACE INTO blobs VALUES (?, ?)", (key, content))

    def get_blob(self, key: str) -> bytes | None:
        """Return the bytes under a key, or None."""
        with self._lock:
            row = self._connection.execute(
                "SELECT content FROM blobs WHERE key = ?", (key,)
            ).fetchone()
        return None if row is None else bytes(row[0])

    def remove_blob(self, key: str) -> None:
        """Forget the bytes under a key; no error when they are gone already."""
        with self.transaction():
            self._connection.execute("DELETE FROM blobs WHERE key = ?", (key,))

    def clear(self) -> None:
        """Forget every record and blob; counters go on."""
        with self.transaction():
            self._connection.execute("DELETE FROM records")
            self._connection.execute("DELETE FROM blobs")
