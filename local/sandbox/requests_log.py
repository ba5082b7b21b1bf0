"""The request log: which routes were called, when, and with what answer; never a value."""

from __future__ import annotations

from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from local.sandbox.state import Sandbox

_REQUESTS = "requests"
CONTROL_PREFIX = "/_sandbox"


class RequestLog:
    """ASGI middleware that notes every vendor request; the sandbox's own routes are left out."""

    def __init__(self, app: ASGIApp, sandbox: Sandbox) -> None:
        self._app = app
        self._sandbox = sandbox

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app and keep the route, times and status; status None means no answer."""
        if scope["type"] != "http" or scope["path"].startswith(CONTROL_PREFIX):
            await self._app(scope, receive, send)
            return
        entry: dict[str, Any] = {"timeMs": self._sandbox.now_ms(), "status": None}

        async def noting_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                entry["status"] = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting_send)
        finally:
            self._keep(entry, scope)

    def _keep(self, entry: dict[str, Any], scope: Scope) -> None:
        headers = dict(scope["headers"])
        entry |= {
            "endMs": self._sandbox.now_ms(),
            "method": scope["method"],
            "route": scope.get("vendor_route", scope["path"]),
            "folderId": scope.get("vendor_folder"),
            "behaviour": scope.get("vendor_behaviour"),
            "userAgent": headers.get(b"user-agent", b"").decode("latin-1"),
        }
        self._sandbox.store.add(_REQUESTS, entry)


def requests_seen(sandbox: Sandbox) -> list[dict[str, Any]]:
    """Return every finished vendor request, in the order in which they ended."""
    return [entry for _, entry in sandbox.store.all(_REQUESTS)]
