"""Objects that operators put into the documents bucket, read by key alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from no_undo.adapters.botocore_errors import repeatable
from no_undo.domain.errors import RefusedError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def read_object(client: S3Client, bucket: str, key: str, *, most: int) -> bytes | None:
    """Return an object's newest content, or None where there is no such object.

    Args:
        client: S3.
        bucket: Its name.
        key: Of the object; no personal data, since messages name it.
        most: Largest content, in bytes.

    Raises:
        RefusedError: It is larger.
        TransientError: It could not be read this time.
    """
    with repeatable(f"reading {key}"):
        # Asking for a missing key is answered 403 to a role that may list a prefix only.
        listed = client.list_objects_v2(Bucket=bucket, Prefix=key, MaxKeys=1)
        if [one.get("Key") for one in listed.get("Contents", [])] != [key]:
            return None
        content = client.get_object(Bucket=bucket, Key=key)["Body"].read(most + 1)
    if len(content) > most:
        raise RefusedError(f"{key} in the documents bucket is larger than {most} bytes.")
    return content
