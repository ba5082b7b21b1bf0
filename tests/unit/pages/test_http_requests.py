"""What is read from a gateway event, and what is refused at the door."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from pydantic import ValidationError

from no_undo.domain.errors import InvalidRequestError
from no_undo.entrypoint.http_requests import Caller, HttpRequest

TOKEN = "k" * 43
FORM = {"Content-Type": "application/x-www-form-urlencoded; charset=UTF-8"}
USER_ARN = "arn:aws:sts::123456789012:assumed-role/back-office/alice"


def an_event(**changes: object) -> dict[str, Any]:
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "POST /approvals/{token}",
        "rawPath": f"/approvals/{TOKEN}",
        "rawQueryString": "",
        "headers": FORM,
        "requestContext": {
            "accountId": "123456789012",
            "http": {"method": "POST", "path": f"/approvals/{TOKEN}", "sourceIp": "192.0.2.1"},
            "requestId": "abc",
            "stage": "$default",
        },
        "pathParameters": {"token": TOKEN},
        "body": "decision=approve",
        "isBase64Encoded": False,
    }
    return event | changes


def a_request(**changes: object) -> HttpRequest:
    return HttpRequest.of(an_event(**changes))


def with_authorizer(authorizer: object) -> HttpRequest:
    context = an_event()["requestContext"] | {"authorizer": authorizer}
    return a_request(requestContext=context)


def test_the_parts_that_are_used_are_read() -> None:
    request = a_request(queryStringParameters={"limit": "5"})

    assert request.method == "POST"
    assert request.route_key == "POST /approvals/{token}"
    assert request.path_parameters == {"token": TOKEN}
    assert request.query == {"limit": "5"}
    assert request.headers == {"content-type": FORM["Content-Type"]}
    assert request.content_type == "application/x-www-form-urlencoded"


def test_parts_sent_as_null_count_as_absent() -> None:
    request = a_request(body=None, pathParameters=None, headers=None, queryStringParameters=None)

    assert request.body(max_bytes=10) == b""
    assert request.path_parameters == {}
    assert request.content_type == ""


def test_neither_repr_nor_a_refusal_shows_a_token_or_a_body() -> None:
    request = a_request(body="reason=secret")
    assert TOKEN not in repr(request)
    assert "secret" not in repr(request)

    with pytest.raises(ValidationError) as refusal:
        HttpRequest.of(an_event(pathParameters={"token": [TOKEN]}))
    assert TOKEN not in str(refusal.value)


def test_base64_bodies_are_decoded() -> None:
    body = base64.b64encode(b"decision=reject").decode()

    assert a_request(body=body, isBase64Encoded=True).form() == {"decision": "reject"}


@pytest.mark.parametrize("body", ["%%%", "YQ", "YQ==\u00e9"])
def test_a_broken_base64_body_is_refused(body: str) -> None:
    with pytest.raises(InvalidRequestError, match="base64"):
        a_request(body=body, isBase64Encoded=True).body(max_bytes=100)


@pytest.mark.parametrize("size", [8, 9, 10])
def test_a_body_of_exactly_the_limit_passes(size: int) -> None:
    body = b"x" * size

    plain = a_request(body=body.decode())
    encoded = a_request(body=base64.b64encode(body).decode(), isBase64Encoded=True)

    assert plain.body(max_bytes=size) == encoded.body(max_bytes=size) == body


@pytest.mark.parametrize("size", [8, 9, 10])
def test_a_body_over_the_limit_is_refused(size: int) -> None:
    body = b"x" * (size + 1)

    for request in (
        a_request(body=body.decode()),
        a_request(body=base64.b64encode(body).decode(), isBase64Encoded=True),
        a_request(body="é" * (size // 2 + 1)),
    ):
        with pytest.raises(InvalidRequestError, match=f"at most {size} bytes"):
            request.body(max_bytes=size)


def test_a_form_is_decoded_with_blank_fields_and_plain_line_ends() -> None:
    request = a_request(body="reason=a%0D%0Ab+%C3%A9&decision=")

    assert request.form() == {"reason": "a\nb é", "decision": ""}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("decision=approve&decision=reject", "sent twice"),
        ("a=1&b=2&c=3&d=4", "at most 3 fields"),
        ("reason=%FF", "URL-encoded UTF-8"),
        ("reason=é", "URL-encoded UTF-8"),
    ],
)
def test_a_form_that_needs_guessing_is_refused(body: str, why: str) -> None:
    with pytest.raises(InvalidRequestError, match=why):
        a_request(body=body).form(max_fields=3)


def test_a_form_of_another_content_type_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="content type"):
        a_request(headers={"content-type": "text/plain"}).form()


def test_a_json_object_is_read() -> None:
    assert a_request(body='{"a": [1, "é"]}').json_body() == {"a": [1, "é"]}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("", "JSON object"),
        ("[1]", "JSON object"),
        ("{'a': 1}", "JSON object"),
        ('{"a": 1, "a": 2}', "name a key twice"),
        ('{"a": {"b": 1, "b": 2}}', "name a key twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "NaN"),
        ('{"a": 1e999}', "NaN"),
        ("[" * 200_000, "JSON object"),
    ],
)
def test_json_that_is_not_one_plain_object_is_refused(body: str, why: str) -> None:
    with pytest.raises(InvalidRequestError, match=why):
        a_request(body=body).json_body()


def test_json_that_is_not_utf8_is_refused_without_repeating_it() -> None:
    body = base64.b64encode(b'{"a": "\xff secret"}').decode()

    with pytest.raises(InvalidRequestError, match="UTF-8") as refusal:
        a_request(body=body, isBase64Encoded=True).json_body()

    assert "secret" not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_an_iam_caller_is_the_user_arn_in_its_account() -> None:
    iam = {
        "accountId": "123456789012",
        "userArn": USER_ARN,
        "callerId": "A",
        "cognitoIdentity": None,
    }

    caller = with_authorizer({"iam": iam}).caller(tenant_claim="tenant")

    assert caller == Caller(identity=USER_ARN, tenant="123456789012")


def test_a_jwt_caller_is_the_subject_in_the_tenant_of_the_claim() -> None:
    claims = {"sub": "user-1", "org": "acme", "exp": "1"}

    caller = with_authorizer({"jwt": {"claims": claims, "scopes": None}}).caller(tenant_claim="org")

    assert caller == Caller(identity="user-1", tenant="acme")


@pytest.mark.parametrize(
    "authorizer",
    [
        None,
        {},
        {"jwt": {"claims": {}}},
        {"jwt": {"claims": {"sub": "user-1"}}},
        {"jwt": {"claims": {"sub": "user-1", "org": " "}}},
        {"jwt": {"claims": {"sub": ["user-1"], "org": "acme"}}},
    ],
)
def test_without_a_caller_there_is_no_default(authorizer: object) -> None:
    with pytest.raises(InvalidRequestError, match=r"caller|claim"):
        with_authorizer(authorizer).caller(tenant_claim="org")


def test_a_body_or_header_cannot_name_the_caller() -> None:
    request = a_request(
        body='{"sub": "eve"}', headers={"x-amzn-iam-user-arn": USER_ARN, "authorization": "x"}
    )

    with pytest.raises(InvalidRequestError, match="no authenticated caller"):
        request.caller(tenant_claim="org")
