"""The door: what is stored is said to be stored, and what is not is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from no_undo.domain.audit_chain import AuditRecord, Provenance
from no_undo.domain.errors import InDoubtError, InvalidRequestError, TransientError
from no_undo.lab.memory_documents import MemoryDocumentStore
from no_undo.lab.memory_store import MemoryStateStore
from no_undo.ports import Change
from no_undo.use_cases.submit_request import Submission, submit_request
from tests.fakes.worlds import a_world, change_plan, proposed
from tests.unit.entrypoint.door import CAROL, TENANT, StartedExecutions, a_door, stored_requests
from tests.unit.entrypoint.test_submit_body import INVOICE

SUBMISSION = Submission(
    tenant=TENANT,
    caller=CAROL,
    prompt="Send this to Alice <alice@example.com> for signature, without redaction.",
    invoice=INVOICE,
)


class _LosesAnswers(MemoryStateStore):
    """A store whose answer to a transaction is lost, with or without the transaction."""

    written = True

    def commit(self, change: Change) -> AuditRecord:
        if self.written:
            super().commit(change)
        raise InDoubtError("the answer was lost")


class _CannotStart(StartedExecutions):
    def start(self, name: str, request_id: str) -> None:  # noqa: ARG002
        raise TransientError("throttled")


class _CannotDelete(MemoryDocumentStore):
    def delete_upload(self, key: str) -> None:  # noqa: ARG002
        raise TransientError("throttled")


def losing(*, written: bool) -> _LosesAnswers:
    store = _LosesAnswers(Provenance("test", "0" * 16))
    store.written = written
    return store


def test_a_stored_request_is_answered_although_nothing_else_worked() -> None:
    door = replace(a_door(), executions=_CannotStart(), documents=_CannotDelete())

    request_id = submit_request(SUBMISSION, door)

    [stored] = stored_requests(door)
    assert stored.request_id == request_id
    assert stored.check_at is not None  # the sweep starts it


def test_a_request_whose_storing_lost_its_answer_is_recognised_by_its_own_id() -> None:
    door = replace(a_door(), store=losing(written=True))

    request_id = submit_request(SUBMISSION, door)

    assert door.store.request(request_id) is not None


def test_a_request_that_was_not_stored_may_be_submitted_again() -> None:
    executions = StartedExecutions()
    door = replace(a_door(), store=losing(written=False), executions=executions)

    with pytest.raises(TransientError, match="submit it again"):
        submit_request(SUBMISSION, door)

    assert executions.started == []


def test_a_plan_of_another_tenant_looks_like_none() -> None:
    world = a_world()
    plan_id = proposed(world)
    change_plan(world, tenant="globex")
    foreign = replace(a_door(), store=world.store)

    with pytest.raises(InvalidRequestError) as refused:
        submit_request(replace(SUBMISSION, repeat_of=plan_id), foreign)

    assert (refused.value.field, str(refused.value)) == (
        "repeat_of",
        "There is no such plan to repeat.",
    )
