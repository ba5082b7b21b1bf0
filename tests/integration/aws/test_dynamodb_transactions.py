"""What a commit does when DynamoDB is slow, busy, silent or contended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import EndpointConnectionError

from no_undo.adapters.dynamodb_rows import TableNames
from no_undo.adapters.dynamodb_state_store import DynamoDbStateStore
from no_undo.adapters.dynamodb_transactions import (
    MAX_HEADS,
    MAX_REPEATS,
    MAX_WAIT_SECONDS,
    Backoff,
)
from no_undo.domain.audit_chain import verify_chain
from no_undo.domain.errors import InDoubtError, StaleError, TransientError
from no_undo.domain.link_opens import MAX_RECORDED_OPENS
from no_undo.lab.fixed_clock import FixedClock
from no_undo.lab.seeded_tokens import SeededTokens
from no_undo.ports import Save
from tests.integration.aws.clients import client_of, state_client
from tests.integration.aws.examples import PROVENANCE, a_change, a_plan
from tests.integration.aws.scripted_client import (
    ScriptedClient,
    Step,
    after,
    answer_lost,
    fails,
    never_arrived,
    no_connection,
    service_error,
)
from tests.integration.aws.tables import create_state_tables

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

throttled = fails("ThrottlingException")
conflicting = fails("TransactionCanceledException", reasons=("TransactionConflict", "None"))


@dataclass
class Bench:
    """One set of tables, a healthy store on it, and stores that meet trouble."""

    client: DynamoDBClient
    tables: TableNames
    healthy: DynamoDbStateStore
    clock: FixedClock

    def troubled(self, *script: Step) -> tuple[DynamoDbStateStore, ScriptedClient]:
        scripted = ScriptedClient(self.client, script)
        return _store(scripted.as_client(), self.tables, seed=2, clock=self.clock), scripted

    def item(self, table: str, **key: str) -> Mapping[str, object]:
        typed_key = {name: {"S": value} for name, value in key.items()}
        return self.client.get_item(TableName=table, Key=typed_key).get("Item", {})


def _store(
    client: DynamoDBClient, tables: TableNames, *, seed: int, clock: FixedClock
) -> DynamoDbStateStore:
    return DynamoDbStateStore(
        client,
        tables,
        PROVENANCE,
        tokens=SeededTokens(seed),
        backoff=Backoff(clock, jitter=lambda: 1.0),
    )


@pytest.fixture
def bench(aws: None) -> Bench:
    client = state_client()
    tables = create_state_tables(client)
    clock = FixedClock()
    return Bench(client, tables, _store(client, tables, seed=1, clock=clock), clock)


def length(bench: Bench, chain_id: str = "r1") -> int:
    """Return how many records a chain has, after verifying it."""
    return verify_chain(chain_id, bench.healthy.chain(chain_id)).seq


def test_a_lost_answer_is_recognised_as_our_own_success(bench: Bench) -> None:
    store, scripted = bench.troubled(answer_lost)

    record = store.commit(a_change(Save(a_plan())))

    assert bench.healthy.chain("r1") == (record,)
    assert bench.healthy.plan("r1#1") == replace(a_plan(), revision=1)
    assert len(set(scripted.tokens)) == 1


def test_our_success_is_recognised_after_others_have_gone_on(bench: Bench) -> None:
    def others() -> None:
        bench.healthy.commit(a_change(kind="somebody.else"))

    store, _ = bench.troubled(answer_lost, after(others))

    record = store.commit(a_change(Save(a_plan())))

    assert record.seq == 1
    assert length(bench) == 2


def test_the_same_change_by_somebody_else_is_not_our_success(bench: Bench) -> None:
    """Same event, same rows, same instant: the records are equal, the writers are not."""
    change = a_change(Save(a_plan()))
    store, _ = bench.troubled(after(lambda: bench.healthy.commit(change)))

    with pytest.raises(StaleError, match="Plan row r1#1"):
        store.commit(change)

    assert length(bench) == 1


def test_the_same_record_by_somebody_else_is_appended_after_theirs(bench: Bench) -> None:
    change = a_change(kind="send.refused")
    store, scripted = bench.troubled(after(lambda: bench.healthy.commit(change)))

    record = store.commit(change)

    assert record.seq == 2
    assert length(bench) == 2
    assert len(set(scripted.tokens)) == 2


@pytest.mark.parametrize("silence", [answer_lost, never_arrived])
def test_only_silence_is_in_doubt(bench: Bench, silence: Step) -> None:
    store, _ = bench.troubled(*[never_arrived] * (MAX_REPEATS - 1), silence)

    with pytest.raises(InDoubtError):
        store.commit(a_change(Save(a_plan())))

    assert length(bench) == (1 if silence is answer_lost else 0)


@pytest.mark.parametrize(
    "later",
    [
        [throttled] * MAX_REPEATS,
        [conflicting] * MAX_REPEATS,
        [no_connection] * MAX_REPEATS,
        [fails("ExpiredTokenException")],
    ],
)
def test_a_lost_answer_stays_in_doubt_whatever_the_repetitions_say(
    bench: Bench, later: Sequence[Step]
) -> None:
    store, _ = bench.troubled(never_arrived, *later)

    with pytest.raises(InDoubtError):
        store.commit(a_change(Save(a_plan())))


@pytest.mark.parametrize(
    "trouble",
    [
        fails("InternalServerError", status=500),
        fails("ServiceUnavailable", status=503),
        fails("TransactionInProgressException"),
    ],
)
def test_an_answer_that_settles_nothing_counts_as_lost(bench: Bench, trouble: Step) -> None:
    store, _ = bench.troubled(*[trouble] * MAX_REPEATS)

    with pytest.raises(InDoubtError):
        store.commit(a_change(Save(a_plan())))


@pytest.mark.parametrize(
    "trouble",
    [
        throttled,
        conflicting,
        no_connection,
        fails("ProvisionedThroughputExceededException"),
        fails("TransactionCanceledException", reasons=("None", "ThrottlingError")),
    ],
)
def test_what_certainly_was_not_stored_is_repeated_with_one_token_and_then_given_up(
    bench: Bench, trouble: Step
) -> None:
    store, scripted = bench.troubled(*[trouble] * MAX_REPEATS)
    began = bench.clock.now()

    with pytest.raises(TransientError):
        store.commit(a_change(Save(a_plan())))

    assert len(scripted.tokens) == MAX_REPEATS
    assert len(set(scripted.tokens)) == 1
    assert 0 < (bench.clock.now() - began).total_seconds() <= MAX_REPEATS * MAX_WAIT_SECONDS
    assert bench.healthy.plan("r1#1") is None


def test_a_passing_trouble_is_not_seen_by_the_caller(bench: Bench) -> None:
    store, _ = bench.troubled(throttled, conflicting, no_connection)

    record = store.commit(a_change(Save(a_plan())))

    assert bench.healthy.chain("r1") == (record,)


@pytest.mark.parametrize(
    "refusal",
    [
        fails("AccessDeniedException"),
        fails("ValidationException"),
        fails("TransactionCanceledException", reasons=("None", "ValidationError")),
    ],
)
def test_a_refusal_for_good_is_not_repeated(bench: Bench, refusal: Step) -> None:
    store, scripted = bench.troubled(refusal)

    with pytest.raises(TransientError):
        store.commit(a_change(Save(a_plan())))

    assert len(scripted.tokens) == 1


def test_a_moved_head_is_read_again_and_the_content_gets_a_token_of_its_own(
    bench: Bench,
) -> None:
    def others() -> None:
        bench.healthy.commit(a_change(kind="somebody.else"))

    store, scripted = bench.troubled(after(others), after(others))

    record = store.commit(a_change(Save(a_plan())))

    assert record.seq == 3
    assert length(bench) == 3
    assert len(set(scripted.tokens)) == 3


def test_a_head_that_never_rests_ends_the_commit_with_nothing_stored(bench: Bench) -> None:
    def others() -> None:
        bench.healthy.commit(a_change(kind="somebody.else"))

    store, _ = bench.troubled(*[after(others)] * MAX_HEADS)

    with pytest.raises(TransientError, match="chain r1"):
        store.commit(a_change(Save(a_plan())))

    assert bench.healthy.plan("r1#1") is None
    assert length(bench) == MAX_HEADS


def test_a_stale_row_is_told_even_when_the_head_moved_as_well(bench: Bench) -> None:
    def others() -> None:
        bench.healthy.commit(a_change(Save(a_plan()), kind="somebody.else"))

    store, scripted = bench.troubled(after(others))

    with pytest.raises(StaleError):
        store.commit(a_change(Save(replace(a_plan(), title="Other"))))

    assert len(scripted.tokens) == 1


def test_every_record_leaves_a_row_for_the_export(bench: Bench) -> None:
    record = bench.healthy.commit(a_change())

    assert bench.item(bench.tables.audit_outbox, chain_seq="r1#000000000001") == {
        "chain_seq": {"S": "r1#000000000001"},
        "chain_id": {"S": "r1"},
        "seq": {"N": "1"},
        "hash": {"S": record.hash},
    }


def test_opens_beyond_the_recorded_ones_are_still_counted(bench: Bench) -> None:
    for _ in range(MAX_RECORDED_OPENS + 3):
        bench.healthy.record_open("r1", "dave@example.com", a_plan().created_at)

    counter = bench.item(bench.tables.audit_heads, chain_id="r1#opens#dave@example.com")
    assert counter["opens"] == {"N": "23"}
    assert length(bench, "r1#opens") == MAX_RECORDED_OPENS


def test_an_open_that_cannot_be_counted_is_told(bench: Bench) -> None:
    opened_at = a_plan().created_at
    for _ in range(MAX_RECORDED_OPENS):
        bench.healthy.record_open("r1", "dave@example.com", opened_at)
    store, scripted = bench.troubled()
    scripted.update_error = service_error("ThrottlingException")

    with pytest.raises(TransientError, match="counting an open"):
        store.record_open("r1", "dave@example.com", opened_at)


def test_a_chain_longer_than_one_answer_is_read_whole(bench: Bench) -> None:
    """DynamoDB answers a query with at most 1 MB."""
    for number in range(6):
        change = a_change(kind=f"step.n{number}")
        event = replace(change.event, details={"padding": "x" * 250_000})
        bench.healthy.commit(replace(change, event=event))

    assert length(bench) == 6


def test_error_texts_name_the_row_and_quote_no_value(bench: Bench) -> None:
    bench.healthy.commit(a_change(Save(a_plan())))

    with pytest.raises(StaleError) as caught:
        bench.healthy.commit(a_change(Save(replace(a_plan(), title="A secret title"))))

    assert "Plan row r1#1" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        service_error("ThrottlingException"),
        service_error("InternalServerError", status=500),
        EndpointConnectionError(endpoint_url="https://dynamodb.example"),
    ],
)
def test_a_read_is_repeated_through_a_passing_trouble_and_given_up_at_a_bound(
    error: Exception,
) -> None:
    backoff = Backoff(FixedClock(), jitter=lambda: 1.0)
    failures = [error, error]

    def read() -> str:
        if failures:
            raise failures.pop()
        return "row"

    def never() -> str:
        raise error

    assert backoff.repeat(read, "reading") == "row"
    with pytest.raises(TransientError, match="reading"):
        backoff.repeat(never, "reading")


def test_a_read_that_is_refused_for_good_is_not_repeated() -> None:
    calls: list[int] = []

    def read() -> None:
        calls.append(1)
        raise service_error("AccessDeniedException")

    with pytest.raises(TransientError, match="AccessDeniedException"):
        Backoff(FixedClock(), jitter=lambda: 1.0).repeat(read, "reading")

    assert len(calls) == 1


def test_a_client_whose_sdk_repeats_by_itself_is_refused(aws: None) -> None:
    client: DynamoDBClient = client_of("dynamodb")

    with pytest.raises(ValueError, match="exactly one attempt"):
        _store(client, create_state_tables(client), seed=1, clock=FixedClock())
