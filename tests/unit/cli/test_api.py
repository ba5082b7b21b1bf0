"""The API client: signed, patient where a repetition is harmless, and clear about what is wrong."""

from __future__ import annotations

import boto3
import httpx
import pytest

from no_undo.cli.api import (
    BUSY_PAUSES,
    SUBMIT_PAUSES,
    ApiClient,
    ApiError,
    NoAnswerError,
)
from no_undo.entrypoint.request_routes import SUBMISSION_SECONDS
from tests.unit.cli.fake_api import NO_ANSWER, Answer, FakeApi, problem

BUSY = problem(503, "Nothing was changed. Please try again.")
TAKING_IN = problem(409, "It is being taken in.", "Idempotency-Key")


def client(base_url: str, session: boto3.Session, **answers: str) -> ApiClient:
    """Return a client whose API answers everything with the same object."""
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=answers))
    return ApiClient(base_url, session, transport)


def test_a_call_is_signed_for_the_region_of_the_gateways_name() -> None:
    api = FakeApi()
    api.on("GET /requests", Answer())

    api.connect().get("/requests")

    [asked] = api.asked
    assert "/eu-central-1/execute-api/aws4_request" in asked.headers["authorization"]
    assert asked.headers["user-agent"] == "no-undo"


def test_another_name_is_signed_for_the_configured_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.delenv("AWS_REGION", raising=False)
    named = client("https://api.example.com", boto3.Session(region_name="eu-west-1"))
    unnamed = client("https://api.example.com", boto3.Session())
    local = client("http://127.0.0.1:4566/x", boto3.Session())

    assert named.get("/") == local.get("/") == {}
    with pytest.raises(ApiError, match="AWS_REGION"):
        unnamed.get("/")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert unnamed.get("/") == {}


def test_without_credentials_nothing_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    api = FakeApi()
    session = boto3.Session(region_name="eu-west-1")

    with pytest.raises(ApiError, match="no AWS credentials"):
        ApiClient("https://api.example.com", session, httpx.MockTransport(_never)).get("/")
    assert api.asked == []


def _never(request: httpx.Request) -> httpx.Response:
    raise AssertionError(f"{request.url.host} was called")


def test_a_profile_that_does_not_exist_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_UNDO_API_URL", "https://api.example.com/")
    monkeypatch.setenv("AWS_PROFILE", "nobody-has-this")

    with pytest.raises(ApiError, match="nobody-has-this"):
        ApiClient.from_environment()


@pytest.mark.parametrize(
    "base_url",
    [
        "",
        "api.example.com",
        "http://api.example.com",
        "https://me@api.example.com",
        "https://a/?q",
        "https://[a",
        "https://a:x",
    ],
)
def test_an_unusable_address_is_refused_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, base_url: str
) -> None:
    monkeypatch.setenv("NO_UNDO_API_URL", base_url)

    with pytest.raises(ApiError) as refused:
        ApiClient.from_environment()
    assert refused.value.field == "NO_UNDO_API_URL"


@pytest.mark.parametrize("base_url", ["https://api.example.com/", "http://127.0.0.1:4566/api"])
def test_https_and_this_machine_are_usable(monkeypatch: pytest.MonkeyPatch, base_url: str) -> None:
    monkeypatch.setenv("NO_UNDO_API_URL", base_url)

    assert ApiClient.from_environment().base_url == base_url.rstrip("/")


@pytest.mark.parametrize("trouble", [BUSY, Answer(504, {"message": "Timeout"}), NO_ANSWER])
def test_a_read_is_asked_again_a_bounded_time(trouble: Answer | httpx.TransportError) -> None:
    api = FakeApi()
    api.on("GET /passing", trouble, trouble, Answer(body={"state": "COMPLETED"}))
    api.on("GET /lasting", trouble)

    assert api.connect().get("/passing") == {"state": "COMPLETED"}
    assert api.pauses == [*BUSY_PAUSES[:2]]
    with pytest.raises(ApiError):
        api.connect().get("/lasting")
    assert api.pauses == [*BUSY_PAUSES[:2], *BUSY_PAUSES]


