"""Withdraw Request: take a request back while nothing is executing."""

from __future__ import annotations

from dataclasses import replace

from no_undo.domain.audit_chain import AuditEvent
from no_undo.domain.errors import ConflictError, RefusedError, StaleError
from no_undo.domain.ledger import close_unsent
from no_undo.domain.plan import CLOSED_UNSENT, Plan, PlanState, plan_id_of
from no_undo.domain.request import ENDED
from no_undo.ports import Change, Resumer, Save
from no_undo.use_cases.gate import MAX_ROUNDS, Gate, ask_to_resume
from no_undo.use_cases.get_request import own_request


def withdraw_request(
    request_id: str, tenant: str, caller: str, gate: Gate, resumer: Resumer
) -> None:
    """Mark a request as taken back; whatever commits later is refused by that mark.

    Raises:
        NotFoundError: There is no such request of this caller.
        ConflictError: It has ended, is executing, or its effect has happened.
        StaleError: The rows kept moving; try again.
    """
    for _ in range(MAX_ROUNDS):
        request = own_request(request_id, tenant, caller, gate.store)
        if request.withdrawn:
            return
        if request.state in ENDED:
            raise ConflictError(f"the request has ended ({request.state})")
        plan = gate.store.plan(plan_id_of(request_id, request.round))
        event = AuditEvent(kind="request.withdrawn", actor=caller, at=gate.clock.now())
        writes = (Save(replace(request, withdrawn=True)), *_close_plan(plan, gate))
        try:
            gate.store.commit(Change(request_id, event, writes))
        except StaleError:
            continue
        if plan is not None:
            ask_to_resume(resumer, plan.plan_id)
        return
    raise StaleError("the request kept changing; try again")


def _close_plan(plan: Plan | None, gate: Gate) -> tuple[Save, ...]:
    if plan is None or plan.state in CLOSED_UNSENT:
        return ()
    try:
        return (Save(close_unsent(plan, PlanState.WITHDRAWN, gate.clock.now())),)
    except RefusedError as refusal:
        raise ConflictError(f"it is too late to withdraw: {refusal}") from refusal
