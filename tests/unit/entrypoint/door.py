"""The door in memory, for submissions that a rule refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final

from no_undo.domain.approver_policy import ApproverPolicy
from no_undo.domain.audit_chain import Provenance
from no_undo.domain.request import Request
from no_undo.lab.fixed_clock import FixedClock
from no_undo.lab.memory_documents import MemoryDocumentStore
from no_undo.lab.memory_store import MemoryStateStore
from no_undo.lab.paper import PaperInspector
from no_undo.lab.seeded_tokens import SeededTokens
from no_undo.lab.stand_ins import FixedContacts, FixedPolicies
from no_undo.use_cases.submit_request import Door

CAROL: Final = "arn:aws:iam::123456789012:user/carol"
TENANT: Final = "acme"
POLICY: Final = ApproverPolicy(
    eligible=("@example.com",),
    smallest_quorum=1,
    recipients_may_approve=False,
    escalation=(),
    default_approvers=("dave@example.com",),
    deadline_hours=4,
    callers={CAROL: "carol@example.com"},
)


class StartedExecutions:
    """Implements `ports.Executions` as far as the door needs it.

    Attributes:
        started: Names, in order.
    """

    def __init__(self) -> None:
        """Start with none."""
        self.started: list[str] = []

    def start(self, name: str, request_id: str) -> None:  # noqa: ARG002
        """Start one."""
        self.started.append(name)

    def is_running(self, name: str) -> bool:
        """Say whether one was started."""
        return name in self.started

    def answer(self, task_token: str, outcome: str) -> bool:  # noqa: ARG002
        """Find nobody waiting."""
        return False


def a_door(callers: Mapping[str, str] = POLICY.callers) -> Door:
    """Return a door to an empty deployment with both accounts.

    Args:
        callers: Identities of people and their addresses.
    """
    clock = FixedClock()
    return Door(
        store=MemoryStateStore(Provenance("test", "0" * 16)),
        documents=MemoryDocumentStore(),
        policies=FixedPolicies({TENANT: replace(POLICY, callers=callers)}),
        contacts=FixedContacts(),
        executions=StartedExecutions(),
        inspector=PaperInspector(),
        clock=clock,
        tokens=SeededTokens(),
        extraction_account=True,
        redaction_account=True,
        driver_interval=timedelta(minutes=5),
    )


def stored_requests(door: Door) -> tuple[Request, ...]:
    """Return what the door has let in."""
    return door.store.requests_of(TENANT, CAROL, limit=10)
