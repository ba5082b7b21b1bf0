"""Rows with every field filled, so that a codec which loses one is caught."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from no_undo.domain.approval import ApprovalLink, token_sha256
from no_undo.domain.audit_chain import AuditEvent, Provenance
from no_undo.domain.corrections import Correction
from no_undo.domain.documents import DocumentRef
from no_undo.domain.ledger import Attempt, Evidence, LedgerEntry, LedgerState, Pause
from no_undo.domain.plan import Decision, DueKind, FieldAnswer, IssuedLink, Plan, Verdict, digest_of
from no_undo.domain.recipients import Recipient
from no_undo.domain.redaction import RedactionTarget, TargetType
from no_undo.domain.request import Ending, Request, Source, Stage
from no_undo.ports import Change, NotWithdrawn, Save, Unchanged

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
PROVENANCE = Provenance(code_version="1.2.3", config_digest="c" * 64)
DOCUMENT = DocumentRef(key="requests/r1/final.pdf", version_id="v7", sha256="d" * 64)
ALICE = Recipient(name="Alice", email="alice@example.com", order=1)
BOB = Recipient(name="Bob", email="bob@example.com", order=2, source="contacts")


def a_request(request_id: str = "r1", *, at: datetime = NOON) -> Request:
    return Request(
        request_id=request_id,
        tenant="acme",
        caller="arn:aws:iam::123456789012:user/carol",
        caller_email="carol@example.com",
        prompt="Send this to Alice and Bob for signature.",
        source=Source.UPLOAD,
        source_document=DOCUMENT,
        created_at=at,
        requested_recipients=(ALICE, BOB),
        requested_approvers=("dave@example.com",),
        requested_quorum=1,
        requested_redaction=(RedactionTarget(TargetType.LITERAL, "555-0101", "phone"),),
        stage=Stage.REDACT,
        title="Freight invoice",
        recipients=(ALICE, BOB),
        approvers=("dave@example.com",),
        quorum=1,
        deadline_hours=48,
        artefacts={"assembled": DOCUMENT, "fields": DOCUMENT},
        pages=(DOCUMENT,),
        corrections=(Correction("due_date", "dave@example.com", at, None, "2026-09-30"),),
        abandoned_drafts=("41",),
        ending=Ending(stage="Verify Redaction", code="redaction_unproven", reason="One survived."),
        check_at=at + timedelta(minutes=5),
    )


def a_plan(plan_id: str = "r1#1", *, due_at: datetime | None = NOON) -> Plan:
    request_id, _, round_number = plan_id.rpartition("#")
    plan = Plan(
        plan_id=plan_id,
        request_id=request_id,
        tenant="acme",
        requester="arn:aws:iam::123456789012:user/carol",
        requester_email="carol@example.com",
        round=int(round_number),
        action_kind="esign.send",
        title="Freight invoice",
        instruction="Sign, please.",
        document=DOCUMENT,
        recipients=(ALICE, BOB),
        target="42",
        fence_key="f" * 64,
        approvers=("dave@example.com", "erin@example.com"),
        quorum=2,
        created_at=NOON,
        expires_at=NOON + timedelta(hours=48, microseconds=1),
        decisions=(
            Decision(
                "dave@example.com",
                Verdict.APPROVE,
                NOON,
                "a" * 64,
                "b" * 64,
                "Looks good.",
                (FieldAnswer("due_date", None, "2026-09-30"), FieldAnswer("po_number", "7", None)),
            ),
        ),
        links=(IssuedLink("erin@example.com", "e" * 64), IssuedLink("d@example.com", "0", NOON)),
        due_kind=None if due_at is None else DueKind.EXPIRE,
        due_at=due_at,
    )
    return replace(plan, digest=digest_of(plan))


def an_entry(plan_id: str = "r1#1") -> LedgerEntry:
    return LedgerEntry(
        plan_id=plan_id,
        state=LedgerState.RELEASED,
        attempts=(
            Attempt("a1", 1, NOON, NOON + timedelta(minutes=3), LedgerState.RELEASED),
            Attempt("a2", 2, NOON, NOON + timedelta(minutes=9)),
        ),
        first_draft_at=NOON,
        refused=True,
        evidence=(Evidence(NOON, "system of record", "status DRAFT"),),
    )


def a_link(word: str = "t") -> ApprovalLink:
    return ApprovalLink(token_sha256(word), "r1#1", "r1", "dave@example.com", NOON)


def a_pause(*, paused: bool = True) -> Pause:
    return Pause(paused=paused, reason="restore from backup", actor="operator", at=NOON)


def a_change(
    *writes: Save | Unchanged | NotWithdrawn,
    kind: str = "request.submitted",
    chain_id: str = "r1",
    actor: str = "carol",
) -> Change:
    return Change(chain_id, AuditEvent(kind=kind, actor=actor, at=NOON), writes)
