"""Who may decide beside those the plan named, and who is mailed when; numbers as in the module."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from no_undo.domain.addresses import person_key
from no_undo.domain.asking import (
    MAX_QUESTIONS,
    MAX_STAND_INS,
    RETRY_MAIL,
    asked,
    delivered_as,
    escalate,
    escalation_at,
    next_mail_at,
    put_in_place,
    reminder_at,
    to_mail,
)
from no_undo.domain.errors import ConflictError, InvalidRequestError
from no_undo.domain.notices import ApprovalMailKind
from no_undo.domain.plan import (
    Delivery,
    IssuedLink,
    Plan,
    PlanState,
    Question,
    StandIn,
    deciders_of,
    digest_of,
)
from tests.fakes.rows import DAVE, ERIN, NOON, a_decision, a_plan

FRANK = "frank@example.com"
HOUR = timedelta(hours=1)


def linked(plan: Plan, *, mailed_at: datetime | None = NOON) -> Plan:
    """Return a plan whose people were all asked."""
    links = tuple(IssuedLink(one, f"hash of {one}", mailed_at) for one in plan.approvers)
    return replace(plan, links=links, remind_at=NOON + 2 * HOUR, escalate_at=NOON + 3 * HOUR)


def replaced(plan: Plan, approver: str = DAVE, to: str = FRANK) -> Plan:
    return put_in_place(plan, StandIn(to, approver, NOON), eligible=True)


def test_rule_1_a_hand_over_leaves_the_digest_alone_and_changes_who_may_decide() -> None:
    plan = linked(a_plan())

    changed = replaced(plan)

    assert deciders_of(changed) == (FRANK, ERIN)
    assert digest_of(changed) == plan.digest
    assert deciders_of(replaced(changed, FRANK, "grace@example.com")) == ("grace@example.com", ERIN)


def test_rule_1_an_escalation_puts_people_beside_the_others() -> None:
    changed = escalate(a_plan(), [FRANK], NOON)

    assert deciders_of(changed) == (DAVE, ERIN, FRANK)
    assert (changed.escalate_at, changed.mail_at) == (None, NOON)


@pytest.mark.parametrize(
    "to", [ERIN, "Erin@Example.com", "erin+2@example.com", DAVE, "dave+x@example.com"]
)
def test_rule_2_nobody_takes_a_second_place_under_any_spelling(to: str) -> None:
    with pytest.raises(InvalidRequestError, match="one person counts once") as refused:
        replaced(linked(a_plan()), to=to)
    assert refused.value.field == "to"


def test_rule_2_an_escalation_takes_nobody_twice() -> None:
    changed = escalate(a_plan(), ["erin+x@example.com", FRANK, "Frank@example.com"], NOON)

    assert deciders_of(changed) == (DAVE, ERIN, FRANK)


def test_rule_2_nobody_who_has_decided_gives_their_place_away() -> None:
    plan = linked(a_plan())
    decided = replace(plan, decisions=(a_decision(plan, DAVE),))

    with pytest.raises(ConflictError, match="has decided"):
        replaced(decided)


def test_rule_2_whoever_is_not_eligible_gets_no_place() -> None:
    with pytest.raises(InvalidRequestError) as refused:
        put_in_place(linked(a_plan()), StandIn(FRANK, DAVE, NOON), eligible=False)
    assert refused.value.field == "to"


def test_a_place_that_nobody_has_cannot_be_given() -> None:
    for nobody in ("", FRANK, "Dave@example.com"):
        with pytest.raises(InvalidRequestError) as refused:
            replaced(linked(a_plan()), nobody, "grace@example.com")
        assert refused.value.field == "approver"


@pytest.mark.parametrize("state", [one for one in PlanState if one != "AWAITING_APPROVAL"])
def test_no_place_is_given_in_a_plan_that_no_longer_waits(state: PlanState) -> None:
    with pytest.raises(ConflictError):
        replaced(replace(linked(a_plan()), state=state))


def test_no_place_is_given_after_the_deadline_or_without_end() -> None:
    plan = linked(a_plan())
    with pytest.raises(ConflictError):
        put_in_place(plan, StandIn(FRANK, DAVE, plan.expires_at), eligible=True)
    for number in range(MAX_STAND_INS):
        plan = replaced(plan, deciders_of(plan)[0], f"person{number}@example.com")
    with pytest.raises(ConflictError, match="too often"):
        replaced(plan, deciders_of(plan)[0])


def test_rule_3_whoever_lost_their_place_has_no_link_on_the_plan() -> None:
    assert [one.approver for one in replaced(linked(a_plan())).links] == [ERIN]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["replace", "escalate"]),
            st.integers(0, 5),
            st.sampled_from(["dave", "Dave", "erin+x", "frank", "FRANK+1", "grace", "heidi"]),
        ),
        max_size=12,
    )
)
def test_p5_no_way_of_asking_makes_one_person_two(steps: list[tuple[str, int, str]]) -> None:
    plan = a_plan()
    for kind, place, name in steps:
        to = f"{name}@example.com"
        if kind == "escalate":
            plan = escalate(plan, [to], NOON)
            continue
        deciders = deciders_of(plan)
        try:
            plan = replaced(plan, deciders[place % len(deciders)], to)
        except ConflictError:
            return
        except InvalidRequestError:
            continue

    keys = [person_key(one) for one in deciders_of(plan)]
    assert len(keys) == len(set(keys)) >= 2


# When


def test_rule_4_moments_lie_so_many_hours_before_the_deadline() -> None:
    deadline = NOON + 72 * HOUR

    assert reminder_at(NOON, deadline, 24) == NOON + 48 * HOUR
    assert escalation_at(NOON, deadline, 8) == NOON + 64 * HOUR


def test_rule_4_a_short_deadline_leaves_time_to_decide_first() -> None:
    deadline = NOON + 4 * HOUR

    assert reminder_at(NOON, deadline, 24) == NOON + 2 * HOUR
    assert escalation_at(NOON, deadline, 8) == NOON + 3 * HOUR


@pytest.mark.parametrize(
    "day", [datetime(2026, 3, 28, 18, tzinfo=UTC), datetime(2026, 10, 24, 18, tzinfo=UTC)]
)
def test_rule_4_a_clock_change_moves_no_moment(day: datetime) -> None:
    """The deadline is named in a zone that changes its clock in the night between."""
    berlin = ZoneInfo("Europe/Berlin")
    deadline = (day + 48 * HOUR).astimezone(berlin)

    moment = reminder_at(day, deadline, 24)

    assert day.astimezone(berlin).utcoffset() != deadline.utcoffset()
    assert moment.astimezone(UTC) == day + 24 * HOUR


# Mail


def test_rule_6_everybody_is_asked_once_and_reminded_once() -> None:
    plan = linked(a_plan(), mailed_at=None)
    assert to_mail(plan, NOON) == (
        (DAVE, ApprovalMailKind.REQUEST),
        (ERIN, ApprovalMailKind.REQUEST),
    )

    plan = linked(a_plan())
    assert to_mail(plan, NOON + HOUR) == ()
    at = NOON + 2 * HOUR
    assert [kind for _, kind in to_mail(plan, at)] == [ApprovalMailKind.REMINDER] * 2

    reminded = replace(plan.links[0], reminder=True, mailed_at=at)
    half = replace(plan, links=(reminded, plan.links[1]))
    assert to_mail(half, at) == ((ERIN, ApprovalMailKind.REMINDER),)


def test_rule_6_a_reminder_whose_mail_was_lost_is_tried_again_for_that_person_alone() -> None:
    plan = linked(a_plan())
    lost = replace(plan.links[0], reminder=True, mailed_at=None)
    sent = replace(plan.links[1], reminder=True, mailed_at=NOON + 2 * HOUR)

    assert to_mail(replace(plan, links=(lost, sent)), NOON + 2 * HOUR) == (
        (DAVE, ApprovalMailKind.REMINDER),
    )


def test_nobody_who_has_decided_is_mailed() -> None:
    plan = linked(a_plan())
    decided = replace(plan, decisions=(a_decision(plan, DAVE),))

    assert [one for one, _ in to_mail(decided, NOON + 2 * HOUR)] == [ERIN]


@pytest.mark.parametrize(
    "delivery", [Delivery.BOUNCED, Delivery.SUPPRESSED, Delivery.REFUSED, Delivery.UNWANTED]
)
def test_rule_5_whoever_cannot_be_reached_is_not_mailed_again_and_escalates(
    delivery: Delivery,
) -> None:
    plan = linked(a_plan())

    told = delivered_as(plan, plan.links[0].token_sha256, delivery, NOON + HOUR)

    assert [one for one, _ in to_mail(told, NOON + 2 * HOUR)] == [ERIN]
    assert (told.escalate_at, told.mail_at) == (NOON + HOUR, NOON + HOUR)
    assert told.decisions == ()


def test_a_delivered_mail_escalates_nothing() -> None:
    plan = linked(a_plan())

    told = delivered_as(plan, plan.links[0].token_sha256, Delivery.DELIVERED, NOON + HOUR)

    assert told.escalate_at == plan.escalate_at
    assert [one.delivery for one in told.links] == [Delivery.DELIVERED, Delivery.UNKNOWN]


def test_the_kind_of_mail_says_how_somebody_came_to_decide() -> None:
    plan = escalate(replaced(linked(a_plan())), ["grace@example.com"], NOON)

    assert to_mail(plan, NOON) == (
        (FRANK, ApprovalMailKind.REASSIGNMENT),
        ("grace@example.com", ApprovalMailKind.ESCALATION),
    )


def test_the_next_look_is_the_soonest_thing_to_do() -> None:
    plan = linked(a_plan())

    assert next_mail_at(plan, NOON) == NOON + 2 * HOUR
    assert next_mail_at(plan, NOON + 2 * HOUR) == NOON + 2 * HOUR + RETRY_MAIL
    at = NOON + 2 * HOUR
    done = replace(plan, links=tuple(replace(one, mailed_at=at) for one in plan.links))
    assert next_mail_at(done, NOON + 2 * HOUR) == NOON + 3 * HOUR
    assert next_mail_at(replace(done, escalate_at=None), NOON + 2 * HOUR) is None


def test_a_person_may_ask_a_few_questions() -> None:
    plan = linked(a_plan())
    for number in range(MAX_QUESTIONS):
        plan = asked(plan, Question(DAVE, f"Question {number}?", NOON))

    assert plan.mail_at == NOON
    assert next_mail_at(plan, NOON) == NOON + RETRY_MAIL
    with pytest.raises(ConflictError):
        asked(plan, Question(DAVE, "One more?", NOON))
    asked(plan, Question(ERIN, "May I?", NOON))
