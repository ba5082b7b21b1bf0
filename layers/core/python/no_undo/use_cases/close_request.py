"""Close Request: one place for every ending.

A request with an attempt in doubt cannot be closed; one whose effect has happened is never called
failed. A draft that will not be sent is recorded as abandoned.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import datetime

from no_undo.domain.abandoned_drafts import abandon
from no_undo.domain.audit_chain import AuditEvent
from no_undo.domain.errors import (
    AlreadyExecutedError,
    NotFoundError,
    PlanClosedError,
    StaleError,
    TransientError,
    VendorRefusedError,
)
from no_undo.domain.ledger import close_unsent
from no_undo.domain.notices import (
    RequesterNotice,
    request_completed,
    request_expired,
    request_failed,
    request_rejected,
)
from no_undo.domain.plan import Plan, PlanState, Verdict, plan_id_of
from no_undo.domain.request import ENDED, Ending, Request, RequestState, Stage
from no_undo.ports import Change, Mailer, Pages, Save
from no_undo.use_cases.gate import MAX_ROUNDS, Gate

logger = logging.getLogger(__name__)

ACTOR = "close_request"

_STATES = {
    "completed": RequestState.COMPLETED,
    "failed": RequestState.FAILED,
    "not_archived": RequestState.SIGNED_NOT_ARCHIVED,
    "rejected": RequestState.REJECTED,
    "expired": RequestState.EXPIRED,
    "withdrawn": RequestState.WITHDRAWN,
    "abandoned": RequestState.FAILED,
    "declined": RequestState.DECLINED,
    "cancelled": RequestState.CANCELLED,
}
_ENDED_AS = {
    PlanState.EXPIRED: "expired",
    PlanState.REJECTED: "rejected",
    PlanState.WITHDRAWN: "withdrawn",
}
_AFTER_THE_EFFECT = {"expired": RequestState.SIGNATURE_EXPIRED}


@dataclass(frozen=True, slots=True)
class Telling:
    """What tells the requester."""

    pages: Pages
    mailer: Mailer


@dataclass(frozen=True, slots=True)
class Closing:
    """How the state machine says a request ends.

    Attributes:
        outcome: Key of the outcome table: `completed`, `failed`, `rejected`, ...
        stage: Stage in words.
        code: Error code or class that ended it, or empty.
        reason: One sentence without values, or empty.
    """

    outcome: str
    stage: str
    code: str = ""
    reason: str = ""


def close_request(request_id: str, closing: Closing, gate: Gate, telling: Telling) -> RequestState:
    """End a request, its plan and its draft, and tell the requester.

    Raises:
        NotFoundError: There is no such request.
        AlreadyExecutingError: An attempt is in doubt; settle it first.
        AlreadyExecutedError: The effect has happened; wait for the signature instead.
        StaleError: The rows kept moving; the state machine repeats this.
    """
    for _ in range(MAX_ROUNDS):
        request = gate.store.request(request_id)
        if request is None:
            raise NotFoundError("there is no such request; check the request id")
        if request.state in ENDED:
            return request.state
        plan = gate.store.plan(plan_id_of(request_id, request.round))
        closing = _as_the_plan_says(closing, plan)
        closed = _closed(request, plan, closing, gate.clock.now(), gate)
        writes = (Save(closed), *_close_plan(plan, closing, gate))
        try:
            gate.store.commit(Change(request_id, _event(closed, closing, gate), writes))
        except StaleError:
            continue
        _tell(closed, plan, telling)
        return closed.state
    raise StaleError("the request kept changing while it was being closed")


def _as_the_plan_says(closing: Closing, plan: Plan | None) -> Closing:
    """Return how a request ends whose send was refused because its plan had ended before.

    A plan that was withdrawn, expired or rejected between approval and begin ended as just that,
    and nothing failed.
    """
    if plan is None or closing.code != PlanClosedError.code or plan.state not in _ENDED_AS:
        return closing
    return replace(closing, outcome=_ENDED_AS[plan.state], code="")


def _closed(
    request: Request, plan: Plan | None, closing: Closing, now: datetime, gate: Gate
) -> Request:
    executed = plan is not None and plan.state is PlanState.EXECUTED
    state = _state(closing, executed=executed)
    unsent = (request.envelope_id,) if request.envelope_id and not executed else ()
    open_still = state is RequestState.SIGNED_NOT_ARCHIVED
    return replace(
        abandon(request, unsent),
        state=state,
        stage=request.stage if open_still else Stage.CLOSED,
        ending=Ending(closing.stage, closing.code or closing.outcome, closing.reason),
        check_at=now + gate.settings.driver_interval if open_still else None,
    )


def _state(closing: Closing, *, executed: bool) -> RequestState:
    state = _STATES.get(closing.outcome, RequestState.FAILED)
    if not executed:
        return state
    if state in (RequestState.FAILED, RequestState.REJECTED, RequestState.WITHDRAWN):
        raise AlreadyExecutedError("the effect has happened; it cannot end as unsent")
    return _AFTER_THE_EFFECT.get(closing.outcome, state)


def _close_plan(plan: Plan | None, closing: Closing, gate: Gate) -> tuple[Save, ...]:
    if plan is None or plan.state is PlanState.EXECUTED:
        return ()
    state = PlanState.WITHDRAWN if closing.outcome == "withdrawn" else PlanState.ABANDONED
    try:
        return (Save(close_unsent(plan, state, gate.clock.now())),)
    except PlanClosedError:
        return ()


def _event(closed: Request, closing: Closing, gate: Gate) -> AuditEvent:
    return AuditEvent(
        kind="request.closed",
        actor=ACTOR,
        at=gate.clock.now(),
        details={
            "state": closed.state.value,
            "stage": closing.stage,
            "code": closing.code or closing.outcome,
            "abandonedDrafts": list(closed.abandoned_drafts),
        },
    )


def _tell(request: Request, plan: Plan | None, telling: Telling) -> None:
    notice = _notice(request, plan)
    if notice is None or not request.caller_email:
        return
    try:
        telling.mailer.send(
            request.caller_email, telling.pages.requester_mail(notice), tag=request.request_id
        )
    except (TransientError, VendorRefusedError):
        # The ending is stored and visible; a lost notice must not reopen it.
        logger.warning("the requester could not be told", extra={"request": request.request_id})


def _notice(request: Request, plan: Plan | None) -> RequesterNotice | None:
    reference, title = request.request_id, request.title or "your request"
    ending = request.ending or Ending("", "", "")
    match request.state:
        case RequestState.COMPLETED:
            sha256 = request.artefacts["signed"].sha256
            return request_completed(reference=reference, title=title, sha256=sha256)
        case RequestState.REJECTED:
            no = next(d for d in (plan.decisions if plan else ()) if d.verdict is Verdict.REJECT)
            return request_rejected(
                reference=reference, title=title, approver=no.approver, reason=no.reason
            )
        case RequestState.EXPIRED if plan is not None:
            return request_expired(reference=reference, title=title, deadline=plan.expires_at)
        case RequestState.FAILED:
            return request_failed(
                reference=reference, title=title, stage=ending.stage, reason=ending.reason
            )
        case _:
            return None
