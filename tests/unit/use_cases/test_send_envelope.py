"""The send: begin, call once, read back, confirm (design 8.2 to 8.5 and 8.9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from no_undo.domain.approver_policy import ApproverPolicy
from no_undo.domain.audit_chain import AuditEvent
from no_undo.domain.envelope import EnvelopeRecipient, EnvelopeStatus
from no_undo.domain.errors import (
    InDoubtError,
    StaleError,
    TransientError,
    VendorContractError,
    VendorRefusedError,
)
from no_undo.domain.fence import Fence
from no_undo.domain.ledger import LedgerState
from no_undo.domain.plan import Decision, DueKind, PlanState, Verdict, digest_of
from no_undo.lab.fake_esign import Behaviour
from no_undo.lab.pipeline import ProcessDiedError
from no_undo.lab.world import CALLER, POLICY, TENANT, World
from no_undo.ports import Change, Save
from no_undo.use_cases.send_envelope import SendOutcome, SendResult, send_envelope
from no_undo.use_cases.settle_plan import (
    Statement,
    pause_begins,
    retry_plan,
    unpause_begins,
)
from tests.fakes.worlds import (
    OPERATOR_DECIDES,
    At,
    a_world,
    approved,
    change_plan,
    details,
    entry_of,
    failing,
    in_doubt,
    kinds,
    plan_of,
    proposed,
    released,
    request_of,
)

EXECUTED = SendResult(SendOutcome.EXECUTED)
STATEMENT = Statement("op", "looked at the vendor's website", "no mail went out")


def test_a_normal_send_ends_executed_with_evidence() -> None:
    world = a_world()
    plan_id = approved(world)

    result = world.send(plan_id)

    assert result == EXECUTED
    assert [one.call for one in world.esign.effects] == [1]
    assert plan_of(world).state is PlanState.EXECUTED
    assert entry_of(world).evidence[-1].source == "system of record"
    assert kinds(world)[-3:] == ["plan.begun", "attempt.answered", "plan.executed"]


def test_p7_what_could_not_be_read_back_is_on_the_chain_with_the_begin() -> None:
    world = a_world()
    plan_id = approved(world)
    world.esign.change("1001", document_count=None)

    world.send(plan_id)

    (begun,) = details(world, "plan.begun")
    assert begun["notReadBack"] == ["document bytes", "document count"]


def test_p1_the_entry_of_this_attempt_is_stored_when_the_call_leaves() -> None:
    world = a_world()

    world.send(approved(world))

    assert [one.durable for one in world.action.promises] == [True]
    assert world.action.promises[0].attempt_id == entry_of(world).attempt.attempt_id


@pytest.mark.parametrize("error", [TransientError("throttled"), StaleError("moved")])
def test_p1_nothing_is_sent_when_the_entry_cannot_be_stored(error: Exception) -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    for nth in range(1, 5):
        at.before("store.commit plan.begun", failing(error), nth)

    result = world.send(plan_id)

    assert result.outcome is SendOutcome.UNSETTLED
    assert world.esign.sends == []
    assert world.store.entry(plan_id) is None


def test_p1_nothing_is_sent_when_the_process_dies_before_the_write() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    at.before("store.commit plan.begun", failing(ProcessDiedError()))

    with pytest.raises(ProcessDiedError):
        world.send(plan_id)

    assert world.esign.sends == []


def test_a_begin_whose_answer_was_lost_recognises_its_own_write_and_sends_once() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    at.after("store.commit plan.begun", failing(InDoubtError("the answer was lost")))

    result = world.send(plan_id)

    assert result == EXECUTED
    assert len(world.esign.sends) == 1
    assert len(entry_of(world).attempts) == 1


def test_a_begin_reported_as_failed_although_it_was_stored_recognises_its_own_write() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    # What an SDK's own retry does: the second try finds the first one's row in its way.
    at.after("store.commit plan.begun", failing(StaleError("a condition failed")))

    assert world.send(plan_id) == EXECUTED
    assert len(world.esign.sends) == 1


def test_p2_another_senders_entry_is_not_taken_for_our_own() -> None:
    at = At()
    world = a_world(Behaviour.REQUEST_LOST, watcher=at)
    plan_id = approved(world)
    at.before("store.commit plan.begun", lambda: world.send(plan_id))

    result = world.send(plan_id)

    assert result == SendResult(SendOutcome.UNSETTLED, "already_executing")
    assert len(world.esign.sends) == 1


def test_p2_a_second_invocation_that_finds_executing_does_not_call() -> None:
    world = a_world(Behaviour.REQUEST_LOST)
    plan_id = approved(world)
    world.send(plan_id)

    again = world.send(plan_id)

    assert again == SendResult(SendOutcome.UNSETTLED, "already_executing")
    assert len(world.esign.sends) == 1
    assert details(world, "plan.begin_refused") == [{"code": "already_executing"}]


def test_p2_an_invocation_after_the_effect_reports_it_and_does_not_call() -> None:
    world = a_world()
    plan_id = approved(world)
    world.send(plan_id)

    assert world.send(plan_id) == EXECUTED
    assert len(world.esign.sends) == 1


def test_too_little_time_refuses_before_anything_is_written() -> None:
    world = a_world()
    plan_id = approved(world)
    budget = world.settings.call_budget.total_seconds()

    result = send_envelope(plan_id, world.gate, world.action, lambda: budget - 0.001)

    assert result == SendResult(SendOutcome.UNSETTLED, "too_little_time")
    assert world.store.entry(plan_id) is None
    assert world.esign.sends == []


def test_too_little_time_after_the_write_releases_the_own_attempt_at_once() -> None:
    world = a_world()
    plan_id = approved(world)
    times = iter([100.0, 1.0])

    result = send_envelope(plan_id, world.gate, world.action, lambda: next(times))

    assert result == SendResult(SendOutcome.UNSETTLED, "too_little_time")
    assert world.esign.sends == []
    assert entry_of(world).state is LedgerState.RELEASED
    assert plan_of(world).state is PlanState.RELEASED


def test_a_call_that_certainly_never_left_releases_the_own_attempt_at_once() -> None:
    world = a_world(Behaviour.NOT_SENT)
    plan_id = approved(world)

    result = world.send(plan_id)

    assert result == SendResult(SendOutcome.UNSETTLED, "nothing_sent")
    assert entry_of(world).state is LedgerState.RELEASED
    assert entry_of(world).evidence[-1].source == "sender"
    assert world.send(plan_id) == EXECUTED


@pytest.mark.parametrize(
    "error", [TransientError("throttled"), InDoubtError("the answer was lost")]
)
def test_p11_a_release_that_cannot_be_stored_is_left_to_the_sweep(error: Exception) -> None:
    at = At()
    world = a_world(Behaviour.NOT_SENT, watcher=at)
    plan_id = approved(world)
    at.before("store.commit plan.released", failing(error))

    result = world.send(plan_id)

    assert result.outcome is SendOutcome.UNSETTLED
    assert entry_of(world).state is LedgerState.EXECUTING
    assert plan_of(world).due_kind is DueKind.SETTLE


@pytest.mark.parametrize(
    "behaviour", [Behaviour.REQUEST_LOST, Behaviour.LANDS_BEYOND, Behaviour.HTML]
)
def test_p4_a_send_without_a_usable_answer_stays_executing(behaviour: Behaviour) -> None:
    world = a_world(behaviour)
    plan_id = approved(world)

    result = world.send(plan_id)

    assert result == SendResult(SendOutcome.UNSETTLED, "in_doubt")
    assert entry_of(world).state is LedgerState.EXECUTING
    assert plan_of(world).due_kind is DueKind.SETTLE
    assert plan_of(world).due_at == entry_of(world).attempt.lease_expires_at


def test_p3_a_claimed_success_is_no_evidence() -> None:
    world = a_world(Behaviour.CLAIMED)
    plan_id = approved(world)

    result = world.send(plan_id)

    assert result.outcome is SendOutcome.UNSETTLED
    assert entry_of(world).state is LedgerState.EXECUTING
    assert details(world, "attempt.answered")[0]["answer"] == "ACCEPTED"


def test_p3_a_lost_reply_is_confirmed_by_the_system_of_record() -> None:
    world = a_world(Behaviour.REPLY_LOST)

    assert world.send(approved(world)) == EXECUTED


def test_p4_a_status_nobody_knows_confirms_nothing() -> None:
    world = a_world(Behaviour.UNKNOWN_STATUS)

    assert world.send(approved(world)).outcome is SendOutcome.UNSETTLED


def test_a_refusal_is_kept_as_evidence_and_marks_the_attempt() -> None:
    world = a_world(Behaviour.REFUSED)
    plan_id = approved(world)

    result = world.send(plan_id)

    assert result.outcome is SendOutcome.UNSETTLED
    assert entry_of(world).refused
    assert entry_of(world).evidence[-1].says == "REFUSED"


def test_an_error_that_no_send_may_end_in_is_in_doubt() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    at.before("esign.send_draft", failing(TransientError("a mapping mistake")))

    result = world.send(plan_id)

    assert result == SendResult(SendOutcome.UNSETTLED, "in_doubt")
    assert entry_of(world).state is LedgerState.EXECUTING


def test_evidence_that_cannot_be_kept_does_not_stop_the_confirmation() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    at.before("store.commit attempt.answered", failing())

    assert world.send(plan_id) == EXECUTED


def test_a_read_back_that_fails_is_asked_again() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    at.before("esign.read_envelope", failing(), nth=2)  # the first is before the send

    assert world.send(plan_id) == EXECUTED


def test_a_confirmation_that_moved_is_decided_again() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    at.before("store.commit plan.executed", failing(StaleError("moved")))

    assert world.send(plan_id) == EXECUTED


def test_an_answer_that_moved_is_kept_at_the_next_try_and_given_up_after_some() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    at.before("store.commit attempt.answered", failing(StaleError("moved")))
    assert world.send(plan_id) == EXECUTED
    assert kinds(world).count("attempt.answered") == 1

    again = At()
    moving = a_world(watcher=again)
    plan_id = approved(moving)
    for nth in range(1, 5):
        again.before("store.commit attempt.answered", failing(StaleError("moved")), nth)
    assert moving.send(plan_id) == EXECUTED
    assert "attempt.answered" not in kinds(moving)


def test_a_confirmation_that_keeps_moving_is_left_to_the_sweep() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    for nth in range(1, 5):
        at.before("store.commit plan.executed", failing(StaleError("moved")), nth)

    assert world.send(plan_id) == SendResult(SendOutcome.UNSETTLED, "in_doubt")
    assert entry_of(world).state is LedgerState.EXECUTING


def test_a_sender_that_finds_its_effect_confirmed_by_the_sweep_agrees() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)

    def the_sweep_confirms() -> None:
        world.clock.advance(world.settings.lease)
        world.sweep()

    at.before("store.commit plan.executed", the_sweep_confirms)

    assert world.send(plan_id) == EXECUTED
    assert kinds(world).count("plan.executed") == 1


def test_a_sender_whose_effect_was_confirmed_meanwhile_has_nothing_to_write() -> None:
    at = At()
    world = a_world(Behaviour.REPLY_LOST, watcher=at)
    plan_id = approved(world)

    def the_sweep_confirms() -> None:
        world.clock.advance(world.settings.lease)
        world.sweep()

    at.before("store.commit attempt.answered", the_sweep_confirms)

    assert world.send(plan_id) == EXECUTED
    assert kinds(world)[-2:] == ["plan.executed", "attempt.answered"]


def test_a_late_effect_of_a_closed_plan_is_recorded_and_raises_an_alarm(
    caplog: pytest.LogCaptureFixture,
) -> None:
    at = At()
    world = a_world(Behaviour.LANDS_BEYOND, watcher=at)
    plan_id = approved(world)

    def the_plan_is_released_and_withdrawn_and_then_it_lands() -> None:
        world.clock.advance(world.settings.lease)
        world.sweep()
        world.clock.advance(world.settings.settle_time)
        world.sweep()
        world.withdraw("r1")
        world.clock.advance(timedelta(minutes=100))

    at.before("store.commit attempt.answered", the_plan_is_released_and_withdrawn_and_then_it_lands)

    assert world.send(plan_id) == EXECUTED
    assert plan_of(world).state is PlanState.EXECUTED
    assert "the effect of a closed plan has happened" in caplog.text


def test_a_release_that_moved_is_decided_again_and_one_that_is_taken_is_left() -> None:
    at = At()
    world = a_world(Behaviour.NOT_SENT, watcher=at)
    plan_id = approved(world)
    at.before("store.commit plan.released", failing(StaleError("moved")))
    world.send(plan_id)
    assert entry_of(world).state is LedgerState.RELEASED

    other = At()
    taken = a_world(Behaviour.NOT_SENT, watcher=other)
    plan_id = approved(taken)

    def the_sweep_releases() -> None:
        taken.clock.advance(taken.settings.lease)
        taken.sweep()
        taken.clock.advance(taken.settings.settle_time)
        taken.sweep()

    other.before("store.commit plan.released", the_sweep_releases)
    taken.send(plan_id)
    assert kinds(taken).count("plan.released") == 1

    third = At()
    moving = a_world(Behaviour.NOT_SENT, watcher=third)
    plan_id = approved(moving)
    for nth in range(1, 5):
        third.before("store.commit plan.released", failing(StaleError("moved")), nth)
    moving.send(plan_id)
    assert entry_of(moving).state is LedgerState.EXECUTING


def test_a_refusal_that_cannot_be_recorded_is_still_a_refusal() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    change_plan(world, title="Another title")
    at.before("store.commit plan.begin_refused", failing())

    assert world.send(plan_id) == SendResult(SendOutcome.REFUSED, "plan_changed")


def test_a_confirmation_whose_answer_was_lost_is_left_to_whoever_looks_next() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    at.after("store.commit plan.executed", failing(InDoubtError("the answer was lost")))

    assert world.send(plan_id).outcome is SendOutcome.UNSETTLED
    assert world.send(plan_id) == EXECUTED
    assert len(world.esign.sends) == 1


@pytest.mark.parametrize(
    "error", [TransientError("throttled"), VendorContractError("HTML"), VendorRefusedError("key")]
)
def test_a_draft_that_cannot_be_read_is_not_sent_and_decides_nothing(error: Exception) -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    at.before("esign.read_envelope", failing(error))

    assert world.send(plan_id).outcome is SendOutcome.UNSETTLED
    assert world.store.entry(plan_id) is None
    assert world.send(plan_id) == EXECUTED


# What was approved is what is sent (P7)


def _another_recipient(world: World) -> None:
    world.esign.change("1001", recipients=(EnvelopeRecipient("M", "mallory@example.com", 1),))


def _another_order(world: World) -> None:
    held = world.esign.truth("1001").recipients
    assert held is not None
    swapped = (replace(held[1], order=1), replace(held[0], order=2))
    world.esign.change("1001", recipients=swapped)


def _another_document(world: World) -> None:
    world.esign.change("1001", document_count=2)


def _another_name(world: World) -> None:
    world.esign.change("1001", name="Freight invoice [r9#1]")


def _cancelled(world: World) -> None:
    world.esign.change("1001", status=EnvelopeStatus.CANCELLED)


@pytest.mark.parametrize(
    "tamper", [_another_recipient, _another_order, _another_document, _another_name, _cancelled]
)
def test_p7_a_draft_that_differs_from_the_plan_is_not_sent(
    tamper: Callable[[World], None],
) -> None:
    world = a_world()
    plan_id = approved(world)
    tamper(world)

    result = world.send(plan_id)

    assert result == SendResult(SendOutcome.REFUSED, "read_back_differs")
    assert world.esign.sends == []
    assert world.store.entry(plan_id) is None


@pytest.mark.parametrize("fact", ["recipients", "document_count"])
def test_p7_what_the_vendor_does_not_show_cannot_differ(fact: str) -> None:
    world = a_world()
    plan_id = approved(world)
    world.esign.change("1001", **{fact: None})

    assert world.send(plan_id) == EXECUTED


def test_p7_a_stored_document_that_changed_is_not_sent() -> None:
    world = a_world()
    plan_id = approved(world)
    world.documents.replace_stored(plan_of(world).document, b"%PDF-1.7 other")

    assert world.send(plan_id) == SendResult(SendOutcome.REFUSED, "document_changed")
    assert world.esign.sends == []


def test_p7_a_stored_document_that_is_gone_is_not_sent() -> None:
    world = a_world()
    plan_id = approved(world)
    world.documents.forget(plan_of(world).document)

    assert world.send(plan_id) == SendResult(SendOutcome.REFUSED, "document_changed")


def test_p7_a_plan_edited_after_approval_is_not_sent() -> None:
    world = a_world()
    plan_id = approved(world)
    change_plan(world, title="Another title")

    assert world.send(plan_id) == SendResult(SendOutcome.REFUSED, "plan_changed")


# Who may (P5)


def test_p5_a_plan_short_of_its_quorum_is_not_sent() -> None:
    world = a_world()
    plan_id = proposed(world)
    world.decide(world.tokens_mailed_to("dave@example.com")[-1])

    assert world.send(plan_id) == SendResult(SendOutcome.REFUSED, "quorum_not_met")
    assert world.esign.sends == []


@pytest.mark.parametrize(
    "policy",
    [
        None,
        replace(POLICY, eligible=("dave@example.com",)),
        replace(POLICY, eligible=("@other.example",)),
    ],
)
def test_p5_an_approver_whom_the_policy_dropped_no_longer_counts(
    policy: ApproverPolicy | None,
) -> None:
    world = a_world()
    plan_id = approved(world)
    world.policies.by_tenant = {} if policy is None else {TENANT: policy}

    assert world.send(plan_id) == SendResult(SendOutcome.REFUSED, "quorum_not_met")
    assert world.esign.sends == []


def forge(world: World, plan_id: str, **fields: object) -> None:
    """Write an approval of everybody into the plan, as a function that writes plans could."""
    plan = replace(plan_of(world, plan_id), **fields)  # type: ignore[arg-type]  # by name
    plan = replace(plan, digest=digest_of(plan))
    now = world.clock.now()
    decisions = tuple(
        Decision(one, Verdict.APPROVE, now, plan.digest, "c" * 64) for one in plan.approvers
    )
    change_plan(
        world,
        plan_id,
        **{**fields, "digest": plan.digest, "decisions": decisions, "state": PlanState.APPROVED},
    )


def test_p12_an_approval_that_no_used_link_attests_is_none() -> None:
    """Whoever can write a plan's row, as withdrawing can, still cannot approve it."""
    world = a_world()
    plan_id = proposed(world)
    forge(world, plan_id)

    assert world.send(plan_id) == SendResult(SendOutcome.REFUSED, "quorum_not_met")
    assert world.esign.sends == []


