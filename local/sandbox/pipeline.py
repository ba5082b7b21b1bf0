"""The way of every vendor call: edge, credentials, fault switch, hold, effect, hold, answer.

A handler is a plain function that does the work and returns the vendor's answer; it runs in a
worker thread. Whether it runs, when, and whether the caller ever hears of it is decided here.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local.sandbox import answers
from local.sandbox.calls import VendorCall, plan_late_call
from local.sandbox.faults import WELL_BEHAVED, Answer, Effect, Fault
from local.sandbox.holds import Point
from local.sandbox.state import Sandbox

_DEFAULT_USER_AGENTS = re.compile(r"python[-/]", re.IGNORECASE)


Handler = Callable[[Sandbox, VendorCall], Response]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One vendor route: method, Starlette path, name for faults, holds and logs, and its work."""

    method: str
    path: str
    name: str
    handler: Handler


def vendor_route(endpoint: Endpoint, sandbox: Sandbox) -> Route:
    """Make a route that goes through the pipeline."""

    async def serve(request: Request) -> Response:
        request.scope["vendor_route"] = endpoint.name
        refusal = _refused_at_the_edge(request, sandbox)
        if refusal is not None:
            return refusal
        call = await _read_call(request, sandbox, endpoint.name)
        return await _run(request, sandbox, call, endpoint.handler)

    return Route(endpoint.path, serve, methods=[endpoint.method], name=endpoint.name)


def _refused_at_the_edge(request: Request, sandbox: Sandbox) -> Response | None:
    user_agent = request.headers.get("user-agent", "")
    if not user_agent or _DEFAULT_USER_AGENTS.match(user_agent):
        return answers.edge_refusal()
    pair = sandbox.credentials
    given = (request.headers.get("client_id"), request.headers.get("client_secret"))
    if given != (pair.client_id, pair.client_secret):
        return answers.invalid_credentials()
    return None


async def _read_call(request: Request, sandbox: Sandbox, name: str) -> VendorCall:
    call = VendorCall(
        route=name,
        path=dict(request.path_params),
        query=dict(request.query_params),
        content_type=request.headers.get("content-type", ""),
        body=await request.body(),
    )
    folder = request.scope["vendor_folder"] = call.folder_id
    fault = sandbox.faults.take(name, folder)
    request.scope["vendor_behaviour"] = fault.behaviour.value if fault else None
    return replace(call, fault=fault)


async def _run(request: Request, sandbox: Sandbox, call: VendorCall, handler: Handler) -> Response:
    client_gone = asyncio.Event()
    watcher = asyncio.create_task(_watch(request, client_gone))
    folder = request.scope["vendor_folder"]
    try:
        if not await sandbox.holds.pass_point(call.route, Point.BEFORE_EFFECT, folder, client_gone):
            return answers.DropConnection()
        answer = await _effect(sandbox, call, handler, client_gone)
        await sandbox.holds.pass_point(call.route, Point.AFTER_EFFECT, folder, client_gone)
        return await _answer(call, answer, client_gone)
    finally:
        watcher.cancel()


async def _watch(request: Request, client_gone: asyncio.Event) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    client_gone.set()


async def _effect(
    sandbox: Sandbox, call: VendorCall, handler: Handler, client_gone: asyncio.Event
) -> Response | None:
    """Do the work now, never, or later; returns the handler's answer when it ran."""
    fault = call.fault
    course = fault.course if fault else WELL_BEHAVED
    if course.effect is Effect.NOW:
        return await run_in_threadpool(handler, sandbox, call)
    if course.effect is Effect.LATE and fault is not None:
        if course.answer is Answer.SILENCE:
            await client_gone.wait()
        plan_late_call(sandbox, call, due_ms=sandbox.now_ms() + int(fault.seconds * 1000))
    return None


async def _answer(
    call: VendorCall, honest: Response | None, client_gone: asyncio.Event
) -> Response:
    """Choose what the caller gets to see: the handler's own answer, or a lie."""
    fault = call.fault
    if fault is not None:
        if fault.course.answer is Answer.SLOW:
            await _wait(fault.seconds, client_gone)
        lie = _LIES.get(fault.course.answer)
        if lie is not None:
            return lie(fault)
    return honest or answers.DropConnection()


_LIES: dict[Answer, Callable[[Fault], Response]] = {
    Answer.DROP: lambda _: answers.DropConnection(),
    Answer.SILENCE: lambda _: answers.DropConnection(),
    Answer.HTTP_ERROR: lambda fault: answers.http_error(fault.http_status),
    Answer.ERROR_RESULT: lambda _: answers.business_error("The request could not be processed."),
    Answer.SUCCESS: lambda _: JSONResponse(answers.SUCCESS),
    Answer.HTML: lambda _: answers.error_page_with_200(),
    Answer.WRONG_SHAPE: lambda fault: JSONResponse(fault.body),
    Answer.EDGE_REFUSAL: lambda _: answers.edge_refusal(),
    Answer.THROTTLED: lambda _: answers.throttled(),
}


async def _wait(seconds: float, client_gone: asyncio.Event) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(client_gone.wait(), seconds)