@pytest.mark.parametrize("trouble", [BUSY, NO_ANSWER])
def test_what_changes_something_is_sent_once(trouble: Answer | httpx.TransportError) -> None:
    api = FakeApi()
    api.on("POST /operations/pause", trouble)

    with pytest.raises(ApiError):
        api.connect().post("/operations/pause", {"reason": "drill"})

    assert len(api.asked) == 1


def test_a_submission_whose_answer_was_lost_is_sent_again_with_the_same_key() -> None:
    api = FakeApi()
    accepted = Answer(202, {"request_id": "r1"})
    api.on("POST /requests", NO_ANSWER, TAKING_IN, BUSY, TAKING_IN, accepted)

    assert api.connect().submit({"prompt": "x"}, "key-1") == "r1"
    assert {one.headers["idempotency-key"] for one in api.asked} == {"key-1"}
    assert len({one.content for one in api.asked}) == 1
    assert len(api.asked) == 5


def test_a_key_that_was_used_before_is_a_refusal_at_once() -> None:
    api = FakeApi()
    api.on("POST /requests", problem(409, "Used with another body.", "Idempotency-Key"))

    with pytest.raises(ApiError) as refused:
        api.connect().submit({"prompt": "x"}, "key-1")

    assert refused.value.is_refusal
    assert len(api.asked) == 1


def test_a_submission_that_stays_unanswered_is_given_up_as_unknown() -> None:
    api = FakeApi()
    api.on("POST /requests", NO_ANSWER)

    with pytest.raises(NoAnswerError):
        api.connect().submit({"prompt": "x"}, "key-1")

    assert tuple(api.pauses) == SUBMIT_PAUSES
    assert sum(SUBMIT_PAUSES) > SUBMISSION_SECONDS


def test_an_upload_goes_to_the_offered_address_without_our_signature() -> None:
    api = FakeApi()
    offer = {"upload_id": "u1", "url": "https://store.example.com/put?sig=1", "expires_seconds": 9}
    api.on("POST /uploads", BUSY, Answer(201, offer))
    api.on("PUT /put?sig=1", NO_ANSWER, Answer())

    assert api.connect().upload(b"%PDF-1.7") == "u1"
    put = api.asked[-1]
    assert (put.content, put.headers["content-type"]) == (b"%PDF-1.7", "application/pdf")
    assert "authorization" not in put.headers


def test_a_download_follows_one_redirect_without_our_signature() -> None:
    api = FakeApi()
    api.on("GET /requests/r1/document", Answer(303, b"", {"location": "https://s.example.com/g"}))
    api.on("GET /g", Answer(body=b"%PDF-1.7"))

    assert api.connect().download("/requests/r1/document") == b"%PDF-1.7"
    assert "authorization" not in api.asked[-1].headers


def test_a_store_that_says_no_is_a_sentence() -> None:
    api = FakeApi()
    api.on("GET /requests/r1/document", Answer(303, b"", {"location": "https://s.example.com/g"}))
    api.on("GET /g", Answer(403, b"<Error/>"))

    with pytest.raises(ApiError, match="the document was not accepted by the store"):
        api.connect().download("/requests/r1/document")


def test_the_gateways_own_answer_says_what_to_look_at() -> None:
    api = FakeApi()
    api.on("GET /requests", Answer(403, {"message": "Forbidden"}))

    with pytest.raises(ApiError, match=r"403 \(Forbidden\); may these credentials"):
        api.connect().get("/requests")


@pytest.mark.parametrize("body", [b"<html>", b"[1]", b"\xff"])
def test_an_answer_that_is_not_this_apis_is_told_apart(body: bytes) -> None:
    api = FakeApi()
    api.on("GET /requests", Answer(200, body))
    api.on("GET /broken", Answer(500, body))

    with pytest.raises(ApiError, match="NO_UNDO_API_URL"):
        api.connect().get("/requests")
    with pytest.raises(ApiError, match="the API answered 500"):
        api.connect().get("/broken")
