"""Resume Request: start a recovery execution for a request that nothing drives (design 4).

The sweep does it by itself, ever more rarely for a request that keeps failing; an operator who has
removed the cause does not have to wait for it.
"""

from __future__ import annotations

from dataclasses import replace

from no_undo.domain.audit_chain import AuditEvent
from no_undo.domain.errors import ConflictError, NotFoundError, StaleError
from no_undo.domain.request import ENDED, Request, execution_name
from no_undo.ports import Change, Executions, Save
from no_undo.use_cases.gate import MAX_ROUNDS, Gate
from no_undo.use_cases.settle_plan import Statement


def resume_request(
    request_id: str, statement: Statement, gate: Gate, executions: Executions
) -> str:
    """Start the next execution of an open request by hand; return its name.

    Should it turn out to be a second one for the same plan, nothing is sent twice: the ledger
    decides, not the number of executions (P2).

    Raises:
        NotFoundError: There is no such request.
        ConflictError: It has ended, or an execution drives it already.
        TransientError: Recorded and not started; try again, or leave it to the sweep.
        StaleError: The request kept changing; look at it again.
    """
    for _ in range(MAX_ROUNDS):
        request = gate.store.request(request_id)
        if request is None:
            raise NotFoundError("there is no such request; check the request id", field="id")
        if request.state in ENDED:
            raise ConflictError(f"the request has ended ({request.state}); nothing is left to do")
        driver = execution_name(request_id, request.executions)
        if executions.is_running(driver):
            raise ConflictError(f"the execution {driver} drives it; stop that one first")
        again = replace(request, check_at=gate.clock.now() + gate.settings.driver_interval)
        try:
            return restart(again, gate, executions, statement.actor, statement.reason)
        except StaleError:
            continue
    raise StaleError("the request kept changing; look at it again")


def restart(
    request: Request, gate: Gate, executions: Executions, actor: str, reason: str = ""
) -> str:
    """Record the request's next execution, start it, and return its name.

    A death between the two leaves a request without a driver, as before; whoever looks next starts
    the one after.

    Args:
        request: As read, with the moment of its next check.
        gate: Store and clock.
        executions: The state machine.
        actor: Who restarts it.
        reason: An operator's words, or empty.
    """
    name = execution_name(request.request_id, request.executions + 1)
    event = AuditEvent(
        kind="execution.restarted",
        actor=actor,
        at=gate.clock.now(),
        details={"execution": name, **({"reason": reason} if reason else {})},
    )
    again = replace(request, executions=request.executions + 1)
    gate.store.commit(Change(request.request_id, event, (Save(again),)))
    executions.start(name, request.request_id)
    return name
