"""Contact lists in the documents bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from no_undo.adapters.s3_contacts import S3ContactSource
from no_undo.domain.errors import RefusedError, TransientError
from no_undo.domain.instruction import Contact
from no_undo.ports import ContactSource
from tests.integration.aws.clients import client_of

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET = "documents"


def source(content: bytes | None = None) -> S3ContactSource:
    client: S3Client = client_of("s3")
    client.create_bucket(Bucket=BUCKET)
    if content is not None:
        client.put_object(Bucket=BUCKET, Key="contacts/acme.json", Body=content)
    return S3ContactSource(client, BUCKET)


@pytest.mark.parametrize(
    "content",
    [
        b'[{"name": "Alice Chen", "email": "alice@example.com"}]',
        b'{"Alice Chen": "alice@example.com"}',
    ],
)
def test_a_tenant_has_its_own_contact_list(aws: None, content: bytes) -> None:
    contacts: ContactSource = source(content)

    assert contacts.contacts("acme") == (Contact("Alice Chen", "alice@example.com"),)
    assert contacts.contacts("acm") == ()
    assert contacts.contacts("other") == ()


@pytest.mark.parametrize(
    "content", [b"{not json", b"7", b'[{"name": "Alice"}]', b'{"Alice": "no address"}']
)
def test_a_list_that_cannot_be_used_is_refused_without_quoting_it(
    aws: None, content: bytes
) -> None:
    with pytest.raises(RefusedError, match="contact list cannot be used") as refusal:
        source(content).contacts("acme")

    assert "Alice" not in str(refusal.value)
    assert "no address" not in str(refusal.value)


@pytest.mark.parametrize("tenant", ["", "..", "acme/other", "../drift/invoice"])
def test_a_tenant_cannot_name_another_place(aws: None, tenant: str) -> None:
    with pytest.raises(RefusedError):
        source().contacts(tenant)


def test_a_bucket_that_cannot_be_read_is_no_empty_list(aws: None) -> None:
    with pytest.raises(TransientError):
        S3ContactSource(client_of("s3"), "no-such-bucket").contacts("acme")
