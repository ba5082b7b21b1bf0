"""Await Signature: park until the system of record says what became of a sent envelope."""

from __future__ import annotations

from no_undo.domain.waiting import Wait, WaitKind
from no_undo.ports import WaitStore
from no_undo.use_cases.gate import Gate
from no_undo.use_cases.resume_execution import park

ACTOR = "await_signature"


def await_signature(plan_id: str, task_token: str, gate: Gate, waits: WaitStore) -> None:
    """Store the task token; the answer is `signed`, `declined`, `cancelled` or `expired`."""
    wait = Wait(plan_id, WaitKind.SIGNATURE, task_token, gate.clock.now())
    park(wait, gate, waits, ACTOR)
