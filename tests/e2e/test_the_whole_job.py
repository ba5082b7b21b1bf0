"""The real template, state machine and function code, from one sentence to a signed PDF."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from local.demo.checks import check_audit, check_signed
from local.demo.people import Vendor, approve, caller, kill_sender, sweep, wait_for
from local.stack import stack
from local.stack.bring_up import bring_up
from local.stack.inbox import messages
from local.stack.parameters import APPROVER
from local.stack.stack import RunningStack
from no_undo.cli.api import ApiClient, ApiError

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "documents"
QUICK = {"SendTimeoutSeconds": "21", "VendorTimeoutSeconds": "1"}
NAMES = ["Marcus Webb", "Dana Ruiz"]


@dataclass(frozen=True)
class Site:
    """A deployment on the emulator and everybody around it."""

    running: RunningStack
    api: ApiClient
    vendor: Vendor

    def submit(self, name: str, **changes: object) -> str:
        """Hand in the invoice for two people of this test alone: the fence tells them apart."""
        body = {
            "prompt": f"Take this {name} invoice, redact the PII, and send it for signature.",
            "document": {"invoice": json.loads((FIXTURES / "freight_invoice.json").read_text())},
            "recipients": people(name),
            "redact_values": NAMES,
            **changes,
        }
        return str(self.api.post("/requests", body)["request_id"])

    def view(self, request_id: str) -> dict[str, Any]:
        """Return what the caller sees."""
        return self.api.get(f"/requests/{request_id}")

    def wait(self, request_id: str, *states: str, seconds: float = 90.0) -> dict[str, Any]:
        """Sweep and look until the request is in one of these states."""

        def look() -> dict[str, Any] | None:
            view = self.view(request_id)
            if view["state"] in states:
                return view
            assert view["ending"] is None, view["ending"]
            sweep(self.running)
            return None

        return wait_for(look, " or ".join(states), seconds)

    def link(self, request_id: str) -> str:
        """Wait for the mail about a request's plan and return its link."""
        view = wait_for(lambda: v if (v := self.view(request_id))["plan_id"] else None, "the plan")
        reference = f"{request_id[-8:].upper()}-{view['plan_id'].rpartition('#')[2]}"

        def look() -> str | None:
            for message in messages(self.running.url("emulator")):
                if reference in str(message["BodyText"]):
                    return _link_in(str(message["BodyText"]))
            return None

        return wait_for(look, "the approver's mail")

    def sends(self, request_id: str) -> int:
        """Return how often the vendor mailed the signers of a request's envelope."""
        folder = self.vendor.folder_of(request_id)
        return 0 if folder is None else int(folder["sends"])


def _link_in(text: str) -> str:
    return next(word for word in text.split() if "/approvals/" in word)


def people(name: str) -> list[dict[str, str]]:
    """Return two recipients that no other test has."""
    return [
        {"name": f"Alice {name}", "email": f"alice.{name}@example.com"},
        {"name": f"Bob {name}", "email": f"bob.{name}@example.com"},
    ]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    data = tmp_path_factory.mktemp("site")
    running = bring_up(data, parameters=QUICK)
    yield Site(running, caller(running), Vendor(running))
    stack.stop(data)


def test_an_uploaded_pdf_comes_back_redacted_proven_and_signed(site: Site, tmp_path: Path) -> None:
    """The main job: one sentence in, a signed PDF out, one send, a chain that verifies."""
    pdf = (FIXTURES / "freight_invoice.pdf").read_bytes()
    request_id = site.submit("Upload", document={"upload_id": site.api.upload(pdf)})

    approve(site.link(request_id))
    site.wait(request_id, "AWAITING_SIGNATURE")
    folder = site.vendor.folder_of(request_id)
    assert folder is not None
    site.vendor.sign_all(folder["folder_id"])
    view = site.wait(request_id, "COMPLETED")

    signed = tmp_path / "signed.pdf"
    signed.write_bytes(site.api.download(f"/requests/{request_id}/document"))
    assert "none of 7 values" in check_signed(signed, site.vendor.root_certificate())
    assert "verifies" in check_audit(site.running, request_id)
    assert site.sends(request_id) == 1
    assert view["attempts"] == 1


def test_structured_data_is_rendered_and_signed_too(site: Site, tmp_path: Path) -> None:
    request_id = site.submit("Data")

    approve(site.link(request_id))
    site.wait(request_id, "AWAITING_SIGNATURE")
    folder = site.vendor.folder_of(request_id)
    assert folder is not None
    site.vendor.sign_all(folder["folder_id"])
    site.wait(request_id, "COMPLETED")

    signed = tmp_path / "signed.pdf"
    signed.write_bytes(site.api.download(f"/requests/{request_id}/document"))
    assert "none of 7 values" in check_signed(signed, site.vendor.root_certificate())
    assert site.sends(request_id) == 1