def test_p12_real_approvals_do_not_carry_over_to_a_plan_that_was_rewritten() -> None:
    world = a_world()
    plan_id = approved(world)
    forge(world, plan_id, title="Another invoice")

    assert world.send(plan_id) == SendResult(SendOutcome.REFUSED, "quorum_not_met")
    assert world.esign.sends == []


def test_p12_links_of_another_plan_attest_nothing() -> None:
    world = a_world()
    other = approved(world, "r2", source=b"%PDF-1.7 other")
    plan_id = proposed(world)
    forge(world, plan_id, links=plan_of(world, other).links)

    assert world.send(plan_id) == SendResult(SendOutcome.REFUSED, "quorum_not_met")
    assert len(world.esign.sends) == 0


def test_p12_a_rewritten_requester_does_not_make_the_requester_an_approver() -> None:
    world = a_world()
    plan_id = approved(world)
    world.policies.by_tenant = {TENANT: replace(POLICY, callers={CALLER: "dave+x@example.com"})}
    change_plan(world, plan_id, requester_email="")

    assert world.send(plan_id) == SendResult(SendOutcome.REFUSED, "quorum_not_met")
    assert world.esign.sends == []


# The outside was there first


def test_p3_an_envelope_sent_outside_the_gate_is_an_incident_and_never_our_success() -> None:
    world = a_world()
    plan_id = approved(world)
    world.esign.send_by_hand("1001")

    result = world.send(plan_id)

    assert result == SendResult(SendOutcome.REFUSED, "sent_outside_gate")
    assert world.esign.sends == []
    assert plan_of(world).state is PlanState.ABANDONED
    assert world.store.entry(plan_id) is None
    assert kinds(world)[-1] == "plan.sent_outside_gate"


