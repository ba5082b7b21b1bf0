"""Every function reads the sample event of its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from no_undo.domain.plan import Delivery
from no_undo.entrypoint.http_requests import Caller, HttpRequest
from no_undo.entrypoint.inputs import (
    CloseInput,
    ReassignBody,
    StageInput,
    StatementBody,
    SubmitBody,
    WaitInput,
    read_body,
)
from no_undo.entrypoint.mail_events import mail_event
from no_undo.entrypoint.plan_stream import PlanChange, plan_changes
from no_undo.entrypoint.request_routes import TENANT_CLAIM
from tests.infrastructure.template import function_of_route, functions, routes

EVENTS = Path(__file__).parents[3] / "events"
REQUEST_ID = "0000000001c5m2k9qv7x3bnt"
CAROL = Caller("arn:aws:iam::123456789012:user/carol", "123456789012")

STAGES = [
    "parse_request",
    "extract_fields",
    "assemble_document",
    "redact_document",
    "verify_redaction",
    "create_draft",
    "send_envelope",
    "archive_signed_document",
]
WAITS = ["request_approval", "await_settlement", "await_signature"]
ROUTED = sorted({function_of_route(one) for one in routes().values()})


def the_event(function: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / f"{function}.json").read_text(encoding="utf-8"))
    return event


@pytest.mark.parametrize("function", STAGES)
def test_a_stage_reads_its_request(function: str) -> None:
    assert StageInput.model_validate(the_event(function)).request_id == REQUEST_ID


@pytest.mark.parametrize("function", WAITS)
def test_a_wait_reads_its_token_and_never_shows_it(function: str) -> None:
    event = the_event(function)

    found = WaitInput.model_validate(event)

    assert found.task_token == event["taskToken"]
    assert event["taskToken"] not in repr(found)


def test_closing_reads_how_a_request_ends() -> None:
    closing = CloseInput.model_validate(the_event("close_request")).closing()

    assert closing.outcome == "failed"
    assert closing.code == "redaction_unproven"
    assert closing.reason == "removal is not proven in: metadata; nothing was drafted"


def test_resuming_reads_the_plan_that_changed() -> None:
    [change] = plan_changes(the_event("resume_execution"))

    assert change == PlanChange(f"{REQUEST_ID}#1", "4421584500000000017450439091")


@pytest.mark.parametrize("function", ROUTED)
def test_a_route_of_the_template_carries_the_sample(function: str) -> None:
    request = HttpRequest.of(the_event(function))

    assert function_of_route(routes()[request.route_key]) == function


@pytest.mark.parametrize("function", ROUTED)
def test_no_sample_shows_a_token_when_it_is_printed(function: str) -> None:
    request = HttpRequest.of(the_event(function))

    assert not [one for one in request.path_parameters.values() if one in repr(request)]


@pytest.mark.parametrize(
    "function", ["get_request", "reassign_approver", "settle_plan", "withdraw_request"]
)
def test_a_signed_call_names_its_caller(function: str) -> None:
    assert HttpRequest.of(the_event(function)).caller(tenant_claim=TENANT_CLAIM) == CAROL


def test_submitting_reads_a_submission() -> None:
    request = HttpRequest.of(the_event("submit_request"))

    submission = read_body(SubmitBody, request.json_body()).submission(CAROL)

    assert [one.name for one in submission.recipients] == ["Alice Example", "Bob Example"]
    assert (submission.tenant, submission.caller) == (CAROL.tenant, CAROL.identity)


def test_settling_reads_a_statement() -> None:
    body = HttpRequest.of(the_event("settle_plan")).json_body()

    assert read_body(StatementBody, body).outcome == "done"


def test_deciding_reads_the_form() -> None:
    form = HttpRequest.of(the_event("record_decision")).form()

    assert form["decision"] == "approve"
    assert form["confirmation"] == "amber river"


def test_a_hint_carries_a_signature_beside_its_body() -> None:
    request = HttpRequest.of(the_event("receive_webhook"))

    assert request.query["signature"]
    assert request.json_body()["event_name"] == "folder_executed"


def test_reassigning_reads_whose_place_goes_to_whom() -> None:
    body = HttpRequest.of(the_event("reassign_approver")).json_body()

    wanted = read_body(ReassignBody, body).reassignment()

    assert (wanted.approver, wanted.to) == ("dave@example.com", "frank@example.com")


def test_a_mail_event_says_what_became_of_which_mail() -> None:
    event = mail_event(the_event("record_mail_event"))

    assert (event.delivery, event.request_id) == (Delivery.BOUNCED, REQUEST_ID)


@pytest.mark.parametrize(
    "function", ["reconcile_sends", "send_reminders", "export_audit", "check_canaries"]
)
def test_a_scheduled_function_takes_whatever_the_schedule_sends(function: str) -> None:
    assert the_event(function)["detail-type"] == "Scheduled Event"


def test_the_export_takes_whatever_the_schedule_sends() -> None:
    assert the_event("export_audit")["detail-type"] == "Scheduled Event"


def test_every_function_is_covered_here() -> None:
    elsewhere = {
        "close_request",
        "resume_execution",
        "reconcile_sends",
        "check_canaries",
        "send_reminders",
        "record_mail_event",
        "export_audit",
    }

    assert {*STAGES, *WAITS, *ROUTED, *elsewhere} == set(functions())
