"""Canaries and withdrawals in the documents bucket."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from no_undo.adapters.s3_canaries import MAX_CANARIES, S3CanaryStore
from no_undo.domain.canary import Canary, Expectation, ReadField, Withdrawal
from no_undo.domain.errors import RefusedError, TransientError
from no_undo.ports import CanaryStore
from tests.integration.aws.clients import client_of

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

EXPECTED = Expectation(
    "understand", "engine=1", {"total": ReadField(86.86, "id_match", (0.97, 0.95, None))}
)
BUCKET = "documents"


def put(client: S3Client, **objects: bytes) -> None:
    for name, content in objects.items():
        folder, _, rest = name.partition("__")
        key = f"canaries/{folder}/{rest.replace('_', '.')}"
        client.put_object(Bucket=BUCKET, Key=key, Body=content)


@pytest.fixture
def client(aws: None) -> S3Client:
    made: S3Client = client_of("s3")
    made.create_bucket(Bucket=BUCKET)
    return made


def test_a_canary_is_a_document_with_what_was_answered_beside_it(client: S3Client) -> None:
    put(
        client,
        invoice__page_pdf=b"%PDF",
        invoice__page_json=json.dumps(EXPECTED.as_json()).encode(),
    )
    put(client, invoice__notes_txt=b"not a canary")
    store: CanaryStore = S3CanaryStore(client, BUCKET)

    assert store.canaries() == (Canary("invoice", "page", b"%PDF", EXPECTED),)


@pytest.mark.parametrize("content", [b"{not json", b"{}", b"[]", b'{"mode": "understand"}'])
def test_a_canary_that_cannot_be_used_is_refused_by_its_key(
    client: S3Client, content: bytes
) -> None:
    put(client, invoice__page_pdf=b"%PDF", invoice__page_json=content)

    with pytest.raises(RefusedError, match=r"canaries/invoice/page\.json"):
        S3CanaryStore(client, BUCKET).canaries()


def test_a_canary_without_its_document_is_refused(client: S3Client) -> None:
    put(client, invoice__page_json=json.dumps(EXPECTED.as_json()).encode())

    with pytest.raises(RefusedError, match="no document"):
        S3CanaryStore(client, BUCKET).canaries()


def test_more_canaries_than_a_run_should_pay_for_are_refused(client: S3Client) -> None:
    for number in range(MAX_CANARIES + 1):
        client.put_object(Bucket=BUCKET, Key=f"canaries/invoice/c{number}.json", Body=b"{}")

    with pytest.raises(RefusedError, match="each run pays"):
        S3CanaryStore(client, BUCKET).canaries()


def test_a_withdrawal_is_kept_until_another_replaces_it(client: S3Client) -> None:
    store = S3CanaryStore(client, BUCKET)
    first = Withdrawal(
        "invoice", "e" * 64, datetime(2026, 3, 2, tzinfo=UTC), ("page: fingerprint",)
    )

    before = store.withdrawal("invoice")
    store.withdraw(first)

    assert before is None
    assert store.withdrawal("invoice") == first
    assert store.withdrawal("receipt") is None


def test_a_bucket_that_cannot_be_read_is_no_missing_withdrawal(aws: None) -> None:
    store = S3CanaryStore(client_of("s3"), "no-such-bucket")

    with pytest.raises(TransientError):
        store.withdrawal("invoice")
