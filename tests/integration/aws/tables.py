"""The state tables of design 7, made on an empty account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from no_undo.adapters.dynamodb_rows import TableNames

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def create_state_tables(client: DynamoDBClient) -> TableNames:
    """Create the tables under fresh names."""
    prefix = uuid4().hex[:8]
    names = TableNames(
        requests=f"{prefix}-requests",
        plans=f"{prefix}-plans",
        ledger=f"{prefix}-ledger",
        fences=f"{prefix}-fences",
        approvals=f"{prefix}-approvals",
        audit=f"{prefix}-audit",
        audit_heads=f"{prefix}-audit-heads",
        audit_outbox=f"{prefix}-audit-outbox",
    )
    create_table(
        client,
        names.requests,
        "request_id",
        OpenIndex=("open_partition", "check_at"),
        DraftsIndex=("drafts_partition", "drafts_at"),
        CallerIndex=("tenant_caller", "created_at"),
    )
    create_table(
        client,
        names.plans,
        "plan_id",
        DueIndex=("due_partition", "due_at"),
        MailIndex=("mail_partition", "mail_at"),
    )
    create_table(client, names.ledger, "plan_id")
    create_table(client, names.fences, "fence_key")
    create_table(client, names.approvals, "token_sha256")
    create_table(client, names.audit, "chain_id", "seq")
    create_table(client, names.audit_heads, "chain_id")
    create_table(client, names.audit_outbox, "chain_seq")
    return names


def create_table(client: DynamoDBClient, name: str, *key: str, **indexes: tuple[str, str]) -> None:
    """Create one table; indexes are keys-only."""
    attributes = {*key, *(one for pair in indexes.values() for one in pair)}
    more: dict[str, Any] = {}
    if indexes:
        more["GlobalSecondaryIndexes"] = [
            {
                "IndexName": index,
                "KeySchema": _key_schema(pair),
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
            for index, pair in indexes.items()
        ]
    client.create_table(
        TableName=name,
        KeySchema=_key_schema(key),
        AttributeDefinitions=[
            {"AttributeName": one, "AttributeType": "N" if one == "seq" else "S"}
            for one in sorted(attributes)
        ],
        BillingMode="PAY_PER_REQUEST",
        **more,
    )


def _key_schema(key: tuple[str, ...]) -> Any:  # noqa: ANN401 - SDK shape
    kinds = ("HASH", "RANGE")
    return [{"AttributeName": one, "KeyType": kind} for one, kind in zip(key, kinds, strict=False)]
