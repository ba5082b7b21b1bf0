"""What became of a mail: shown, escalated, never a decision; from stored samples of SES events."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from no_undo.domain.errors import InvalidRequestError, StaleError, TransientError
from no_undo.domain.plan import Delivery, PlanState, deciders_of
from no_undo.entrypoint.mail_events import mail_event
from no_undo.lab.world import APPROVERS, CALLER, POLICY, REQUESTER, TENANT, World
from no_undo.use_cases.get_request import get_request
from no_undo.use_cases.record_mail_event import MailEvent, record_mail_event
from tests.fakes.worlds import (
    At,
    a_world,
    approved,
    change_plan,
    details,
    failing,
    plan_of,
    proposed,
)
from tests.unit.use_cases.test_record_decision import token

DAVE, ERIN = APPROVERS
GRACE = "grace@example.com"
SAMPLES = Path(__file__).parents[3] / "events" / "mail"
REQUEST_ID = "0000000001c5m2k9qv7x3bnt"


def sample(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((SAMPLES / f"{name}.json").read_text(encoding="utf-8"))
    return event


def a_waiting_world(at: At | None = None) -> World:
    world = a_world(watcher=at)
    world.policies.by_tenant = {TENANT: replace(POLICY, escalation=(GRACE,))}
    proposed(world)
    return world


def said(world: World, name: str, approver: str = DAVE) -> MailEvent:
    """Return what a sample says, about the mail with a person's newest link."""
    return replace(
        mail_event(sample(name)),
        request_id="r1",
        link=world.link_behind(token(world, approver)).token_sha256,
    )


def record(world: World, event: MailEvent) -> str:
    with world.invocation("record_mail_event"):
        return record_mail_event(event, world.gate, world.telling)


def mail_of(world: World, approver: str = DAVE) -> str:
    view = get_request("r1", TENANT, CALLER, world.store)
    return next(one.mail for one in view.approvers if one.address == approver)


@pytest.mark.parametrize(
    ("name", "delivery"),
    [
        ("bounce", Delivery.BOUNCED),
        ("bounce_transient", Delivery.BOUNCED),
        ("bounce_suppressed", Delivery.SUPPRESSED),
        ("complaint", Delivery.UNWANTED),
        ("complaint_suppressed", Delivery.SUPPRESSED),
        ("delivery", Delivery.DELIVERED),
        ("reject", Delivery.REFUSED),
    ],
)
def test_a_stored_sample_says_what_became_of_the_mail(name: str, delivery: Delivery) -> None:
    event = mail_event(sample(name))

    assert event.delivery is delivery
    assert event.request_id == REQUEST_ID
    assert len(event.link) == 64
    assert event.addresses == ("dave@example.com",)


def test_every_sample_is_read() -> None:
    for path in sorted(SAMPLES.glob("*.json")):
        assert mail_event(sample(path.stem)).addresses


def test_an_event_that_nobody_asked_for_is_refused_without_its_values() -> None:
    event = sample("bounce")
    event["detail"]["eventType"] = "Open"
    with pytest.raises(InvalidRequestError):
        mail_event(event)

    del event["detail"]["mail"]
    with pytest.raises(ValidationError) as refused:
        mail_event(event)
    assert "dave@example.com" not in str(refused.value)


@pytest.mark.parametrize(
    "name",
    [
        "bounce",
        "bounce_transient",
        "bounce_suppressed",
        "complaint",
        "complaint_suppressed",
        "reject",
    ],
)
def test_p5_an_undelivered_request_shows_escalates_and_never_counts_as_consent(name: str) -> None:
    world = a_waiting_world()
    event = said(world, name)

    assert record(world, event) == "approver"

    assert mail_of(world) == event.delivery.value
    assert plan_of(world).decisions == ()
    assert plan_of(world).state is PlanState.AWAITING_APPROVAL
    assert details(world, "approval.mail_followed") == [
        {"approver": DAVE, "mail": event.delivery.value}
    ]
    assert [one.to for one in world.mailer.sent][-1] == REQUESTER
    assert world.remind() == {"escalated": 1, "escalation": 1}
    assert deciders_of(plan_of(world)) == (*APPROVERS, GRACE)


def test_a_delivery_shows_and_escalates_nothing() -> None:
    world = a_waiting_world()

    assert record(world, said(world, "delivery")) == "approver"

    assert mail_of(world) == "delivered"
    assert world.remind() == {}
    assert all(one.to != REQUESTER for one in world.mailer.sent)