def test_p2_a_late_success_is_recorded_at_the_next_begin_without_a_call() -> None:
    world = a_world(Behaviour.LANDS_BEYOND)
    plan_id = released(world)
    world.clock.advance(timedelta(minutes=100))

    result = world.send(plan_id)

    assert result == EXECUTED
    assert len(world.esign.sends) == 1
    assert entry_of(world).state is LedgerState.EXECUTED
    assert details(world, "plan.executed")[0]["late"] is True


def test_p2_a_late_success_is_found_even_where_another_attempt_would_be_refused() -> None:
    world = a_world(Behaviour.LANDS_BEYOND, settings=OPERATOR_DECIDES)
    plan_id = released(world)
    world.clock.advance(timedelta(minutes=100))

    assert world.send(plan_id) == EXECUTED


def test_a_zombie_whose_lease_was_taken_still_records_its_success() -> None:
    at = At()
    world = a_world(Behaviour.LANDS_BEYOND, watcher=at)
    plan_id = approved(world)

    def the_sweep_releases_and_then_it_lands() -> None:
        world.clock.advance(world.settings.lease)
        world.sweep()
        world.clock.advance(world.settings.settle_time)
        world.sweep()
        assert entry_of(world).state is LedgerState.RELEASED
        world.clock.advance(timedelta(minutes=100))

    at.before("store.commit attempt.answered", the_sweep_releases_and_then_it_lands)

    result = world.send(plan_id)

    assert result == EXECUTED
    assert entry_of(world).state is LedgerState.EXECUTED
    assert details(world, "plan.executed")[0]["late"] is True
    assert "attempt.answered" in kinds(world)


