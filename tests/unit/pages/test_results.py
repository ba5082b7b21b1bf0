"""Result pages: truthful, and no wiser than the holder of the link may be."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime

import pytest

from no_undo.adapters.jinja_pages import JinjaPages
from no_undo.domain import results
from no_undo.domain.plan import Verdict
from no_undo.domain.results import Result, ResultKind
from no_undo.entrypoint.pages import result_status
from tests.unit.pages.markup import Page
from tests.unit.pages.samples import BERLIN, DEADLINE

PAGES = JinjaPages()
REFERENCE = "7F3K-2"
TITLE = "Freight invoice"
RESULTS = [
    results.approved_waiting(1, reference=REFERENCE, title=TITLE),
    results.approved_complete(reference=REFERENCE, title=TITLE),
    results.approved_paused(reference=REFERENCE, title=TITLE),
    results.rejected(reference=REFERENCE, title=TITLE),
    results.corrected(reference=REFERENCE, title=TITLE),
    results.question_sent(reference=REFERENCE, title=TITLE),
    results.handed_over(reference=REFERENCE, title=TITLE),
    results.already_decided(
        Verdict.REJECT, DEADLINE, zone=BERLIN, reference=REFERENCE, title=TITLE
    ),
    results.closed_by_others(reference=REFERENCE, title=TITLE),
    results.quorum_complete(reference=REFERENCE, title=TITLE),
    results.expired(DEADLINE, zone=BERLIN, reference=REFERENCE, title=TITLE),
    results.superseded(reference=REFERENCE, title=TITLE),
    results.withdrawn(reference=REFERENCE, title=TITLE),
    results.approval_withdrawn(reference=REFERENCE, title=TITLE),
    results.abandoned(reference=REFERENCE, title=TITLE),
    results.unknown_link(),
    results.wrong_confirmation(back_url="/approvals/k"),
    results.too_many_tries(wait_seconds=30, back_url="/approvals/k"),
    results.page_error(),
]


def text_of(result: Result) -> str:
    return Page(PAGES.result_page(result).html).text


def test_every_kind_of_result_has_its_page() -> None:
    assert {one.kind for one in RESULTS} == set(ResultKind)


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.kind)
def test_the_page_says_what_the_result_says(result: Result) -> None:
    page = Page(PAGES.result_page(result).html)

    assert page.one("h1").text == result.heading
    assert all(paragraph in page.text for paragraph in result.paragraphs)
    assert not page.all("script")
    assert not page.all("form")


def test_only_a_click_that_was_taken_or_taken_before_is_answered_with_200() -> None:
    taken = {one.kind for one in RESULTS if result_status(one) == 200}

    assert taken == {
        ResultKind.APPROVED_WAITING,
        ResultKind.APPROVED_COMPLETE,
        ResultKind.APPROVED_PAUSED,
        ResultKind.REJECTED,
        ResultKind.CORRECTED,
        ResultKind.QUESTION_SENT,
        ResultKind.HANDED_OVER,
        ResultKind.ALREADY_DECIDED,
    }
    assert all(result_status(one) in {200, 404, 410, 422, 429, 500} for one in RESULTS)


def test_waiting_counts_people() -> None:
    one = text_of(results.approved_waiting(1, reference=REFERENCE, title=TITLE))
    two = text_of(results.approved_waiting(2, reference=REFERENCE, title=TITLE))

    assert "Nothing happens until 1 more person approves." in one
    assert "Nothing happens until 2 more people approve." in two


def test_an_earlier_decision_is_named_with_its_time() -> None:
    text = text_of(
        results.already_decided(
            Verdict.APPROVE, DEADLINE, zone=BERLIN, reference=REFERENCE, title=TITLE
        )
    )

    assert "You have already decided: approved." in text
    assert "Tuesday 14 July 2026, 17:00 CEST (15:00 UTC)" in text


def test_an_expired_link_says_when() -> None:
    at = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

    assert "Sunday 1 March 2026, 12:00 UTC" in text_of(
        results.expired(at, reference=REFERENCE, title=TITLE)
    )


def test_an_unknown_link_is_told_nothing() -> None:
    result = results.unknown_link()

    assert not inspect.signature(results.unknown_link).parameters
    assert (result.reference, result.title, result.back_url) == ("", "", "")


def test_an_error_claims_neither_that_a_decision_was_stored_nor_that_none_was() -> None:
    text = text_of(results.page_error())

    assert "No decision" not in text
    assert "whether your decision was recorded" in text


def test_a_way_back_is_a_link_and_refuses_other_schemes() -> None:
    page = Page(PAGES.result_page(results.wrong_confirmation(back_url="/approvals/k")).html)

    assert page.one("a")["href"] == "/approvals/k"
    with pytest.raises(ValueError, match="back_url"):
        results.page_error(back_url="javascript:alert(1)")
