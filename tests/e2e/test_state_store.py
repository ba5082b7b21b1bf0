"""The state store on the emulator: the contract of all stores, and races between threads."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from threading import Barrier

import pytest

from no_undo.adapters.dynamodb_state_store import DynamoDbStateStore
from no_undo.adapters.dynamodb_transactions import Backoff
from no_undo.adapters.system_clock import SystemClock
from no_undo.adapters.system_tokens import SystemTokens
from no_undo.domain.audit_chain import AuditRecord, verify_chain
from no_undo.domain.errors import StaleError, TransientError
from no_undo.domain.fence import Fence, take
from no_undo.domain.plan import Plan, PlanState
from no_undo.ports import Change, NotWithdrawn, Save, StateStore, Unchanged
from tests.e2e.conftest import Emulator
from tests.integration.aws.clients import state_client
from tests.integration.aws.examples import PROVENANCE, a_change, a_plan, a_request
from tests.integration.aws.state_store_contract import StateStoreContract
from tests.integration.aws.tables import create_state_tables

THREADS = 50
APPENDS = 24
BUSY_CHAIN_TRIES = 10


@pytest.fixture
def store(emulator: Emulator) -> StateStore:
    client = state_client(emulator.endpoint_url)
    clock = SystemClock()
    return DynamoDbStateStore(
        client,
        create_state_tables(client),
        PROVENANCE,
        tokens=SystemTokens(clock),
        backoff=Backoff(clock, jitter=random.random),
    )


def at_once(actions: list[Callable[[], bool]]) -> int:
    """Start all actions together; return how many said yes."""
    barrier = Barrier(len(actions))

    def run(action: Callable[[], bool]) -> bool:
        barrier.wait(timeout=30)
        return action()

    with ThreadPoolExecutor(len(actions)) as pool:
        return sum(pool.map(run, actions))


def commits(store: StateStore, change: Change) -> bool:
    """Return whether a change was stored; a busy chain is tried again, as a caller would."""
    for _ in range(BUSY_CHAIN_TRIES):
        try:
            store.commit(change)
        except StaleError:
            return False
        except TransientError:
            continue
        return True
    pytest.fail("the chain stayed busy")


class TestContract(StateStoreContract):
    """The emulator judges the conditions as moto does."""


@pytest.mark.parametrize("chains", ["one", "many"])
def test_of_many_writers_of_one_revision_exactly_one_wins(store: StateStore, chains: str) -> None:
    """On one chain the head alone would stop the others; on many only the row's condition can."""
    store.commit(a_change(Save(a_plan())))
    read = store.plan("r1#1")
    assert read is not None

    def writer(number: int) -> Callable[[], bool]:
        chain_id = "r1" if chains == "one" else f"r1-{number}"
        change = a_change(Save(replace(read, title=f"{number}")), chain_id=chain_id)
        return partial(commits, store, change)

    winners = at_once([writer(number) for number in range(THREADS)])

    stored = store.plan("r1#1")
    assert winners == 1
    assert stored is not None
    assert stored.revision == 2


def test_of_many_equal_changes_exactly_one_is_stored(store: StateStore) -> None:
    """Not even the audit records differ: nobody may take another's success for its own."""
    change = a_change(Save(a_plan()), Save(take(Fence("f" * 64), "r1#1")))

    winners = at_once([partial(commits, store, change)] * THREADS)

    assert winners == 1
    assert len(store.chain("r1")) == 1


def test_parallel_appends_to_one_chain_make_one_line_without_gaps(store: StateStore) -> None:
    changes = [a_change(kind=f"step.n{number}") for number in range(APPENDS)]

    stored = at_once([partial(commits, store, change) for change in changes])

    chain: tuple[AuditRecord, ...] = store.chain("r1")
    assert stored == APPENDS
    assert verify_chain("r1", chain).seq == APPENDS
    assert {record.line.partition('"kind":"')[2].partition('"')[0] for record in chain} == {
        change.event.kind for change in changes
    }


@pytest.mark.parametrize("round_number", range(5))
def test_of_a_withdrawal_and_a_begin_exactly_one_wins(store: StateStore, round_number: int) -> None:
    request_id, plan_id = f"w{round_number}", f"w{round_number}#1"
    store.commit(a_change(Save(a_request(request_id)), Save(a_plan(plan_id))))
    request, plan = store.request(request_id), store.plan(plan_id)
    assert request is not None
    assert plan is not None
    withdrawal = a_change(Save(replace(request, withdrawn=True)), Unchanged(Plan, plan_id, 1))
    begun = replace(plan, state=PlanState.EXECUTING)
    begin = a_change(NotWithdrawn(request_id), Save(begun), chain_id="other")

    winners = at_once([partial(commits, store, withdrawal), partial(commits, store, begin)])

    request, plan = store.request(request_id), store.plan(plan_id)
    assert request is not None
    assert plan is not None
    assert winners == 1
    assert request.withdrawn is not (plan.state is PlanState.EXECUTING)
