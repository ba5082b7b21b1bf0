"""Answers that are not a handler's own: refusals at the edge, lies, and no answer at all."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

SUCCESS: dict[str, Any] = {"result": "success"}

_ERROR_PAGE = "<!doctype html><html><body><h1>Service temporarily unavailable</h1></body></html>"
_BAD_GATEWAY = "<html><body><center><h1>502 Bad Gateway</h1></center></body></html>"


class ConnectionDroppedError(Exception):
    """Raised in place of a dropped connection when there is no transport to cut (in-process)."""


class DropConnection(Response):
    """Not an answer: cuts the TCP connection before the first byte."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Abort the transport that the server put into the connection's state."""
        transport: asyncio.Transport | None = scope.get("state", {}).get("transport")
        if transport is None:
            raise ConnectionDroppedError
        transport.abort()
        while (await receive())["type"] != "http.disconnect":
            pass


def business_error(description: str) -> JSONResponse:
    """A business error of eSign: HTTP 200, `result: error` (recordings foxit-esign-error-*)."""
    return JSONResponse({"result": "error", "error_description": description})


def invalid_credentials() -> JSONResponse:
    """The shared gateway's answer to a wrong pair (recording foxit-error-invalid-credentials)."""
    return JSONResponse({"allow": False, "reason": "Invalid credentials"}, status_code=401)


def edge_refusal() -> JSONResponse:
    """The edge filter's answer to a client it does not like: the vendor never sees the call."""
    return JSONResponse({"error code": 1010}, status_code=403)


def throttled(retry_after_seconds: int = 2) -> JSONResponse:
    """Too many requests, as the gateway's rate limiter says it."""
    return JSONResponse(
        {"code": 429, "message": "Request blocked by the rate limiter."},
        status_code=429,
        headers={"Retry-After": str(retry_after_seconds)},
    )


def http_error(status: int) -> Response:
    """A gateway's error page; which HTTP error is the fault's choice."""
    return HTMLResponse(_BAD_GATEWAY.replace("502 Bad Gateway", str(status)), status_code=status)


def error_page_with_200() -> Response:
    """An HTML error page that calls itself a success."""
    return HTMLResponse(_ERROR_PAGE)


def plain_refusal(text: str) -> Response:
    """A download route's refusal: HTTP 400, text (recordings foxit-esign-error-download-*)."""
    return PlainTextResponse(text, status_code=400)
