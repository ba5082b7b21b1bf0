"""Await Settlement: park until the ledger says what an attempt has become (P4)."""

from __future__ import annotations

from no_undo.domain.waiting import Wait, WaitKind
from no_undo.ports import WaitStore
from no_undo.use_cases.gate import Gate
from no_undo.use_cases.resume_execution import park

ACTOR = "await_settlement"


def await_settlement(plan_id: str, task_token: str, gate: Gate, waits: WaitStore) -> None:
    """Store the task token; the answer is `executed`, `begin_again` or how the plan was closed."""
    wait = Wait(plan_id, WaitKind.SETTLEMENT, task_token, gate.clock.now())
    park(wait, gate, waits, ACTOR)
