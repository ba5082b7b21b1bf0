"""The state store on DynamoDB: consistent reads, and one audited transaction per transition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from no_undo.adapters.botocore_errors import AWS_ERRORS, translated
from no_undo.adapters.dynamodb_rows import (
    DOUBT_PARTITION,
    DRAFTS_KEPT,
    DRAFTS_SENT,
    DRAFTS_WATCHED,
    DUE_PARTITION,
    MAIL_PARTITION,
    OPEN_PARTITION,
    PAUSE_KEY,
    Place,
    R,
    TableNames,
    caller_partition,
    from_item,
    instant,
    key_of,
    mail_schedule_of,
    place_of,
    plain,
    schedule_of,
    typed,
)
from no_undo.adapters.dynamodb_transactions import (
    AuditedWriter,
    Backoff,
    Operation,
    operations_for,
)
from no_undo.domain.approval import ApprovalLink
from no_undo.domain.audit_chain import AuditRecord, Provenance
from no_undo.domain.errors import StaleError
from no_undo.domain.fence import Fence
from no_undo.domain.ledger import LedgerEntry, Pause
from no_undo.domain.link_opens import MAX_RECORDED_OPENS, opened, opens_chain_of
from no_undo.domain.plan import Plan
from no_undo.domain.request import Request
from no_undo.ports import Change, TokenSource

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


_ALWAYS: Final = datetime.max.replace(tzinfo=UTC)


class DynamoDbStateStore:
    """Implements `ports.StateStore` over the tables of design 7.

    Index reads (`due_plans`, `plans_to_mail`, `plans_in_doubt`, `open_requests`, the ids behind
    `requests_of`) are hints that may lag; every row itself is read consistently.
    """

    def __init__(
        self,
        client: DynamoDBClient,
        tables: TableNames,
        provenance: Provenance,
        *,
        tokens: TokenSource,
        backoff: Backoff,
    ) -> None:
        """Take a client whose SDK repeats nothing (`aws_config.state_client_config`).

        Args:
            client: Configured so that every repetition is ours.
            tables: Names of the state tables.
            provenance: Code version and configuration digest, written into every record.
            tokens: Makes client tokens.
            backoff: Waits between repetitions.

        Raises:
            ValueError: The client's SDK would repeat calls on its own.
        """
        self._client = client
        self._tables = tables
        self._backoff = backoff
        self._writer = AuditedWriter(client, tables, provenance, tokens, backoff)

    def request(self, request_id: str) -> Request | None:
        """Return a request, or None."""
        return self._row(Request, request_id)

    def plan(self, plan_id: str) -> Plan | None:
        """Return a plan, or None."""
        return self._row(Plan, plan_id)

    def entry(self, plan_id: str) -> LedgerEntry | None:
        """Return a ledger entry, or None when no attempt was ever made."""
        return self._row(LedgerEntry, plan_id)

    def fence(self, fence_key: str) -> Fence:
        """Return a fence; a fresh one (revision 0) when nobody ever took it."""
        return self._row(Fence, fence_key) or Fence(fence_key)

    def link(self, token_sha256: str) -> ApprovalLink | None:
        """Return an approval link by the hash of its token, or None."""
        return self._row(ApprovalLink, token_sha256)

    def pause(self) -> Pause | None:
        """Return the pause row, or None when nobody ever paused."""
        return self._row(Pause, PAUSE_KEY)

    def commit(self, change: Change) -> AuditRecord:
        """Write a transition and its audit record in one transaction.

        Raises:
            StaleError: A row or condition is not as it was read; nothing was written.
            TransientError: Still throttled or conflicting at the bound; nothing was written.
            InDoubtError: The answer was lost; it may have been written.
            ValueError: The change saves one row twice.
        """
        operations = operations_for(change.writes, self._tables)
        return self._writer.append(change.chain_id, change.event, operations)

    def reschedule(self, row: Request | Plan) -> None:
        """Store only when a row is looked at next; a row that moved on meanwhile is left alone.

        Raises:
            TransientError: Not stored this time.
        """
        self._reschedule(row, schedule_of(row))

    def reschedule_mail(self, plan: Plan) -> None:
        """Store only when a plan's mail is looked at next; one that moved on is left alone.

        Raises:
            TransientError: Not stored this time.
        """
        self._reschedule(plan, mail_schedule_of(plan))

    def _reschedule(self, row: Request | Plan, schedule: Mapping[str, Any]) -> None:
        place = place_of(type(row), key_of(row), self._tables)
        update = _schedule_update(place, schedule, row.revision)

        def write() -> None:
            with suppress(self._client.exceptions.ConditionalCheckFailedException):
                self._client.update_item(**update)

        self._backoff.repeat(write, "rescheduling a row")

    def plans_to_mail(self, now: datetime, *, limit: int) -> tuple[str, ...]:
        """Return ids of waiting plans whose mail is due, soonest first; a hint, may lag."""
        return self._keys(
            "plan_id",
            limit,
            TableName=self._tables.plans,
            IndexName="MailIndex",
            KeyConditionExpression="mail_partition = :mail AND mail_at <= :now",
            ExpressionAttributeValues=typed({":mail": MAIL_PARTITION, ":now": instant(now)}),
        )

    def due_plans(self, now: datetime, *, limit: int) -> tuple[str, ...]:
        """Return ids of plans due at or before now, soonest first; a hint, may lag or repeat."""
        return self._keys(
            "plan_id",
            limit,
            TableName=self._tables.plans,
            IndexName="DueIndex",
            KeyConditionExpression="due_partition = :due AND due_at <= :now",
            ExpressionAttributeValues=typed({":due": DUE_PARTITION, ":now": instant(now)}),
        )

    def plans_in_doubt(self, *, limit: int) -> tuple[str, ...]:
        """Return ids of plans that are EXECUTING or RELEASED; a hint, may lag."""
        return self._keys(
            "plan_id",
            limit,
            TableName=self._tables.plans,
            IndexName="DoubtIndex",
            KeyConditionExpression="doubt_partition = :doubt",
            ExpressionAttributeValues=typed({":doubt": DOUBT_PARTITION}),
        )

    def open_requests(self, now: datetime, *, limit: int) -> tuple[str, ...]:
        """Return ids of requests whose driver is to be checked; a hint, may lag or repeat."""
        return self._keys(
            "request_id",
            limit,
            TableName=self._tables.requests,
            IndexName="OpenIndex",
            KeyConditionExpression="open_partition = :open AND check_at <= :now",
            ExpressionAttributeValues=typed({":open": OPEN_PARTITION, ":now": instant(now)}),
        )

    def due_drafts(self, now: datetime, *, limit: int) -> tuple[str, ...]:
        """Return ids of requests whose abandoned drafts are to be looked at, soonest first."""
        return self._drafts(DRAFTS_WATCHED, limit, until=now)

    def requests_with_drafts(self, *, limit: int) -> tuple[str, ...]:
        """Return ids of requests with abandoned drafts, those with none but sent ones first."""
        found: tuple[str, ...] = ()
        for partition in (DRAFTS_SENT, DRAFTS_WATCHED, DRAFTS_KEPT):
            if len(found) < limit:
                found += self._drafts(partition, limit - len(found))
        return found

    def _drafts(self, partition: str, limit: int, *, until: datetime = _ALWAYS) -> tuple[str, ...]:
        return self._keys(
            "request_id",
            limit,
            TableName=self._tables.requests,
            IndexName="DraftsIndex",
            KeyConditionExpression="drafts_partition = :partition AND drafts_at <= :until",
            ExpressionAttributeValues=typed({":partition": partition, ":until": instant(until)}),
        )

    def requests_of(self, tenant: str, caller: str, *, limit: int) -> tuple[Request, ...]:
        """Return a caller's own requests, newest first."""
        keys = self._keys(
            "request_id",
            limit,
            TableName=self._tables.requests,
            IndexName="CallerIndex",
            KeyConditionExpression="tenant_caller = :caller",
            ExpressionAttributeValues=typed({":caller": caller_partition(tenant, caller)}),
            ScanIndexForward=False,
        )
        return tuple(row for row in map(self.request, keys) if row is not None)

    def chain(self, chain_id: str) -> tuple[AuditRecord, ...]:
        """Return all records of an audit chain, in order."""
        items = self._query(
            TableName=self._tables.audit,
            KeyConditionExpression="chain_id = :chain",
            ExpressionAttributeValues=typed({":chain": chain_id}),
            ConsistentRead=True,
        )
        return tuple(_record(plain(item)) for item in items)

    def record_open(self, request_id: str, approver: str, at: datetime) -> None:
        """Record that a link was opened, on the chain of opens; beyond 20 only counted.

        Raises:
            TransientError: Not recorded this time.
            InDoubtError: The answer was lost; it may have been recorded.
        """
        chain_id = opens_chain_of(request_id)
        counter = _counter(self._tables, f"{chain_id}#{approver}")
        limited = {
            **counter,
            "ConditionExpression": "attribute_not_exists(opens) OR opens < :limit",
            "ExpressionAttributeValues": typed({":one": 1, ":limit": MAX_RECORDED_OPENS}),
        }
        operation = Operation({"Update": limited}, "count of opens")
        try:
            self._writer.append(chain_id, opened(approver, at), (operation,))
        except StaleError:
            self._count_open(counter)

    def _count_open(self, counter: Mapping[str, Any]) -> None:
        try:
            self._client.update_item(**counter)
        except AWS_ERRORS as error:
            raise translated(error, "counting an open", repeatable=False) from error

    def _row(self, row_type: type[R], key: str) -> R | None:
        place = place_of(row_type, key, self._tables)
        answer = self._backoff.repeat(
            lambda: self._client.get_item(
                TableName=place.table, Key=place.item_key(), ConsistentRead=True
            ),
            f"reading a {row_type.__name__} row",
        )
        item = answer.get("Item")
        return None if item is None else from_item(row_type, item)

    def _keys(self, key: str, limit: int, **query: Any) -> tuple[str, ...]:  # noqa: ANN401 - SDK parameters
        """Return the key of each row that an index names."""
        return tuple(plain(item)[key] for item in islice(self._query(**query), limit))

    def _query(self, **query: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 - SDK parameters
        position: dict[str, Any] = {}
        while True:
            page = self._backoff.repeat(
                partial(self._client.query, **query, **position), "reading an index or chain"
            )
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            position = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def _schedule_update(place: Place, schedule: Mapping[str, Any], revision: int) -> dict[str, Any]:
    kept = [name for name, value in schedule.items() if value is not None]
    dropped = [name for name in schedule if name not in kept]
    clauses = [
        "SET " + ", ".join(f"{name} = :{name}" for name in kept) if kept else "",
        "REMOVE " + ", ".join(dropped) if dropped else "",
    ]
    values = {f":{name}": schedule[name] for name in kept}
    return {
        "TableName": place.table,
        "Key": place.item_key(),
        "UpdateExpression": " ".join(clauses).strip(),
        "ConditionExpression": "revision = :revision",
        "ExpressionAttributeValues": typed({**values, ":revision": revision}),
    }


def _counter(tables: TableNames, key: str) -> dict[str, Any]:
    return {
        "TableName": tables.audit_heads,
        "Key": {"chain_id": {"S": key}},
        "UpdateExpression": "ADD opens :one",
        "ExpressionAttributeValues": typed({":one": 1}),
    }


def _record(fields: Mapping[str, Any]) -> AuditRecord:
    return AuditRecord(fields["chain_id"], fields["seq"], fields["line"], fields["hash"])
