"""Every other end: named by state, stage and reason, never sent, and open to another try."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from local.demo.people import decide, wait_for
from local.stack.inbox import messages
from local.stack.parameters import APPROVER, REQUESTER
from no_undo.cli.api import ApiError
from tests.e2e.site import Site

MARGIN = timedelta(seconds=20)
"""What a request needs at most until people are asked, once every function is warm."""
NAMES = ("Rejected", "Withdrawn", "Declined", "Lapsed")


@dataclass(frozen=True)
class Waiting:
    """A request that waits for people.

    Attributes:
        request_id: Its id.
        link: What its approver was mailed.
    """

    request_id: str
    link: str


@pytest.fixture(scope="module")
def waiting(site: Site) -> dict[str, Waiting]:
    """Requests that wait for people, by the test that takes them."""
    links = site.prepared({name: {} for name in NAMES})
    return {name: Waiting(*one) for name, one in zip(NAMES, links.items(), strict=True)}


@pytest.fixture(scope="module", autouse=True)
def expiring(site: Site, waiting: dict[str, Waiting]) -> tuple[Waiting, datetime]:
    """A request whose deadline passes while other tests run; a sentence names whole minutes."""
    assert waiting  # they have warmed every function
    deadline = (datetime.now(UTC) + MARGIN + timedelta(minutes=1)).replace(second=0, microsecond=0)
    prompt = f"Send this invoice without redaction by {deadline:%Y-%m-%d %H:%M} UTC for signature."
    [(request_id, link)] = site.prepared({"Expired": {"prompt": prompt}}).items()
    return Waiting(request_id, link), deadline


def failed(site: Site, request_id: str, stage: str) -> dict[str, Any]:
    """Wait for a failure and check what everybody may see of it; return how it ended."""
    view = site.ended(request_id)
    ending: dict[str, Any] = view["ending"]
    assert (view["state"], ending["stage"]) == ("FAILED", stage)
    assert ending["reason"]
    assert site.sends(request_id) == 0
    assert "request.closed" in site.kinds(request_id)
    return ending


@pytest.mark.parametrize(
    "lie",
    [
        pytest.param({"staged_only": True}, id="marks are staged and never applied"),
        pytest.param({"boxes_only": True}, id="boxes are painted over live text"),
        pytest.param({"miss_page": 1}, id="a page is skipped"),
        pytest.param({"keep_old_revision": True}, id="the original stays as an older revision"),
    ],
)
def test_p8_a_lie_about_redaction_ends_the_run_before_a_draft_exists(
    site: Site, lie: dict[str, Any]
) -> None:
    """The vendor answers 200 each time."""
    with site.vendor.lying(**lie):
        request_id = site.submit(f"Lie{next(iter(lie))}", redact=True)
        ending = failed(site, request_id, "Verify Redaction")

    assert ending["code"] == "redaction_unproven"
    assert "draft.begun" not in site.kinds(request_id)
    assert site.vendor.folder_of(request_id) is None


def test_a_rendering_that_fails_ends_the_request_and_nothing_stays_at_the_vendor(
    site: Site,
) -> None:
    before = site.vendor.documents()["stored"]

    with site.vendor.misbehaving("pdf/create", "task_fails"):
        failed(site, site.submit("Unrendered"), "Assemble Document")

    assert site.vendor.documents()["stored"] == before


def test_after_a_failure_a_new_request_for_the_same_document_and_people_works(site: Site) -> None:
    with site.vendor.misbehaving("createfolder", "502_without_effect", http_status=402):
        first = site.submit("Refused")
        ending = failed(site, first, "Create Draft")

    assert ending["code"] == "vendor_refused"
    second = site.submit("Refused")
    assert site.link(second)
    assert site.view(second)["state"] == "AWAITING_APPROVAL"
    site.api.post(f"/requests/{second}/withdraw", {})


def test_a_rejected_plan_is_never_sent_and_its_requester_reads_why(
    site: Site, waiting: dict[str, Waiting]
) -> None:
    rejected = waiting["Rejected"]

    decide(rejected.link, "reject", "The tax is wrong.")

    view = site.wait(rejected.request_id, "REJECTED")
    [approver] = view["approvers"]
    assert (approver["address"], approver["says"]) == (APPROVER, "reject")
    assert_abandoned(site, rejected.request_id)
    told = [one for one in messages(site.running.url("emulator")) if one["To"] == [REQUESTER]]
    assert any("The tax is wrong." in str(one["BodyText"]) for one in told)
    with pytest.raises(ApiError) as refused:
        site.api.post(f"/requests/{rejected.request_id}/withdraw", {})
    assert refused.value.status == 409


def test_a_withdrawn_plan_is_never_sent_and_its_link_says_so(
    site: Site, waiting: dict[str, Waiting]
) -> None:
    withdrawn = waiting["Withdrawn"]

    first = site.api.post(f"/requests/{withdrawn.request_id}/withdraw", {})
    second = site.api.post(f"/requests/{withdrawn.request_id}/withdraw", {})

    site.wait(withdrawn.request_id, "WITHDRAWN")
    assert first["request_id"] == second["request_id"]
    assert_abandoned(site, withdrawn.request_id)
    assert site.kinds(withdrawn.request_id).count("request.withdrawn") == 1
    assert httpx.get(withdrawn.link, timeout=30).status_code == 410


@pytest.mark.parametrize(
    ("name", "how", "state"),
    [("Declined", "decline", "DECLINED"), ("Lapsed", "expire", "SIGNATURE_EXPIRED")],
)
def test_a_sent_envelope_that_ends_unsigned_is_called_what_it_is(
    site: Site, waiting: dict[str, Waiting], name: str, how: str, state: str
) -> None:
    """After the send no end is called failed."""
    request_id = waiting[name].request_id
    decide(waiting[name].link, "approve")
    site.wait(request_id, "AWAITING_SIGNATURE")

    site.vendor.end(site.folder_id(request_id), how)

    view = site.wait(request_id, state)
    assert site.sends(request_id) == 1
    assert view["abandoned_drafts"] == 0
    assert "plan.executed" in site.kinds(request_id)


def test_a_plan_that_nobody_decides_expires_at_its_deadline(
    site: Site, expiring: tuple[Waiting, datetime]
) -> None:
    expired, deadline = expiring
    assert datetime.fromisoformat(site.view(expired.request_id)["deadline"]) == deadline

    wait_for(lambda: True if datetime.now(UTC) >= deadline else None, "the deadline", 120)
    view = site.wait(expired.request_id, "EXPIRED")

    assert view["approvals"] == 0
    assert_abandoned(site, expired.request_id)
    assert httpx.get(expired.link, timeout=30).status_code == 410
    assert "plan.expired" in site.kinds(expired.request_id)


def assert_abandoned(site: Site, request_id: str) -> None:
    """The one draft there was is recorded as abandoned, and was never sent."""
    [closed] = [one for one in site.chain(request_id) if one["kind"] == "request.closed"]
    assert closed["details"]["abandonedDrafts"] == [str(site.folder_id(request_id))]
    assert site.view(request_id)["abandoned_drafts"] == 1
    assert site.sends(request_id) == 0
