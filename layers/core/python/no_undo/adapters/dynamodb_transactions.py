"""One transition as one DynamoDB transaction: its rows, its audit record, the chain head (P9).

Rules:
1. Each distinct content has a client token of its own. The same content is repeated with the same
   token, so that DynamoDB itself answers "done already" when an earlier answer was lost.
2. The token is also kept on the audit record. When a condition fails because our own transaction is
   there already, the record found in our place carries our token: that is our success.
3. A condition that failed stays failed: revisions and heads only grow, a withdrawal is never taken
   back. So a cancellation by a condition also settles every earlier lost answer of that content.
4. A moved chain head with sound rows means new content: the head is read again.
5. Every repetition is bounded, with full jitter between zero and a growing limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeVar

from no_undo.adapters.botocore_errors import (
    AWS_ERRORS,
    THROTTLED,
    error_code,
    is_answer_lost,
    is_passing,
    repeatable,
    translated,
)
from no_undo.adapters.dynamodb_rows import (
    Item,
    Place,
    TableNames,
    key_of,
    place_of,
    plain,
    to_item,
    typed,
)
from no_undo.domain.audit_chain import AuditEvent, AuditRecord, ChainHead, Provenance, next_record
from no_undo.domain.errors import InDoubtError, StaleError, TransientError
from no_undo.domain.request import Request
from no_undo.ports import Clock, NotWithdrawn, Save, TokenSource, Unchanged

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

T = TypeVar("T")

MAX_REPEATS: Final = 6
"""How often one content is offered, the first time included."""

MAX_HEADS: Final = 12
"""How often a moved chain head is read again within one commit."""

FIRST_WAIT_SECONDS: Final = 0.05
MAX_WAIT_SECONDS: Final = 1.0

_CANCELLED: Final = "TransactionCanceledException"
_CONDITION_FAILED: Final = "ConditionalCheckFailed"
_CONFLICT: Final = frozenset({"TransactionConflict", "TransactionConflictException"})


@dataclass(frozen=True, slots=True)
class Operation:
    """One part of a transaction that concerns a row.

    Attributes:
        item: A `TransactItems` element.
        subject: The row in words, for example `Plan row 01j…#1`; for messages.
    """

    item: Mapping[str, Any]
    subject: str


@dataclass(frozen=True, slots=True)
class Transaction:
    """One distinct content (rule 1).

    Attributes:
        operations: What concerns rows; their conditions decide whether the transition may be.
        chain: Audit record, head and outbox row, in this order.
        client_token: Fresh for this content.
    """

    operations: tuple[Operation, ...]
    chain: tuple[Mapping[str, Any], ...]
    client_token: str


class Outcome(Enum):
    """What a failed offer of a transaction means."""

    OURS = "it is stored: by us"
    STALE = "a row or condition is not as it was read; nothing was stored"
    HEAD_MOVED = "another record took the place in the chain; nothing was stored"
    REPEAT = "conflict or throttling; nothing was stored by this offer"
    LOST = "the answer was lost; it may be stored"
    REFUSED = "the service said no for good; nothing was stored by this offer"


_SETTLED: Final = frozenset({Outcome.OURS, Outcome.STALE, Outcome.HEAD_MOVED})


@dataclass(frozen=True, slots=True)
class Judgement:
    """An outcome and, when a row is stale, which."""

    outcome: Outcome
    subject: str = ""


def judge(error: Exception, transaction: Transaction) -> Judgement:
    """Say what a failed offer means (rules 2 and 3)."""
    if error_code(error) == _CANCELLED:
        return _judge_reasons(_reasons(error), transaction)
    if is_answer_lost(error):
        return Judgement(Outcome.LOST)
    if is_passing(error) or error_code(error) in _CONFLICT:
        return Judgement(Outcome.REPEAT)
    return Judgement(Outcome.REFUSED)


def _reasons(error: Exception) -> Sequence[Mapping[str, Any]]:
    response: Mapping[str, Any] = getattr(error, "response", {})
    reasons: Sequence[Mapping[str, Any]] = response.get("CancellationReasons", ())
    return reasons


def _judge_reasons(reasons: Sequence[Mapping[str, Any]], transaction: Transaction) -> Judgement:
    count = len(transaction.operations)
    of_rows, of_chain = reasons[:count], reasons[count:]
    if of_chain and plain(of_chain[0].get("Item", {})).get("write_id") == transaction.client_token:
        return Judgement(Outcome.OURS)
    for operation, reason in zip(transaction.operations, of_rows, strict=False):
        if reason.get("Code") == _CONDITION_FAILED:
            return Judgement(Outcome.STALE, operation.subject)
    codes = {reason.get("Code", "None") for reason in reasons} - {"None"}
    if _CONDITION_FAILED in codes:
        return Judgement(Outcome.HEAD_MOVED)
    if codes and codes <= THROTTLED | _CONFLICT:
        return Judgement(Outcome.REPEAT)
    return Judgement(Outcome.REFUSED)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits between repetitions (rule 5).

    Attributes:
        clock: Sleeps.
        jitter: Returns a number from 0.0 up to 1.0.
    """

    clock: Clock
    jitter: Callable[[], float]

    def wait(self, turn: int) -> None:
        """Wait after the turn-th failure, counted from 0."""
        limit = min(MAX_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2**turn)
        self.clock.sleep(limit * self.jitter())

    def repeat(self, call: Callable[[], T], step: str) -> T:
        """Make a call that may be repeated without harm, a bounded number of times.

        Raises:
            TransientError: It failed each time, or the service said no for good.
        """
        for turn in range(MAX_REPEATS - 1):
            try:
                return call()
            except AWS_ERRORS as error:
                if not is_passing(error):
                    raise translated(error, step, repeatable=True) from error
            self.wait(turn)
        with repeatable(step):
            return call()


