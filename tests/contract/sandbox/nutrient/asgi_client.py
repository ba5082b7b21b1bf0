"""Calls an ASGI application without a server; one event loop for each call."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import httpx
from starlette.applications import Starlette


@dataclass(frozen=True, slots=True)
class AsgiClient:
    """A blocking client of one application."""

    app: Starlette

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:  # noqa: ANN401 - httpx's own arguments
        """Send one request; arguments as httpx takes them."""
        return asyncio.run(self._request(method, path, **more))

    async def _request(self, method: str, path: str, **more: Any) -> httpx.Response:  # noqa: ANN401 - see above
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://sandbox") as client:
            return await client.request(method, path, **more)

    def get(self, path: str, **more: Any) -> httpx.Response:  # noqa: ANN401 - see above
        """GET."""
        return self.request("GET", path, **more)

    def post(self, path: str, **more: Any) -> httpx.Response:  # noqa: ANN401 - see above
        """POST."""
        return self.request("POST", path, **more)

    def put(self, path: str, **more: Any) -> httpx.Response:  # noqa: ANN401 - see above
        """PUT."""
        return self.request("PUT", path, **more)
