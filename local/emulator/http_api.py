"""HTTP APIs: callers, failures and addresses.

Gap: an ``AWS_IAM`` route hands on a caller block without the null fields and refuses a caller with
    the control plane's error; a failing function is answered with 502 and its stack trace;
    ``GetAtt Api.ApiEndpoint`` names a host that does not resolve everywhere.
AWS: ``requestContext.authorizer.iam`` has ``accessKey``, ``accountId``, ``callerId``,
    ``cognitoIdentity``, ``principalOrgId``, ``userArn`` and ``userId`` (API Gateway guide, "AWS
    Lambda proxy integrations", payload format 2.0); whoever is refused gets 403 and
    ``{"message":"Forbidden"}``; a function error is answered with 500 and ``{"message":"Internal
    Server Error"}``.
Correction: all of the above; the endpoint is an address on 127.0.0.1 that works as it stands.

Signatures of IAM users and role sessions **are** verified by the emulator, those of its root key
(``test``) are **not**: nothing here proves that AWS would refuse a forged request.
"""

# ruff: noqa: SLF001 -- corrections reach into private parts of the emulator; pins guard them

import json
import os
from collections.abc import Callable
from typing import Any

from local.emulator import pins

_IAM_FIELDS = (
    "accessKey",
    "accountId",
    "callerId",
    "cognitoIdentity",
    "principalOrgId",
    "userArn",
    "userId",
)

Json = dict[str, Any]


def caller_block(identity: Json) -> Json:
    """Return ``requestContext.authorizer.iam`` with every field that AWS sends."""
    return {name: identity.get(name) for name in _IAM_FIELDS}


def endpoint(api_id: str) -> str:
    """Return the address of an API; the ``$default`` stage is served right below it."""
    return f"http://127.0.0.1:{os.environ['GATEWAY_PORT']}/_aws/execute-api/{api_id}"


def _full_caller(identify: Callable[..., Json | None]) -> Callable[..., Json | None]:
    def run(headers: Json, query: Json) -> Json | None:
        identity = identify(headers, query)
        return None if identity is None else caller_block(identity)

    return run


def _plain_refusal(enforce: Callable[..., Any], rest_apis: Any) -> Callable[..., Any]:  # noqa: ANN401
    """Refuse a caller of an HTTP API without saying why."""

    def run(api_id: str, *rest: object, **options: object) -> object:
        refused = enforce(api_id, *rest, **options)
        if refused is None or rest_apis.find_api_scope(api_id) is not None:
            return refused
        return _json_answer(403, "Forbidden")

    return run


def _json_answer(status: int, message: str) -> tuple[int, dict[str, str], bytes]:
    """Return an answer in API Gateway's own words."""
    body = json.dumps({"message": message}, separators=(",", ":")).encode()
    return status, {"Content-Type": "application/json"}, body


def _plain_failure(shape: Callable[..., Any]) -> Callable[..., Any]:
    """Answer a function error without its text."""

    def run(result: Json) -> object:
        if result.get("error") and not result.get("throttle"):
            status, headers, body = _json_answer(500, "Internal Server Error")
            return {"statusCode": status, "headers": headers, "body": body.decode()}, None
        return shape(result)

    return run


def _usable_endpoint(handlers: Json) -> None:
    """Give the ``ApiEndpoint`` attribute an address that resolves."""
    api = handlers["AWS::ApiGatewayV2::Api"]
    create, update = api["create"], api["update"]

    def created(*arguments: Any) -> tuple[str, Json]:  # noqa: ANN401
        api_id, attributes = create(*arguments)
        return api_id, attributes | {"ApiEndpoint": endpoint(api_id)}

    def updated(*arguments: Any) -> tuple[str, Json]:  # noqa: ANN401
        api_id, attributes = update(*arguments)
        return api_id, attributes | {"ApiEndpoint": endpoint(api_id)}

    handlers["AWS::ApiGatewayV2::Api"] = api | {"create": created, "update": updated}


def install() -> None:
    """Make HTTP APIs answer as on AWS."""
    service, functions = pins.module("services.apigateway"), pins.module("services.lambda_svc")
    provisioners = pins.module("services.cloudformation.provisioners")
    pins.replace(service, "_iam_caller_identity_v2", "c4ea0a0645bb", _full_caller)
    rest_apis, app = pins.module("services.apigateway_v1"), pins.module("app")
    pins.replace(
        app, "_enforce_execute_api", "41e437c7b90d", lambda check: _plain_refusal(check, rest_apis)
    )
    pins.replace(
        functions, "lambda_execute_result_to_api_proxy_response", "36f0ed215e85", _plain_failure
    )
    _usable_endpoint(provisioners._RESOURCE_HANDLERS)
