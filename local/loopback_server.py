"""A uvicorn server on loopback that says where it listens, with connections that can be cut."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

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


class LoopbackServer(uvicorn.Server):
    """A uvicorn server that says when it listens, and whose held calls do not keep it alive.

    Args:
        app: What to serve.
        port: TCP port on loopback; 0 lets the system choose.
        on_ready: Called with the base URL once requests are accepted.
        let_go: Called before the server stops; ends the calls that are held.
    """

    def __init__(
        self,
        app: Starlette,
        port: int,
        on_ready: Callable[[str], None],
        let_go: Callable[[], None],
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                host=LOOPBACK,
                port=port,
                http=CuttableProtocol,
                ws="none",
                access_log=False,
                log_level="warning",
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )
        self._on_ready = on_ready
        self._let_go = let_go

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say where."""
        await super().startup(sockets)
        if self.started:
            port = self.servers[0].sockets[0].getsockname()[1]
            self._on_ready(f"http://{LOOPBACK}:{port}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let held calls go, then stop."""
        self._let_go()
        await super().shutdown(sockets)
