"""Reminder, reassignment, bounce and escalation on the deployed functions, roles enforced."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from local.demo.people import approve, wait_for
from local.stack.inbox import messages
from local.stack.parameters import APPROVER, ESCALATION, REQUESTER
from no_undo.cli.api import ApiError
from no_undo.domain.approval import token_sha256
from tests.e2e.site import Site, link_in

STAND_IN = "stand-in@example.com"
SAMPLE = Path(__file__).parents[2] / "events" / "mail" / "bounce.json"


def mail_what_is_due(site: Site) -> dict[str, Any]:
    """Run the function that its schedule would run within the minute."""
    answer = site.running.aws.client("lambda").invoke(
        FunctionName=site.running.outputs["SendRemindersFunctionName"]
    )
    told: dict[str, Any] = json.loads(answer["Payload"].read())
    return told


def links_of(site: Site, approver: str, request_id: str) -> list[str]:
    """Return the links that a person was mailed about a request."""
    reference = f"{request_id[-8:].upper()}-1"
    found = [
        link_in(str(one["BodyText"]))
        for one in messages(site.running.url("emulator"))
        if one["To"] == [approver] and reference in str(one["BodyText"])
    ]
    return [one for one in found if one]


def make_the_reminder_due(site: Site, plan_id: str) -> None:
    """Let the moment of the reminder be now, as hours of waiting would."""
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    site.running.aws.client("dynamodb").update_item(
        TableName=site.running.outputs["PlansTableName"],
        Key={"plan_id": {"S": plan_id}},
        UpdateExpression="SET remind_at = :now, mail_at = :now",
        ExpressionAttributeValues={":now": {"S": now}},
    )


def bounce(site: Site, request_id: str, link: str) -> None:
    """Publish what SES would, about the mail with a link."""
    event = json.loads(SAMPLE.read_text(encoding="utf-8"))
    event["detail"]["mail"]["tags"] |= {
        "request_id": [request_id],
        "link": [token_sha256(link.rpartition("/")[2])],
    }
    answer = site.running.aws.client("lambda").invoke(
        FunctionName=site.running.outputs["RecordMailEventFunctionName"],
        Payload=json.dumps(event),
    )
    assert json.loads(answer["Payload"].read()) == {"recorded": "approver"}


def approvers(site: Site, request_id: str) -> list[tuple[str, str, str]]:
    view = site.view(request_id)
    return [(one["address"], one["says"], one["mail"]) for one in view["approvers"]]


def test_a_request_is_reminded_reassigned_bounced_escalated_and_sent_once(site: Site) -> None:
    request_id = site.submit("Asking")
    first = site.link(request_id)
    plan_id = site.view(request_id)["plan_id"]

    make_the_reminder_due(site, plan_id)
    assert mail_what_is_due(site) == {"reminder": 1}
    second = next(one for one in links_of(site, APPROVER, request_id) if one != first)
    assert httpx.get(first).status_code == 410

    for refused in (REQUESTER, APPROVER):
        body = {"approver": APPROVER, "to": refused, "reason": "Away."}
        with pytest.raises(ApiError):
            site.api.post(f"/requests/{request_id}/reassign", body)
    body = {"approver": APPROVER, "to": STAND_IN, "reason": "Away."}
    site.api.post(f"/requests/{request_id}/reassign", body)
    assert httpx.get(second).status_code == 410
    assert mail_what_is_due(site) == {"reassignment": 1}
    [third] = links_of(site, STAND_IN, request_id)
    assert httpx.get(third).status_code == 200

    bounce(site, request_id, third)
    assert approvers(site, request_id) == [(STAND_IN, "asked", "bounced")]
    assert mail_what_is_due(site) == {"escalated": 1, "escalation": 1}
    [fourth] = links_of(site, ESCALATION, request_id)

    approve(fourth)
    site.wait(request_id, "AWAITING_SIGNATURE")
    assert approvers(site, request_id)[1][:2] == (ESCALATION, "approve")
    assert site.sends(request_id) == 1
    assert wait_for(lambda: mail_what_is_due(site) == {} or None, "nothing left to mail")
