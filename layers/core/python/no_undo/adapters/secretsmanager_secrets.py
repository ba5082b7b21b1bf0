"""Vendor credentials from Secrets Manager, read once in a process."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter, ValidationError

from no_undo.adapters.botocore_errors import repeatable
from no_undo.domain.errors import VendorContractError

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

_FIELDS: Final = TypeAdapter(dict[str, str])


class SecretsManagerSecrets:
    """Reads secrets whose value is a JSON object of texts."""

    def __init__(self, client: SecretsManagerClient) -> None:
        """Take the client."""
        self._client = client
        self._kept = lru_cache(maxsize=None)(self._read)

    def secret(self, secret_id: str) -> Mapping[str, str]:
        """Return a secret's fields.

        Args:
            secret_id: Name or ARN.

        Raises:
            TransientError: It could not be read this time.
            VendorContractError: It is not a JSON object of texts; says so without quoting it.
        """
        return self._kept(secret_id)

    def _read(self, secret_id: str) -> Mapping[str, str]:
        with repeatable("reading a secret"):
            answer = self._client.get_secret_value(SecretId=secret_id)
        try:
            return _FIELDS.validate_json(answer.get("SecretString", ""), strict=True)
        except ValidationError:
            raise VendorContractError(
                f"secret {secret_id} must be a JSON object whose values are texts"
            ) from None  # pydantic's text quotes the secret
