"""Lambda adapter for what lies behind an approver's link."""

from __future__ import annotations

from no_undo.bootstrap import dependencies
from no_undo.entrypoint.approval_routes import show
from no_undo.entrypoint.handling import page_handler
from no_undo.entrypoint.http_requests import HttpRequest
from no_undo.entrypoint.http_responses import HttpAnswer


@page_handler(lambda: dependencies().pages)
def handler(request: HttpRequest) -> HttpAnswer:
    return show(request, dependencies())