def test_a_zombie_leaves_a_newer_attempt_alone() -> None:
    at = At()
    world = a_world(Behaviour.REQUEST_LOST, watcher=at)
    plan_id = approved(world)

    def a_newer_attempt_sends_meanwhile() -> None:
        world.clock.advance(world.settings.lease)
        world.sweep()
        world.clock.advance(world.settings.settle_time)
        world.sweep()
        at.before("store.commit plan.executed", failing(ProcessDiedError()))
        with pytest.raises(ProcessDiedError):
            world.send(plan_id)

    at.before("store.commit attempt.answered", a_newer_attempt_sends_meanwhile)

    result = world.send(plan_id)

    assert result == SendResult(SendOutcome.UNSETTLED, "in_doubt")
    assert entry_of(world).state is LedgerState.EXECUTING
    assert entry_of(world).attempt.number == 2
    assert len(world.esign.effects) == 1


# Again


def test_p2_attempts_are_bounded_and_then_a_person_decides() -> None:
    world = a_world(Behaviour.ALWAYS_LOST)
    plan_id = approved(world)
    for _ in range(world.settings.max_attempts):
        assert world.send(plan_id).code == "in_doubt"
        world.clock.set(entry_of(world).attempt.lease_expires_at)
        world.sweep()
        world.clock.advance(world.settings.settle_time)
        world.sweep()

    assert world.send(plan_id) == SendResult(SendOutcome.UNSETTLED, "attempts_exhausted")
    assert len(world.esign.sends) == world.settings.max_attempts

    retry_plan(plan_id, STATEMENT, world.gate, world.resumer)
    assert world.send(plan_id).code == "in_doubt"
    assert len(world.esign.sends) == world.settings.max_attempts + 1


