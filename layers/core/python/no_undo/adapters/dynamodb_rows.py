"""Rows as DynamoDB items: one table and key per row type, and the attributes of the sparse indexes.

Rules:
1. An attribute is stored under the field's own name; a field that is None is left out, so that a
   sparse index holds only the rows that belong in it.
2. Instants are stored in UTC with a fixed width, so that text order is time order.
3. Attributes that the row type does not know are ignored when read, and fields that an older item
   does not have take their defaults: items of every earlier version stay readable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, TypeVar

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from pydantic import TypeAdapter, ValidationError

from no_undo.domain.abandoned_drafts import due_at
from no_undo.domain.approval import ApprovalLink
from no_undo.domain.canonical_json import canonical_bytes
from no_undo.domain.errors import TamperedError
from no_undo.domain.fence import Fence
from no_undo.domain.ledger import LedgerEntry, Pause
from no_undo.domain.plan import IN_DOUBT, Plan, PlanState
from no_undo.domain.request import Request
from no_undo.ports import Row

R = TypeVar("R", Request, Plan, LedgerEntry, Fence, ApprovalLink, Pause)

_Loose = (
    datetime
    | StrEnum
    | str
    | int
    | None
    | Mapping[str, "_Loose"]
    | list["_Loose"]
    | tuple["_Loose", ...]
)
_Stored = str | int | None | Mapping[str, "_Stored"] | list["_Stored"]

Item = dict[str, Any]
"""Attribute name to typed value, for example `{"revision": {"N": "1"}}`."""

PAUSE_KEY: Final = "#pause"
"""The pause row lives in the ledger table; no plan id starts like this."""

DUE_PARTITION: Final = "DUE"
DOUBT_PARTITION: Final = "DOUBT"
OPEN_PARTITION: Final = "OPEN"
MAIL_PARTITION: Final = "MAIL"
DRAFTS_SENT: Final = "SENT"
DRAFTS_WATCHED: Final = "WATCHED"
DRAFTS_KEPT: Final = "KEPT"
"""Partitions of the drafts' index: seen sent, looked at, not looked at any more."""

_CODECS: Final[Mapping[type[Row], TypeAdapter[Any]]] = {
    row_type: TypeAdapter(row_type)
    for row_type in (Request, Plan, LedgerEntry, Fence, ApprovalLink, Pause)
}
_TO_ITEM: Final = TypeSerializer()
_FROM_ITEM: Final = TypeDeserializer()