class AuditedWriter:
    """Writes rows and their audit record together, or nothing."""

    def __init__(
        self,
        client: DynamoDBClient,
        tables: TableNames,
        provenance: Provenance,
        tokens: TokenSource,
        backoff: Backoff,
    ) -> None:
        """Take a client whose SDK repeats nothing (`aws_config.state_client_config`).

        Raises:
            ValueError: The client's SDK would repeat calls on its own.
        """
        retries: Mapping[str, Any] = getattr(client.meta.config, "retries", None) or {}
        if retries.get("total_max_attempts") != 1:
            raise ValueError("the state store needs a client whose SDK makes exactly one attempt")
        self._client = client
        self._tables = tables
        self._provenance = provenance
        self._tokens = tokens
        self._backoff = backoff

    def append(
        self, chain_id: str, event: AuditEvent, operations: tuple[Operation, ...]
    ) -> AuditRecord:
        """Store a transition and the record of it.

        Raises:
            StaleError: A row or condition is not as it was read; nothing was written.
            TransientError: Still throttled or conflicting at the bound; nothing was written.
            InDoubtError: The answer was lost; it may have been written.
        """
        for turn in range(MAX_HEADS):
            head = self._head(chain_id)
            record = next_record(head, event, self._provenance)
            token = self._tokens.uid()
            chain = _chain_items(self._tables, head, record, token)
            if self._offer(Transaction(operations, chain, token)):
                return record
            self._backoff.wait(turn)
        raise TransientError(f"chain {chain_id} is being written to by others; nothing was stored")

    def _head(self, chain_id: str) -> ChainHead:
        answer = self._backoff.repeat(
            lambda: self._client.get_item(
                TableName=self._tables.audit_heads,
                Key={"chain_id": {"S": chain_id}},
                ConsistentRead=True,
            ),
            "reading the head of an audit chain",
        )
        item = plain(answer.get("Item", {}))
        return ChainHead(chain_id, item["seq"], item["hash"]) if item else ChainHead(chain_id)

    def _offer(self, transaction: Transaction) -> bool:
        """Offer one content until it is settled; True when stored, False when the head moved."""
        lost: Exception | None = None
        failure: Exception | None = None
        for turn in range(MAX_REPEATS):
            try:
                self._send(transaction)
            except AWS_ERRORS as error:
                failure = error
                judgement = judge(error, transaction)
            else:
                return True
            if judgement.outcome in _SETTLED:
                return _settled(judgement, failure)
            if judgement.outcome is Outcome.LOST:
                lost = failure
            if judgement.outcome is Outcome.REFUSED:
                break
            self._backoff.wait(turn)
        if lost is not None:
            raise InDoubtError(
                "the answer to a transition was lost; read back and look for its own ids"
            ) from lost
        raise TransientError("a transition could not be stored this time") from failure

    def _send(self, transaction: Transaction) -> None:
        items: list[Any] = [one.item for one in transaction.operations] + [*transaction.chain]
        self._client.transact_write_items(
            TransactItems=items, ClientRequestToken=transaction.client_token
        )


