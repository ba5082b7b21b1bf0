"""Every way in which a request ends other than signed: which state it is in, and what was sent."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from no_undo.domain.envelope import EnvelopeStatus
from no_undo.domain.errors import (
    AlreadyExecutedError,
    AlreadyExecutingError,
    TransientError,
    VendorContractError,
    VendorRefusedError,
)
from no_undo.domain.plan import PlanState
from no_undo.domain.request import RequestState, Stage
from no_undo.lab.fake_esign import Behaviour
from no_undo.lab.pipeline import ExecutionStatus
from tests.statemachine.deployment import ACCOUNT
from tests.statemachine.machine import APPROVERS, DEADLINE, POLICY, Machine
from tests.statemachine.test_the_way_through import STAGES

LEASE = timedelta(seconds=120)


def awaiting_approval(machine: Machine) -> str:
    request_id = machine.submit()
    machine.run()
    assert machine.execution(request_id).state == "Request Approval"
    return request_id


def drafts(machine: Machine) -> tuple[str, ...]:
    today = machine.clock.now().date()
    return machine.esign.find_envelopes(today, today)


# Before anything could be sent


@pytest.mark.parametrize("function", STAGES)
@pytest.mark.parametrize("kind", [VendorRefusedError, VendorContractError])
def test_a_stage_that_fails_for_good_ends_the_request_by_its_name(
    machine: Machine, function: str, kind: type[VendorContractError]
) -> None:
    machine.failing[function] = [kind("the vendor's answer is no document")]

    request_id = machine.submit()
    machine.run()

    assert machine.ended(request_id) == ("FAILED", STAGES[function], kind.code)
    ending = machine.request(request_id).ending
    assert ending is not None
    assert ending.reason == "the vendor's answer is no document"
    assert machine.execution(request_id).status is ExecutionStatus.SUCCEEDED
    assert drafts(machine) == ()


@pytest.mark.parametrize("function", STAGES)
def test_a_stage_that_never_comes_right_ends_the_request_after_a_bounded_number_of_tries(
    machine: Machine, function: str
) -> None:
    machine.failing[function] = [TransientError("throttled")] * 50

    request_id = machine.submit()
    machine.run()

    assert machine.ended(request_id) == ("FAILED", STAGES[function], "transient")
    assert machine.execution(request_id).history.count(STAGES[function]) == 5


def test_an_error_nobody_planned_for_ends_the_request_without_a_word_of_its_text(
    machine: Machine,
) -> None:
    machine.failing["assemble_document"] = [ValueError("alice@example.com")]

    request_id = machine.submit()
    machine.run()

    ending = machine.request(request_id).ending
    assert ending is not None
    assert (ending.code, ending.reason) == ("ValueError", "")


def test_unproven_redaction_stops_the_run_before_a_draft_exists(machine: Machine) -> None:
    machine.eraser.removes = False

    request_id = machine.submit(
        prompt="Redact INV-2026-0418, then send this to Alice and Bob for signature.",
        redact_values=["INV-2026-0418"],
    )
    machine.run()

    assert machine.ended(request_id) == ("FAILED", "Verify Redaction", "redaction_unproven")
    assert drafts(machine) == ()


@pytest.mark.parametrize("function", STAGES)
def test_a_request_taken_back_during_a_stage_ends_withdrawn(
    machine: Machine, function: str
) -> None:
    request_id = machine.submit()
    while machine.execution(request_id).state != STAGES[function]:
        machine.pipeline.step(request_id)
    machine.withdraw(request_id)
    machine.run()

    assert machine.ended(request_id) == ("WITHDRAWN", "Withdraw Request", "withdrawn")
    assert drafts(machine) == ()


def test_a_request_taken_back_while_people_decide_ends_withdrawn(machine: Machine) -> None:
    request_id = awaiting_approval(machine)
    machine.withdraw(request_id)
    machine.run()

    assert machine.ended(request_id) == ("WITHDRAWN", "Request Approval", "withdrawn")
    assert machine.plan(request_id).state is PlanState.WITHDRAWN
    assert machine.request(request_id).abandoned_drafts == drafts(machine)


def test_a_rejection_ends_the_request_and_abandons_its_draft(machine: Machine) -> None:
    request_id = awaiting_approval(machine)
    machine.decide(APPROVERS[0], "reject", "The amount is wrong.")
    machine.run()

    assert machine.ended(request_id) == ("REJECTED", "Request Approval", "rejected")
    assert machine.request(request_id).abandoned_drafts == drafts(machine)
    assert machine.esign.sends == []


def test_a_deadline_that_passes_ends_the_request(machine: Machine) -> None:
    request_id = awaiting_approval(machine)
    machine.wait(DEADLINE + timedelta(minutes=2))

    assert machine.ended(request_id) == ("EXPIRED", "Request Approval", "expired")
    assert machine.esign.sends == []


# The rule that refuses


def test_a_rule_that_refuses_the_send_is_named(machine: Machine) -> None:
    request_id = awaiting_approval(machine)
    machine.approve()
    machine.policies.by_tenant[ACCOUNT] = replace(POLICY, eligible=("@elsewhere.example",))
    machine.run()

    assert machine.ended(request_id) == ("FAILED", "Send Envelope", "quorum_not_met")
    assert machine.esign.sends == []
    assert machine.request(request_id).abandoned_drafts == drafts(machine)


def test_a_draft_that_somebody_changed_is_not_sent(machine: Machine) -> None:
    request_id = awaiting_approval(machine)
    machine.esign.change(machine.request(request_id).envelope_id, document_count=2)
    machine.approve()
    machine.run()

    assert machine.ended(request_id) == ("FAILED", "Send Envelope", "read_back_differs")
    assert machine.esign.sends == []


# What is not known is settled


def test_a_send_without_an_answer_is_settled_by_the_system_of_record(machine: Machine) -> None:
    machine.esign.behaviour = Behaviour.LAGS
    request_id = awaiting_approval(machine)
    machine.approve()
    machine.run()
    assert machine.execution(request_id).state == "Await Settlement"
    assert machine.plan(request_id).state is PlanState.EXECUTING

    machine.wait(timedelta(hours=1), sweeps=20)

    assert "Act On Settlement" in machine.execution(request_id).history
    assert machine.request(request_id).state is RequestState.COMPLETED
    assert len(machine.esign.sends) == 1


@pytest.mark.parametrize(
    "error",
    [AlreadyExecutingError("somebody calls"), RuntimeError("died"), TransientError("throttled")],
    ids=lambda one: type(one).__name__,
)
def test_a_sender_that_fails_is_never_simply_called_again(
    machine: Machine, error: Exception
) -> None:
    request_id = awaiting_approval(machine)
    machine.failing["send_envelope"] = [error]
    machine.approve()
    machine.run()
    assert machine.execution(request_id).history[-2:] == ["Send Envelope", "Await Settlement"]

    machine.wait(timedelta(minutes=30), sweeps=10)

    assert machine.request(request_id).state is RequestState.COMPLETED
    assert len(machine.esign.sends) == 1


def test_a_send_that_certainly_never_left_begins_again_on_the_same_envelope(
    machine: Machine,
) -> None:
    machine.esign.behaviour = Behaviour.NOT_SENT
    request_id = awaiting_approval(machine)
    machine.approve()
    machine.run()
    machine.wait(timedelta(minutes=30), sweeps=10)

    history = machine.execution(request_id).history
    assert history.count("Send Envelope") == 2
    assert machine.request(request_id).state is RequestState.COMPLETED
    assert len(machine.esign.effects) == 1
    assert set(machine.esign.sends) == {machine.request(request_id).envelope_id}


def test_an_operator_who_finds_that_nothing_was_sent_gives_the_plan_up(machine: Machine) -> None:
    machine.esign.behaviour = Behaviour.REQUEST_LOST
    request_id = awaiting_approval(machine)
    machine.approve()
    machine.run()
    machine.clock.advance(LEASE * 2)
    machine.settle(machine.plan(request_id).plan_id, "not-done")
    machine.run()

    assert machine.ended(request_id) == ("FAILED", "Send Envelope", "abandoned")
    assert machine.plan(request_id).state is PlanState.ABANDONED


def test_an_operator_who_finds_that_it_was_sent_lets_the_request_go_on(machine: Machine) -> None:
    machine.esign.behaviour = Behaviour.UNKNOWN_STATUS
    request_id = awaiting_approval(machine)
    machine.approve()
    machine.run()
    machine.clock.advance(LEASE * 2)
    machine.settle(machine.plan(request_id).plan_id, "done")
    machine.run()

    assert machine.execution(request_id).state == "Await Signature"
    assert machine.plan(request_id).state is PlanState.EXECUTED


# After the effect no ending is called failed


@pytest.mark.parametrize(
    ("shown", "state"),
    [
        (EnvelopeStatus.DECLINED, "DECLINED"),
        (EnvelopeStatus.CANCELLED, "CANCELLED"),
        (EnvelopeStatus.EXPIRED, "SIGNATURE_EXPIRED"),
    ],
)
def test_an_envelope_that_ends_unsigned_ends_the_request_as_what_it_is(
    machine: Machine, shown: EnvelopeStatus, state: str
) -> None:
    machine.esign.ends_as = shown
    request_id = awaiting_approval(machine)
    machine.approve()
    machine.run()
    machine.wait(timedelta(minutes=30))

    assert machine.request(request_id).state == state
    assert machine.request(request_id).abandoned_drafts == ()
    assert machine.execution(request_id).history[-3:] == [
        "Note Unsigned",
        "Close Request",
        "Finished",
    ]


def test_a_signed_document_that_is_not_acceptable_is_due_again_until_it_is(
    machine: Machine,
) -> None:
    machine.validator.problems = ("the first signature is broken",)
    request_id = awaiting_approval(machine)
    machine.approve()
    machine.run()
    machine.wait(timedelta(minutes=30))

    assert machine.request(request_id).state is RequestState.SIGNED_NOT_ARCHIVED
    ending = machine.request(request_id).ending
    assert ending is not None
    assert (ending.stage, ending.code) == ("Archive Signed Document", "tampered")

    machine.validator.problems = ()
    machine.wait(timedelta(minutes=30), sweeps=10)

    assert machine.ended(request_id) == ("COMPLETED", "Archive Signed Document", "completed")
    assert len(machine.esign.sends) == 1


def test_closing_while_an_attempt_is_open_waits_for_its_settlement(machine: Machine) -> None:
    request_id = awaiting_approval(machine)
    machine.failing["close_request"] = [AlreadyExecutingError("an attempt is in doubt")]
    machine.decide(APPROVERS[0], "reject", "The amount is wrong.")
    machine.run()

    history = machine.execution(request_id).history
    closed = history.index("Close Request")
    assert history[closed + 1] == "Await Settlement"
    assert machine.request(request_id).state is RequestState.REJECTED


def test_closing_after_the_effect_waits_for_the_signature_instead(machine: Machine) -> None:
    request_id = awaiting_approval(machine)
    machine.approve()
    machine.failing["send_envelope"] = [VendorRefusedError("odd")]
    machine.failing["close_request"] = [AlreadyExecutedError("the effect has happened")]
    machine.run()
    machine.wait(timedelta(minutes=40), sweeps=10)

    assert "Close Request" in machine.execution(request_id).history
    assert machine.request(request_id).state is RequestState.COMPLETED
    assert len(machine.esign.sends) == 1


def test_a_request_that_cannot_be_closed_is_left_to_the_sweep(machine: Machine) -> None:
    request_id = awaiting_approval(machine)
    machine.failing["close_request"] = [VendorRefusedError("odd")]
    machine.decide(APPROVERS[0], "reject", "The amount is wrong.")
    machine.run()

    assert machine.execution(request_id).history[-1] == "Leave To Sweep"
    assert machine.execution(request_id).status is ExecutionStatus.FAILED

    machine.wait(timedelta(minutes=20))

    assert machine.execution(request_id, 1).status is ExecutionStatus.SUCCEEDED
    assert machine.request(request_id).state is RequestState.REJECTED
    assert machine.request(request_id).stage is Stage.CLOSED
