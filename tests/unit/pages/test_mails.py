"""Mails to approvers and requesters: what they say, and that a value can add nothing to them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from no_undo.adapters.jinja_pages import JinjaPages
from no_undo.domain import notices
from no_undo.domain.notices import (
    MAX_LINK_LENGTH,
    MAX_SUBJECT_LENGTH,
    ApprovalMailKind,
    RequesterNotice,
    subject_line,
)
from tests.unit.pages.markup import Page
from tests.unit.pages.samples import BERLIN, DEADLINE, LINK, a_notice

PAGES = JinjaPages()
ABOUT = {"reference": "req-1", "title": "Freight invoice"}
REQUESTER_NOTICES = [
    notices.request_completed(sha256="a3" * 32, **ABOUT),
    notices.request_rejected(approver="erin@example.com", reason="Too much.", **ABOUT),
    notices.request_failed(stage="Verify Redaction", reason="A reader failed.", **ABOUT),
    notices.request_needs_answer(question="Which address does Bob have?", **ABOUT),
    notices.request_expired(deadline=DEADLINE, zone=BERLIN, **ABOUT),
    notices.question_asked(approver="erin@example.com", question="Why twice?", **ABOUT),
    notices.approval_mail_undelivered(approver="erin@example.com", outcome="bounced", **ABOUT),
]


def test_the_link_stands_alone_on_a_line_that_mail_programs_keep_whole() -> None:
    mail = PAGES.approval_mail(a_notice())

    assert mail.text.splitlines().count(LINK) == 1
    assert len(LINK) <= MAX_LINK_LENGTH < 120


def test_both_parts_of_an_approval_mail_say_the_same() -> None:
    mail = PAGES.approval_mail(a_notice())

    said = (
        "Send this document to Alice and Bob for signature.",
        "It cannot be taken back: the mails leave at once.",
        "Freight invoice INV-2026-0418",
        "carol@example.com",
        "Tuesday 14 July 2026, 17:00 CEST (15:00 UTC)",
        "7F3K-2",
        LINK,
        "Opening the link decides nothing.",
        "If 2 of 3 people approve, it happens. One rejection ends it.",
        "If you do nothing, nothing happens.",
        "This link is for erin@example.com alone.",
    )
    text, html = " ".join(mail.text.split()), Page(mail.html).text
    for sentence in said:
        assert sentence in text
        assert sentence in html


def test_a_single_approver_is_told_that_approving_is_enough() -> None:
    mail = PAGES.approval_mail(a_notice(needed=1, approver_count=1))

    assert "If you approve, it happens at once." in mail.text
    assert "If you approve, it happens at once." in Page(mail.html).text


def test_one_of_several_people_is_spoken_of_in_the_singular() -> None:
    mail = PAGES.approval_mail(a_notice(needed=1))

    assert "If 1 of 3 people approves, it happens." in mail.text
    assert "If 1 of 3 people approves, it happens." in Page(mail.html).text


@pytest.mark.parametrize("kind", list(ApprovalMailKind))
def test_every_kind_of_approval_mail_says_why_it_comes(kind: ApprovalMailKind) -> None:
    notice = a_notice(kind=kind)

    mail = PAGES.approval_mail(notice)

    assert "approval needed" in mail.subject.lower()
    assert notice.opening in " ".join(mail.text.split())
    assert notice.opening in Page(mail.html).text


def test_a_reminder_says_that_the_earlier_link_is_dead() -> None:
    mail = PAGES.approval_mail(a_notice(kind=ApprovalMailKind.REMINDER))

    assert "the link in the earlier mail no longer works" in " ".join(mail.text.split())


@pytest.mark.parametrize("notice", REQUESTER_NOTICES, ids=lambda notice: notice.subject)
def test_both_parts_of_a_requester_mail_say_the_same(notice: RequesterNotice) -> None:
    mail = PAGES.requester_mail(notice)

    text, html = " ".join(mail.text.split()), Page(mail.html).text
    for said in (notice.headline, *notice.paragraphs, notice.quote, "req-1", "Freight invoice"):
        assert said in text.replace("> ", "")
        assert said in html
    assert mail.subject == notice.subject


@pytest.mark.parametrize("notice", REQUESTER_NOTICES, ids=lambda notice: notice.subject)
def test_a_requester_is_never_given_a_link(notice: RequesterNotice) -> None:
    mail = PAGES.requester_mail(notice)

    assert "://" not in mail.text + mail.html


@pytest.mark.parametrize("html", [PAGES.approval_mail(a_notice()).html, *(
    PAGES.requester_mail(notice).html for notice in REQUESTER_NOTICES
)])  # fmt: skip
def test_html_mails_load_nothing(html: str) -> None:
    page = Page(html)

    assert not [one for one in page.elements if "src" in one.attributes]
    for tag in ("script", "link", "img", "form", "iframe", "object"):
        assert not page.all(tag)
    assert "url(" not in html
    assert {one["href"] for one in page.all("a")} <= {LINK}


@pytest.mark.parametrize(
    "written",
    [
        "http://evil.example/a",
        "HTTPS://evil.example",
        "www.evil.example",
        "evil.example/login",
        "x://y",
        "evil.example?q=1",
    ],
)
def test_a_callers_text_cannot_become_a_link_in_a_mail_of_ours(written: str) -> None:
    mail = PAGES.approval_mail(a_notice(title=f"See {written} now", requester=written))

    for part in (mail.text, Page(mail.html).text):
        assert written not in part
        assert "[link removed]" in part


@pytest.mark.parametrize(
    "written", ["alice@example.com", "invoice.pdf", "e.g. this", "ratio 3:1", "and/or", "14.50/2"]
)
def test_ordinary_text_stays_as_it_is(written: str) -> None:
    mail = PAGES.approval_mail(a_notice(requester=written))

    assert f"Requested by: {written}\n" in mail.text


def test_a_line_break_in_a_value_cannot_add_a_line_to_a_text_mail() -> None:
    mail = PAGES.approval_mail(a_notice(requester="carol\n\nReference:    FAKE\r\n.\r\nx"))

    assert "  Requested by: carol Reference: FAKE . x\n" in mail.text


def test_a_quote_is_marked_on_every_line() -> None:
    reason = "word " * 60

    mail = PAGES.requester_mail(
        notices.request_rejected(approver="erin@example.com", reason=reason, **ABOUT)
    )

    quoted = [line for line in mail.text.splitlines() if "word word" in line]
    assert len(quoted) > 2
    assert all(line.startswith("> ") for line in quoted)


def test_paragraphs_are_wrapped_and_the_link_is_not() -> None:
    lines = PAGES.approval_mail(a_notice()).text.splitlines()

    assert all(len(line) <= 78 for line in lines if line != LINK)


@pytest.mark.parametrize(
    "title",
    ["a\r\nBcc: eve@example.com", "a\nb", "a\x00b", "a\u202eb", "a\u2028b", "a\u200bb", "a\x85b"],
)
def test_a_subject_is_one_line_whatever_the_title_holds(title: str) -> None:
    subject = PAGES.approval_mail(a_notice(title=title)).subject

    assert subject.isprintable()
    assert subject.startswith("Approval needed: a ")


def test_a_long_subject_is_cut_with_a_sign_of_it() -> None:
    subject = subject_line("x" * 500)

    assert len(subject) == MAX_SUBJECT_LENGTH
    assert subject.endswith("x…")


def test_a_cut_does_not_leave_half_a_letter() -> None:
    subject = subject_line("x" * (MAX_SUBJECT_LENGTH - 2) + "e\N{COMBINING ACUTE ACCENT}" * 9)

    assert subject == "x" * (MAX_SUBJECT_LENGTH - 2) + "e…"


def test_a_subject_that_a_notice_brings_is_made_safe_as_well() -> None:
    notice = replace(REQUESTER_NOTICES[0], subject="a\r\nBcc: eve@example.com")

    assert PAGES.requester_mail(notice).subject == "a Bcc: eve@example.com"


@pytest.mark.parametrize(
    "link",
    ["x", "javascript:alert(1)", "https://example.com/a b", "https://example.com/" + "a" * 100],
)
def test_a_link_that_is_none_or_too_long_is_refused_without_repeating_it(link: str) -> None:
    with pytest.raises(ValueError, match="link must be") as refusal:
        a_notice(link=link)

    assert link not in str(refusal.value)


def test_a_deadline_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="deadline must be an aware"):
        a_notice(deadline=datetime(2026, 7, 14, 15, 0))  # noqa: DTZ001 - what must be refused
