"""The operators' routes; who may call them is the authorizer's and the gateway's affair."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import TYPE_CHECKING, Any

from no_undo.domain.errors import InvalidRequestError
from no_undo.entrypoint.http_requests import HttpRequest
from no_undo.entrypoint.http_responses import HttpAnswer, json_answer
from no_undo.entrypoint.inputs import StatementBody, read_body
from no_undo.entrypoint.request_routes import TENANT_CLAIM
from no_undo.use_cases.list_drafts import AbandonedDrafts, list_drafts
from no_undo.use_cases.list_in_doubt import Doubts, list_in_doubt
from no_undo.use_cases.resume_request import resume_request
from no_undo.use_cases.settle_plan import (
    Outcome,
    Statement,
    pause_begins,
    retry_plan,
    settle_plan,
    unpause_begins,
    void_plan,
)

if TYPE_CHECKING:
    from no_undo.bootstrap import Dependencies


def operate(request: HttpRequest, deps: Dependencies) -> HttpAnswer:
    """Answer `/operations/...`: a list for operators, or one decision with its reason."""
    caller = request.caller(tenant_claim=TENANT_CLAIM)
    if request.route_key == "GET /operations/in-doubt":
        return json_answer(200, _as_json(list_in_doubt(deps.store, deps.clock)))
    if request.route_key == "GET /operations/drafts":
        return json_answer(200, _drafts_as_json(list_drafts(deps.store)))
    body = read_body(StatementBody, request.json_body())
    statement = Statement(caller.identity, body.reason, body.evidence)
    plan_id = request_id = request.path_parameters.get("id", "")
    match request.route_key:
        case "POST /operations/plans/{id}/settle":
            if body.outcome is None:
                raise InvalidRequestError("Say done or not-done.", field="outcome")
            outcome = Outcome(body.outcome)
            state = settle_plan(plan_id, outcome, statement, deps.gate, deps.action, deps.resumer)
            return json_answer(200, {"plan_id": plan_id, "state": state.value})
        case "POST /operations/plans/{id}/retry":
            retry_plan(plan_id, statement, deps.gate, deps.resumer)
        case "POST /operations/plans/{id}/void":
            void_plan(plan_id, statement, deps.gate, deps.action)
        case "POST /operations/requests/{id}/resume":
            execution = resume_request(request_id, statement, deps.gate, deps.executions)
            return json_answer(200, {"request_id": request_id, "execution": execution})
        case "POST /operations/pause":
            pause_begins(statement, deps.gate)
        case _:
            unpause_begins(statement, deps.gate)
    return json_answer(200, {"done": request.route_key})


def _as_json(doubts: Doubts) -> dict[str, Any]:
    pause = doubts.pause
    return {
        "plans": [
            {
                **dataclasses.asdict(one),
                "began_at": _iso(one.began_at),
                "lease_expires_at": _iso(one.lease_expires_at),
            }
            for one in doubts.plans
        ],
        "pause": None
        if pause is None
        else {"reason": pause.reason, "actor": pause.actor, "at": _iso(pause.at)},
        "complete": doubts.complete,
    }


def _drafts_as_json(found: AbandonedDrafts) -> dict[str, Any]:
    return {
        "drafts": [
            {**dataclasses.asdict(one), "next_look_at": _iso(one.next_look_at)}
            for one in found.drafts
        ],
        "complete": found.complete,
    }


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
