"""P6: whoever opens a link, and whatever presses its buttons, decides nothing, uses nothing up."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest

from local.demo.people import approve
from tests.e2e.site import Site

DECISIONS = ("approve", "reject")


@pytest.fixture(scope="module")
def mailed(site: Site) -> tuple[str, str]:
    """A request that waits for its approver, and the link."""
    [waiting] = site.prepared({"Opened": {}}).items()
    return waiting


class Robot(HTMLParser):
    """What a program knows of a page: its form, its addresses, every word on it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}
        self.addresses: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = given.get("action", "")
        if tag in {"input", "textarea", "button"} and "name" in given:
            self.fields[given["name"]] = given.get("value", "")
        self.addresses += [given[name] for name in ("href", "src") if name in given]


def decided_by(site: Site, request_id: str) -> list[dict[str, Any]]:
    """Return every stored row that a decision would change."""
    plan_id = f"{request_id}#1"
    plans = [row for row in site.rows("Plans") if row["plan_id"]["S"] == plan_id]
    links = [row for row in site.rows("Approvals") if row["plan_id"]["S"] == plan_id]
    requests = [row for row in site.rows("Requests") if row["request_id"]["S"] == request_id]
    assert len(plans) == len(links) == len(requests) == 1
    return [*plans, *links, *requests]


def test_p6_opening_a_link_in_every_way_changes_nothing(
    site: Site, mailed: tuple[str, str]
) -> None:
    """GET, HEAD and OPTIONS, by anybody, many times; then every address that the page names."""
    request_id, link = mailed
    before, told = decided_by(site, request_id), site.kinds(request_id)

    for agent in ("Mozilla/5.0", "link-preview/1.0", ""):
        for method in ("GET", "HEAD", "OPTIONS"):
            answer = httpx.request(method, link, headers={"User-Agent": agent}, timeout=30)
            assert method == "OPTIONS" or answer.is_success  # the emulator refuses OPTIONS itself
    for address in Robot(httpx.get(link, timeout=30).text).addresses:
        if not address.startswith(("#", "mailto:", "data:")):
            assert not httpx.get(urljoin(link, address), timeout=30).is_error, address

    assert decided_by(site, request_id) == before
    assert site.kinds(request_id) == told


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_p6_no_other_method_leads_to_a_decision(
    site: Site, mailed: tuple[str, str], method: str
) -> None:
    request_id, link = mailed
    before = decided_by(site, request_id)

    assert httpx.request(method, link, timeout=30).is_client_error

    assert decided_by(site, request_id) == before


def test_p6_a_robot_that_posts_the_form_decides_nothing_and_leaves_the_link_to_its_owner(
    site: Site, mailed: tuple[str, str]
) -> None:
    """It presses every button with everything that the page's form holds."""
    request_id, link = mailed
    plan, old_link, request = decided_by(site, request_id)
    robot = Robot(httpx.get(link, timeout=30).text)

    for decision in DECISIONS:
        form = {**robot.fields, "decision": decision, "reason": "Because."}
        answer = httpx.post(urljoin(link, robot.action), data=form, timeout=30)
        assert answer.status_code == 422

    plan_now, link_now, request_now = decided_by(site, request_id)
    assert (plan_now, request_now) == (plan, request)
    assert link_now["state"] == old_link["state"] == {"S": "LIVE"}
    approve(link)
    assert site.view(request_id)["approvals"] == 1


def test_p6_opens_are_recorded_as_opens_on_a_chain_of_their_own(
    site: Site, mailed: tuple[str, str]
) -> None:
    request_id, link = mailed
    httpx.get(link, timeout=30)

    opens = site.kinds(f"{request_id}#opens")

    assert opens
    assert set(opens) == {"link.opened"}
