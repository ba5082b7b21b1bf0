"""Runs the proxy on loopback."""

from __future__ import annotations

from collections.abc import Callable

from local.fault_proxy.app import FaultProxy
from local.loopback_server import LoopbackServer


def fault_proxy_server(
    proxy: FaultProxy, port: int, on_ready: Callable[[str], None]
) -> LoopbackServer:
    """Return a server of the proxy; for the arguments see `LoopbackServer`."""
    return LoopbackServer(proxy.app(), port, on_ready, proxy.let_go)