def test_p2_where_only_a_person_may_retry_no_attempt_follows_another_by_itself() -> None:
    world = a_world(Behaviour.REQUEST_LOST, settings=OPERATOR_DECIDES)
    plan_id = released(world)

    assert world.send(plan_id) == SendResult(SendOutcome.UNSETTLED, "attempts_exhausted")
    assert len(world.esign.sends) == 1

    retry_plan(plan_id, STATEMENT, world.gate, world.resumer)
    assert world.send(plan_id) == EXECUTED


def test_a_refused_send_is_not_repeated_without_a_person() -> None:
    world = a_world(Behaviour.REFUSED)
    plan_id = released(world)

    assert world.send(plan_id) == SendResult(SendOutcome.UNSETTLED, "attempts_exhausted")

    retry_plan(plan_id, STATEMENT, world.gate, world.resumer)
    assert world.send(plan_id) == EXECUTED


def test_a_second_attempt_uses_the_same_envelope() -> None:
    world = a_world(Behaviour.REQUEST_LOST)
    plan_id = released(world)

    world.send(plan_id)

    assert world.esign.sends == ["1001", "1001"]


# Pause, expiry, fence


def test_a_pause_stops_every_begin_and_ends() -> None:
    world = a_world()
    plan_id = approved(world)

    pause_begins(STATEMENT, world.gate)
    paused = world.send(plan_id)
    unpause_begins(STATEMENT, world.gate)

    assert paused == SendResult(SendOutcome.UNSETTLED, "paused")
    assert world.send(plan_id) == EXECUTED
    assert len(world.esign.sends) == 1


