"""Lambda adapter for `POST /requests/{id}/reassign`."""

from __future__ import annotations

from no_undo.bootstrap import dependencies
from no_undo.entrypoint.handling import http_handler
from no_undo.entrypoint.http_requests import HttpRequest
from no_undo.entrypoint.http_responses import HttpAnswer
from no_undo.entrypoint.request_routes import reassign


@http_handler
def handler(request: HttpRequest) -> HttpAnswer:
    return reassign(request, dependencies())
