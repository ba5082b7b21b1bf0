"""Runs the sandbox under uvicorn, on loopback, with connections that can be cut."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from local.sandbox.app import create_app
from local.sandbox.state import Sandbox

LOOPBACK = "127.0.0.1"
_GRACE_SECONDS = 1


class CuttableProtocol(H11Protocol):
    """Hands every request its connection's transport, so that an answer can be dropped."""

    def connection_made(  # type: ignore[override] # uvicorn narrows it to its own Transport
        self, transport: asyncio.Transport
    ) -> None:
        """Put the transport where `answers.DropConnection` looks for it."""
        self.app_state = {**self.app_state, "transport": transport}
        super().connection_made(transport)


class SandboxServer(uvicorn.Server):
    """A uvicorn server that says when it listens.

    Args:
        sandbox: The state.
        port: TCP port on loopback; 0 lets the system choose.
        on_ready: Called with the base URL once requests are accepted.
    """

    def __init__(self, sandbox: Sandbox, port: int, on_ready: Callable[[str], None]) -> None:
        super().__init__(
            uvicorn.Config(
                create_app(sandbox),
                host=LOOPBACK,
                port=port,
                http=CuttableProtocol,
                ws="none",
                access_log=False,
                log_level="warning",
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )
        self._sandbox = sandbox
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say where."""
        await super().startup(sockets)
        if self.started:
            port = self.servers[0].sockets[0].getsockname()[1]
            self._on_ready(f"http://{LOOPBACK}:{port}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let no held call keep the server from stopping, then stop."""
        self._sandbox.holds.abandon()
        await super().shutdown(sockets)
