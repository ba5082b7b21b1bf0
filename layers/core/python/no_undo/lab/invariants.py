"""What must hold in every world at rest, whatever happened in it (P1 to P5, P9, P11).

Each check returns sentences about what is wrong; none means that the promise held. The vendor's own
truth is used, never what it showed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from no_undo.domain.audit_chain import verify_chain
from no_undo.domain.errors import TamperedError
from no_undo.domain.fence import Fence
from no_undo.domain.ledger import LedgerEntry, LedgerState
from no_undo.domain.plan import CLOSED_UNSENT, Plan, PlanState, approvals_for
from no_undo.domain.request import ENDED, Request, RequestState
from no_undo.lab.pipeline import ExecutionStatus
from no_undo.lab.world import CORRECTIONS, World

CONFIRMS = frozenset({"system of record", "operator"})
"""Sources of evidence that can confirm an effect."""
_AT_REST = ENDED | {RequestState.SIGNED_NOT_ARCHIVED}


def second_effects(world: World) -> list[str]:
    """P2: for one fence key and each declared repeat, at most one effect."""
    found: list[str] = []
    by_key: dict[str, list[Plan]] = {}
    for plan in world.store.rows(Plan):
        by_key.setdefault(plan.fence_key, []).append(plan)
    for plans in by_key.values():
        targets = {plan.target for plan in plans}
        effects = [one for one in world.esign.effects if one.envelope_id in targets]
        allowed = 1 + sum(1 for plan in plans if plan.repeat_of)
        if len(effects) > allowed:
            found.append(f"{len(effects)} effects where {allowed} is allowed")
    counted = {plan.target for plan in world.store.rows(Plan)}
    if any(one.envelope_id not in counted for one in world.esign.effects):
        found.append("an envelope of no plan was sent")
    return found


def violations(world: World) -> list[str]:
    """Return everything else that is wrong in a world at rest."""
    return [
        *_promises(world),
        *(wrong for plan in world.store.rows(Plan) for wrong in _plan(world, plan)),
        *(wrong for request in world.store.rows(Request) for wrong in _request(world, request)),
        *_chains(world),
    ]


def _promises(world: World) -> Iterator[str]:
    """P1: no call without a stored attempt, and one call for each attempt."""
    promises = world.action.promises
    if not all(one.durable for one in promises):
        yield "a send left without a stored entry of its attempt"
    calls = Counter(one.attempt_id for one in promises)
    if any(count > 1 for count in calls.values()):
        yield "one attempt sent twice"
    if len(world.esign.sends) > len(promises):
        yield "a send left past the action"


def _plan(world: World, plan: Plan) -> Iterator[str]:
    entry = world.store.entry(plan.plan_id)
    executed = entry is not None and entry.state is LedgerState.EXECUTED
    effects = [one for one in world.esign.effects if one.envelope_id == plan.target]
    if executed != (plan.state is PlanState.EXECUTED):
        yield f"plan {plan.state} and its ledger entry disagree"
    if entry is not None:
        yield from _entry(world, plan, entry)
    if executed and not effects:
        yield "EXECUTED although nothing happened"
    if effects and entry is not None and plan.state in CLOSED_UNSENT:
        yield f"called {plan.state} although the effect happened"
    if plan.state not in CLOSED_UNSENT | {PlanState.EXECUTED} and not in_doubt(world, plan):
        yield f"wedged in {plan.state}"
    if plan.state is PlanState.SUPERSEDED:
        yield from _superseded(world, plan)
    if executed and world.store.fence(plan.fence_key).last_executed == "":
        yield "an executed effect did not mark its fence"


def _superseded(world: World, plan: Plan) -> Iterator[str]:
    """P5, P7: what was corrected is never sent, and its draft is known as abandoned."""
    request = world.store.request(plan.request_id)
    if world.store.entry(plan.plan_id) is not None:
        yield "a superseded plan was begun"
    if any(one.envelope_id == plan.target for one in world.esign.effects):
        yield "a superseded draft was sent"
    if request is None or request.round <= plan.round:
        yield "a superseded plan without a next round"
    elif plan.target not in request.abandoned_drafts:
        yield "the draft of a superseded plan is not recorded as abandoned"
    elif not any(one.path in CORRECTIONS for one in request.corrections):
        yield "a superseded plan without its correction"


def _entry(world: World, plan: Plan, entry: LedgerEntry) -> Iterator[str]:
    if len(approvals_for(plan)) < plan.quorum:
        yield "begun without a quorum"
    if entry.state is not LedgerState.EXECUTED:
        return
    if not any(one.source in CONFIRMS for one in entry.evidence):
        yield "EXECUTED without evidence"
    known = [one.at for one in entry.evidence if one.source in CONFIRMS]
    effects = [one.at for one in world.esign.effects if one.envelope_id == plan.target]
    if known and effects and max(known) < min(effects):
        yield "EXECUTED before the effect happened"


def in_doubt(world: World, plan: Plan) -> bool:
    """Return whether a plan stands where an operator sees it: executing, its lease over."""
    entry = world.store.entry(plan.plan_id)
    return (
        plan.state is PlanState.EXECUTING
        and entry is not None
        and entry.attempt.lease_expires_at <= world.clock.now()
        and plan.due_at is not None
    )


def _request(world: World, request: Request) -> Iterator[str]:
    plans = [one for one in world.store.rows(Plan) if one.request_id == request.request_id]
    if request.state not in _AT_REST and not any(in_doubt(world, one) for one in plans):
        yield f"request wedged in {request.state}"
    if request.state in ENDED and any(
        one.status is ExecutionStatus.RUNNING and one.name.startswith(request.request_id)
        for one in world.pipeline.executions.values()
    ):
        yield "an execution still runs for an ended request"
    if request.state is RequestState.COMPLETED and "signed" not in request.artefacts:
        yield "COMPLETED without a signed document"
    executed = any(one.state is PlanState.EXECUTED for one in plans)
    if executed and request.envelope_id in request.abandoned_drafts:
        yield "the draft that was sent is recorded as abandoned"
    if executed and request.state in (RequestState.FAILED, RequestState.REJECTED):
        yield f"request {request.state} after the effect"


def _chains(world: World) -> Iterator[str]:
    """P9: every chain verifies, every commit has its record, and both tell the same story."""
    records = 0
    kinds: Counter[str] = Counter()
    for chain_id in world.store.chain_ids():
        chain = world.store.chain(chain_id)
        try:
            verify_chain(chain_id, chain)
        except TamperedError as error:
            yield str(error)
        if not chain_id.endswith("#opens"):
            records += len(chain)
            kinds.update(json.loads(one.line)["kind"] for one in chain)
    if records != world.store.commits:
        yield f"{world.store.commits} commits and {records} records"
    yield from _same_story(world, kinds)


def _same_story(world: World, kinds: Counter[str]) -> Iterator[str]:
    entries = world.store.rows(LedgerEntry)
    attempts = sum(len(one.attempts) for one in entries)
    executed = sum(1 for one in entries if one.state is LedgerState.EXECUTED)
    ended = sum(1 for one in world.store.rows(Request) if one.state in ENDED)
    held = [one.holder for one in world.store.rows(Fence) if one.holder]
    if kinds["plan.begun"] != attempts:
        yield f"{attempts} attempts and {kinds['plan.begun']} records of a begin"
    if kinds["plan.executed"] > executed:
        yield "an effect was recorded twice"
    superseded = sum(one.state is PlanState.SUPERSEDED for one in world.store.rows(Plan))
    if kinds["plan.corrected"] != superseded:
        yield f"{superseded} superseded plans and {kinds['plan.corrected']} records of a correction"
    if executed > kinds["plan.executed"] + kinds["plan.settled"]:
        yield "an effect is not in the audit"
    if kinds["request.closed"] < ended:
        yield "an ending is not in the audit"
    if any(world.store.entry(one) is None for one in held):
        yield "a plan without an attempt holds a fence"
