"""Puts the sandbox together: vendor routes, control routes, request log, background work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from local.sandbox import background
from local.sandbox.control import control_routes
from local.sandbox.esign.routes import ENDPOINTS as ESIGN
from local.sandbox.nutrient.routes import routes as nutrient_routes
from local.sandbox.pdf_services.routes import ENDPOINTS as PDF_SERVICES
from local.sandbox.pipeline import vendor_route
from local.sandbox.requests_log import RequestLog
from local.sandbox.state import Sandbox


def create_app(sandbox: Sandbox) -> Starlette:
    """Return the ASGI application of one sandbox."""
    endpoints = (*ESIGN, *PDF_SERVICES)
    handlers = {endpoint.name: endpoint.handler for endpoint in endpoints}
    sandbox.vendor_routes = frozenset(handlers)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None, None]:
        worker = asyncio.create_task(background.run_forever(sandbox, handlers))
        try:
            yield
        finally:
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker

    routes: list[BaseRoute] = [
        *control_routes(sandbox),
        *(vendor_route(endpoint, sandbox) for endpoint in endpoints),
        *nutrient_routes(sandbox),
    ]
    log = Middleware(RequestLog, sandbox=sandbox)
    return Starlette(routes=routes, middleware=[log], lifespan=lifespan)
