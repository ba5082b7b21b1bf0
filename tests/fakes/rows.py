"""Rows of the gate as a test wants them, valid unless told otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from no_undo.domain.documents import DocumentRef
from no_undo.domain.fence import Fence
from no_undo.domain.ledger import (
    BeginRules,
    Evidence,
    Holdings,
    LedgerEntry,
    Prepared,
    begin,
    release,
)
from no_undo.domain.plan import Decision, Plan, PlanState, Verdict, digest_of
from no_undo.domain.recipients import Recipient

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
LEASE = timedelta(seconds=150)
AFTER_LEASE = NOON + LEASE
DOCUMENT = DocumentRef("requests/r1/final.pdf", "1", "d" * 64)
DAVE, ERIN = "dave@example.com", "erin@example.com"
PREPARED = Prepared(taken_effect=False, document_sha256=DOCUMENT.sha256)
EVIDENCE = Evidence(NOON, "system of record", "status SENT")
FENCE = Fence("f" * 64)


def a_plan(plan_id: str = "r1#1", *, state: PlanState = PlanState.AWAITING_APPROVAL) -> Plan:
    request_id, _, number = plan_id.partition("#")
    plan = Plan(
        plan_id=plan_id,
        request_id=request_id,
        tenant="acme",
        requester="arn:aws:iam::123456789012:user/carol",
        requester_email="carol@example.com",
        round=int(number),
        action_kind="esign.send",
        title="Freight invoice",
        instruction="Please sign.",
        document=DOCUMENT,
        recipients=(Recipient("Alice Example", "alice@example.com", 1),),
        target="1001",
        fence_key=FENCE.fence_key,
        approvers=(DAVE, ERIN),
        quorum=2,
        created_at=NOON,
        expires_at=NOON + timedelta(hours=4),
        state=state,
    )
    return replace(plan, digest=digest_of(plan))


def a_decision(
    plan: Plan, approver: str = DAVE, verdict: Verdict = Verdict.APPROVE, *, at: datetime = NOON
) -> Decision:
    return Decision(approver, verdict, at, plan.digest, "c" * 64)


def an_approved_plan(plan_id: str = "r1#1", *, state: PlanState = PlanState.APPROVED) -> Plan:
    plan = a_plan(plan_id, state=state)
    return replace(plan, decisions=(a_decision(plan, DAVE), a_decision(plan, ERIN)))


def holdings(plan: Plan | None = None, entry: LedgerEntry | None = None) -> Holdings:
    return Holdings(plan or an_approved_plan(), entry, FENCE, None)


def rules(
    *,
    now: datetime = NOON,
    max_attempts: int = 3,
    retry_after_release: bool = True,
    counts: Callable[[Plan, str], bool] = lambda _plan, _approver: True,
) -> BeginRules:
    return BeginRules(now, max_attempts, retry_after_release, LEASE, counts)


def begun(attempt_id: str = "a1") -> Holdings:
    """Return the rows of a plan with its first attempt open."""
    return again(holdings(), attempt_id)


def again(before: Holdings, attempt_id: str) -> Holdings:
    """Return the rows after one more begin."""
    rows = begin(before, attempt_id, rules())
    return Holdings(rows.plan, rows.entry, rows.fence, None)


def released(before: Holdings) -> Holdings:
    """Return the rows after the open attempt was released."""
    assert before.entry is not None
    rows = release(before.plan, before.entry, before.fence, replace(EVIDENCE, says="status DRAFT"))
    return Holdings(rows.plan, rows.entry, rows.fence, None)


def entry_of(rows: Holdings) -> LedgerEntry:
    assert rows.entry is not None
    return rows.entry
