"""Clients on the account in memory, or on an emulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import boto3

from no_undo.adapters.aws_config import client_config, documents_client_config, state_client_config

if TYPE_CHECKING:
    from botocore.config import Config
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client


_ANY_CLIENT: Any = getattr(boto3, "client")  # noqa: B009 - the stubs know some services only


def state_client(endpoint_url: str | None = None) -> DynamoDBClient:
    """Return a DynamoDB client as the state store needs it.

    Args:
        endpoint_url: An emulator, called with its root key; None for the account in memory.
    """
    client: DynamoDBClient = _client("dynamodb", state_client_config("test"), endpoint_url)
    return client


def documents_client(endpoint_url: str | None = None) -> S3Client:
    """Return an S3 client as the document store needs it."""
    client: S3Client = _client("s3", documents_client_config("test"), endpoint_url)
    return client


def client_of(service: str) -> Any:  # noqa: ANN401 - each test names the type
    """Return a client of any other service on the account in memory."""
    return _client(service, client_config("test"))


def _client(service: str, config: Config, endpoint_url: str | None = None) -> Any:  # noqa: ANN401 - as above
    return _ANY_CLIENT(
        service,
        endpoint_url=endpoint_url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=config,
    )
