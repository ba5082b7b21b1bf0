"""The card in a real Chromium."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import SCREENSHOTS
from tests.browser.site import ORIGIN, Site
from tests.unit.pages.samples import CARD_DIGEST, PLAN_DIGEST

pytestmark = [pytest.mark.browser, pytest.mark.enable_socket]

CARD = "/approvals/k"
ALL_PAGES = (CARD, "/approvals/k/again", "/approvals/k/done", "/approvals/unknown")
RULES = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}"


def focused(page: Page) -> str:
    """Return id or name of the focused element."""
    name: str = page.evaluate("document.activeElement.id || document.activeElement.name || ''")
    return name


def tab_to(page: Page, name: str) -> None:
    """Press Tab until an element has the focus, as a person without a mouse does."""
    for _ in range(60):
        if focused(page) == name:
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab never reaches {name}")


def test_the_card_loads_without_a_complaint_or_a_request_to_anybody_else(
    phone: Page, site: Site
) -> None:
    phone.goto(CARD)

    assert site.complaints == []
    assert {url.startswith(f"{ORIGIN}/") for url in site.asked} == {True}
    widths: list[int] = phone.evaluate("[...document.images].map(one => one.naturalWidth)")
    assert len(widths) == 3
    assert all(width > 0 for width in widths)
    assert phone.evaluate("getComputedStyle(document.querySelector('.bar')).color") == (
        "rgb(255, 255, 255)"
    )


def test_a_script_that_got_into_the_page_would_not_run(phone: Page, site: Site) -> None:
    phone.goto(CARD)

    phone.evaluate(
        """() => {
          const script = document.createElement('script');
          script.textContent = 'window.ran = true';
          document.body.append(script);
          document.body.setAttribute('onclick', 'window.ran = true');
          document.body.click();
        }"""
    )

    assert phone.evaluate("window.ran") is None
    assert any("Content Security Policy" in complaint for complaint in site.complaints)


@pytest.mark.parametrize("path", ALL_PAGES)
@pytest.mark.parametrize("width", [320, 390, 1200])
def test_no_page_is_wider_than_the_screen(
    browser: Browser, site: Site, path: str, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, base_url=ORIGIN)
    page = context.new_page()
    site.attach(page)

    page.goto(path)

    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    name = path.strip("/").replace("/", "-")
    page.screenshot(path=SCREENSHOTS / f"{name}-{width}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    context.close()


def test_a_person_rejects_by_keyboard_alone(phone: Page, site: Site) -> None:
    phone.goto(CARD)

    phone.keyboard.press("Tab")
    assert phone.evaluate("document.activeElement.getAttribute('href')") == "#your-decision"
    phone.keyboard.press("Enter")
    tab_to(phone, "decision")
    phone.keyboard.press("Space")
    phone.keyboard.press("ArrowDown")
    phone.keyboard.press("ArrowDown")
    tab_to(phone, "reason")
    phone.keyboard.type("The total is wrong.")
    tab_to(phone, "confirmation")
    phone.keyboard.type("copper meadow")
    with phone.expect_navigation():
        phone.keyboard.press("Enter")

    [post] = site.posts
    assert post == {
        "plan_digest": PLAN_DIGEST,
        "card_digest": CARD_DIGEST,
        "decision": "reject",
        "reason": "The total is wrong.",
        "confirmation": "copper meadow",
        "field_0_value": "",
        "field_1_value": "",
        "field_2_value": "",
        "hand_over_to": "",
    }


def test_every_control_shows_where_the_focus_is(phone: Page) -> None:
    phone.goto(CARD)
    seen: set[str] = set()

    for _ in range(60):
        phone.keyboard.press("Tab")
        style: str = phone.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style == "solid" or focused(phone) == ""
        seen.add(focused(phone))

    assert {"decision", "reason", "confirmation", "field_1", "field_1_value"} <= seen


def test_a_failed_form_starts_at_its_errors(phone: Page) -> None:
    phone.goto("/approvals/k/again")

    assert phone.evaluate("document.activeElement.getAttribute('role')") == "alert"
    phone.get_by_role("link", name="Please give a reason.").click()
    assert phone.url.endswith("#reason")


def test_what_a_robot_finds_in_the_page_does_not_hold_the_confirmation(
    phone: Page, site: Site
) -> None:
    """It fills every field with what field, label or placeholder offer, and sends every form."""
    phone.goto(CARD)

    with phone.expect_navigation():
        phone.evaluate(
            """() => {
              for (const field of document.querySelectorAll('input, textarea')) {
                const offered = [field.placeholder, field.title, field.defaultValue, field.name];
                if (field.type === 'radio') field.checked = true;
                else if (field.type !== 'hidden') field.value = offered.find(one => one) || 'x';
              }
              document.querySelectorAll('form').forEach(form => form.submit());
            }"""
        )

    [post] = site.posts
    assert post["confirmation"] == "confirmation"


def test_the_secret_address_does_not_travel_as_referrer(phone: Page, site: Site) -> None:
    phone.goto(CARD)

    phone.get_by_role("link", name="Open the PDF").click()

    assert site.asked[-1].endswith("/document.pdf")
    assert set(site.referrers) == {""}


@pytest.mark.parametrize("path", ALL_PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_accessibility_scan_finds_nothing(phone: Page, path: str, scheme: str) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.base", reason="axe-playwright-python is not installed"
    )
    phone.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    phone.goto(path)

    phone.evaluate(axe.AXE_SCRIPT)
    found = phone.evaluate(f"axe.run({RULES})")

    assert [(one["id"], one["nodes"]) for one in found["violations"]] == []
    assert found["passes"]
