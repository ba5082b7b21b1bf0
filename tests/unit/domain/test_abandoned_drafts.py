"""Abandoned drafts; the numbers are those of the module's docstring."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

from no_undo.domain.abandoned_drafts import (
    LONGEST_PAUSE,
    WATCHED_FOR,
    abandon,
    due_at,
    looked_at,
    seen_sent,
    watched,
)
from no_undo.domain.request import Request
from tests.integration.aws.examples import NOON, a_request

SHORTEST = timedelta(minutes=30)
NONE = replace(a_request(), abandoned_drafts=())


def life(request: Request) -> tuple[list[timedelta], Request]:
    """Look whenever it is due; return the pauses and the request after the last look."""
    now = NOON
    pauses: list[timedelta] = []
    request = looked_at(request, now, SHORTEST)
    while (due := due_at(request)) is not None:
        pauses.append(due - now)
        request = looked_at(request, now := due, SHORTEST)
    return pauses, request


def test_rule_1_a_request_without_abandoned_drafts_has_nothing_to_look_at() -> None:
    assert watched(NONE) == ()
    assert due_at(NONE) is None


def test_rule_1_an_abandoned_draft_is_looked_at_soon_whoever_recorded_it() -> None:
    assert due_at(replace(NONE, abandoned_drafts=("7",))) == NONE.created_at


def test_rule_2_looks_come_ever_more_rarely_within_their_bounds() -> None:
    pauses, _ = life(abandon(NONE, ["7"]))

    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (SHORTEST, LONGEST_PAUSE)
    assert all(later <= 2 * earlier for earlier, later in pairwise(pauses))


def test_rule_3_the_watch_has_an_end_and_few_looks_until_then() -> None:
    pauses, ended = life(abandon(NONE, ["7"]))

    assert WATCHED_FOR <= sum(pauses, timedelta()) < WATCHED_FOR + LONGEST_PAUSE
    assert len(pauses) < 40
    assert watched(ended) == ()


def test_rule_3_what_is_abandoned_later_starts_the_watch_anew() -> None:
    _, ended = life(abandon(NONE, ["7"]))

    again = abandon(ended, ["8"])

    assert again.abandoned_drafts == ("7", "8")
    assert watched(again) == ("7", "8")
    assert abandon(ended, ["7"]) == ended


def test_rule_4_a_sent_draft_is_not_looked_at_again_and_the_others_are() -> None:
    one = looked_at(seen_sent(abandon(NONE, ["7", "8"]), ["7"]), NOON, SHORTEST)
    both = looked_at(seen_sent(one, ["8"]), NOON, SHORTEST)

    assert watched(one) == ("8",)
    assert due_at(one) == NOON + SHORTEST
    assert both.sent_drafts == ("7", "8")
    assert due_at(both) is None
