"""A repeated submission with the same Idempotency-Key gets the first answer, and never wedges."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from moto import mock_aws

from no_undo.domain.errors import ConflictError, InvalidRequestError
from no_undo.entrypoint.http_requests import HttpRequest
from no_undo.entrypoint.http_responses import HttpAnswer
from no_undo.entrypoint.request_routes import SUBMISSION_SECONDS, take_in
from no_undo.settings import Settings
from tests.statemachine.account import client
from tests.unit.entrypoint.door import CAROL, a_door, stored_requests

if TYPE_CHECKING:
    from no_undo.bootstrap import Dependencies
    from no_undo.use_cases.submit_request import Door

TABLE = "IdempotencyTable"
INVOICE = Path(__file__).parents[3] / "fixtures" / "documents" / "freight_invoice.json"


class Died(BaseException):
    """The process ends in the middle of a submission."""


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The table of keys on an empty account."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with mock_aws():
        client("dynamodb").create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        yield


def submit(door: Door, key: str, *, prompt: str = "", user: str = CAROL) -> HttpAnswer:
    """Submit with a key, as a caller."""
    body = {
        "prompt": prompt or "Send this invoice to Alice for signature, without redaction.",
        "document": {"invoice": json.loads(INVOICE.read_text(encoding="utf-8"))},
        "recipients": [{"name": "Alice Example", "email": "alice@example.com"}],
    }
    event = {
        "routeKey": "POST /requests",
        "headers": {"Idempotency-Key": key},
        "body": json.dumps(body),
        "requestContext": {
            "http": {"method": "POST"},
            "authorizer": {"iam": {"accountId": "acme", "userArn": user}},
        },
    }
    deps = SimpleNamespace(door=door, settings=Settings({"IDEMPOTENCY_TABLE_NAME": TABLE}))
    return take_in(HttpRequest.of(event), cast("Dependencies", deps))


def test_a_repeated_key_gets_the_first_answer_and_makes_no_second_request(table: object) -> None:
    door = a_door()

    first, again = submit(door, "order-4711"), submit(door, "order-4711")

    assert first == again
    assert [one.request_id for one in stored_requests(door)] == [
        json.loads(first["body"])["request_id"]
    ]


def test_another_key_makes_another_request(table: object) -> None:
    door = a_door()

    submit(door, "order-4711")
    submit(door, "order-4712")

    assert len(stored_requests(door)) == 2


def test_a_key_belongs_to_its_caller(table: object) -> None:
    frank = "arn:aws:iam::123456789012:user/frank"
    door = a_door(callers={CAROL: "carol@example.com", frank: "frank@example.com"})

    hers, his = submit(door, "order-4711"), submit(door, "order-4711", user=frank)

    assert hers["body"] != his["body"]


def test_a_key_with_another_body_is_refused(table: object) -> None:
    door = a_door()
    submit(door, "order-4711")

    with pytest.raises(ConflictError) as refused:
        submit(door, "order-4711", prompt="Send it to Alice for signature, without redaction.")

    assert refused.value.field == "Idempotency-Key"
    assert len(stored_requests(door)) == 1


@pytest.mark.parametrize("key", ["with space", "x" * 256, "schlüssel", "tab\t"])
def test_a_key_is_visible_ascii_of_bounded_length(table: object, key: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        submit(a_door(), key)

    assert refused.value.field == "Idempotency-Key"
    assert key not in str(refused.value)


def test_a_refused_submission_does_not_use_its_key_up(table: object) -> None:
    door = a_door()
    with pytest.raises(InvalidRequestError):
        submit(door, "order-4711", prompt="Please have this signed by Zed, without redaction.")

    assert submit(door, "order-4711")["statusCode"] == 202


def test_a_submission_whose_process_died_can_be_repeated_when_its_time_is_over(
    table: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def die(*_arguments: object) -> str:
        raise Died

    with monkeypatch.context() as dying:
        dying.setattr("no_undo.entrypoint.request_routes.submit_request", die)
        with pytest.raises(Died):
            submit(a_door(), "order-4711")

    with pytest.raises(ConflictError):
        submit(a_door(), "order-4711")  # it may still be under way
    time_passes(SUBMISSION_SECONDS)
    assert submit(a_door(), "order-4711")["statusCode"] == 202


def time_passes(seconds: int) -> None:
    """Move every submission under way into the past."""
    table = client("dynamodb")
    for item in table.scan(TableName=TABLE)["Items"]:
        ends = int(item["in_progress_expiration"]["N"]) - seconds * 1000
        item["in_progress_expiration"] = {"N": str(ends)}
        table.put_item(TableName=TABLE, Item=item)
