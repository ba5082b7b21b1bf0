"""Answers in the shape API Gateway HTTP APIs take (payload format 2.0), errors as RFC 9457.

A problem's `type` is `urn:no-undo:problem:<code>`, where `<code>` is the stable code of the error
class. Errors of the caller's making and refusals by rule carry their message: by the rule of
`no_undo.domain.errors` it holds ids, fields and rules only. Everything else is answered without
detail.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from no_undo.domain import errors
from no_undo.entrypoint.pages import file_headers, page_headers, redirect_headers

PROBLEM_TYPE_PREFIX = "urn:no-undo:problem:"
_RETRY_AFTER_SECONDS = 5
_INTERNAL_STATUS = 500
_BAD_GATEWAY_STATUS = 502
_UNAVAILABLE_STATUS = 503

# The first class that an error is an instance of decides, so special ones stand before their base.
_STATUSES: tuple[tuple[type[errors.NoUndoError], int], ...] = (
    (errors.NotFoundError, 404),
    (errors.ConflictError, 409),
    (errors.InvalidRequestError, 400),
    # The content of the request cannot be acted on, in whatever state the plan is.
    (errors.UnresolvedRecipientError, 422),
    (errors.RedactionUnprovenError, 422),
    (errors.NotEligibleError, 422),
    (errors.RefusedError, 409),
    # The vendor said no, answered oddly, or may have done it: the caller has to know which.
    (errors.VendorContractError, _BAD_GATEWAY_STATUS),
    (errors.InDoubtError, _BAD_GATEWAY_STATUS),
    (errors.TransientError, _UNAVAILABLE_STATUS),
    # Nothing was written: the same call may be repeated.
    (errors.StaleError, _UNAVAILABLE_STATUS),
)


class HttpAnswer(TypedDict):
    """One answer, payload format 2.0."""

    statusCode: int
    headers: dict[str, str]
    body: str
    isBase64Encoded: NotRequired[bool]


def json_answer(status: int, body: Mapping[str, Any] | list[Any]) -> HttpAnswer:
    """Answer with JSON."""
    return _api_answer(status, "application/json", body)


def page_answer(status: int, html: str, style_source: str) -> HttpAnswer:
    """Answer with a page whose one inline stylesheet has this CSP source."""
    return {"statusCode": status, "headers": page_headers(style_source), "body": html}


def picture_answer(png: bytes) -> HttpAnswer:
    """Answer with a PNG."""
    return {
        "statusCode": 200,
        "headers": file_headers("image/png"),
        "body": base64.b64encode(png).decode("ascii"),
        "isBase64Encoded": True,
    }


def redirect_answer(location: str) -> HttpAnswer:
    """Send the browser elsewhere with a GET (303, RFC 9110 15.4.4)."""
    return {"statusCode": 303, "headers": redirect_headers(location), "body": ""}


def options_answer(allowed: tuple[str, ...]) -> HttpAnswer:
    """Answer OPTIONS: says what is allowed, changes nothing (P6)."""
    headers = {"allow": ", ".join(allowed), "cache-control": "no-store"}
    return {"statusCode": 204, "headers": headers, "body": ""}


def method_not_allowed(allowed: tuple[str, ...]) -> HttpAnswer:
    """Answer a method that the route does not have (RFC 9110 15.5.6)."""
    answer = _problem(405, "method_not_allowed", detail="")
    answer["headers"]["allow"] = ", ".join(allowed)
    return answer


def head_answer(answer: HttpAnswer) -> HttpAnswer:
    """Turn the answer to GET into the answer to HEAD: same status and headers, no body."""
    return {"statusCode": answer["statusCode"], "headers": answer["headers"], "body": ""}


def problem_answer(error: Exception) -> HttpAnswer:
    """Answer an error as a problem document.

    Args:
        error: One of ours, or anything else, which becomes a 500 that says nothing.
    """
    status = problem_status(error)
    if not isinstance(error, errors.NoUndoError) or status == _INTERNAL_STATUS:
        return _problem(_INTERNAL_STATUS, "internal", detail="")
    if status == _UNAVAILABLE_STATUS:
        answer = _problem(status, error.code, detail="Nothing was changed. Please try again.")
        answer["headers"]["retry-after"] = str(_RETRY_AFTER_SECONDS)
        return answer
    if status == _BAD_GATEWAY_STATUS:  # the code says it; what a vendor said stays inside
        return _problem(status, error.code, detail="")
    field = error.field if isinstance(error, errors.InvalidRequestError) else ""
    return _problem(status, error.code, detail=str(error), field=field)


def problem_status(error: Exception) -> int:
    """Return the HTTP status of an error."""
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), _INTERNAL_STATUS)


def _problem(status: int, code: str, *, detail: str, field: str = "") -> HttpAnswer:
    body: dict[str, Any] = {
        "type": PROBLEM_TYPE_PREFIX + code,
        "title": code.replace("_", " ").capitalize(),
        "status": status,
    }
    if detail:
        body["detail"] = detail
    if field:
        body["field"] = field
    return _api_answer(status, "application/problem+json", body)


def _api_answer(status: int, content_type: str, body: Mapping[str, Any] | list[Any]) -> HttpAnswer:
    headers = {
        "content-type": content_type,
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
    }
    return {
        "statusCode": status,
        "headers": headers,
        "body": json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")),
    }
