"""The gate under any order of events: a model beside the real use cases (P1 to P5, P11)."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from no_undo.domain.errors import NoUndoError
from no_undo.domain.fence import Fence
from no_undo.domain.ledger import LedgerEntry, LedgerState
from no_undo.domain.plan import CLOSED_UNSENT, Plan, PlanState, approvals_for
from no_undo.lab.fake_esign import LANDS_WITHIN, Behaviour, SecondSend
from no_undo.lab.invariants import second_effects, violations
from no_undo.lab.life import live
from no_undo.lab.pipeline import ProcessDiedError
from no_undo.lab.world import APPROVERS, World
from no_undo.use_cases.close_request import Closing
from no_undo.use_cases.settle_plan import (
    Outcome,
    Statement,
    pause_begins,
    retry_plan,
    settle_plan,
    unpause_begins,
)
from tests.fakes.worlds import At, a_world, failing, proposed

OPERATOR = Statement("op", "an exercise", "looked at the vendor's mail log")
SAFE = [one for one in Behaviour if one is not Behaviour.LANDS_BEYOND]
"""Every behaviour under which one of the vendor facts F1 and F2 holds whatever the vendor does."""
REQUESTS = ("r1", "r2")


class GateMachine(RuleBasedStateMachine):
    """Two requests for one and the same effect; everybody acts in any order, and may die."""

    def __init__(self) -> None:
        super().__init__()
        self.at = At()
        self.world: World = a_world(watcher=self.at)
        self.closed: dict[str, PlanState] = {}
        self.executed: set[str] = set()

    @initialize(behaviour=st.sampled_from(SAFE), second_send=st.sampled_from(SecondSend))
    def begin_with_two_requests(self, behaviour: Behaviour, second_send: SecondSend) -> None:
        self.at = At()
        self.world = a_world(behaviour, second_send=second_send, watcher=self.at)
        for request_id in REQUESTS:
            proposed(self.world, request_id)

    @rule(request_id=st.sampled_from(REQUESTS), approver=st.sampled_from(APPROVERS))
    def approve(self, request_id: str, approver: str) -> None:
        token = self.world.tokens_mailed_to(approver)[REQUESTS.index(request_id)]
        self.world.decide(token)

    @rule(request_id=st.sampled_from(REQUESTS))
    def send(self, request_id: str) -> None:
        self.world.send(f"{request_id}#1")

    @rule(
        request_id=st.sampled_from(REQUESTS),
        call=st.sampled_from(
            [
                "store.commit plan.begun",
                "esign.send_draft",
                "store.commit attempt.answered",
                "store.commit plan.executed",
            ]
        ),
        after=st.booleans(),
    )
    def send_and_die(self, request_id: str, call: str, *, after: bool) -> None:
        hook = self.at.after if after else self.at.before
        hook(call, failing(ProcessDiedError()))
        with suppress(ProcessDiedError):
            self.world.send(f"{request_id}#1")
        self.at.forget()

    @rule()
    def sweep(self) -> None:
        self.world.sweep()

    @rule(minutes=st.sampled_from([1, 3, 31, 60]))
    def time_passes(self, minutes: int) -> None:
        self.world.clock.advance(timedelta(minutes=minutes))

    @rule(request_id=st.sampled_from(REQUESTS))
    def withdraw(self, request_id: str) -> None:
        with suppress(NoUndoError):  # too late is an answer
            self.world.withdraw(request_id)

    @rule(request_id=st.sampled_from(REQUESTS))
    def close(self, request_id: str) -> None:
        with suppress(NoUndoError):  # in doubt or sent is an answer
            self.world.close(request_id, Closing("expired", "Send Envelope"))

    @rule(request_id=st.sampled_from(REQUESTS))
    def retry(self, request_id: str) -> None:
        with suppress(NoUndoError):  # nothing to retry is an answer
            retry_plan(f"{request_id}#1", OPERATOR, self.world.gate, self.world.resumer)

    @precondition(lambda self: not self.world.gate.paused())
    @rule()
    def pause(self) -> None:
        pause_begins(OPERATOR, self.world.gate)

    @precondition(lambda self: self.world.gate.paused())
    @rule()
    def unpause(self) -> None:
        unpause_begins(OPERATOR, self.world.gate)

    @rule(request_id=st.sampled_from(REQUESTS))
    def settle_truthfully(self, request_id: str) -> None:
        plan = self.world.store.plan(f"{request_id}#1")
        assert plan is not None
        # An operator waits until nothing can land any more, and then looks at the truth.
        self.world.clock.advance(LANDS_WITHIN)
        self.world.esign.land()
        happened = any(one.envelope_id == plan.target for one in self.world.esign.effects)
        outcome = Outcome.DONE if happened else Outcome.NOT_DONE
        with suppress(NoUndoError):  # nothing in doubt is an answer
            settle_plan(
                plan.plan_id,
                outcome,
                OPERATOR,
                self.world.gate,
                self.world.action,
                self.world.resumer,
            )

    @invariant()
    def p2_the_effect_happens_at_most_once(self) -> None:
        assert second_effects(self.world) == []

    @invariant()
    def p1_every_call_had_a_stored_attempt(self) -> None:
        assert all(one.durable for one in self.world.action.promises)

    @invariant()
    def p3_executed_rests_on_evidence_and_is_never_left(self) -> None:
        for entry in self.world.store.rows(LedgerEntry):
            if entry.state is LedgerState.EXECUTED:
                self.executed.add(entry.plan_id)
                sources = {one.source for one in entry.evidence}
                assert sources & {"system of record", "operator"}
        now = {one.plan_id for one in self.world.store.rows(LedgerEntry)
               if one.state is LedgerState.EXECUTED}  # fmt: skip
        assert self.executed <= now

    @invariant()
    def p5_every_attempt_has_its_quorum(self) -> None:
        for entry in self.world.store.rows(LedgerEntry):
            plan = self.world.store.plan(entry.plan_id)
            assert plan is not None
            assert len(approvals_for(plan)) >= plan.quorum

    @invariant()
    def a_closed_plan_stays_closed_unless_evidence_says_that_it_was_sent(self) -> None:
        for plan in self.world.store.rows(Plan):
            if plan.plan_id in self.closed and plan.state is not self.closed[plan.plan_id]:
                assert plan.state is PlanState.EXECUTED
            if plan.state in CLOSED_UNSENT:
                self.closed[plan.plan_id] = plan.state

    @invariant()
    def plan_ledger_and_fence_agree(self) -> None:
        for plan in self.world.store.rows(Plan):
            entry = self.world.store.entry(plan.plan_id)
            if plan.state in (PlanState.EXECUTING, PlanState.EXECUTED, PlanState.RELEASED):
                assert entry is not None
                assert entry.state.value == plan.state.value
            if plan.state is PlanState.EXECUTING:
                assert self.world.store.fence(plan.fence_key).holder == plan.plan_id
        for fence in self.world.store.rows(Fence):
            if fence.holder:
                assert self.world.store.entry(fence.holder) is not None

    def teardown(self) -> None:
        """P11: whatever happened, time and sweeps bring everything to rest."""
        if self.world.store.plan("r1#1") is None:
            return
        if self.world.gate.paused():
            unpause_begins(OPERATOR, self.world.gate)
        self.world.clock.advance(LANDS_WITHIN)
        live(self.world, horizon=timedelta(hours=24))
        assert second_effects(self.world) == []
        assert violations(self.world) == []


TestGateMachine = GateMachine.TestCase
TestGateMachine.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
