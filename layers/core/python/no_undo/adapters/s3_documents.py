"""Documents in a versioned S3 bucket; encryption is the bucket's default (template)."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from botocore.exceptions import ClientError

from no_undo.adapters.botocore_errors import AWS_ERRORS, error_code, repeatable, translated
from no_undo.domain.documents import DocumentRef
from no_undo.domain.errors import (
    InvalidRequestError,
    NotFoundError,
    TamperedError,
    VendorContractError,
)

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MAX_DOCUMENT_BYTES: Final = 64 * 1024 * 1024
"""More than any document this system makes or takes; a bound on what one read may bring in."""

MAX_URL_SECONDS: Final = 7 * 24 * 3600
"""Longest life of a presigned URL (Signature Version 4)."""

_MISSING: Final = frozenset({"NoSuchKey", "NoSuchVersion", "404"})


class S3DocumentStore:
    """Implements `ports.DocumentStore` on one versioned bucket."""

    def __init__(
        self, client: S3Client, bucket: str, *, max_bytes: int = MAX_DOCUMENT_BYTES
    ) -> None:
        """Take the client, the bucket's name and the bound on one document, in bytes."""
        self._client = client
        self._bucket = bucket
        self._max_bytes = max_bytes

    def put(self, key: str, content: bytes, content_type: str) -> DocumentRef:
        """Store bytes under a key; returns the version just written.

        A repeated put makes another version and leaves the earlier one unused: harmless.

        Raises:
            InvalidRequestError: The content is larger than this store's bound.
            TransientError: Not stored, or the answer was lost.
            VendorContractError: The bucket keeps no versions.
        """
        if len(content) > self._max_bytes:
            raise InvalidRequestError(f"a document has {self._max_bytes} bytes at most")
        digest = hashlib.sha256(content)
        with repeatable("storing a document"):
            answer = self._client.put_object(
                Bucket=self._bucket,
                Key=key,
                Body=content,
                ContentType=content_type,
                ChecksumSHA256=base64.b64encode(digest.digest()).decode("ascii"),
            )
        version_id = answer.get("VersionId", "")
        if version_id in ("", "null"):
            raise VendorContractError("the documents bucket keeps no versions; switch them on")
        return DocumentRef(key=key, version_id=version_id, sha256=digest.hexdigest())

    def get(self, ref: DocumentRef) -> bytes:
        """Return exactly that version.

        Raises:
            TamperedError: The stored bytes do not have the reference's SHA-256.
            NotFoundError: There is no such object.
            TransientError: It could not be read this time.
        """
        where = {"Key": ref.key, "VersionId": ref.version_id}
        content = self._read(where, self._max_bytes)
        if content is None or hashlib.sha256(content).hexdigest() != ref.sha256:
            raise TamperedError(f"the stored document {ref.key} does not have its SHA-256")
        return content

    def get_upload(self, key: str, *, max_bytes: int) -> bytes:
        """Return an uploaded object by key alone.

        Raises:
            NotFoundError: Nothing was uploaded there.
            InvalidRequestError: It is larger than `max_bytes`.
            TransientError: It could not be read this time.
        """
        content = self._read({"Key": key}, max_bytes)
        if content is None:
            raise InvalidRequestError(f"the uploaded document is larger than {max_bytes} bytes")
        return content

    def delete_upload(self, key: str) -> None:
        """Remove an uploaded object; no error when it is gone already.

        Raises:
            TransientError: It may still be there.
        """
        with repeatable("removing an upload"):
            self._client.delete_object(Bucket=self._bucket, Key=key)

    def upload_url(self, key: str, *, expires_seconds: int) -> str:
        """Return a URL that accepts a PUT of a PDF under this key.

        The PUT must carry `Content-Type: application/pdf`, which is part of the signature.
        """
        return self._signed_url(
            "put_object", {"Key": key, "ContentType": "application/pdf"}, expires_seconds
        )

    def download_url(self, ref: DocumentRef, *, filename: str, expires_seconds: int) -> str:
        """Return a URL that serves this version for a short time, shown in the browser.

        Args:
            ref: The version.
            filename: What the browser calls it when it is saved.
            expires_seconds: Life of the URL, 1 to `MAX_URL_SECONDS`.
        """
        parameters = {
            "Key": ref.key,
            "VersionId": ref.version_id,
            "ResponseContentDisposition": _shown_as(filename),
            "ResponseCacheControl": "no-store",
        }
        return self._signed_url("get_object", parameters, expires_seconds)

    def _read(self, where: Mapping[str, Any], max_bytes: int) -> bytes | None:
        """Read an object, or return None when it is larger than the bound."""
        try:
            answer = self._client.get_object(Bucket=self._bucket, **where)
            with answer["Body"] as body:
                if answer["ContentLength"] > max_bytes:
                    return None
                return body.read()
        except ClientError as error:
            if error_code(error) in _MISSING:
                raise NotFoundError(f"there is no stored object {where['Key']}") from error
            raise translated(error, "reading a document", repeatable=True) from error
        except AWS_ERRORS as error:
            raise translated(error, "reading a document", repeatable=True) from error

    def _signed_url(self, method: str, parameters: Mapping[str, str], expires_seconds: int) -> str:
        if not 1 <= expires_seconds <= MAX_URL_SECONDS:
            raise ValueError(f"a signed URL lives 1 to {MAX_URL_SECONDS} seconds")
        with repeatable("signing a URL"):
            return self._client.generate_presigned_url(
                method, Params={"Bucket": self._bucket, **parameters}, ExpiresIn=expires_seconds
            )


def _shown_as(filename: str) -> str:
    """Return the Content-Disposition for a name: plain for old readers, exact by RFC 6266."""
    plain_name = re.sub(r"[^A-Za-z0-9._ -]", "_", filename)
    return f"inline; filename=\"{plain_name}\"; filename*=UTF-8''{quote(filename, safe='')}"