def _settled(judgement: Judgement, failure: Exception) -> bool:
    if judgement.outcome is Outcome.STALE:
        raise StaleError(
            f"the {judgement.subject} is not as it was read; read again and decide again"
        ) from failure
    return judgement.outcome is Outcome.OURS


def operations_for(
    writes: Sequence[Save | Unchanged | NotWithdrawn], tables: TableNames
) -> tuple[Operation, ...]:
    """Return one operation per row: DynamoDB allows no two on one item, so conditions are joined.

    Raises:
        ValueError: One row is saved twice.
    """
    conditions: dict[Place, list[_Condition]] = {}
    puts: dict[Place, Item] = {}
    for write in writes:
        place, condition = _condition_of(write, tables)
        conditions.setdefault(place, []).append(condition)
        if isinstance(write, Save):
            if place in puts:
                raise ValueError("a change saves one row twice")
            puts[place] = to_item(replace(write.row, revision=write.row.revision + 1), place)
    return tuple(_operation(place, joined, puts.get(place)) for place, joined in conditions.items())


@dataclass(frozen=True, slots=True)
class _Condition:
    """One condition on one row; `kind` is the row type's name, for messages."""

    kind: str
    text: str
    names: Mapping[str, str]
    values: Mapping[str, Any]


def _condition_of(
    write: Save | Unchanged | NotWithdrawn, tables: TableNames
) -> tuple[Place, _Condition]:
    match write:
        case Save(row):
            place = place_of(type(row), key_of(row), tables)
            return place, _has_revision(type(row).__name__, place, row.revision)
        case Unchanged(row_type, key, revision):
            place = place_of(row_type, key, tables)
            return place, _has_revision(row_type.__name__, place, revision)
        case NotWithdrawn(request_id):
            place = place_of(Request, request_id, tables)
            return place, _Condition(
                kind=Request.__name__,
                text="attribute_exists(#key) AND NOT #withdrawn = :yes",
                names={"#key": place.attribute, "#withdrawn": "withdrawn"},
                values={":yes": True},
            )


def _has_revision(kind: str, place: Place, revision: int) -> _Condition:
    if revision == 0:
        return _Condition(kind, "attribute_not_exists(#key)", {"#key": place.attribute}, {})
    value = f":revision{revision}"  # two conditions on one row keep a value each
    return _Condition(kind, f"#revision = {value}", {"#revision": "revision"}, {value: revision})


def _operation(place: Place, conditions: Sequence[_Condition], put: Item | None) -> Operation:
    names: dict[str, str] = {}
    values: dict[str, Any] = {}
    for one in conditions:
        names.update(one.names)
        values.update(one.values)
    expression: dict[str, Any] = {
        "TableName": place.table,
        "ConditionExpression": " AND ".join(f"({one.text})" for one in conditions),
        "ExpressionAttributeNames": names,
    }
    if values:  # an empty map is a validation error
        expression["ExpressionAttributeValues"] = typed(values)
    subject = f"{conditions[0].kind} row {place.key}"
    if put is None:
        return Operation({"ConditionCheck": {**expression, "Key": place.item_key()}}, subject)
    return Operation({"Put": {**expression, "Item": put}}, subject)


def _chain_items(
    tables: TableNames, head: ChainHead, record: AuditRecord, client_token: str
) -> tuple[Mapping[str, Any], ...]:
    place = {"chain_id": record.chain_id, "seq": record.seq, "hash": record.hash}
    follows = "attribute_not_exists(chain_id)" if head.seq == 0 else "#seq = :seq AND #hash = :hash"
    new_head: dict[str, Any] = {
        "TableName": tables.audit_heads,
        "Item": typed(place),
        "ConditionExpression": follows,
    }
    if head.seq > 0:
        new_head["ExpressionAttributeNames"] = {"#seq": "seq", "#hash": "hash"}
        new_head["ExpressionAttributeValues"] = typed({":seq": head.seq, ":hash": head.hash})
    return (
        {
            "Put": {
                "TableName": tables.audit,
                "Item": typed({**place, "line": record.line, "write_id": client_token}),
                "ConditionExpression": "attribute_not_exists(chain_id)",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        },
        {"Put": new_head},
        {
            "Put": {
                "TableName": tables.audit_outbox,
                "Item": typed({**place, "chain_seq": f"{record.chain_id}#{record.seq:012d}"}),
            }
        },
    )
