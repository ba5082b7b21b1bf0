"""The proxy: every AWS call goes on to the emulator as it came, unless a fault is armed for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager, suppress

import httpx
from pydantic import TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local.fault_proxy import answers
from local.fault_proxy.calls import AwsCall, read_call
from local.fault_proxy.faults import Fault, FaultRequest, Faults, Kind
from local.sandbox.answers import DropConnection

CONTROL_PATH = "/_faults"

_REQUESTS = TypeAdapter(list[FaultRequest])
_METHODS = ["DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"]
# Of one connection, not of the call; `expect` was met when the body was read.
_HOP_BY_HOP = {b"connection", b"keep-alive", b"transfer-encoding", b"expect"}
_TIMEOUT = httpx.Timeout(60.0, connect=5.0)


class FaultProxy:
    """Forwards calls and lets some go wrong.

    Args:
        target: Tells the emulator's address; asked for each call, because a restart may move it.
    """

    def __init__(self, target: Callable[[], str]) -> None:
        self._target = target
        self._faults = Faults()
        self._client = httpx.AsyncClient(timeout=_TIMEOUT, trust_env=False)

    def app(self) -> Starlette:
        """Return the ASGI application."""

        @asynccontextmanager
        async def lifespan(_app: Starlette) -> AsyncGenerator[None, None]:
            async with self._client:
                yield

        routes = [
            Route(CONTROL_PATH, self._show, methods=["GET"]),
            Route(CONTROL_PATH, self._arm, methods=["PUT"]),
            Route("/{path:path}", self._serve, methods=_METHODS),
        ]
        return Starlette(routes=routes, lifespan=lifespan)

    def let_go(self) -> None:
        """Let no held call keep the server from stopping."""
        self._faults.replace([])

    async def _show(self, _request: Request) -> Response:
        return JSONResponse([fault.as_json() for fault in self._faults.all()])

    async def _arm(self, request: Request) -> Response:
        try:
            wanted = _REQUESTS.validate_json(await request.body())
        except ValidationError as error:
            shown = error.errors(include_input=False, include_url=False, include_context=False)
            return JSONResponse({"error": shown}, status_code=422)
        self._faults.replace(wanted)
        return await self._show(request)

    async def _serve(self, request: Request) -> Response:
        body = await request.body()
        headers = {name.lower(): value for name, value in request.headers.items()}
        call = read_call(request.method, request.url.path, headers, body)
        fault = self._faults.take(call)
        if fault is None:
            return await self._forward(request, body)
        return await self._go_wrong(fault, call, request, body)

    async def _go_wrong(
        self, fault: Fault, call: AwsCall, request: Request, body: bytes
    ) -> Response:
        wanted = fault.request
        match wanted.kind:
            case Kind.CANCELLED:
                return answers.cancelled(wanted.code, call.items)
            case Kind.REFUSED:
                return answers.refused(wanted.code, wanted.status)
            case Kind.STALE:
                fault.kept = fault.kept or await self._forward(request, body)
                return fault.kept
            case Kind.REPLY_DROPPED:
                await self._forward(request, body)
            case Kind.HELD_BEFORE:
                if await _held(fault, request):
                    return await self._forward(request, body)
            case Kind.HELD_AFTER:
                answer = await self._forward(request, body)
                if await _held(fault, request):
                    return answer
        return DropConnection()

    async def _forward(self, request: Request, body: bytes) -> Response:
        """Make the call at the emulator; the signature holds, because nothing signed changes."""
        scope = request.scope
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        passed = httpx.Request(
            request.method,
            self._target(),
            headers=_end_to_end(request.headers.raw),
            content=body,
            extensions={"target": scope["raw_path"] + query},
        )
        try:
            answer = await self._client.send(passed, stream=True)
            async with aclosing(answer):
                content = b"".join([part async for part in answer.aiter_raw()])
        except httpx.TransportError:
            return DropConnection()  # as the caller would see it without a proxy
        response = Response(content, status_code=answer.status_code)
        response.raw_headers = _end_to_end(answer.headers.raw)
        return response


def _end_to_end(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name.lower() not in _HOP_BY_HOP]


async def _held(fault: Fault, request: Request) -> bool:
    """Wait until the call is let go; False when its client has gone."""
    fault.holding += 1
    gone = asyncio.create_task(_gone(request))
    free = asyncio.create_task(fault.let_go.wait())
    try:
        await asyncio.wait((gone, free), return_when=asyncio.FIRST_COMPLETED)
        return not gone.done()
    finally:
        fault.holding -= 1
        for task in (gone, free):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
