"""The state store in memory: the same promises as the one on DynamoDB, for one process."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime
from threading import RLock
from typing import TypeVar

from no_undo.domain.abandoned_drafts import due_at
from no_undo.domain.approval import ApprovalLink
from no_undo.domain.audit_chain import AuditEvent, AuditRecord, ChainHead, Provenance, next_record
from no_undo.domain.errors import StaleError
from no_undo.domain.fence import Fence
from no_undo.domain.ledger import LedgerEntry, Pause
from no_undo.domain.link_opens import MAX_RECORDED_OPENS, opened, opens_chain_of
from no_undo.domain.plan import IN_DOUBT, Plan, PlanState
from no_undo.domain.request import Request
from no_undo.ports import Change, NotWithdrawn, Row, Save, Unchanged

R = TypeVar("R", Request, Plan, LedgerEntry, Fence, ApprovalLink, Pause)

_Key = tuple[type[Row], str]


class MemoryStateStore:
    """Implements `ports.StateStore`; safe to share between threads."""

    def __init__(self, provenance: Provenance) -> None:
        """Start empty.

        Args:
            provenance: Code version and configuration digest, written into every record.
        """
        self._provenance = provenance
        self._rows: dict[_Key, Row] = {}
        self._chains: dict[str, list[AuditRecord]] = {}
        self._opens: Counter[tuple[str, str]] = Counter()
        self._lock = RLock()

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
        return self._row(Pause, "")

    def commit(self, change: Change) -> AuditRecord:
        """Write a transition and its audit record, or nothing.

        Raises:
            StaleError: A row or condition is not as it was read; nothing was written.
            ValueError: The change saves one row twice.
        """
        saved = [one.row for one in change.writes if isinstance(one, Save)]
        if len({_key_of(row) for row in saved}) < len(saved):
            raise ValueError("a change saves one row twice")
        with self._lock:
            for write in change.writes:
                self._check(write)
            record = self._append(change.chain_id, change.event)
            for row in saved:
                self._rows[_key_of(row)] = replace(row, revision=row.revision + 1)
        return record

    def reschedule(self, row: Request | Plan) -> None:
        """Store only when a row is looked at next; a row that moved on meanwhile is left alone."""
        key = _key_of(row)
        with self._lock:
            stored = self._rows.get(key)
            if stored is None or stored.revision != row.revision:
                return
            self._rows[key] = _rescheduled(stored, row)

    def reschedule_mail(self, plan: Plan) -> None:
        """Store only when a plan's mail is looked at next; one that moved on is left alone."""
        key = _key_of(plan)
        with self._lock:
            stored = self._rows.get(key)
            if isinstance(stored, Plan) and stored.revision == plan.revision:
                self._rows[key] = replace(stored, mail_at=plan.mail_at)

    def plans_to_mail(self, now: datetime, *, limit: int) -> tuple[str, ...]:
        """Return ids of waiting plans whose mail is due, soonest first."""
        due = [
            (plan.mail_at, plan.plan_id)
            for plan in self._all(Plan)
            if plan.state is PlanState.AWAITING_APPROVAL
            and plan.mail_at is not None
            and plan.mail_at <= now
        ]
        return tuple(plan_id for _, plan_id in sorted(due)[:limit])

    def due_plans(self, now: datetime, *, limit: int) -> tuple[str, ...]:
        """Return ids of plans due at or before now, soonest first."""
        due = [
            (plan.due_at, plan.plan_id)
            for plan in self._all(Plan)
            if plan.due_kind is not None and plan.due_at is not None and plan.due_at <= now
        ]
        return tuple(plan_id for _, plan_id in sorted(due)[:limit])

    def plans_in_doubt(self, *, limit: int) -> tuple[str, ...]:
        """Return ids of plans that are EXECUTING or RELEASED."""
        found = (plan.plan_id for plan in self._all(Plan) if plan.state in IN_DOUBT)
        return tuple(sorted(found)[:limit])

    def open_requests(self, now: datetime, *, limit: int) -> tuple[str, ...]:
        """Return ids of requests whose driver is to be checked, soonest first."""
        due = [
            (request.check_at, request.request_id)
            for request in self._all(Request)
            if request.check_at is not None and request.check_at <= now
        ]
        return tuple(request_id for _, request_id in sorted(due)[:limit])

    def due_drafts(self, now: datetime, *, limit: int) -> tuple[str, ...]:
        """Return ids of requests whose abandoned drafts are to be looked at, soonest first."""
        due = [
            (at, request.request_id)
            for request in self._all(Request)
            if (at := due_at(request)) is not None and at <= now
        ]
        return tuple(request_id for _, request_id in sorted(due)[:limit])

    def requests_with_drafts(self, *, limit: int) -> tuple[str, ...]:
        """Return ids of requests with abandoned drafts, those with none but sent ones first."""
        found = [one for one in self._all(Request) if one.abandoned_drafts]
        found.sort(key=lambda one: not (one.sent_drafts and due_at(one) is None))
        return tuple(one.request_id for one in found[:limit])

    def requests_of(self, tenant: str, caller: str, *, limit: int) -> tuple[Request, ...]:
        """Return a caller's own requests, newest first."""
        own = [one for one in self._all(Request) if (one.tenant, one.caller) == (tenant, caller)]
        return tuple(sorted(own, key=lambda one: one.created_at, reverse=True)[:limit])

    def chain(self, chain_id: str) -> tuple[AuditRecord, ...]:
        """Return all records of an audit chain, in order."""
        with self._lock:
            return tuple(self._chains.get(chain_id, ()))

    def record_open(self, request_id: str, approver: str, at: datetime) -> None:
        """Record that a link was opened, on the chain of opens; beyond 20 only counted."""
        with self._lock:
            self._opens[request_id, approver] += 1
            if self._opens[request_id, approver] <= MAX_RECORDED_OPENS:
                self._append(opens_chain_of(request_id), opened(approver, at))

    def plant(self, row: Row) -> None:
        """Put a row past every rule, as somebody with access to the tables could."""
        with self._lock:
            self._rows[_key_of(row)] = row

    def _append(self, chain_id: str, event: AuditEvent) -> AuditRecord:
        chain = self._chains.get(chain_id, [])
        head = ChainHead(chain_id, chain[-1].seq, chain[-1].hash) if chain else ChainHead(chain_id)
        record = next_record(head, event, self._provenance)
        self._chains[chain_id] = [*chain, record]
        return record

    def _check(self, write: Save | Unchanged | NotWithdrawn) -> None:
        match write:
            case Save(row):
                self._check_revision(_key_of(row), row.revision)
            case Unchanged(row_type, key, revision):
                self._check_revision(_key(row_type, key), revision)
            case NotWithdrawn(request_id):
                request = self._row(Request, request_id)
                if request is None or request.withdrawn:
                    raise _stale((Request, request_id))

    def _check_revision(self, key: _Key, revision: int) -> None:
        row = self._rows.get(key)
        if (0 if row is None else row.revision) != revision:
            raise _stale(key)

    def _row(self, row_type: type[R], key: str) -> R | None:
        with self._lock:
            row = self._rows.get(_key(row_type, key))
        return row if isinstance(row, row_type) else None

    def _all(self, row_type: type[R]) -> list[R]:
        with self._lock:
            return [row for row in self._rows.values() if isinstance(row, row_type)]


def _key(row_type: type[Row], key: str) -> _Key:
    return (row_type, "#pause" if row_type is Pause else key)  # there is one pause row


def _key_of(row: Row) -> _Key:
    match row:
        case Request():
            return (Request, row.request_id)
        case Plan() | LedgerEntry():
            return (type(row), row.plan_id)
        case Fence():
            return (Fence, row.fence_key)
        case ApprovalLink():
            return (ApprovalLink, row.token_sha256)
        case Pause():
            return _key(Pause, "")


def _rescheduled(stored: Row, row: Request | Plan) -> Row:
    match row, stored:
        case Plan(), Plan():
            return replace(stored, due_kind=row.due_kind, due_at=row.due_at)
        case Request(), Request():
            return replace(
                stored,
                check_at=row.check_at,
                drafts_since=row.drafts_since,
                drafts_check_at=row.drafts_check_at,
            )
        case _:
            return stored


def _stale(key: _Key) -> StaleError:
    return StaleError(
        f"the {key[0].__name__} row {key[1]} is not as it was read; read again and decide again"
    )
