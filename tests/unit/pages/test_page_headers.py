"""What the browser is told about pages that are reached by a secret address."""

from __future__ import annotations

import base64
import hashlib

import pytest

from no_undo.adapters.jinja_pages import HtmlPage, JinjaPages
from no_undo.domain.results import unknown_link
from no_undo.entrypoint.pages import file_headers, page_headers, redirect_headers
from tests.unit.pages.markup import Page
from tests.unit.pages.samples import a_card

PAGES = JinjaPages()


def directives(headers: dict[str, str]) -> dict[str, str]:
    parts = [part.strip().partition(" ") for part in headers["content-security-policy"].split(";")]
    return {name: value for name, _, value in parts}


@pytest.mark.parametrize("page", [PAGES.approval_page(a_card()), PAGES.result_page(unknown_link())])
def test_the_policy_allows_exactly_the_stylesheet_that_stands_in_the_page(page: HtmlPage) -> None:
    stylesheet = Page(page.html).one("style").text
    digest = base64.b64encode(hashlib.sha256(stylesheet.encode()).digest()).decode()

    assert directives(page_headers(page.style_source)) == {
        "default-src": "'none'",
        "style-src": f"'sha256-{digest}'",
        "img-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }


def test_pictures_and_redirects_may_load_and_frame_nothing() -> None:
    for headers in (file_headers("image/png"), redirect_headers("https://example.com/x")):
        assert set(directives(headers).values()) == {"'none'"}
        assert {"default-src", "frame-ancestors"} <= set(directives(headers))


@pytest.mark.parametrize(
    "headers",
    [page_headers("'sha256-x'"), file_headers("image/png"), redirect_headers("/approvals/k")],
)
def test_the_address_does_not_travel_and_nothing_is_kept(headers: dict[str, str]) -> None:
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["strict-transport-security"].startswith("max-age=")
    assert "noindex" in headers["x-robots-tag"]
    assert all(name == name.lower() for name in headers)
