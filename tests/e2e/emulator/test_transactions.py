"""What the ledger needs of DynamoDB."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.e2e.emulator.conftest import Probe


def put_once(table: str, key: str, value: str) -> dict[str, object]:
    return {
        "Put": {
            "TableName": table,
            "Item": {"id": {"S": key}, "value": {"S": value}},
            "ConditionExpression": "attribute_not_exists(id)",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    }


def test_a_refused_transaction_says_which_item_failed_and_shows_what_was_there(
    probe: Probe,
) -> None:
    client, table, key = probe.aws.client("dynamodb"), probe.outputs["ProbeTable"], uuid.uuid4().hex
    client.transact_write_items(TransactItems=[put_once(table, key, "first")])

    with pytest.raises(ClientError) as caught:
        client.transact_write_items(
            TransactItems=[put_once(table, f"{key}-2", "x"), put_once(table, key, "second")]
        )

    response: dict[str, Any] = dict(caught.value.response)
    reasons = response["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["None", "ConditionalCheckFailed"]
    assert reasons[1]["Item"] == {"id": {"S": key}, "value": {"S": "first"}}
    assert probe.item(f"{key}-2") is None


def test_one_of_many_racing_transactions_wins(probe: Probe) -> None:
    client, table, key = probe.aws.client("dynamodb"), probe.outputs["ProbeTable"], uuid.uuid4().hex

    def attempt(number: int) -> bool:
        try:
            client.transact_write_items(
                TransactItems=[
                    put_once(table, key, str(number)),
                    put_once(table, f"{key}-b", str(number)),
                ]
            )
        except ClientError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(attempt, range(24)))

    first, second = probe.item(key), probe.item(f"{key}-b")
    assert won.count(True) == 1
    assert first is not None
    assert second is not None
    assert first["value"] == second["value"] == {"S": str(won.index(True))}


def test_a_repeated_transaction_with_the_same_token_is_applied_once(probe: Probe) -> None:
    client, table, key = probe.aws.client("dynamodb"), probe.outputs["ProbeTable"], uuid.uuid4().hex
    add = {
        "Update": {
            "TableName": table,
            "Key": {"id": {"S": key}},
            "UpdateExpression": "ADD seen :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
    }

    for _ in range(2):
        client.transact_write_items(TransactItems=[add], ClientRequestToken=key)

    row = probe.item(key)
    assert row is not None
    assert row["seen"] == {"N": "1"}
