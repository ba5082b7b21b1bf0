"""Runs the sandbox on loopback."""

from __future__ import annotations

from collections.abc import Callable

from local.loopback_server import LoopbackServer
from local.sandbox.app import create_app
from local.sandbox.state import Sandbox


def sandbox_server(sandbox: Sandbox, port: int, on_ready: Callable[[str], None]) -> LoopbackServer:
    """Return a server of the sandbox; for the arguments see `LoopbackServer`."""
    return LoopbackServer(create_app(sandbox), port, on_ready, sandbox.holds.abandon)
