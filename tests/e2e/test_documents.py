"""Signed URLs work for a client that knows nothing but the URL."""

from __future__ import annotations

import hashlib
from uuid import uuid4

import httpx
import pytest

from no_undo.adapters.s3_documents import S3DocumentStore
from tests.e2e.conftest import Emulator
from tests.integration.aws.clients import documents_client

PDF = b"%PDF-1.7 example"


@pytest.fixture
def documents(emulator: Emulator) -> S3DocumentStore:
    client = documents_client(emulator.endpoint_url)
    bucket = f"documents-{uuid4().hex}"
    client.create_bucket(Bucket=bucket)
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    return S3DocumentStore(client, bucket)


def test_a_caller_uploads_a_pdf_with_the_url_and_its_content_type(
    documents: S3DocumentStore,
) -> None:
    url = documents.upload_url("uploads/u1.pdf", expires_seconds=60)

    answer = httpx.put(url, content=PDF, headers={"Content-Type": "application/pdf"})

    assert answer.status_code == 200
    assert documents.get_upload("uploads/u1.pdf", max_bytes=100) == PDF


def test_a_download_url_serves_its_own_version(documents: S3DocumentStore) -> None:
    first = documents.put("requests/r1/final.pdf", PDF, "application/pdf")
    documents.put("requests/r1/final.pdf", b"a later version", "application/pdf")

    answer = httpx.get(documents.download_url(first, filename="Final.pdf", expires_seconds=60))

    assert hashlib.sha256(answer.content).hexdigest() == first.sha256
    assert answer.headers["content-type"] == "application/pdf"