@pytest.mark.parametrize("point", ["before_effect", "after_effect"])
def test_p2_a_sender_killed_around_the_vendors_effect_sends_once(site: Site, point: str) -> None:
    """SIGKILL right before and right after the call: one send once the sweep has run."""
    request_id = site.submit(f"Killed{point.partition('_')[0]}")
    link = site.link(request_id)
    hold = site.vendor.hold_send(point)
    approve(link)
    wait_for(lambda: site.vendor.is_holding(hold), "the held send")

    kill_sender()

    view = wait_for(lambda: v if (v := site.view(request_id))["in_doubt"] else None, "the doubt")
    assert view["state"] == "SENDING"
    view = site.wait(request_id, "AWAITING_SIGNATURE", seconds=150)
    assert site.sends(request_id) == 1
    assert view["attempts"] == (1 if point == "after_effect" else 2)


def test_the_fence_refuses_the_same_document_to_the_same_people_and_names_the_holder(
    site: Site,
) -> None:
    first = site.submit("Fenced")
    approve(site.link(first))
    site.wait(first, "AWAITING_SIGNATURE")

    second = site.submit("Fenced")

    view = wait_for(lambda: v if (v := site.view(second))["ending"] else None, "the refusal")
    assert view["state"] == "FAILED"
    assert view["ending"]["code"] == "fence_held"
    assert f"{first}#1" in view["ending"]["reason"]


def test_p6_opening_a_link_in_every_way_changes_nothing(site: Site) -> None:
    request_id = site.submit("Opened")
    link = site.link(request_id)
    before = site.view(request_id)

    for method in ("GET", "HEAD", "OPTIONS"):
        for _ in range(3):
            assert not httpx.request(method, link, timeout=30).is_server_error
    robot = httpx.post(link, data={"decision": "approve", "confirmation": ""}, timeout=30)

    assert robot.status_code == 422
    assert site.view(request_id) == before


def test_a_withdrawn_request_is_never_sent_and_its_link_says_so(site: Site) -> None:
    request_id = site.submit("Withdrawn")
    link = site.link(request_id)

    site.api.post(f"/requests/{request_id}/withdraw", {})

    view = site.wait(request_id, "WITHDRAWN")
    assert view["abandoned_drafts"] == 1
    assert httpx.get(link, timeout=30).status_code == 410
    assert site.sends(request_id) == 0


def test_p8_a_redaction_that_removes_nothing_stops_the_run_before_a_draft(site: Site) -> None:
    """The vendor answers 200 and only stages: black boxes over live text."""
    switches = f"{site.running.url('sandbox')}/_sandbox/nutrient/switches"
    httpx.put(switches, json={"staged_only": True}, timeout=10).raise_for_status()
    try:
        request_id = site.submit("Staged")
        view = wait_for(lambda: v if (v := site.view(request_id))["ending"] else None, "the ending")
    finally:
        httpx.put(switches, json={"staged_only": False}, timeout=10).raise_for_status()

    assert (view["state"], view["ending"]["code"]) == ("FAILED", "redaction_unproven")
    assert view["ending"]["stage"] == "Verify Redaction"
    assert site.vendor.folder_of(request_id) is None


def test_a_stopped_execution_is_restarted_by_the_sweep_and_ends_well(site: Site) -> None:
    """P11: the execution dies while it waits for people; nothing is lost and nobody asked twice."""
    request_id = site.submit("Stopped")
    link = site.link(request_id)
    machine = site.running.outputs["StateMachineArn"].replace(":stateMachine:", ":execution:")
    site.running.aws.client("stepfunctions").stop_execution(executionArn=f"{machine}:{request_id}")

    approve(link)

    site.wait(request_id, "AWAITING_SIGNATURE", seconds=120)
    assert site.sends(request_id) == 1


def test_p5_a_caller_cannot_choose_an_approver_outside_the_policy(site: Site) -> None:
    with pytest.raises(ApiError) as refused:
        site.submit("Outsider", approvers=["friend@elsewhere.example"])

    assert (refused.value.status, refused.value.field) == (400, "approvers[0]")


def test_an_unsigned_call_is_refused(site: Site) -> None:
    assert httpx.get(f"{site.running.outputs['ApiUrl']}/requests", timeout=30).status_code == 403


def test_p10_the_link_is_mailed_to_its_approver_and_shown_nowhere_else(site: Site) -> None:
    request_id = site.submit("Mailed")
    token = site.link(request_id).rpartition("/")[2]

    mails = [one for one in messages(site.running.url("emulator")) if token in str(one)]

    assert [one["To"] for one in mails] == [[APPROVER]]
    assert token not in json.dumps(site.view(request_id))
    assert token not in _everything_logged(site.running)


def _everything_logged(running: RunningStack) -> str:
    logs = running.aws.client("logs")
    text: list[str] = []
    for group in logs.describe_log_groups()["logGroups"]:
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group["logGroupName"])
        text += [event["message"] for page in pages for event in page["events"]]
    assert text
    return "\n".join(text)
