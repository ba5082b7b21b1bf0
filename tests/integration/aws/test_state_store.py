"""The state stores, one contract: in memory, and on DynamoDB with its conditions judged by moto."""

from __future__ import annotations

import pytest

from no_undo.adapters.dynamodb_state_store import DynamoDbStateStore
from no_undo.adapters.dynamodb_transactions import Backoff
from no_undo.lab.fixed_clock import FixedClock
from no_undo.lab.memory_store import MemoryStateStore
from no_undo.lab.seeded_tokens import SeededTokens
from no_undo.ports import StateStore
from tests.integration.aws.clients import state_client
from tests.integration.aws.examples import PROVENANCE
from tests.integration.aws.state_store_contract import StateStoreContract
from tests.integration.aws.tables import create_state_tables


@pytest.fixture(params=["memory", "dynamodb"])
def store(request: pytest.FixtureRequest, aws: None) -> StateStore:
    if request.param == "memory":
        return MemoryStateStore(PROVENANCE)
    client = state_client()
    return DynamoDbStateStore(
        client,
        create_state_tables(client),
        PROVENANCE,
        tokens=SeededTokens(),
        backoff=Backoff(FixedClock(), jitter=lambda: 0.0),
    )


class TestStateStore(StateStoreContract):
    """Both stores keep the same promises."""