@dataclass(frozen=True, slots=True)
class TableNames:
    """The names of the tables that hold state (design 7)."""

    requests: str
    plans: str
    ledger: str
    fences: str
    approvals: str
    audit: str
    audit_heads: str
    audit_outbox: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where one row lives: table, key attribute and key value."""

    table: str
    attribute: str
    key: str

    def item_key(self) -> Item:
        """Return the typed primary key."""
        return {self.attribute: {"S": self.key}}


def place_of(row_type: type[Row], key: str, tables: TableNames) -> Place:
    """Return where the row of this type and key lives; there is one pause row, whatever its key."""
    if row_type is Request:
        return Place(tables.requests, "request_id", key)
    if row_type is Plan:
        return Place(tables.plans, "plan_id", key)
    if row_type is LedgerEntry:
        return Place(tables.ledger, "plan_id", key)
    if row_type is Fence:
        return Place(tables.fences, "fence_key", key)
    if row_type is ApprovalLink:
        return Place(tables.approvals, "token_sha256", key)
    return Place(tables.ledger, "plan_id", PAUSE_KEY)


def key_of(row: Row) -> str:
    """Return the key of a row."""
    match row:
        case Request():
            return row.request_id
        case Plan() | LedgerEntry():
            return row.plan_id
        case Fence():
            return row.fence_key
        case ApprovalLink():
            return row.token_sha256
        case Pause():
            return PAUSE_KEY


def to_item(row: Row, place: Place) -> Item:
    """Return the item of a row as it is to be stored: with its key and its index attributes."""
    fields = _CODECS[type(row)].dump_python(row)
    return {**typed({**fields, **_index_attributes(row)}), **place.item_key()}


def schedule_of(row: Request | Plan) -> dict[str, Any]:
    """Return the attributes that put a row into its index, None for those to leave out (rule 1)."""
    match row:
        case Plan(due_kind=kind, due_at=at):
            due = None if kind is None or at is None else DUE_PARTITION
            return {"due_kind": kind, "due_at": at, "due_partition": due}
        case Request(check_at=at):
            opened = None if at is None else OPEN_PARTITION
            return {"check_at": at, "open_partition": opened, **_drafts_schedule(row)}


def _drafts_schedule(request: Request) -> dict[str, Any]:
    next_look = due_at(request)
    partition: str | None = None
    if next_look is not None:
        partition = DRAFTS_WATCHED
    elif request.abandoned_drafts:
        partition = DRAFTS_SENT if request.sent_drafts else DRAFTS_KEPT
    return {
        "drafts_since": request.drafts_since,
        "drafts_check_at": request.drafts_check_at,
        "drafts_partition": partition,
        "drafts_at": partition and (next_look or request.drafts_since or request.created_at),
    }


def mail_schedule_of(plan: Plan) -> dict[str, Any]:
    """Return the attributes that put a plan into the index of mail; only one that waits is in."""
    waits = plan.mail_at is not None and plan.state is PlanState.AWAITING_APPROVAL
    return {"mail_at": plan.mail_at, "mail_partition": MAIL_PARTITION if waits else None}


def from_item(row_type: type[R], item: Mapping[str, Any]) -> R:
    """Return the row that an item holds (rule 3).

    Raises:
        TamperedError: The item does not have the shape of such a row; names the fields.
    """
    try:
        row: R = _CODECS[row_type].validate_python(plain(item))
    except ValidationError as error:
        fields = sorted({".".join(map(str, one["loc"])) for one in error.errors()})
        raise TamperedError(
            f"a stored {row_type.__name__} row does not have its shape: {', '.join(fields)}"
        ) from None  # pydantic's text quotes the stored values
    return row


def typed(fields: Mapping[str, Any]) -> Item:
    """Return fields as DynamoDB attributes; those that are None are left out (rule 1)."""
    return {
        name: _TO_ITEM.serialize(_storable(value))
        for name, value in fields.items()
        if value is not None
    }


def plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return a DynamoDB item as plain values; whole numbers are integers."""
    return {name: _whole(_FROM_ITEM.deserialize(value)) for name, value in item.items()}


def instant(at: datetime) -> str:
    """Return an instant as 32 characters of UTC ISO 8601 with microseconds (rule 2)."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def caller_partition(tenant: str, caller: str) -> str:
    """Return the partition of one caller's requests; no two callers share one."""
    return canonical_bytes([tenant, caller]).decode("utf-8")


def _index_attributes(row: Row) -> dict[str, Any]:
    match row:
        case Plan(state=state):
            doubt = DOUBT_PARTITION if state in IN_DOUBT else None
            return {"doubt_partition": doubt, **schedule_of(row), **mail_schedule_of(row)}
        case Request():
            return {"tenant_caller": caller_partition(row.tenant, row.caller), **schedule_of(row)}
        case _:
            return {}


def _storable(value: _Loose) -> _Stored:
    match value:
        case datetime():
            return instant(value)
        case StrEnum():
            return value.value
        case Mapping():
            return {key: _storable(one) for key, one in value.items() if one is not None}
        case list() | tuple():
            return [_storable(one) for one in value]
        case _:
            return value


def _whole(value: Decimal | _Stored) -> _Stored:
    match value:
        case Decimal():
            return int(value)
        case Mapping():
            return {key: _whole(one) for key, one in value.items()}
        case list():
            return [_whole(one) for one in value]
        case _:
            return value
