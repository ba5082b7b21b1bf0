"""A lab world brought to the point at which a test begins, and what a test asks of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from no_undo.domain.audit_chain import AuditEvent
from no_undo.domain.errors import TransientError
from no_undo.domain.ledger import LedgerEntry
from no_undo.domain.plan import Plan
from no_undo.domain.request import Request
from no_undo.lab.fake_esign import Behaviour, SecondSend
from no_undo.lab.pipeline import JsonMap, load_definition
from no_undo.lab.watched import Watcher
from no_undo.lab.world import APPROVERS, SETTINGS, World
from no_undo.ports import Change, Save
from no_undo.use_cases.gate import GateSettings

DEFINITION: JsonMap = load_definition()
OPERATOR_DECIDES: GateSettings = replace(SETTINGS, retry_after_release=False)
MOMENT = timedelta(microseconds=1)


def a_world(
    behaviour: Behaviour = Behaviour.NORMAL,
    *,
    second_send: SecondSend = SecondSend.REFUSES,
    settings: GateSettings = SETTINGS,
    watcher: Watcher | None = None,
) -> World:
    return World(
        behaviour=behaviour,
        second_send=second_send,
        settings=settings,
        watcher=watcher,
        definition=DEFINITION,
    )


def proposed(world: World, request_id: str = "r1", **submitted: Any) -> str:  # noqa: ANN401
    """Bring a request to a plan that waits for its approvers; return the plan id."""
    world.submit(request_id, start=False, **submitted)
    world.create_draft(request_id)
    world.request_approval(request_id, f"approval-{request_id}")
    return f"{request_id}#1"


def approved(world: World, request_id: str = "r1", **submitted: Any) -> str:  # noqa: ANN401
    """Bring a request to an approved plan; return the plan id."""
    plan_id = proposed(world, request_id, **submitted)
    for approver in APPROVERS:
        world.decide(world.tokens_mailed_to(approver)[-1])
    return plan_id


def in_doubt(world: World) -> str:
    """Bring a request to an attempt whose lease is over and whose outcome nobody knows."""
    plan_id = approved(world)
    world.send(plan_id)
    world.clock.set(entry_of(world, plan_id).attempt.lease_expires_at)
    return plan_id


def released(world: World) -> str:
    """Bring a request to an attempt that the sweep has released."""
    plan_id = in_doubt(world)
    world.sweep()
    world.clock.advance(world.settings.settle_time)
    world.sweep()
    return plan_id


def plan_of(world: World, plan_id: str = "r1#1") -> Plan:
    plan = world.store.plan(plan_id)
    assert plan is not None
    return plan


def entry_of(world: World, plan_id: str = "r1#1") -> LedgerEntry:
    entry = world.store.entry(plan_id)
    assert entry is not None
    return entry


def request_of(world: World, request_id: str = "r1") -> Request:
    request = world.store.request(request_id)
    assert request is not None
    return request


def kinds(world: World, chain_id: str = "r1") -> list[str]:
    """Return what an audit chain says happened, in order."""
    return [json.loads(one.line)["kind"] for one in world.store.chain(chain_id)]


def details(world: World, kind: str, chain_id: str = "r1") -> list[dict[str, Any]]:
    """Return the details of every record of one kind."""
    records = [json.loads(one.line) for one in world.store.chain(chain_id)]
    return [one["details"] for one in records if one["kind"] == kind]


def change_plan(world: World, plan_id: str = "r1#1", **fields: object) -> None:
    """Write to a plan past every rule, as somebody with access to the table could."""
    changed = replace(plan_of(world, plan_id), **fields)  # type: ignore[arg-type]  # by name
    event = AuditEvent("test.changed", "test", world.clock.now())
    world.store.commit(Change(changed.request_id, event, (Save(changed),)))


class At:
    """A watcher that does something before or after the n-th time a call is made.

    Attributes:
        seen: Every call made, in order.
    """

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._before: dict[tuple[str, int], Callable[[], object]] = {}
        self._after: dict[tuple[str, int], Callable[[], object]] = {}

    def before(self, call: str, do: Callable[[], object], nth: int = 1) -> None:
        """Arrange something before the n-th such call from now on; it may raise."""
        self._before[call, self.seen.count(call) + nth] = do

    def after(self, call: str, do: Callable[[], object], nth: int = 1) -> None:
        """Arrange something after the n-th such call from now on; it may raise."""
        self._after[call, self.seen.count(call) + nth] = do

    def forget(self) -> None:
        """Drop what was arranged and has not happened."""
        self._before.clear()
        self._after.clear()

    def around(self, call: str, do: Callable[[], object]) -> object:
        self.seen.append(call)
        key = (call, self.seen.count(call))
        if key in self._before:
            self._before.pop(key)()
        result = do()
        if key in self._after:
            self._after.pop(key)()
        return result


def failing(error: BaseException | None = None) -> Callable[[], None]:
    """Return something that raises, `TransientError` unless told otherwise."""

    def fail() -> None:
        raise error or TransientError("not this time")

    return fail
