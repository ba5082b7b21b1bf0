"""Parked task tokens on DynamoDB, in a table with a key of its own that one role may read."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from no_undo.adapters.botocore_errors import repeatable
from no_undo.adapters.dynamodb_rows import instant, plain, typed
from no_undo.domain.waiting import Wait, WaitKind

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoDbWaits:
    """Implements `ports.WaitStore`: the newest token of a wait wins (waiting, rule 3)."""

    def __init__(self, client: DynamoDBClient, table_name: str) -> None:
        """Take the client and the name of the waits table."""
        self._client = client
        self._table = table_name

    def put(self, wait: Wait) -> None:
        """Store a token; replaces an older one of the same wait, never a newer one.

        Raises:
            TransientError: Not stored, or the answer was lost; storing it again is harmless.
        """
        fields = {
            "wait_id": _wait_id(wait.plan_id, wait.kind),
            "plan_id": wait.plan_id,
            "kind": wait.kind,
            "task_token": wait.task_token,
            "stored_at": instant(wait.stored_at),
        }
        with (
            repeatable("storing a wait"),
            suppress(self._client.exceptions.ConditionalCheckFailedException),
        ):
            self._client.put_item(
                TableName=self._table,
                Item=typed(fields),
                ConditionExpression="attribute_not_exists(wait_id) OR stored_at <= :stored_at",
                ExpressionAttributeValues=typed({":stored_at": fields["stored_at"]}),
            )

    def get(self, plan_id: str, kind: WaitKind) -> Wait | None:
        """Return the newest token of a wait, or None.

        Raises:
            TransientError: It could not be read this time.
        """
        with repeatable("reading a wait"):
            answer = self._client.get_item(
                TableName=self._table,
                Key={"wait_id": {"S": _wait_id(plan_id, kind)}},
                ConsistentRead=True,
            )
        if "Item" not in answer:
            return None
        fields = plain(answer["Item"])
        stored_at = datetime.fromisoformat(fields["stored_at"])
        return Wait(plan_id, kind, fields["task_token"], stored_at)

    def delete(self, wait: Wait) -> None:
        """Forget a token that was answered; no effect when a newer one has replaced it.

        Raises:
            TransientError: It may still be there; forgetting it again is harmless.
        """
        with (
            repeatable("forgetting a wait"),
            suppress(self._client.exceptions.ConditionalCheckFailedException),
        ):
            self._client.delete_item(
                TableName=self._table,
                Key={"wait_id": {"S": _wait_id(wait.plan_id, wait.kind)}},
                ConditionExpression="task_token = :answered",
                ExpressionAttributeValues=typed({":answered": wait.task_token}),
            )


def _wait_id(plan_id: str, kind: WaitKind) -> str:
    return f"{plan_id}#{kind}"
