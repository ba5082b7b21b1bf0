"""The callers' routes: submit, upload, look, withdraw."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import boto3
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
    IdempotencyValidationError,
)

from no_undo.domain.errors import ConflictError, InvalidRequestError
from no_undo.entrypoint.http_requests import Caller, HttpRequest
from no_undo.entrypoint.http_responses import HttpAnswer, json_answer, redirect_answer
from no_undo.entrypoint.inputs import ReassignBody, SubmitBody, read_body
from no_undo.use_cases.get_request import (
    RequestView,
    document_url,
    get_request,
    list_requests,
    receipt_of,
)
from no_undo.use_cases.reassign_approver import reassign_approver
from no_undo.use_cases.submit_request import offer_upload, submit_request
from no_undo.use_cases.withdraw_request import withdraw_request

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from no_undo.bootstrap import Dependencies

TENANT_CLAIM = "tenant"
KEPT_SECONDS = 24 * 3600
"""How long a repeated submission with the same Idempotency-Key gets the first answer."""
SUBMISSION_SECONDS = 30
"""How long one submission can be under way: the timeout of its function (template.yaml)."""
_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def take_in(request: HttpRequest, deps: Dependencies) -> HttpAnswer:
    """Answer `POST /requests` and `POST /uploads`."""
    caller = request.caller(tenant_claim=TENANT_CLAIM)
    if request.route_key == "POST /uploads":
        upload = offer_upload(caller.tenant, deps.door)
        return json_answer(201, dataclasses.asdict(upload))
    body = request.json_body(max_bytes=1_000_000)
    submission = read_body(SubmitBody, body).submission(caller)

    def submit() -> dict[str, Any]:
        return {"request_id": submit_request(submission, deps.door)}

    key = request.headers.get("idempotency-key", "")
    answer = _once(key, caller, body, submit, deps) if key else submit()
    return json_answer(202, answer)


class _Invocation:
    """Tells Powertools when an interrupted submission is over, so that its key works again."""

    @staticmethod
    def get_remaining_time_in_millis() -> int:
        """Return an upper bound: what the whole invocation may take."""
        return SUBMISSION_SECONDS * 1000


def _once(
    key: str,
    caller: Caller,
    body: dict[str, Any],
    submit: Callable[[], dict[str, Any]],
    deps: Dependencies,
) -> dict[str, Any]:
    """Give a repeated key the first answer (reversible work: Powertools' record may expire)."""
    if not _KEY.fullmatch(key):
        raise InvalidRequestError(
            "Idempotency-Key must be 1 to 255 visible ASCII characters.", field="Idempotency-Key"
        )
    layer = DynamoDBPersistenceLayer(
        table_name=deps.settings.text("IDEMPOTENCY_TABLE_NAME"),
        boto3_client=boto3.client("dynamodb"),  # pyright: ignore[reportUnknownMemberType] # stubs of other services are missing
    )
    config = IdempotencyConfig(
        event_key_jmespath="key",
        payload_validation_jmespath="body",
        expires_after_seconds=KEPT_SECONDS,
        hash_function="sha256",
        lambda_context=cast("LambdaContext", _Invocation()),
    )
    scope = hashlib.sha256(f"{caller.tenant}\n{caller.identity}\n{key}".encode()).hexdigest()

    @idempotent_function(  # type: ignore[untyped-decorator] # Powertools leaves it untyped
        data_keyword_argument="data", persistence_store=layer, config=config, key_prefix="submit"
    )
    def once(*, data: dict[str, Any]) -> dict[str, Any]:
        del data
        return submit()

    try:
        answer: dict[str, Any] = once(data={"key": scope, "body": body})
    except IdempotencyValidationError:
        raise ConflictError(
            "This Idempotency-Key was used with another body.", field="Idempotency-Key"
        ) from None
    except IdempotencyAlreadyInProgressError:
        raise ConflictError(
            "A request with this Idempotency-Key is being taken in.", field="Idempotency-Key"
        ) from None
    return answer


def show_requests(request: HttpRequest, deps: Dependencies) -> HttpAnswer:
    """Answer `GET /requests`, and of one request its view, its document and its receipt."""
    caller = request.caller(tenant_claim=TENANT_CLAIM)
    request_id = request.path_parameters.get("id", "")
    match request.route_key:
        case "GET /requests":
            found = list_requests(caller.tenant, caller.identity, deps.store)
            return json_answer(200, {"requests": [as_json(one) for one in found]})
        case "GET /requests/{id}/document":
            url = document_url(
                request_id, caller.tenant, caller.identity, deps.store, deps.documents
            )
            return redirect_answer(url)
        case "GET /requests/{id}/receipt":
            receipt = receipt_of(
                request_id, caller.tenant, caller.identity, deps.store, deps.anchors
            )
            return json_answer(200, dict(receipt.to_json()))
        case _:
            view = get_request(request_id, caller.tenant, caller.identity, deps.store)
            return json_answer(200, as_json(view))


def withdraw(request: HttpRequest, deps: Dependencies) -> HttpAnswer:
    """Answer `POST /requests/{id}/withdraw`."""
    caller = request.caller(tenant_claim=TENANT_CLAIM)
    request_id = request.path_parameters.get("id", "")
    withdraw_request(request_id, caller.tenant, caller.identity, deps.gate, deps.resumer)
    view = get_request(request_id, caller.tenant, caller.identity, deps.store)
    return json_answer(200, as_json(view))


def reassign(request: HttpRequest, deps: Dependencies) -> HttpAnswer:
    """Answer `POST /requests/{id}/reassign`."""
    caller = request.caller(tenant_claim=TENANT_CLAIM)
    request_id = request.path_parameters.get("id", "")
    wanted = read_body(ReassignBody, request.json_body()).reassignment()
    reassign_approver(request_id, caller.tenant, caller.identity, wanted, deps.gate)
    view = get_request(request_id, caller.tenant, caller.identity, deps.store)
    return json_answer(200, as_json(view))


def as_json(view: RequestView) -> dict[str, Any]:
    """Return a view as JSON: states as text, times in ISO 8601."""
    body = dataclasses.asdict(view)
    body["created_at"] = view.created_at.isoformat()
    body["deadline"] = None if view.deadline is None else view.deadline.isoformat()
    body["approvers"] = [dataclasses.asdict(one) for one in view.approvers]
    body["signers"] = [dataclasses.asdict(one) for one in view.signers]
    return body
