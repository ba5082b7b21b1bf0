"""Lambda adapter for `POST /webhooks/esign`, the vendor's hint to look."""

from __future__ import annotations

from no_undo.bootstrap import dependencies
from no_undo.entrypoint.handling import http_handler
from no_undo.entrypoint.http_requests import HttpRequest
from no_undo.entrypoint.http_responses import HttpAnswer
from no_undo.entrypoint.webhook_routes import take_hint


@http_handler
def handler(request: HttpRequest) -> HttpAnswer:
    return take_hint(request, dependencies())
