"""The tenants' contact lists: operators put `contacts/TENANT.json` into the documents bucket."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from no_undo.adapters.s3_objects import read_object
from no_undo.domain.errors import InvalidRequestError, RefusedError
from no_undo.domain.instruction import Contact, parse_contacts

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MAX_BYTES: Final = 4 * 1024 * 1024
"""About ten thousand contacts (`instruction.MAX_CONTACTS`)."""


class S3ContactSource:
    """Implements `ports.ContactSource`; reads the list each time: a change counts at once."""

    def __init__(self, client: S3Client, bucket: str) -> None:
        """Take the client and the bucket's name."""
        self._client = client
        self._bucket = bucket

    def contacts(self, tenant: str) -> tuple[Contact, ...]:
        """Return the tenant's contact list, empty when it has none.

        Raises:
            RefusedError: The list cannot be used; names the entry, never what it says.
            TransientError: It could not be read this time.
        """
        if "/" in tenant or tenant in {"", ".", ".."}:
            raise RefusedError(
                "The contact list cannot be used: the tenant's name is no file name."
            )
        content = read_object(self._client, self._bucket, f"contacts/{tenant}.json", most=MAX_BYTES)
        if content is None:
            return ()
        try:
            return parse_contacts(json.loads(content))
        except InvalidRequestError as error:
            raise RefusedError(f"The contact list cannot be used: {error}") from error
        except ValueError:
            # Not chained: the decoder's error quotes the list.
            raise RefusedError("The contact list cannot be used: it is not JSON.") from None
