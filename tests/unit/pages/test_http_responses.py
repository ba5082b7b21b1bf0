"""Answers in the gateway's shape; errors as problem documents that give nothing away."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from no_undo.domain import errors
from no_undo.entrypoint.http_responses import (
    HttpAnswer,
    head_answer,
    json_answer,
    method_not_allowed,
    options_answer,
    page_answer,
    picture_answer,
    problem_answer,
    problem_status,
    redirect_answer,
)


def every_error() -> list[type[errors.NoUndoError]]:
    found: list[type[errors.NoUndoError]] = [errors.NoUndoError]
    for one in found:
        found.extend(one.__subclasses__())
    return [one for one in found if one.__module__ == errors.__name__]


def made(kind: type[errors.NoUndoError]) -> errors.NoUndoError:
    if issubclass(kind, errors.FenceHeldError):
        return kind("the message", holder_plan_id="req-1#1")
    return kind("the message")


def body_of(answer: HttpAnswer) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(answer["body"])
    return body


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (errors.InvalidRequestError, 400),
        (errors.NotFoundError, 404),
        (errors.ConflictError, 409),
        (errors.RefusedError, 409),
        (errors.ApprovalExpiredError, 409),
        (errors.PausedError, 409),
        (errors.NotEligibleError, 422),
        (errors.UnresolvedRecipientError, 422),
        (errors.RedactionUnprovenError, 422),
        (errors.TransientError, 503),
        (errors.StaleError, 503),
        (errors.InDoubtError, 502),
        (errors.VendorContractError, 502),
        (errors.VendorRefusedError, 502),
        (errors.TamperedError, 500),
        (errors.NoUndoError, 500),
    ],
)
def test_the_class_of_an_error_decides_its_status(
    kind: type[errors.NoUndoError], status: int
) -> None:
    assert problem_status(made(kind)) == status
    assert problem_answer(made(kind))["statusCode"] == status


@pytest.mark.parametrize("kind", every_error())
def test_every_error_becomes_a_problem_document(kind: type[errors.NoUndoError]) -> None:
    answer = problem_answer(made(kind))

    body = body_of(answer)
    assert answer["headers"]["content-type"] == "application/problem+json"
    assert answer["headers"]["cache-control"] == "no-store"
    assert body["status"] == answer["statusCode"]
    assert body["title"]
    code = kind.code if answer["statusCode"] != 500 else "internal"
    assert body["type"] == f"urn:no-undo:problem:{code}"
    assert ("the message" in answer["body"]) is (answer["statusCode"] in {400, 404, 409, 422})


def test_the_field_at_fault_is_named() -> None:
    error = errors.InvalidRequestError("must be text.", field="recipients[0].email")

    body = body_of(problem_answer(error))

    assert body == {
        "type": "urn:no-undo:problem:invalid_request",
        "title": "Invalid request",
        "status": 400,
        "detail": "must be text.",
        "field": "recipients[0].email",
    }


def test_an_unforeseen_error_says_nothing_about_itself() -> None:
    answer = problem_answer(KeyError("token-abc"))

    assert answer["statusCode"] == 500
    assert body_of(answer) == {
        "type": "urn:no-undo:problem:internal",
        "title": "Internal",
        "status": 500,
    }


def test_a_transient_error_says_when_to_come_back() -> None:
    answer = problem_answer(errors.TransientError("table x throttled"))

    assert int(answer["headers"]["retry-after"]) > 0
    assert "throttled" not in answer["body"]


def test_json_is_utf8_and_never_stored() -> None:
    answer = json_answer(202, {"name": "Zoë"})

    assert answer["statusCode"] == 202
    assert body_of(answer) == {"name": "Zoë"}
    assert answer["headers"]["cache-control"] == "no-store"
    assert answer["headers"]["content-type"] == "application/json"


def test_json_that_no_reader_could_read_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_answer(200, {"score": float("nan")})


def test_a_page_brings_its_policy() -> None:
    answer = page_answer(200, "<p>", "'sha256-x'")

    assert answer["body"] == "<p>"
    assert "style-src 'sha256-x'" in answer["headers"]["content-security-policy"]


def test_a_picture_travels_as_base64() -> None:
    answer = picture_answer(b"\x89PNG")

    assert answer.get("isBase64Encoded") is True
    assert base64.b64decode(answer["body"]) == b"\x89PNG"
    assert answer["headers"]["content-type"] == "image/png"


def test_a_redirect_is_followed_with_get() -> None:
    answer = redirect_answer("https://example.com/document")

    assert answer["statusCode"] == 303
    assert answer["headers"]["location"] == "https://example.com/document"


def test_head_is_get_without_a_body() -> None:
    page = page_answer(200, "<p>", "'sha256-x'")

    assert head_answer(page) == {"statusCode": 200, "headers": page["headers"], "body": ""}


def test_options_and_wrong_methods_name_what_is_allowed() -> None:
    allowed = ("GET", "HEAD", "POST")

    assert options_answer(allowed)["statusCode"] == 204
    assert options_answer(allowed)["headers"]["allow"] == "GET, HEAD, POST"
    assert method_not_allowed(allowed)["statusCode"] == 405
    assert method_not_allowed(allowed)["headers"]["allow"] == "GET, HEAD, POST"
