"""The vendor's route: a signed hint to look, and the probe that its portal sends first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from no_undo.domain.errors import InvalidRequestError
from no_undo.entrypoint.http_requests import HttpRequest
from no_undo.entrypoint.http_responses import HttpAnswer, json_answer
from no_undo.use_cases.receive_webhook import check_signature, receive_webhook

if TYPE_CHECKING:
    from no_undo.bootstrap import Dependencies

MAX_BYTES = 256 * 1024


class _Lenient(BaseModel):
    # The vendor adds keys; values stay out of error texts (P10).
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)


class _Folder(_Lenient):
    name: str = Field(alias="folderName", max_length=1_000)


class _Data(_Lenient):
    folder: _Folder


class _Event(_Lenient):
    data: _Data


def take_hint(request: HttpRequest, deps: Dependencies) -> HttpAnswer:
    """Answer `GET` and `POST /webhooks/esign`; the body counts only with its signature."""
    if request.method == "GET":
        return json_answer(200, {"listening": True})
    body = request.body(max_bytes=MAX_BYTES)
    check_signature(body, request.query.get("signature", ""), deps.webhook_secret)
    try:
        event = _Event.model_validate_json(body)
    except ValidationError:
        raise InvalidRequestError("The event names no folder.", field="data.folder") from None
    used = receive_webhook(event.data.folder.name, deps.gate, deps.sweeper)
    return json_answer(200, {"used": used})
