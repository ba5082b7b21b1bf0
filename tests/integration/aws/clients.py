"""Clients on the account in memory, or on an emulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import boto3

from no_undo.adapters.aws_config import state_client_config

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def state_client(endpoint_url: str | None = None) -> DynamoDBClient:
    """Return a DynamoDB client as the state store needs it."""
    client: DynamoDBClient = boto3.client(  # pyright: ignore[reportUnknownMemberType] - partial stubs
        "dynamodb", endpoint_url=endpoint_url, config=state_client_config("test")
    )
    return client
