"""Rules of `domain/card.py`."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from no_undo.domain.card import (
    CardDecision,
    CardQuorum,
    FormInput,
    FormState,
    moment_text,
    require_page_url,
)
from no_undo.domain.plan import Verdict
from tests.unit.pages.samples import BERLIN, DEADLINE, DUE_DATE, NUMBER, TOTAL, a_card

NAIVE = datetime(2026, 7, 14, 15, 0)  # noqa: DTZ001 - what must be refused


def test_a_moment_is_shown_in_the_readers_zone_and_in_utc() -> None:
    assert moment_text(DEADLINE, BERLIN) == "Tuesday 14 July 2026, 17:00 CEST (15:00 UTC)"


def test_the_day_is_repeated_where_utc_has_another() -> None:
    late = datetime(2026, 7, 14, 22, 30, tzinfo=UTC)

    text = moment_text(late, BERLIN)

    assert text == "Wednesday 15 July 2026, 00:30 CEST (Tuesday 14 July 2026, 22:30 UTC)"


@pytest.mark.parametrize("zone", [None, UTC, ZoneInfo("UTC")])
def test_utc_is_not_said_twice(zone: ZoneInfo | None) -> None:
    assert moment_text(DEADLINE, zone) == "Tuesday 14 July 2026, 15:00 UTC"


def test_the_two_hours_of_a_clock_change_stay_apart() -> None:
    before = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)

    texts = [moment_text(before + timedelta(hours=hours), BERLIN) for hours in (0, 1)]

    assert texts == [
        "Sunday 25 October 2026, 02:30 CEST (00:30 UTC)",
        "Sunday 25 October 2026, 02:30 CET (01:30 UTC)",
    ]


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        moment_text(NAIVE)
    with pytest.raises(ValueError, match="deadline must be an aware"):
        a_card(deadline=NAIVE)
    with pytest.raises(ValueError, match="at must be an aware"):
        CardDecision("dave@example.com", Verdict.APPROVE, NAIVE)


@pytest.mark.parametrize("url", ["/approvals/k", "https://example.com/a?b=c", "http://127.0.0.1/"])
def test_paths_and_absolute_http_urls_are_good(url: str) -> None:
    require_page_url(url, "url")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "javascript:alert(1)",
        "data:text/html,x",
        "//other.example/",
        "/\\other.example",
        "x.png",
        "https://exa mple.com/",
        "/a\nb",
        "https:///x",
        "ftp://example.com/",
    ],
)
def test_any_other_url_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ValueError, match=r"^form_action must be a path") as refusal:
        a_card(form_action=url)

    assert not url or url not in str(refusal.value)


@pytest.mark.parametrize("words", [("Copper", "meadow"), ("copper", "two words"), ("copper", "")])
def test_confirmation_words_are_plain(words: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="two plain"):
        a_card(confirmation_words=words)


def test_a_field_is_disputed_only_when_a_witness_disagrees() -> None:
    card = a_card(fields=(NUMBER, DUE_DATE, TOTAL))

    assert card.fields_to_answer == ((2, TOTAL),)
    assert tuple(one for _, one in card.other_fields) == (NUMBER, DUE_DATE)


def test_only_approvals_lower_what_is_still_needed() -> None:
    approval = CardDecision("dave@example.com", Verdict.APPROVE, DEADLINE)
    rejection = replace(approval, verdict=Verdict.REJECT)

    assert CardQuorum(2, 3).still_needed == 2
    assert CardQuorum(2, 3, (approval, rejection)).still_needed == 1
    assert CardQuorum(1, 3, (approval, approval)).still_needed == 0


def test_the_typed_confirmation_is_not_kept_for_showing_the_form_again() -> None:
    form = FormState({FormInput.CONFIRMATION: "copper meadow", FormInput.REASON: "too much"})

    assert form.entered == {FormInput.REASON: "too much"}
