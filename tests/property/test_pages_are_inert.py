"""No value can add an element, an attribute, a header, a link or hidden text to what people see."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from no_undo.adapters.jinja_pages import JinjaPages
from no_undo.domain import notices, results
from no_undo.domain.card import Choice, FormState
from no_undo.domain.notices import MAX_SUBJECT_LENGTH, subject_line
from no_undo.domain.plain_text import has_unsafe_characters
from tests.unit.pages.markup import Page
from tests.unit.pages.samples import DEADLINE, LINK, a_card, a_notice

PAGES = JinjaPages()

# A busy machine is no finding.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60)

_ATTACKS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' autofocus onfocus='x",
    "</textarea></form><form action=//evil.example>",
    "</style><style>*{display:none}",
    "</title><meta http-equiv=refresh content=0>",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt;&#60;&amp",
    "<!-- ",
    "]]>",
    "\r\nBcc: eve@example.com\r\n\r\n",
    "http://evil.example/x",
    "\u202egnp.exe\u2066",
    "\x00\x08\x1b[2J\x7f\u2028\u200b\ufeff",
)
hostile_texts = st.lists(
    st.sampled_from(_ATTACKS) | st.text(min_size=1, max_size=20), min_size=1, max_size=4
).map("".join)
hostile_paths = st.text(st.sampled_from("abc/.\"'<>&=()`{}%"), max_size=30).map(lambda s: f"/x{s}")

_URLS = frozenset({"link", "form_action", "back_url", "pdf_url", "picture_url", "crop_url"})
# Made by us from closed sets; a card refuses any other confirmation word.
_OURS = frozenset({"confirmation_words"})


def with_values(original: Any, text: str, path: str, name: str = "") -> Any:  # noqa: ANN401
    """Return a copy in which every text of any depth is `text`, and every URL is `path`."""
    if is_dataclass(original) and not isinstance(original, type):
        changes = {
            one.name: with_values(getattr(original, one.name), text, path, one.name)
            for one in fields(original)
            if one.name not in _OURS
        }
        return replace(original, **changes)
    if isinstance(original, tuple):
        members = cast("Iterable[Any]", original)
        return tuple(with_values(one, text, path, name) for one in members)
    if type(original) is str and original:  # an enumeration's value is not the caller's
        return path if name in _URLS else text
    return original


def assert_inert(render: Callable[[str, str], str], text: str, path: str) -> None:
    """Assert that a page keeps its elements and attributes, and shows no unsafe character."""
    page = Page(render(text, path))

    assert page.shape == Page(render("plain", "/plain")).shape
    assert not has_unsafe_characters(page.text)
    for one in page.elements:
        for name, value in one.attributes.items():
            assert not has_unsafe_characters(value.replace("\n", "")), name


@unhurried
@given(hostile_texts, hostile_paths)
@example("".join(_ATTACKS), "/\"'><script>")
def test_nothing_on_a_card_can_change_the_card(text: str, path: str) -> None:
    card = a_card(choices=tuple(Choice))

    def render(text: str, path: str) -> str:
        entered = {"reason": text, "field_1_value": text, "hand_over_to": text}
        form = FormState(entered, {"reason": text, "confirmation": text})
        return PAGES.approval_page(with_values(card, text, path), form).html

    assert_inert(render, text, path)


@unhurried
@given(hostile_texts, hostile_paths)
def test_nothing_on_a_result_page_can_change_it(text: str, path: str) -> None:
    result = replace(
        results.expired(DEADLINE, reference="7F3K-2", title="Freight invoice"), back_url="/x"
    )

    def render(text: str, path: str) -> str:
        return PAGES.result_page(with_values(result, text, path)).html

    assert_inert(render, text, path)


@unhurried
@given(hostile_texts)
@example("".join(_ATTACKS))
def test_nothing_in_an_approval_mail_can_change_it(text: str) -> None:
    def render(text: str, _path: str) -> str:
        return PAGES.approval_mail(with_values(a_notice(), text, LINK)).html

    assert_inert(render, text, LINK)
    page = Page(render(text, LINK))
    assert [one["href"] for one in page.all("a")] == [LINK]
    assert "://" not in page.text.replace(LINK, "")


@unhurried
@given(hostile_texts)
def test_nothing_in_a_requester_mail_can_change_it(text: str) -> None:
    who = {"reference": text, "title": text, "approver": text}
    for notice in (
        notices.request_rejected(**who, reason=text),
        notices.question_asked(**who, question=text),
        notices.approval_mail_undelivered(**who, outcome=text),
    ):

        def render(text: str, _path: str, notice: notices.RequesterNotice = notice) -> str:
            return PAGES.requester_mail(with_values(notice, text, "")).html

        assert_inert(render, text, "")


@unhurried
@given(hostile_texts)
@example("".join(_ATTACKS))
def test_a_text_mail_has_one_link_and_no_unsafe_character(text: str) -> None:
    mail = PAGES.approval_mail(with_values(a_notice(), text, LINK))

    assert mail.text.splitlines().count(LINK) == 1
    assert "://" not in mail.text.replace(LINK, "")
    assert not has_unsafe_characters(mail.text.replace("\n", ""))


@unhurried
@given(st.text(max_size=400) | hostile_texts)
def test_a_subject_is_one_bounded_printable_line(text: str) -> None:
    subject = subject_line(f"Approval needed: {text}")

    assert 0 < len(subject) <= MAX_SUBJECT_LENGTH
    assert not has_unsafe_characters(subject)
    assert re.fullmatch(r"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+", subject)
    assert subject_line(subject) == subject
