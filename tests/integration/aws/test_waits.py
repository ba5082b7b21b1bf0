"""The wait stores, one contract: in memory, and on DynamoDB."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from uuid import uuid4

import pytest

from no_undo.adapters.dynamodb_waits import DynamoDbWaits
from no_undo.domain.errors import TransientError
from no_undo.domain.waiting import Wait, WaitKind
from no_undo.lab.memory_waits import MemoryWaits
from no_undo.ports import WaitStore
from tests.integration.aws.clients import state_client
from tests.integration.aws.examples import NOON
from tests.integration.aws.tables import create_table

WAIT = Wait("r1#1", WaitKind.APPROVAL, "first-token", NOON)
NEWER = Wait("r1#1", WaitKind.APPROVAL, "second-token", NOON + timedelta(microseconds=1))


@pytest.fixture(params=["memory", "dynamodb"])
def waits(request: pytest.FixtureRequest, aws: None) -> WaitStore:
    if request.param == "memory":
        return MemoryWaits()
    client, name = state_client(), f"waits-{uuid4().hex}"
    create_table(client, name, "wait_id")
    return DynamoDbWaits(client, name)


def test_a_stored_wait_reads_back(waits: WaitStore) -> None:
    waits.put(WAIT)

    assert waits.get("r1#1", WaitKind.APPROVAL) == WAIT


def test_the_waits_of_a_plan_do_not_mix(waits: WaitStore) -> None:
    waits.put(WAIT)

    assert waits.get("r1#1", WaitKind.SIGNATURE) is None
    assert waits.get("r1#2", WaitKind.APPROVAL) is None


def test_a_newer_token_replaces_an_older_one(waits: WaitStore) -> None:
    waits.put(WAIT)
    waits.put(NEWER)

    assert waits.get("r1#1", WaitKind.APPROVAL) == NEWER


def test_an_older_token_that_arrives_late_replaces_nothing(waits: WaitStore) -> None:
    waits.put(NEWER)
    waits.put(WAIT)

    assert waits.get("r1#1", WaitKind.APPROVAL) == NEWER


def test_storing_a_wait_again_changes_nothing(waits: WaitStore) -> None:
    waits.put(WAIT)
    waits.put(WAIT)

    assert waits.get("r1#1", WaitKind.APPROVAL) == WAIT


def test_an_answered_wait_is_forgotten(waits: WaitStore) -> None:
    waits.put(WAIT)

    waits.delete(WAIT)
    waits.delete(WAIT)

    assert waits.get("r1#1", WaitKind.APPROVAL) is None


def test_forgetting_an_old_token_leaves_the_newer_one(waits: WaitStore) -> None:
    waits.put(WAIT)
    waits.put(NEWER)

    waits.delete(WAIT)

    assert waits.get("r1#1", WaitKind.APPROVAL) == NEWER


def test_a_table_that_cannot_be_reached_is_told_without_the_token(aws: None) -> None:
    waits = DynamoDbWaits(state_client(), "no-such-table")
    wait = replace(WAIT, task_token="a-secret-token")
    calls: list[Callable[[], object]] = [
        partial(waits.put, wait),
        partial(waits.get, "r1#1", WaitKind.APPROVAL),
        partial(waits.delete, wait),
    ]

    for call in calls:
        with pytest.raises(TransientError, match="wait") as caught:
            call()
        assert "secret" not in str(caught.value)
