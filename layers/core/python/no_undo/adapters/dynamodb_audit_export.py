"""The audit's outbox and the head of its export on DynamoDB.

Rules:
1. Only the export deletes from the outbox, and it deletes a record only after it has exported it.
   So the record before one that is waiting was exported exactly when it is not in the outbox.
2. A scan is no snapshot: it may see a record and miss the one before it. Rule 1 tells, by one
   consistent read per chain, and what was missed is put in its place.
3. Head and claim are one item; every change of it is conditional on the revision that was read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from no_undo.adapters.botocore_errors import AWS_ERRORS, error_code, repeatable, translated
from no_undo.adapters.dynamodb_rows import plain, typed
from no_undo.domain.audit_chain import AuditRecord
from no_undo.domain.audit_export import ExportHead, parse_manifest
from no_undo.domain.errors import StaleError, TamperedError, TransientError
from no_undo.domain.merkle import Frontier
from no_undo.domain.receipt import Anchor
from no_undo.ports import Claim, ExportState

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_HEAD: Final = "#head"
"""Key of the one item of rule 3; no request id starts like this."""
_CONDITION_FAILED: Final = "ConditionalCheckFailedException"
_MAX_BATCH_READ: Final = 100
_MAX_READS: Final = 8


@dataclass(frozen=True, slots=True)
class ExportTables:
    """The tables of the export."""

    audit: str
    outbox: str
    export: str


class DynamoDbAuditOutbox:
    """Implements `ports.AuditOutbox`."""

    def __init__(self, client: DynamoDBClient, tables: ExportTables) -> None:
        """Take the client and the names of the tables."""
        self._client = client
        self._tables = tables

    def state(self) -> ExportState:
        """Return how far the export has come.

        Raises:
            TamperedError: The stored item is not one that this class wrote.
            TransientError: It could not be read this time.
        """
        item = self._get(self._tables.export, "export_id", _HEAD)
        return ExportState() if item is None else _state(item)

    def pending(self, *, limit: int) -> tuple[AuditRecord, ...]:
        """Return records that are not exported, each chain's without a gap and in order (rule 2).

        Raises:
            TamperedError: A stored line does not have the hash that its transaction noted.
            TransientError: They could not be read this time.
        """
        seen: dict[tuple[str, int], str] = {}
        for item in islice(self._scan(), limit):
            seen[item["chain_id"], item["seq"]] = item["hash"]
        for chain_id, seq in sorted(seen):
            self._add_missed(chain_id, seq - 1, seen)
        places = sorted(seen)
        lines = self._lines(places)
        return tuple(_checked(place, seen[place], lines.get(place)) for place in places)

    def claim(self, state: ExportState, claim: Claim) -> ExportState:
        """Claim the next checkpoint.

        Raises:
            StaleError: Another run claimed or finished one meanwhile.
            TransientError: It is not known whether it was claimed; the next run will see.
        """
        claimed = ExportState(state.revision + 1, state.head, claim)
        self._save(state, claimed)
        return claimed

    def advance(self, state: ExportState, head: ExportHead) -> None:
        """Note that the claimed checkpoint is written completely.

        Raises:
            StaleError: Another run noted it already.
            TransientError: It is not known whether it was noted; the next run will see.
        """
        self._save(state, ExportState(state.revision + 1, head))

    def keep_anchors(self, anchors: Sequence[Anchor]) -> None:
        """Keep the proofs that receipts are made of; an older one never replaces a newer one.

        Raises:
            TransientError: Not all of them were kept.
        """
        for one in anchors:
            with suppress(StaleError):
                self._put(
                    {
                        "Item": _anchor_item(one),
                        "ConditionExpression": "attribute_not_exists(export_id) OR #seq <= :seq",
                        "ExpressionAttributeNames": {"#seq": "seq"},
                        "ExpressionAttributeValues": typed({":seq": one.seq}),
                    },
                    "keeping an anchor",
                )

    def anchor(self, request_id: str) -> Anchor | None:
        """Return the newest anchor of a request's ending, or None before it is exported.

        Raises:
            TransientError: It could not be read this time.
        """
        item = self._get(self._tables.export, "export_id", request_id)
        return None if item is None else _anchor(request_id, item)

    def clear(self, records: Iterable[tuple[str, int]]) -> None:
        """Forget that these records are to be exported; again is no error.

        Raises:
            TransientError: Some of them may still be there.
        """
        for chain_id, seq in records:
            with repeatable("clearing the outbox"):
                self._client.delete_item(
                    TableName=self._tables.outbox,
                    Key={"chain_seq": {"S": _outbox_key(chain_id, seq)}},
                )

    def _scan(self) -> Iterator[dict[str, Any]]:
        position: dict[str, Any] = {}
        while True:
            with repeatable("reading the outbox"):
                page = self._client.scan(
                    TableName=self._tables.outbox, ConsistentRead=True, **position
                )
            yield from map(plain, page["Items"])
            if "LastEvaluatedKey" not in page:
                return
            position = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def _add_missed(self, chain_id: str, seq: int, seen: dict[tuple[str, int], str]) -> None:
        while seq > 0 and (chain_id, seq) not in seen:
            item = self._get(self._tables.outbox, "chain_seq", _outbox_key(chain_id, seq))
            if item is None:
                return
            seen[chain_id, seq] = item["hash"]
            seq -= 1

    def _lines(self, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
        found: dict[tuple[str, int], str] = {}
        for start in range(0, len(places), _MAX_BATCH_READ):
            some = places[start : start + _MAX_BATCH_READ]
            keys: Any = [typed({"chain_id": chain_id, "seq": seq}) for chain_id, seq in some]
            for item in self._read_all(keys):
                found[item["chain_id"], item["seq"]] = item["line"]
        return found

    def _read_all(self, keys: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - SDK shape
        request: Any = {self._tables.audit: {"Keys": keys, "ConsistentRead": True}}
        for _ in range(_MAX_READS):
            with repeatable("reading audit records"):
                answer = self._client.batch_get_item(RequestItems=request)
            yield from map(plain, answer["Responses"].get(self._tables.audit, ()))
            request = answer.get("UnprocessedKeys", {})
            if not request:
                return
        raise TransientError("the audit table is throttled; the next run goes on")

    def _get(self, table: str, attribute: str, key: str) -> dict[str, Any] | None:
        with repeatable("reading the export's tables"):
            answer = self._client.get_item(
                TableName=table, Key={attribute: {"S": key}}, ConsistentRead=True
            )
        item = answer.get("Item")
        return None if item is None else plain(item)

    def _save(self, before: ExportState, after: ExportState) -> None:
        condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(export_id)"}
        if before.revision:
            condition = {
                "ConditionExpression": "revision = :revision",
                "ExpressionAttributeValues": typed({":revision": before.revision}),
            }
        self._put({"Item": _item(after), **condition}, "moving the export's head")

    def _put(self, request: dict[str, Any], step: str) -> None:
        try:
            self._client.put_item(TableName=self._tables.export, **request)
        except ClientError as error:
            if error_code(error) == _CONDITION_FAILED:
                raise StaleError(f"{step}: another run was faster") from error
            raise translated(error, step, repeatable=True) from error
        except AWS_ERRORS as error:
            raise translated(error, step, repeatable=True) from error


def _outbox_key(chain_id: str, seq: int) -> str:
    return f"{chain_id}#{seq:012d}"


def _checked(place: tuple[str, int], noted: str, line: str | None) -> AuditRecord:
    chain_id, seq = place
    if line is None or hashlib.sha256(line.encode()).hexdigest() != noted:
        raise TamperedError(
            f"record {seq} of chain {chain_id} is missing or was changed before its export"
        )
    return AuditRecord(chain_id, seq, line, noted)


def _item(state: ExportState) -> dict[str, Any]:
    head, claim = state.head, state.claim
    more: dict[str, Any] = {}
    if claim is not None:
        more = {"manifest": claim.manifest.to_bytes(), "segments": dict(claim.segments)}
    return typed(
        {
            "export_id": _HEAD,
            "revision": state.revision,
            "number": head.number,
            "size": head.frontier.size,
            "frontier": list(head.frontier.hashes),
            "previous": head.previous,
            **more,
        }
    )


def _state(item: dict[str, Any]) -> ExportState:
    try:
        frontier = Frontier(item["size"], tuple(bytes(one) for one in item["frontier"]))
        head = ExportHead(item["number"], frontier, item["previous"])
        claim = None
        if "manifest" in item:
            segments = {name: bytes(content) for name, content in item["segments"].items()}
            claim = Claim(parse_manifest(bytes(item["manifest"])), segments)
        return ExportState(item["revision"], head, claim)
    except (KeyError, TypeError, ValueError) as error:
        raise TamperedError("the stored head of the export does not have its shape") from error


def _anchor_item(one: Anchor) -> dict[str, Any]:
    return typed(
        {
            "export_id": one.request_id,
            "seq": one.seq,
            "index": one.index,
            "proof": list(one.proof),
            "note": one.note,
        }
    )


def _anchor(request_id: str, item: dict[str, Any]) -> Anchor:
    return Anchor(
        request_id=request_id,
        seq=item["seq"],
        index=item["index"],
        proof=tuple(bytes(one) for one in item["proof"]),
        note=bytes(item["note"]),
    )