def test_a_repeated_event_is_recorded_and_told_once() -> None:
    world = a_waiting_world()

    assert [record(world, said(world, "bounce")) for _ in range(3)] == ["approver", "", ""]
    assert sum(one.to == REQUESTER for one in world.mailer.sent) == 1


def test_events_out_of_order_keep_the_failure() -> None:
    world = a_waiting_world()
    record(world, said(world, "complaint"))

    assert record(world, said(world, "delivery")) == ""
    assert mail_of(world) == "reported as unwanted"


def test_a_complaint_after_a_delivery_counts() -> None:
    world = a_waiting_world()
    record(world, said(world, "delivery"))

    assert record(world, said(world, "complaint")) == "approver"
    assert mail_of(world) == "reported as unwanted"


def test_an_event_about_a_replaced_link_says_nothing_about_the_newer_one() -> None:
    world = a_waiting_world()
    late = said(world, "bounce")
    moment = plan_of(world).remind_at
    assert moment is not None
    world.clock.set(moment)
    world.remind()

    assert record(world, late) == ""
    assert mail_of(world) == ""


def test_a_mail_of_nobody_is_nothing() -> None:
    world = a_waiting_world()

    for event in (
        replace(said(world, "bounce"), link="0" * 64),
        replace(said(world, "bounce"), link="", request_id="r9"),
        replace(said(world, "bounce"), link="", request_id=""),
        replace(said(world, "bounce"), link="no hash", request_id=""),
    ):
        assert record(world, event) == ""


def test_a_bounce_of_a_mail_to_the_requester_is_recorded() -> None:
    world = a_waiting_world()
    event = replace(mail_event(sample("bounce_requester")), request_id="r1")

    assert event.link == ""
    assert record(world, event) == "requester"
    assert details(world, "request.mail_followed") == [{"mail": "bounced"}]
    assert record(world, replace(event, delivery=Delivery.DELIVERED)) == ""


def test_a_signers_bounce_shows_on_the_request_and_names_nobody_in_the_audit() -> None:
    """Sent is not delivered: the vendor's own record says sent."""
    world = a_waiting_world()
    world.send(approved(world, "r2", source=b"%PDF-1.7 other"))
    event = mail_event(sample("bounce_signer"))
    about = replace(event, subject=event.subject.replace(REQUEST_ID, "r2"))

    assert [record(world, about) for _ in range(2)] == ["signer", ""]

    view = get_request("r2", TENANT, CALLER, world.store)
    assert [(one.order, one.mail) for one in view.signers] == [(2, "bounced")]
    assert plan_of(world, "r2#1").state is PlanState.EXECUTED
    assert details(world, "signer.mail_followed", "r2") == [{"order": 2, "mail": "bounced"}]
    assert "bob@example.com" not in "".join(one.line for one in world.store.chain("r2"))


@pytest.mark.parametrize("subject", ["", "Please sign [r9#1]", "Please sign r1#1", "[r1#]"])
def test_a_signers_mail_that_names_no_plan_of_ours_is_nothing(subject: str) -> None:
    world = a_waiting_world()
    event = replace(mail_event(sample("bounce_signer")), subject=subject)

    assert record(world, event) == ""


def test_a_stranger_in_a_signers_mail_is_nothing() -> None:
    world = a_waiting_world()
    event = replace(
        mail_event(sample("bounce_signer")), subject="[r1#1]", addresses=("eve@evil.example",)
    )

    assert record(world, event) == ""


def test_where_no_person_is_behind_the_caller_nobody_is_told() -> None:
    world = a_waiting_world()
    change_plan(world, requester_email="")

    assert record(world, said(world, "bounce")) == "approver"
    assert len(world.mailer.sent) == 2


def test_a_notice_that_is_not_taken_loses_nothing_that_is_shown() -> None:
    at = At()
    world = a_waiting_world(at)
    at.before("mailer.send", failing(TransientError("throttled")))

    assert record(world, said(world, "bounce")) == "approver"
    assert mail_of(world) == "bounced"


def test_a_plan_that_keeps_moving_has_the_event_delivered_again() -> None:
    for kind, name in (("approval", "bounce"), ("signer", "bounce_signer")):
        at = At()
        world = a_waiting_world(at)
        for nth in range(1, 5):
            at.before(f"store.commit {kind}.mail_followed", failing(StaleError("moved")), nth)
        event = said(world, name)
        if kind == "signer":
            event = replace(event, link="", request_id="", subject="[r1#1]")

        with pytest.raises(StaleError):
            record(world, event)
