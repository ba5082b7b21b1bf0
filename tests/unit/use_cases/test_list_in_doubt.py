"""What an operator is shown, and what the age alarm looks at."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from no_undo.domain.audit_chain import AuditEvent, Provenance
from no_undo.domain.documents import DocumentRef
from no_undo.domain.ledger import Attempt, Evidence, LedgerEntry, LedgerState, Pause
from no_undo.domain.plan import DueKind, Plan, PlanState
from no_undo.lab.fixed_clock import FixedClock
from no_undo.lab.memory_store import MemoryStateStore
from no_undo.lab.world import SETTINGS
from no_undo.ports import Change, Save
from no_undo.use_cases.gate import Gate, GateSettings
from no_undo.use_cases.list_in_doubt import LIMIT, Waiting, list_in_doubt, waiting
from tests.fakes.worlds import OPERATOR_DECIDES, a_world

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def store_with(*states: PlanState) -> MemoryStateStore:
    """Store one plan per state; plan n began n hours ago."""
    store = MemoryStateStore(Provenance("test", "test"))
    for hours, state in enumerate(states, start=1):
        began = NOW - timedelta(hours=hours)
        plan = Plan(
            plan_id=f"r{hours}#1",
            request_id=f"r{hours}",
            tenant="t",
            requester="caller",
            requester_email="",
            round=1,
            action_kind="esign.send",
            title="Invoice",
            instruction="send it",
            document=DocumentRef("k", "v", "0" * 64),
            recipients=(),
            target="1",
            fence_key=f"f{hours}",
            approvers=(),
            quorum=1,
            created_at=began,
            expires_at=NOW + timedelta(days=300),
            state=state,
            due_kind=DueKind.EXPIRE,
            due_at=NOW + timedelta(days=300),
        )
        attempt = Attempt(f"a{hours}", 1, began, began + timedelta(minutes=2))
        entry = LedgerEntry(
            plan.plan_id,
            LedgerState.RELEASED if state is PlanState.RELEASED else LedgerState.EXECUTING,
            (attempt,),
            evidence=(Evidence(began, "send answer", "no usable answer"),),
        )
        event = AuditEvent("plan.begun", "test", NOW)
        store.commit(Change(plan.request_id, event, (Save(plan), Save(entry))))
    return store


def test_what_is_in_doubt_is_listed_the_longest_first_with_its_last_evidence() -> None:
    store = store_with(PlanState.EXECUTING, PlanState.EXECUTED, PlanState.RELEASED)

    found = list_in_doubt(store, FixedClock(NOW)).plans

    assert [one.plan_id for one in found] == ["r3#1", "r1#1"]
    assert found[0].last_evidence == "send answer: no usable answer"


def gate_over(store: MemoryStateStore, settings: GateSettings = SETTINGS) -> Gate:
    return replace(a_world().gate, store=store, clock=FixedClock(NOW), settings=settings)


def test_the_age_alarm_sees_the_oldest_open_attempt_and_no_released_one() -> None:
    store = store_with(PlanState.EXECUTING, PlanState.EXECUTING, PlanState.RELEASED)

    assert waiting(gate_over(store)).oldest_doubt == timedelta(hours=2)


def test_nothing_in_doubt_has_no_age() -> None:
    assert waiting(gate_over(store_with())) == Waiting(timedelta(0), 0, paused=False)


@pytest.mark.parametrize(("settings", "waits"), [(SETTINGS, 0), (OPERATOR_DECIDES, 2)])
def test_p11_released_plans_that_only_an_operator_lets_go_on_are_counted(
    settings: GateSettings, waits: int
) -> None:
    store = store_with(PlanState.RELEASED, PlanState.EXECUTING, PlanState.RELEASED)

    assert waiting(gate_over(store, settings)).on_operator == waits


def test_approved_plans_are_listed_only_while_begins_are_paused() -> None:
    store = store_with(PlanState.APPROVED, PlanState.AWAITING_APPROVAL)
    pause = Pause(paused=True, reason="drill", actor="op", at=NOW)

    before = list_in_doubt(store, FixedClock(NOW))
    store.commit(Change("#operations", AuditEvent("begins.paused", "op", NOW), (Save(pause),)))
    during = list_in_doubt(store, FixedClock(NOW))

    assert (before.plans, before.pause) == ((), None)
    assert [one.plan_id for one in during.plans] == ["r1#1"]
    assert during.pause is not None
    assert during.pause.reason == "drill"


def test_a_list_that_was_cut_says_so() -> None:
    whole = store_with(*[PlanState.EXECUTING] * (LIMIT - 1))
    cut = store_with(*[PlanState.EXECUTING] * LIMIT)

    assert list_in_doubt(whole, FixedClock(NOW)).complete
    assert not list_in_doubt(cut, FixedClock(NOW)).complete
