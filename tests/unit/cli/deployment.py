"""The real routes of the API on a lab world, reached as the command reaches a deployment."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

import boto3
import httpx

from no_undo.cli.api import ApiClient
from no_undo.entrypoint.handling import Handle, http_handler
from no_undo.entrypoint.operation_routes import operate
from no_undo.entrypoint.request_routes import reassign, show_requests, withdraw
from no_undo.lab.world import CALLER, TENANT, World
from tests.fakes.audit_outbox import InMemoryOutbox
from tests.infrastructure.template import function_of_route, routes

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from no_undo.bootstrap import Dependencies

HANDLES: Final = {
    "get_request": show_requests,
    "withdraw_request": withdraw,
    "reassign_approver": reassign,
    "settle_plan": operate,
}


class Deployment:
    """Routes each call as the template does, to the functions in `HANDLES`."""

    def __init__(self, world: World, anchors: InMemoryOutbox | None = None) -> None:
        """Deploy a world.

        Args:
            world: Its caller is everybody who calls.
            anchors: What was exported; None: nothing.
        """
        self._deps = SimpleNamespace(
            store=world.store,
            clock=world.clock,
            documents=world.documents,
            gate=world.gate,
            action=world.action,
            resumer=world.resumer,
            executions=world.executions,
            anchors=anchors or InMemoryOutbox(),
        )

    def connect(self) -> ApiClient:
        """Return a client of this deployment."""
        session = boto3.Session(
            aws_access_key_id="test", aws_secret_access_key="test", region_name="eu-central-1"
        )
        transport = httpx.MockTransport(self._answer)
        return ApiClient("https://api.example.com", session, transport)

    def ask(self, method: str, path: str, body: object = None) -> httpx.Response:
        """Make one call and return the answer as it is."""
        content = None if body is None else json.dumps(body)
        return self._answer(
            httpx.Request(method, f"https://api.example.com{path}", content=content)
        )

    def _answer(self, request: httpx.Request) -> httpx.Response:
        key, parameters = _route(request.method, request.url.raw_path.decode())
        deps = cast("Dependencies", self._deps)
        route = HANDLES[function_of_route(routes()[key])]
        handle: Handle = lambda one: route(one, deps)  # noqa: E731 - typed on one line
        answer = http_handler(handle)(_event(request, key, parameters), cast("LambdaContext", None))
        return httpx.Response(answer["statusCode"], headers=answer["headers"], text=answer["body"])


def _route(method: str, path: str) -> tuple[str, dict[str, str]]:
    for key in routes():
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", key)
        match = re.fullmatch(pattern, f"{method} {path}")
        if match:
            return key, {name: unquote(value) for name, value in match.groupdict().items()}
    raise AssertionError(f"the template has no route for {method} {path}")


def _event(request: httpx.Request, key: str, parameters: dict[str, str]) -> dict[str, Any]:
    return {
        "routeKey": key,
        "headers": dict(request.headers),
        "pathParameters": parameters,
        "body": request.content.decode(),
        "requestContext": {
            "http": {"method": request.method},
            "authorizer": {"iam": {"accountId": TENANT, "userArn": CALLER}},
        },
    }
