"""The fault proxy passes calls on as they came, and lets go wrong exactly what was armed."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, HTTPClientError

from local.fault_proxy.app import FaultProxy
from local.fault_proxy.server import fault_proxy_server
from local.stack.aws import REGION, error_code
from tests.e2e.conftest import Emulator
from tests.e2e.emulator.conftest import Probe, until

ONCE = Config(connect_timeout=2, read_timeout=5, retries={"total_max_attempts": 1})
PUT = {"operation": "TransactWriteItems"}


@dataclass(frozen=True)
class Proxied:
    """The proxy, and the table behind it."""

    url: str
    table: str

    def client(self, service: str, keys: tuple[str, str] = ("test", "test")) -> Any:  # noqa: ANN401
        session: Any = boto3.Session(*keys, region_name=REGION)
        return session.client(service, endpoint_url=self.url, config=ONCE)

    def arm(self, *faults: dict[str, object]) -> httpx.Response:
        return httpx.put(f"{self.url}/_faults", json=list(faults), timeout=10)

    def armed(self) -> list[dict[str, Any]]:
        shown: list[dict[str, Any]] = httpx.get(f"{self.url}/_faults", timeout=10).json()
        return shown

    def put(self, key: str) -> None:
        """Store one item in a transaction of two parts."""
        items = [
            {"Put": {"TableName": self.table, "Item": {"id": {"S": one}}}}
            for one in (key, f"{key}-2")
        ]
        self.client("dynamodb").transact_write_items(TransactItems=items)


@pytest.fixture
def proxied(emulator: Emulator, probe: Probe) -> Iterator[Proxied]:
    urls: list[str] = []
    server = fault_proxy_server(FaultProxy(lambda: emulator.endpoint_url), 0, urls.append)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: urls or None)
        yield Proxied(urls[0], probe.outputs["ProbeTable"])
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def key() -> str:
    return uuid.uuid4().hex


def test_a_call_without_a_fault_is_answered_by_the_emulator(
    proxied: Proxied, probe: Probe, key: str
) -> None:
    proxied.put(key)

    assert probe.item(key) is not None
    with pytest.raises(ClientError) as refused:
        proxied.client("dynamodb").get_item(TableName="no-such-table", Key={"id": {"S": key}})
    assert error_code(refused.value) == "ResourceNotFoundException"


def test_bytes_and_odd_names_of_objects_come_through_unchanged(
    proxied: Proxied, emulator: Emulator, key: str
) -> None:
    objects, name, content = proxied.client("s3"), "a b/ü+c%2F&=.bin", bytes(range(256)) * 999
    objects.create_bucket(Bucket=key)

    objects.put_object(Bucket=key, Key=name, Body=content)

    assert objects.get_object(Bucket=key, Key=name)["Body"].read() == content
    direct = emulator.aws.client("s3").get_object(Bucket=key, Key=name)
    assert direct["Body"].read() == content


def test_a_signature_stays_valid_and_a_forged_one_stays_refused(
    proxied: Proxied, emulator: Emulator, key: str
) -> None:
    iam = emulator.aws.client("iam")
    iam.create_user(UserName=key)
    allow = {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}
    policy = {"Version": "2012-10-17", "Statement": [allow]}
    iam.put_user_policy(UserName=key, PolicyName="all", PolicyDocument=json.dumps(policy))
    made = iam.create_access_key(UserName=key)["AccessKey"]

    good = proxied.client("dynamodb", (made["AccessKeyId"], made["SecretAccessKey"]))
    forged = proxied.client("dynamodb", (made["AccessKeyId"], "another secret"))

    assert good.describe_table(TableName=proxied.table)["Table"]["TableName"] == proxied.table
    with pytest.raises(ClientError):
        forged.describe_table(TableName=proxied.table)


@pytest.mark.parametrize("code", ["TransactionConflict", "ThrottlingError"])
def test_a_cancelled_transaction_names_its_reason_and_stores_nothing(
    proxied: Proxied, probe: Probe, key: str, code: str
) -> None:
    proxied.arm({**PUT, "kind": "transaction_cancelled", "code": code})

    with pytest.raises(ClientError) as cancelled:
        proxied.put(key)

    answer: dict[str, Any] = dict(cancelled.value.response)
    assert error_code(cancelled.value) == "TransactionCanceledException"
    assert [one["Code"] for one in answer["CancellationReasons"]] == [code, "None"]
    assert probe.item(key) is None
    proxied.put(key)  # armed once


def send_mail(proxied: Proxied) -> None:
    proxied.client("sesv2").send_email(
        FromEmailAddress="no-undo@example.com",
        Destination={"ToAddresses": ["alice@example.com"]},
        Content={"Simple": {"Subject": {"Data": "s"}, "Body": {"Text": {"Data": "t"}}}},
    )


def put_one(proxied: Proxied) -> None:
    proxied.put(uuid.uuid4().hex)


def invoke(proxied: Proxied) -> None:
    proxied.client("lambda").invoke(FunctionName="any")


@pytest.mark.parametrize(
    ("service", "operation", "code", "status", "call"),
    [
        (
            "dynamodb",
            "TransactWriteItems",
            "ProvisionedThroughputExceededException",
            400,
            put_one,
        ),
        ("ses", "SendEmail", "MessageRejected", 400, send_mail),
        ("lambda", "Invoke", "TooManyRequestsException", 429, invoke),
    ],
)
def test_a_service_refuses_with_the_code_that_was_armed(  # noqa: PLR0913, PLR0917 - one case
    proxied: Proxied,
    service: str,
    operation: str,
    code: str,
    status: int,
    call: Callable[[Proxied], None],
) -> None:
    fault = {"service": service, "operation": operation, "code": code, "status": status}
    proxied.arm({**fault, "kind": "refused"})

    with pytest.raises(ClientError) as refused:
        call(proxied)

    assert error_code(refused.value) == code
    assert refused.value.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == status


def test_a_dropped_reply_is_one_after_the_commit(proxied: Proxied, probe: Probe, key: str) -> None:
    proxied.arm({**PUT, "kind": "reply_dropped"})

    with pytest.raises(HTTPClientError):
        proxied.put(key)

    assert probe.item(key) is not None


def test_a_lagging_index_repeats_its_first_answer(proxied: Proxied, key: str) -> None:
    def count() -> int:
        found: int = proxied.client("dynamodb").query(
            TableName=proxied.table,
            KeyConditionExpression="id = :id",
            ExpressionAttributeValues={":id": {"S": key}},
        )["Count"]
        return found

    proxied.arm({"kind": "stale", "operation": "Query", "table": proxied.table, "times": None})
    before = count()
    proxied.put(key)
    lagging = count()
    proxied.arm()

    assert (before, lagging, count()) == (0, 0, 1)


@pytest.mark.parametrize(("kind", "stored"), [("held_before", False), ("held_after", True)])
def test_a_held_call_waits_on_its_side_of_the_commit_and_then_goes_on(
    proxied: Proxied, probe: Probe, key: str, kind: str, *, stored: bool
) -> None:
    proxied.arm({**PUT, "kind": kind})

    with ThreadPoolExecutor(1) as caller:
        later = caller.submit(proxied.put, key)
        until(lambda: proxied.armed()[0]["holding"] or None)
        assert (probe.item(key) is not None) is stored
        proxied.arm()
        later.result()

    assert probe.item(key) is not None


def test_a_call_held_before_its_commit_never_happens_when_its_caller_is_gone(
    proxied: Proxied, probe: Probe, key: str
) -> None:
    proxied.arm({**PUT, "kind": "held_before"})

    with pytest.raises(HTTPClientError):  # the caller's patience ends after five seconds
        proxied.put(key)

    until(lambda: proxied.armed()[0]["holding"] == 0 or None)
    proxied.arm()
    assert probe.item(key) is None


@pytest.mark.parametrize(
    ("how", "failing"),
    [
        ({"times": 2}, [True, True, False, False]),
        ({"skip": 1}, [False, True, False, False]),
        ({"times": None}, [True, True, True, True]),
        ({"containing": ["no such text"]}, [False] * 4),
        ({"table": "no-such-table"}, [False] * 4),
        ({"operation": "PutItem"}, [False] * 4),
        ({"service": "s3"}, [False] * 4),
    ],
)
def test_a_fault_concerns_the_calls_it_names_and_as_many_as_it_says(
    proxied: Proxied, key: str, how: dict[str, object], failing: list[bool]
) -> None:
    proxied.arm({**PUT, "kind": "transaction_cancelled", "code": "TransactionConflict", **how})

    def fails() -> bool:
        try:
            proxied.put(key)
        except ClientError:
            return True
        return False

    assert [fails() for _ in range(4)] == failing
    assert proxied.armed()[0]["hits"] == sum(failing)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "transaction_cancelled", "operation": "TransactWriteItems"},
        {"kind": "no_such_kind", "operation": "Query"},
        {"kind": "stale"},
        {"kind": "stale", "operation": "Query", "tabel": "Plans"},
    ],
)
def test_a_fault_that_says_too_little_or_something_unknown_is_refused(
    proxied: Proxied, wrong: dict[str, object]
) -> None:
    assert proxied.arm(wrong).status_code == 422
    assert proxied.armed() == []
