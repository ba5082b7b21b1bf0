"""State that survives a kill.

Gap: the emulator saves its state only when it is stopped cleanly, so a kill loses all of it.
AWS: what was acknowledged is durable.
Correction: a save every two seconds **on the event loop**, where request handlers run. A save in
    a thread of its own meets dictionaries that change under it and skips them silently. What
    remains is a bounded loss of about the pause, and files that may stem from two moments.

Executions that run when the process dies are ``FAILED`` with ``States.ServiceRestart`` after the
next start; on AWS they would go on.
"""

import threading
from typing import Any

from local.emulator import pins

_SAVE_TIMEOUT_SECONDS = 60


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


def install(pause_seconds: float) -> None:
    """Start saving; ends with the process."""
    app, persistence = pins.module("app"), pins.module("core.persistence")
    pins.pinned(app, "_build_persistence_save_dict", "9a6393cc953d")
    pins.pinned(persistence, "save_all", "ea253a04fd05")
    stop = threading.Event()

    def repeat() -> None:
        while not stop.wait(pause_seconds):
            _save_on_loop(app, persistence)

    threading.Thread(target=repeat, name="snapshots", daemon=True).start()
