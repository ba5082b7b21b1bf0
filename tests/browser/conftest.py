"""Starts Chromium once for all browser tests, or says why it cannot."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from no_undo.adapters.jinja_pages import JinjaPages
from no_undo.domain import results
from no_undo.domain.card import Choice, FormState
from tests.browser.site import ORIGIN, Site, a_picture
from tests.unit.pages.samples import a_card

SCREENSHOTS = Path(__file__).parents[2] / "artifacts" / "browser"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)


def chromium_path() -> str | None:
    """Return the browser named in `NO_UNDO_CHROMIUM`, else the first one on the path."""
    named = os.environ.get("NO_UNDO_CHROMIUM")
    return named or next((found for name in _NAMES if (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium_path()
    if path is None:
        pytest.skip("no Chromium on the path; install one or set NO_UNDO_CHROMIUM")
    with sync_playwright() as playwright:
        # Containers have no user namespace for the sandbox; the pages are our own.
        arguments = [*_QUIET, "--no-sandbox"] if os.geteuid() == 0 else list(_QUIET)
        started = playwright.chromium.launch(executable_path=path, args=arguments)
        yield started
        started.close()


@pytest.fixture
def site() -> Site:
    render = JinjaPages()
    failed = FormState(
        {"decision": "reject", "reason": "", "field_1": "corrected", "field_1_value": "86.86"},
        {"reason": "Please give a reason.", "confirmation": "The two words did not match."},
    )
    card = a_card(choices=tuple(Choice))
    about = {"reference": card.reference, "title": card.title}
    return Site(
        pages={
            "/approvals/k": render.approval_page(card),
            "/approvals/k/again": render.approval_page(card, failed),
            "/approvals/k/done": render.result_page(results.approved_complete(**about)),
            "/approvals/unknown": render.result_page(results.unknown_link()),
        },
        picture=a_picture(),
    )


@pytest.fixture
def phone(browser: Browser, site: Site) -> Iterator[Page]:
    """A narrow phone, with the site behind it."""
    context = browser.new_context(viewport={"width": 320, "height": 640}, base_url=ORIGIN)
    page = context.new_page()
    site.attach(page)
    yield page
    context.close()
