"""Everything the sandbox knows, handed to every route."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from local.sandbox.faults import Faults
from local.sandbox.holds import Holds
from local.sandbox.store import Store

PDFIUM_LOCK = threading.Lock()
"""Taken around every use of pypdfium2 in this process: pdfium is not thread-safe."""

_SETTINGS = "settings"


class Credentials(BaseModel):
    """The Foxit pair that the sandbox accepts; one pair covers eSign and PDF Services."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    client_id: str = "sandbox-client"
    client_secret: str = "sandbox-secret"  # noqa: S105 - opens nothing but this sandbox


class WebhookChannel(BaseModel):
    """Where events are delivered, and the key of their HMAC-SHA256 signature."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    secret: str


class Settings(BaseModel):
    """Standing choices, changed by `PUT /_sandbox/settings`.

    Attributes:
        second_send_refused: False (default, the worst case) lets a second send of a sent folder
            e-mail everybody again; True lets the vendor refuse it.
        polls_until_done: How many polls a PDF task takes until it is COMPLETED.
        download_interval_seconds: Two downloads of the same PDF Services document closer than
            this are throttled (vendor fact, reported: about 2.1 s).
        webhook: Channel for events; None delivers nothing.
        redelivery_seconds: Delay of the second delivery of every event.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    second_send_refused: bool = False
    polls_until_done: int = Field(default=2, ge=1)
    download_interval_seconds: float = Field(default=2.1, ge=0.0)
    webhook: WebhookChannel | None = None
    redelivery_seconds: float = Field(default=0.5, ge=0.0)


class Sandbox:
    """The state of one sandbox, kept in its data folder.

    Args:
        data_dir: Folder for the database and the throw-away CA; made when absent.
        clock: Seconds since the epoch; a test passes its own.
        credentials: The pair to accept.

    Attributes:
        vendor_routes: Names that faults and holds may be armed for; set by the app.
        reset_hooks: Called after a reset, for a vendor that keeps more than this.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        clock: Callable[[], float] = time.time,
        credentials: Credentials | None = None,
    ) -> None:
        data_dir.mkdir(parents=True, exist_ok=True)
        self.data_dir = data_dir
        self.clock = clock
        self.credentials = credentials or Credentials()
        self.store = Store(data_dir / "sandbox.sqlite3")
        self.faults = Faults(self.store)
        self.holds = Holds()
        self.vendor_routes: frozenset[str] = frozenset()
        self.reset_hooks: list[Callable[[], None]] = []

    def now_ms(self) -> int:
        """Return the time in epoch milliseconds, the vendor's unit."""
        return int(self.clock() * 1000)

    @property
    def settings(self) -> Settings:
        """The standing choices."""
        return Settings.model_validate(self.store.get(_SETTINGS, 1) or {})

    def change_settings(self, settings: Settings) -> None:
        """Replace the standing choices; kept over a restart."""
        self.store.put(_SETTINGS, 1, settings.model_dump(mode="json"))

    def reset(self) -> None:
        """Forget everything but the CA; ids go on, so an old id never means a new folder."""
        self.holds.clear()
        self.store.clear()
        for hook in self.reset_hooks:
            hook()
