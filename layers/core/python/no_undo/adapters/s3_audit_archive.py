"""Exported audit files in a bucket with Object Lock: each name is written once."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Final

from botocore.exceptions import ClientError

from no_undo.adapters.botocore_errors import AWS_ERRORS, error_code, repeatable, translated

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_THERE_ALREADY: Final = frozenset({"PreconditionFailed", "412"})


class S3AuditArchive:
    """Implements `ports.AuditArchive`; how long a file stays is the bucket's default (template)."""

    def __init__(self, client: S3Client, bucket: str) -> None:
        """Take the client and the bucket's name."""
        self._client = client
        self._bucket = bucket

    def put_once(self, name: str, content: bytes) -> bytes:
        """Store a file under a name that nobody used; return what is stored there now.

        Raises:
            TransientError: It may not be stored; the same put again does no harm.
        """
        checksum = base64.b64encode(hashlib.sha256(content).digest()).decode("ascii")
        try:
            self._client.put_object(
                Bucket=self._bucket,
                Key=name,
                Body=content,
                ChecksumSHA256=checksum,
                IfNoneMatch="*",
            )
        except ClientError as error:
            if error_code(error) not in _THERE_ALREADY:
                raise translated(error, "storing an audit file", repeatable=True) from error
        except AWS_ERRORS as error:
            raise translated(error, "storing an audit file", repeatable=True) from error
        else:
            return content
        return self._read(name)

    def _read(self, name: str) -> bytes:
        with repeatable("reading an audit file"):
            answer = self._client.get_object(Bucket=self._bucket, Key=name)
            with answer["Body"] as body:
                return body.read()