def test_a_pause_between_looking_and_writing_stops_the_begin() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    at.before("store.commit plan.begun", lambda: pause_begins(STATEMENT, world.gate))

    assert world.send(plan_id) == SendResult(SendOutcome.UNSETTLED, "paused")
    assert world.esign.sends == []


def test_an_expired_plan_is_left_for_the_sweep_to_close() -> None:
    world = a_world()
    plan_id = approved(world)
    world.clock.set(plan_of(world).expires_at)

    assert world.send(plan_id) == SendResult(SendOutcome.UNSETTLED, "approval_expired")
    assert world.esign.sends == []

    world.sweep()
    assert plan_of(world).state is PlanState.EXPIRED


def test_a_plan_that_expires_while_its_draft_is_read_is_not_sent() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    expires_at = plan_of(world).expires_at
    at.after("esign.read_envelope", lambda: world.clock.set(expires_at))

    result = send_envelope(plan_id, world.gate, world.action, lambda: 100.0)

    assert result == SendResult(SendOutcome.UNSETTLED, "approval_expired")
    assert world.store.entry(plan_id) is None


def test_a_withdrawal_between_looking_and_writing_stops_the_begin() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    at.before("store.commit plan.begun", lambda: world.withdraw("r1"))

    assert world.send(plan_id) == SendResult(SendOutcome.REFUSED, "plan_closed")
    assert world.esign.sends == []


