"""Runs the proxy under uvicorn, on loopback, with connections that can be cut."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from local.fault_proxy.app import FaultProxy
from local.sandbox.server import LOOPBACK, CuttableProtocol

_GRACE_SECONDS = 1


class FaultProxyServer(uvicorn.Server):
    """A uvicorn server that says when it listens, and whose held calls do not keep it alive.

    Args:
        proxy: What to serve.
        port: TCP port on loopback; 0 lets the system choose.
        on_ready: Called with the base URL once requests are accepted.
    """

    def __init__(self, proxy: FaultProxy, port: int, on_ready: Callable[[str], None]) -> None:
        super().__init__(
            uvicorn.Config(
                proxy.app(),
                host=LOOPBACK,
                port=port,
                http=CuttableProtocol,
                ws="none",
                access_log=False,
                log_level="warning",
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )
        self._proxy = proxy
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say where."""
        await super().startup(sockets)
        if self.started:
            port = self.servers[0].sockets[0].getsockname()[1]
            self._on_ready(f"http://{LOOPBACK}:{port}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let held calls go, then stop."""
        self._proxy.let_go()
        await super().shutdown(sockets)
