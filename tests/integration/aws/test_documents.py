"""The document stores, one contract: in memory, and on a versioned S3 bucket."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Never, cast
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from botocore.exceptions import ReadTimeoutError

from no_undo.adapters.s3_documents import MAX_URL_SECONDS, S3DocumentStore
from no_undo.domain.errors import (
    InvalidRequestError,
    NotFoundError,
    TamperedError,
    TransientError,
    VendorContractError,
)
from no_undo.lab.memory_documents import MemoryDocumentStore
from no_undo.ports import DocumentStore
from tests.integration.aws.clients import documents_client

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest
    from mypy_boto3_s3 import S3Client

PDF = b"%PDF-1.7 example"
KEY = "requests/r1/source.pdf"


def a_bucket(client: S3Client, *, versioned: bool = True) -> str:
    name = f"documents-{uuid4().hex}"
    client.create_bucket(Bucket=name)
    if versioned:
        client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    return name


@pytest.fixture(params=["memory", "s3"])
def documents(request: pytest.FixtureRequest, aws: None) -> DocumentStore:
    if request.param == "memory":
        return MemoryDocumentStore()
    client = documents_client()
    return S3DocumentStore(client, a_bucket(client))


@pytest.fixture
def s3(aws: None) -> S3Client:
    return documents_client()


@pytest.fixture
def bucket(s3: S3Client) -> str:
    return a_bucket(s3)


def query_of(url: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(url).query)


def test_a_stored_version_reads_back(documents: DocumentStore) -> None:
    ref = documents.put(KEY, PDF, "application/pdf")

    assert ref.key == KEY
    assert ref.sha256 == hashlib.sha256(PDF).hexdigest()
    assert documents.get(ref) == PDF


def test_a_later_version_leaves_the_earlier_one_as_it_is(documents: DocumentStore) -> None:
    first = documents.put(KEY, PDF, "application/pdf")
    second = documents.put(KEY, b"other bytes", "application/pdf")

    assert first.version_id != second.version_id
    assert documents.get(first) == PDF
    assert documents.get(second) == b"other bytes"


def test_bytes_that_do_not_have_their_sha256_are_not_returned(documents: DocumentStore) -> None:
    ref = documents.put(KEY, PDF, "application/pdf")

    with pytest.raises(TamperedError, match=KEY):
        documents.get(replace(ref, sha256="0" * 64))


def test_what_was_never_stored_is_not_found(documents: DocumentStore) -> None:
    ref = documents.put(KEY, PDF, "application/pdf")

    with pytest.raises(NotFoundError):
        documents.get(replace(ref, key="requests/r1/other.pdf"))
    with pytest.raises(NotFoundError):
        documents.get_upload("uploads/none.pdf", max_bytes=100)


def test_an_upload_is_read_by_key_alone(documents: DocumentStore) -> None:
    documents.put("uploads/u1.pdf", b"first", "application/pdf")
    documents.put("uploads/u1.pdf", PDF, "application/pdf")

    assert documents.get_upload("uploads/u1.pdf", max_bytes=len(PDF)) == PDF


def test_an_upload_over_the_limit_is_the_callers_fault(documents: DocumentStore) -> None:
    documents.put("uploads/u1.pdf", PDF, "application/pdf")

    with pytest.raises(InvalidRequestError, match="larger") as caught:
        documents.get_upload("uploads/u1.pdf", max_bytes=len(PDF) - 1)

    assert not isinstance(caught.value, NotFoundError)


def test_a_removed_upload_is_gone_and_may_be_removed_again(documents: DocumentStore) -> None:
    documents.put("uploads/u1.pdf", PDF, "application/pdf")

    documents.delete_upload("uploads/u1.pdf")
    documents.delete_upload("uploads/u1.pdf")

    with pytest.raises(NotFoundError):
        documents.get_upload("uploads/u1.pdf", max_bytes=100)


def test_urls_name_the_key(documents: DocumentStore) -> None:
    ref = documents.put(KEY, PDF, "application/pdf")

    assert KEY in documents.upload_url(KEY, expires_seconds=60)
    assert KEY in documents.download_url(ref, filename="a.pdf", expires_seconds=60)


def test_bytes_that_an_administrator_replaced_in_memory_are_not_returned() -> None:
    documents = MemoryDocumentStore()
    ref = documents.put(KEY, PDF, "application/pdf")

    documents.replace_stored(ref, b"other bytes")

    with pytest.raises(TamperedError):
        documents.get(ref)


def test_a_stored_document_larger_than_anything_we_write_is_not_read(
    s3: S3Client, bucket: str
) -> None:
    ref = S3DocumentStore(s3, bucket).put(KEY, PDF, "application/pdf")

    with pytest.raises(TamperedError):
        S3DocumentStore(s3, bucket, max_bytes=4).get(ref)


def test_a_document_over_the_bound_is_not_stored(s3: S3Client, bucket: str) -> None:
    with pytest.raises(InvalidRequestError, match="4 bytes"):
        S3DocumentStore(s3, bucket, max_bytes=4).put(KEY, PDF, "application/pdf")

    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_a_bucket_without_versions_is_refused(s3: S3Client) -> None:
    documents = S3DocumentStore(s3, a_bucket(s3, versioned=False))

    with pytest.raises(VendorContractError, match="versions"):
        documents.put(KEY, PDF, "application/pdf")


def test_content_type_and_sha256_go_with_the_bytes(s3: S3Client, bucket: str) -> None:
    sent: list[bytes | str] = []

    def keep(request: AWSPreparedRequest, **_: object) -> None:
        sent.append(request.headers["x-amz-checksum-sha256"])

    s3.meta.events.register("before-send.s3.PutObject", keep)

    ref = S3DocumentStore(s3, bucket).put(KEY, PDF, "image/png")

    assert [base64.b64decode(one).hex() for one in sent] == [ref.sha256]
    assert s3.head_object(Bucket=bucket, Key=KEY)["ContentType"] == "image/png"


def test_an_upload_url_signs_the_content_type_and_asks_for_nothing_unknowable(
    s3: S3Client, bucket: str
) -> None:
    query = query_of(S3DocumentStore(s3, bucket).upload_url("uploads/u1", expires_seconds=60))

    assert query["X-Amz-SignedHeaders"] == ["content-type;host"]
    assert query["X-Amz-Expires"] == ["60"]
    assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
    assert not [name for name in query if "checksum" in name.lower()]


def test_a_download_url_names_the_version_and_shows_the_file_under_its_name(
    s3: S3Client, bucket: str
) -> None:
    documents = S3DocumentStore(s3, bucket)
    ref = documents.put(KEY, PDF, "application/pdf")

    url = documents.download_url(ref, filename='Frächt "1".pdf', expires_seconds=60)

    query = query_of(url)
    assert query["versionId"] == [ref.version_id]
    assert query["response-content-disposition"] == [
        "inline; filename=\"Fr_cht _1_.pdf\"; filename*=UTF-8''Fr%C3%A4cht%20%221%22.pdf"
    ]
    assert query["response-cache-control"] == ["no-store"]


@pytest.mark.parametrize("seconds", [0, MAX_URL_SECONDS + 1])
def test_a_url_cannot_live_longer_than_its_signature_allows(
    s3: S3Client, bucket: str, seconds: int
) -> None:
    with pytest.raises(ValueError, match="seconds"):
        S3DocumentStore(s3, bucket).upload_url("uploads/u1", expires_seconds=seconds)


def test_a_bucket_that_does_not_answer_is_a_passing_trouble(aws: None) -> None:
    documents = S3DocumentStore(documents_client(), "no-such-bucket")

    with pytest.raises(TransientError, match="document"):
        documents.put(KEY, PDF, "application/pdf")
    with pytest.raises(TransientError, match="document"):
        documents.get_upload("uploads/u1", max_bytes=10)
    with pytest.raises(TransientError, match="upload"):
        documents.delete_upload("uploads/u1")


class SilentS3:
    """Never answers a read."""

    def get_object(self, **_: object) -> Never:
        raise ReadTimeoutError(endpoint_url="https://s3.example")


def test_a_read_without_an_answer_is_a_passing_trouble() -> None:
    documents = S3DocumentStore(cast("S3Client", SilentS3()), "documents")

    with pytest.raises(TransientError, match="reading a document"):
        documents.get_upload("uploads/u1", max_bytes=10)