def test_the_mark_of_a_withdrawal_alone_stops_the_begin() -> None:
    world = a_world()
    plan_id = approved(world)
    marked = replace(request_of(world), withdrawn=True)
    event = AuditEvent("test.changed", "test", world.clock.now())
    world.store.commit(Change("r1", event, (Save(marked),)))

    assert world.send(plan_id).outcome is SendOutcome.UNSETTLED
    assert world.store.entry(plan_id) is None
    assert world.esign.sends == []


def test_p2_a_second_request_for_the_same_effect_is_refused_and_told_who_holds_it() -> None:
    world = a_world(Behaviour.REQUEST_LOST)
    first, second = approved(world, "r1"), approved(world, "r2")
    world.send(first)

    result = world.send(second)

    assert result == SendResult(SendOutcome.REFUSED, "fence_held")
    assert world.store.fence(plan_of(world, second).fence_key).holder == first
    assert world.esign.sends == ["1001"]


def test_p2_a_second_request_is_refused_for_good_after_the_first_was_sent() -> None:
    world = a_world()
    first, second = approved(world, "r1"), approved(world, "r2")
    world.send(first)

    assert world.send(second) == SendResult(SendOutcome.REFUSED, "fence_held")
    assert len(world.esign.effects) == 1


def test_a_declared_repeat_is_sent_once_more() -> None:
    world = a_world()
    world.send(approved(world, "r1"))

    result = world.send(approved(world, "r2", repeat_of="r1#1"))

    assert result == EXECUTED
    assert [one.envelope_id for one in world.esign.effects] == ["1001", "1002"]


def test_p2_two_declared_repeats_of_one_plan_do_not_both_go_out() -> None:
    world = a_world()
    world.send(approved(world, "r1"))
    second = approved(world, "r2", repeat_of="r1#1")
    third = approved(world, "r3", repeat_of="r1#1")

    assert world.send(second) == EXECUTED
    assert world.send(third) == SendResult(SendOutcome.REFUSED, "fence_held")
    assert len(world.esign.effects) == 2


def test_another_document_is_another_effect() -> None:
    world = a_world()
    world.send(approved(world, "r1"))

    assert world.send(approved(world, "r2", source=b"%PDF-1.7 another")) == EXECUTED


def test_a_fence_taken_between_looking_and_writing_stops_the_begin() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    key = plan_of(world).fence_key

    taken = Fence(key, holder="r9#1", revision=1)
    at.before("store.commit plan.begun", lambda: world.store.plant(taken))

    assert world.send(plan_id) == SendResult(SendOutcome.REFUSED, "fence_held")
    assert world.esign.sends == []


def test_an_unknown_plan_is_refused() -> None:
    world = a_world()

    assert world.send("r9#1") == SendResult(SendOutcome.REFUSED, "plan_unknown")


def test_p4_in_doubt_stays_in_doubt_for_whoever_asks() -> None:
    world = a_world(Behaviour.REQUEST_LOST)
    plan_id = in_doubt(world)

    assert world.send(plan_id).code == "already_executing"
    assert entry_of(world).state is LedgerState.EXECUTING
