"""Canaries, and what they withdrew, in the documents bucket.

`canaries/DOCUMENT_TYPE/NAME.pdf` and `NAME.json` are put there by an operator; `drift/DOCUMENT_TYPE
.json` is written by the one function that checks them, and removed by nobody: a newer calibration
leaves it without meaning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from no_undo.adapters.botocore_errors import repeatable
from no_undo.adapters.s3_objects import read_object
from no_undo.domain.canary import (
    Canary,
    Withdrawal,
    parse_expectation,
    parse_withdrawal,
)
from no_undo.domain.errors import InvalidRequestError, RefusedError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MAX_BYTES: Final = 10 * 1024 * 1024
MAX_CANARIES: Final = 20
"""Each costs an extraction at every run."""

_KEY: Final = re.compile(r"canaries/(?P<type>\w{1,64})/(?P<name>[\w-]{1,64})\.json", re.ASCII)


class S3CanaryStore:
    """Implements `ports.CanaryStore` on the documents bucket."""

    def __init__(self, client: S3Client, bucket: str) -> None:
        """Take the client and the bucket's name."""
        self._client = client
        self._bucket = bucket

    def canaries(self) -> tuple[Canary, ...]:
        """Return every canary, at most 20.

        Raises:
            RefusedError: There are more, or one cannot be used; names its key.
            TransientError: They could not be read this time.
        """
        found = list(self._keys())
        if len(found) > MAX_CANARIES:
            raise RefusedError(
                f"There are more than {MAX_CANARIES} canaries; each run pays for all."
            )
        return tuple(self._canary(match) for match in found)

    def withdrawal(self, document_type: str) -> Withdrawal | None:
        """Return what was withdrawn for a document type, or None.

        Raises:
            TransientError: It could not be read this time.
        """
        content = self._get(_drift_key(document_type))
        return None if content is None else parse_withdrawal(json.loads(content))

    def withdraw(self, withdrawal: Withdrawal) -> None:
        """Store a withdrawal in place of an earlier one.

        Raises:
            TransientError: Not stored this time.
        """
        with repeatable("storing a withdrawal"):
            self._client.put_object(
                Bucket=self._bucket,
                Key=_drift_key(withdrawal.document_type),
                Body=json.dumps(withdrawal.as_json(), sort_keys=True).encode("utf-8"),
                ContentType="application/json",
            )

    def _keys(self) -> Iterator[re.Match[str]]:
        with repeatable("listing canaries"):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix="canaries/"
            )
            keys = [one.get("Key", "") for page in pages for one in page.get("Contents", [])]
        return (match for key in keys if (match := _KEY.fullmatch(key)))

    def _canary(self, match: re.Match[str]) -> Canary:
        key = match.group()
        expected, document = self._get(key), self._get(key.removesuffix("json") + "pdf")
        if expected is None or document is None:
            raise RefusedError(f"The canary {key} has no document beside it.")
        try:
            expectation = parse_expectation(json.loads(expected))
        except (ValueError, InvalidRequestError):
            # Not chained: the cause may quote the file.
            raise RefusedError(f"The canary {key} is not what `no-undo canary` writes.") from None
        return Canary(match["type"], match["name"], document, expectation)

    def _get(self, key: str) -> bytes | None:
        return read_object(self._client, self._bucket, key, most=MAX_BYTES)


def _drift_key(document_type: str) -> str:
    return f"drift/{document_type}.json"
