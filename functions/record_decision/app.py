"""Lambda adapter for `POST /approvals/{token}`."""

from __future__ import annotations

from no_undo.bootstrap import dependencies
from no_undo.entrypoint.approval_routes import decide
from no_undo.entrypoint.handling import page_handler
from no_undo.entrypoint.http_requests import HttpRequest
from no_undo.entrypoint.http_responses import HttpAnswer


@page_handler(lambda: dependencies().pages)
def handler(request: HttpRequest) -> HttpAnswer:
    return decide(request, dependencies())
