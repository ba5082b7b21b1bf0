"""No request without a driver: a recovery execution enters at the stage that comes next (P11)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from no_undo.domain.request import RequestState, Stage
from no_undo.lab.fake_esign import Behaviour
from no_undo.lab.pipeline import ExecutionStatus
from tests.statemachine.definition import states
from tests.statemachine.machine import DEADLINE, Machine

ENTERED = {
    Stage.PARSE: "Parse Request",
    Stage.EXTRACT: "Extract Fields",
    Stage.ASSEMBLE: "Assemble Document",
    Stage.REDACT: "Redact Document",
    Stage.VERIFY: "Verify Redaction",
    Stage.DRAFT: "Create Draft",
    Stage.APPROVE: "Request Approval",
    Stage.CLOSED: "Finished",
}
A_WAIT_ENDS = timedelta(days=300)


def stopped_at(machine: Machine, stage: Stage) -> str:
    """Submit a request and stop its execution when this stage comes next."""
    request_id = machine.submit()
    while machine.request(request_id).stage is not stage:
        machine.pipeline.step(request_id)
    machine.pipeline.stop(request_id)
    return request_id


def test_every_stage_has_a_state_to_enter_by() -> None:
    choices = states()["Enter Stage"]["Choices"]

    assert {one["StringEquals"]: one["Next"] for one in choices} == ENTERED
    assert set(ENTERED) == set(Stage)


@pytest.mark.parametrize("stage", [one for one in Stage if one is not Stage.CLOSED])
def test_a_recovery_enters_at_the_stage_that_comes_next_and_finishes_the_work(
    machine: Machine, stage: Stage
) -> None:
    request_id = stopped_at(machine, stage)
    machine.wait(timedelta(minutes=10))
    machine.approve()
    machine.run()
    machine.wait(timedelta(minutes=20))

    recovery = machine.execution(request_id, 1)
    assert recovery.history[:3] == ["Choose Stage", "Enter Stage", ENTERED[stage]]
    assert machine.request(request_id).state is RequestState.COMPLETED
    assert len(machine.esign.sends) == 1


def test_a_recovery_of_a_closed_request_has_nothing_to_do(machine: Machine) -> None:
    request_id = machine.submit()
    machine.run()
    machine.withdraw(request_id)
    machine.run()

    machine.pipeline.start(f"{request_id}-r1", request_id)
    machine.run()

    assert machine.execution(request_id, 1).history == ["Choose Stage", "Enter Stage", "Finished"]


def test_an_execution_of_an_unknown_request_is_left_to_the_sweep(machine: Machine) -> None:
    machine.pipeline.start("nobody", "nobody")
    machine.run()

    execution = machine.pipeline.executions["nobody"]
    assert execution.history[-1] == "Leave To Sweep"
    assert execution.status is ExecutionStatus.FAILED


def test_a_stopped_sender_is_recovered_through_settlement_and_not_sent_again(
    machine: Machine,
) -> None:
    machine.esign.behaviour = Behaviour.LAGS
    request_id = machine.submit()
    machine.run()
    machine.approve()
    machine.run()
    machine.pipeline.stop(request_id)

    machine.wait(timedelta(hours=1), sweeps=20)

    history = machine.execution(request_id, 1).history
    assert history[:4] == ["Choose Stage", "Enter Stage", "Request Approval", "Act On Approval"]
    assert machine.request(request_id).state is RequestState.COMPLETED
    assert len(machine.esign.sends) == 1


def test_a_wait_that_times_out_asks_again_which_stage_comes_next(machine: Machine) -> None:
    request_id = machine.submit()
    machine.run()
    machine.clock.advance(A_WAIT_ENDS)
    machine.run()

    history = machine.execution(request_id).history
    assert history[-4:] == ["Request Approval", "Choose Stage", "Enter Stage", "Request Approval"]

    machine.sweep()  # only the ledger decides expiry
    assert machine.ended(request_id) == ("EXPIRED", "Request Approval", "expired")


@pytest.mark.parametrize(
    ("behaviour", "waits_in"),
    [(Behaviour.UNKNOWN_STATUS, "Await Settlement"), (Behaviour.NORMAL, "Await Signature")],
)
def test_a_wait_after_the_send_that_times_out_comes_back_to_the_same_wait(
    machine: Machine, behaviour: Behaviour, waits_in: str
) -> None:
    machine.esign.behaviour = behaviour
    machine.esign.signs_after = None
    request_id = machine.submit()
    machine.run()
    machine.approve()
    machine.run()
    assert machine.execution(request_id).state == waits_in

    machine.clock.advance(A_WAIT_ENDS)
    machine.run()

    history = machine.execution(request_id).history
    assert history.count("Choose Stage") == 2
    assert machine.execution(request_id).state == waits_in
    assert len(machine.esign.sends) == 1


def test_two_executions_of_one_request_send_once(machine: Machine) -> None:
    request_id = machine.submit()
    machine.run()
    machine.pipeline.start(f"{request_id}-r1", request_id)
    machine.run()
    machine.approve()
    machine.run()
    machine.wait(timedelta(minutes=30))

    assert len(machine.esign.sends) == 1
    assert machine.request(request_id).state is RequestState.COMPLETED


def test_an_approval_that_nobody_resumed_is_resumed_by_the_sweep(machine: Machine) -> None:
    request_id = machine.submit()
    machine.run()
    machine.approve()
    machine.stream.clear()  # the stream lost it
    machine.wait(timedelta(minutes=10))

    assert "Send Envelope" in machine.execution(request_id).history
    assert machine.clock.now() - machine.request(request_id).created_at < DEADLINE
