"""The way a request takes when nothing goes wrong, and when stages have to be repeated."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from no_undo.domain.errors import InDoubtError, NothingSentError, StaleError, TransientError
from no_undo.domain.request import RequestState, Stage
from tests.statemachine.machine import APPROVERS, Machine

STAGES = {
    "parse_request": "Parse Request",
    "extract_fields": "Extract Fields",
    "assemble_document": "Assemble Document",
    "redact_document": "Redact Document",
    "verify_redaction": "Verify Redaction",
    "create_draft": "Create Draft",
}
TO_APPROVAL = ["Choose Stage", "Enter Stage", *STAGES.values(), "Request Approval"]
TO_SIGNATURE = ["Act On Approval", "Send Envelope", "Act On Send", "Await Signature"]
TO_THE_END = [
    "Act On Signature",
    "Archive Signed Document",
    "Note Completion",
    "Close Request",
    "Finished",
]


def signed(machine: Machine, request_id: str) -> None:
    """Let the approvers approve and the recipients sign."""
    machine.approve()
    machine.run()
    machine.wait(timedelta(minutes=20))
    assert machine.request(request_id).state is RequestState.COMPLETED


def test_a_request_goes_through_every_stage_once_and_is_sent_once(machine: Machine) -> None:
    request_id = machine.submit()
    machine.run()
    machine.approve()
    machine.run()
    machine.wait(timedelta(minutes=20))

    assert machine.execution(request_id).history == [*TO_APPROVAL, *TO_SIGNATURE, *TO_THE_END]
    assert machine.ended(request_id) == ("COMPLETED", "Archive Signed Document", "completed")
    assert len(machine.esign.sends) == len(machine.esign.effects) == 1


def test_nothing_is_sent_while_an_approval_is_missing(machine: Machine) -> None:
    request_id = machine.submit()
    machine.run()
    machine.decide(APPROVERS[0])
    machine.wait(timedelta(hours=1))

    assert machine.execution(request_id).state == "Request Approval"
    assert machine.esign.sends == []


def test_the_state_machine_carries_ids_and_outcomes_and_nothing_of_the_request(
    machine: Machine,
) -> None:
    request_id = machine.submit()
    machine.run()
    signed(machine, request_id)

    data = json.dumps(machine.execution(request_id).data)
    assert "example.com" not in data
    assert "Alice" not in data
    assert not [token for one in APPROVERS for token in machine.tokens_of(one) if token in data]


@pytest.mark.parametrize("function", [*STAGES, "request_approval"])
@pytest.mark.parametrize(
    "passing",
    [
        TransientError("throttled"),
        NothingSentError("no connection"),
        StaleError("a row moved"),
        InDoubtError("the answer to a write was lost"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_reversible_stage_that_failed_in_passing_is_repeated(
    machine: Machine, function: str, passing: Exception
) -> None:
    machine.failing[function] = [passing, passing]

    request_id = machine.submit()
    machine.run()
    assert machine.execution(request_id).state == "Request Approval"
    signed(machine, request_id)

    assert machine.failing[function] == []
    assert len(machine.esign.sends) == 1


@pytest.mark.parametrize(
    "function", ["await_signature", "archive_signed_document", "close_request"]
)
def test_a_step_after_the_send_that_failed_in_passing_is_repeated_without_sending_again(
    machine: Machine, function: str
) -> None:
    machine.failing[function] = [InDoubtError("the answer was lost"), TransientError("throttled")]

    request_id = machine.submit()
    machine.run()
    signed(machine, request_id)

    assert machine.failing[function] == []
    assert len(machine.esign.sends) == 1


def test_a_draft_whose_answer_was_lost_is_found_and_not_made_twice(machine: Machine) -> None:
    machine.esign.lost_create_replies = 1

    request_id = machine.submit()
    machine.run()

    request = machine.request(request_id)
    today = machine.clock.now().date()
    assert machine.esign.find_envelopes(today, today) == (request.envelope_id,)
    assert machine.execution(request_id).state == "Request Approval"
    assert request.abandoned_drafts == ()


def test_redaction_that_is_proven_goes_on(machine: Machine) -> None:
    request_id = machine.submit(
        prompt="Redact INV-2026-0418, then send this to Alice and Bob for signature.",
        redact_values=["INV-2026-0418"],
    )
    machine.run()

    assert machine.request(request_id).stage is Stage.APPROVE
    assert "verdict" in machine.request(request_id).artefacts
