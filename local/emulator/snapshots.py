"""State that survives a kill.

Gap: the emulator saves its state only when it is stopped cleanly, so a kill loses all of it.
AWS: what was acknowledged is durable.
Correction: a save every two seconds **on the event loop**, where request handlers run. A save in
    a thread of its own meets dictionaries that change under it and skips them silently. What
    remains is a bounded loss of about the pause, and files that may stem from two moments. Long
    byte strings (layers) are written once, beside the state, instead of into every save.

Executions that run when the process dies are ``FAILED`` with ``States.ServiceRestart`` after the
next start; on AWS they would go on.
"""

# ruff: noqa: SLF001 -- corrections reach into private parts of the emulator; pins guard them

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from local.emulator import pins

_SAVE_TIMEOUT_SECONDS = 60
_LONG_BYTES = 64 * 1024
_REFERENCE = "__bytes_file__"


class LongBytes:
    """Keeps long byte strings in files that are named by their digest.

    Args:
        folder: Where the files are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[int, tuple[bytes, str]] = {}

    def encode(self, encode: Callable[[object], object]) -> Callable[[object], object]:
        """Return a JSON encoder that refers to long byte strings by digest."""

        def run(value: object) -> object:
            if isinstance(value, bytes) and len(value) >= _LONG_BYTES:
                return {_REFERENCE: self._store(value)}
            return encode(value)

        return run

    def decode(self, decode: Callable[[Any], object]) -> Callable[[Any], object]:
        """Return the matching JSON decoder."""

        def run(value: dict[str, Any]) -> object:
            if _REFERENCE in value:
                return (self._folder / value[_REFERENCE]).read_bytes()
            return decode(value)

        return run

    def _store(self, value: bytes) -> str:
        # Holding the value keeps its id from being reused by another object.
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        digest = hashlib.sha256(value).hexdigest()
        file = self._folder / digest
        if not file.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            unfinished = file.with_suffix(".new")
            unfinished.write_bytes(value)
            unfinished.replace(file)
        self._known[id(value)] = (value, digest)
        return digest


def _save_on_loop(app: Any, persistence: Any) -> None:  # noqa: ANN401 the emulator's modules
    """Save every service's state from the event loop and wait until that is done."""
    loop = app._MAIN_LOOP
    if loop is None or loop.is_closed():
        return
    saved = threading.Event()

    def save() -> None:
        try:
            persistence.save_all(app._build_persistence_save_dict())
        finally:
            saved.set()

    loop.call_soon_threadsafe(save)
    saved.wait(_SAVE_TIMEOUT_SECONDS)


def install(data: Path, pause_seconds: float) -> None:
    """Start saving; ends with the process."""
    app, persistence = pins.module("app"), pins.module("core.persistence")
    pins.pinned(app, "_build_persistence_save_dict", "9a6393cc953d")
    pins.pinned(persistence, "save_all", "ea253a04fd05")
    long_bytes = LongBytes(data / "state" / "long-bytes")
    pins.replace(persistence, "_json_default", "495d9abe01cb", long_bytes.encode)
    pins.replace(persistence, "_json_object_hook", "645fe9676147", long_bytes.decode)
    stop = threading.Event()

    def repeat() -> None:
        while not stop.wait(pause_seconds):
            _save_on_loop(app, persistence)

    threading.Thread(target=repeat, name="snapshots", daemon=True).start()
