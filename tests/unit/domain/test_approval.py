"""Decisions and the quorum; the numbers are those of the module's docstring."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from no_undo.domain.approval import (
    FORGOTTEN_AFTER,
    FREE_TRIES,
    LONGEST_WAIT_SECONDS,
    ApprovalLink,
    LinkState,
    attests,
    decide,
    decision_of,
    seconds_to_wait,
    token_sha256,
    used,
    wrong_confirmation,
)
from no_undo.domain.errors import (
    ApprovalExpiredError,
    NotEligibleError,
    PlanChangedError,
    PlanClosedError,
)
from no_undo.domain.plan import DueKind, PlanState, Verdict
from tests.fakes.rows import DAVE, ERIN, NOON, a_decision, a_plan

LINK = ApprovalLink(token_sha256("t"), "r1#1", "r1", DAVE, NOON + timedelta(hours=4))


def test_p10_the_stored_form_of_a_token_is_its_sha256() -> None:
    assert token_sha256("t") == ("e3b98a4da31a127d4bde6e43033f66ba274cab0eb7eb1c70ec41402bf6273dd8")


def test_rule_4_the_plan_waits_until_the_quorum_is_complete() -> None:
    plan = a_plan()

    one = decide(plan, a_decision(plan, DAVE), eligible=True)
    two = decide(one, a_decision(plan, ERIN), eligible=True)

    assert one.state is PlanState.AWAITING_APPROVAL
    assert two.state is PlanState.APPROVED
    assert (two.due_kind, two.due_at) == (DueKind.RESUME, NOON)


def test_rule_4_one_rejection_ends_the_plan_even_after_an_approval() -> None:
    plan = a_plan()
    one = decide(plan, a_decision(plan, DAVE), eligible=True)

    ended = decide(one, a_decision(plan, ERIN, Verdict.REJECT), eligible=True)

    assert ended.state is PlanState.REJECTED
    assert (ended.due_kind, ended.due_at) == (DueKind.RESUME, NOON)


@pytest.mark.parametrize("state", [one for one in PlanState if one != "AWAITING_APPROVAL"])
def test_nothing_is_decided_about_a_plan_that_no_longer_waits(state: PlanState) -> None:
    plan = a_plan(state=state)

    with pytest.raises(PlanClosedError):
        decide(plan, a_decision(plan), eligible=True)


def test_the_deadline_itself_is_too_late() -> None:
    plan = a_plan()

    decide(plan, a_decision(plan, at=plan.expires_at - timedelta(microseconds=1)), eligible=True)
    with pytest.raises(ApprovalExpiredError):
        decide(plan, a_decision(plan, at=plan.expires_at), eligible=True)


def test_p7_a_decision_about_another_digest_is_refused() -> None:
    plan = a_plan()

    with pytest.raises(PlanChangedError):
        decide(plan, replace(a_decision(plan), plan_digest="0" * 64), eligible=True)


def test_p5_only_a_person_of_the_plan_who_is_eligible_now_decides() -> None:
    plan = a_plan()

    with pytest.raises(NotEligibleError):
        decide(plan, a_decision(plan, DAVE), eligible=False)
    with pytest.raises(NotEligibleError):
        decide(plan, a_decision(plan, "mallory@example.com"), eligible=True)


def test_p5_the_same_person_twice_is_not_a_quorum() -> None:
    plan = a_plan()
    one = decide(plan, a_decision(plan, DAVE), eligible=True)

    assert decide(one, a_decision(plan, DAVE), eligible=True).state is PlanState.AWAITING_APPROVAL


def test_what_a_person_decided_is_found_again() -> None:
    plan = a_plan()
    decided = decide(plan, a_decision(plan, DAVE), eligible=True)

    assert decision_of(decided, DAVE) == a_decision(plan, DAVE)
    assert decision_of(decided, ERIN) is None


def test_rule_5_a_wrong_confirmation_is_counted_and_leaves_the_link_live() -> None:
    counted = wrong_confirmation(LINK, NOON)

    assert (counted.wrong_confirmations, counted.last_wrong_at) == (1, NOON)
    assert counted.state is LinkState.LIVE


def test_rule_5_the_first_tries_need_no_waiting() -> None:
    link = LINK
    for _ in range(FREE_TRIES - 1):
        link = wrong_confirmation(link, NOON)

    assert seconds_to_wait(link, NOON) == 0


def test_rule_5_every_further_try_waits_longer_and_never_longer_than_a_minute() -> None:
    link = LINK
    waits: list[int] = []
    for number in range(FREE_TRIES + 20):
        link = wrong_confirmation(link, NOON)
        if number >= FREE_TRIES - 1:
            waits.append(seconds_to_wait(link, NOON))

    assert waits[:5] == [2, 4, 8, 16, 32]
    assert set(waits[5:]) == {LONGEST_WAIT_SECONDS}


def test_rule_5_a_pause_clears_the_count() -> None:
    link = replace(LINK, wrong_confirmations=FREE_TRIES + 50, last_wrong_at=NOON)
    later = NOON + FORGOTTEN_AFTER

    assert wrong_confirmation(link, later).wrong_confirmations == 1
    assert seconds_to_wait(wrong_confirmation(link, later), later) == 0
    assert wrong_confirmation(link, later - timedelta(seconds=1)).wrong_confirmations > FREE_TRIES


def test_rule_6_the_row_of_a_used_link_attests_what_it_decided_and_nothing_else() -> None:
    plan = a_plan()
    link = replace(LINK, plan_id=plan.plan_id, approver=DAVE)
    yes = used(link, a_decision(plan, DAVE))

    assert attests(yes, plan, DAVE)
    assert not attests(None, plan, DAVE)
    assert not attests(link, plan, DAVE)
    assert not attests(used(link, a_decision(plan, DAVE, Verdict.REJECT)), plan, DAVE)
    assert not attests(yes, plan, ERIN)
    assert not attests(yes, replace(plan, plan_id="r2#1"), DAVE)
    assert not attests(yes, replace(plan, digest="0" * 64), DAVE)
    assert not attests(replace(yes, state=LinkState.SUPERSEDED), plan, DAVE)


def test_rule_5_waiting_ends() -> None:
    link = replace(LINK, wrong_confirmations=FREE_TRIES + 3, last_wrong_at=NOON)

    assert seconds_to_wait(link, NOON + timedelta(seconds=15)) == 1
    assert seconds_to_wait(link, NOON + timedelta(seconds=16)) == 0
