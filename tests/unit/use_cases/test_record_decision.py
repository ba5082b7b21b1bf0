"""Deciding: one decision by one person, once, and looking is not deciding (P5, P6)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from no_undo.domain.approval import FREE_TRIES, LinkState
from no_undo.domain.card import FIELD_CONFIRMED, Card, FormInput, field_input_name
from no_undo.domain.confirmation import words_for
from no_undo.domain.errors import InDoubtError, NotFoundError, StaleError, TransientError
from no_undo.domain.plan import DueKind, FieldAnswer, PlanState, Verdict
from no_undo.domain.results import Result, ResultKind
from no_undo.lab.fixed_clock import FixedClock
from no_undo.lab.stand_ins import FixedHasher
from no_undo.lab.world import APPROVERS, POLICY, TENANT, World
from no_undo.use_cases.record_decision import MAX_REASON, DecisionForm, Reply, record_decision
from no_undo.use_cases.settle_plan import Statement, pause_begins
from no_undo.use_cases.show_approval import document_url, page_picture
from tests.fakes.worlds import (
    At,
    a_world,
    approved,
    change_plan,
    details,
    failing,
    kinds,
    plan_of,
    proposed,
    request_of,
)

DAVE, ERIN = APPROVERS


def token(world: World, approver: str = DAVE) -> str:
    return world.tokens_mailed_to(approver)[-1]


def kind(reply: Reply) -> ResultKind:
    assert isinstance(reply.page, Result)
    return reply.page.kind


def a_form(world: World, approver: str = DAVE, **changes: object) -> DecisionForm:
    return replace(world.form(token(world, approver)), **changes)  # type: ignore[arg-type]  # by name


def test_the_last_approval_needed_arms_the_plan_in_the_same_write() -> None:
    world = a_world()
    proposed(world)

    first = world.decide(token(world, DAVE))
    second = world.decide(token(world, ERIN))

    assert kind(first) is ResultKind.APPROVED_WAITING
    assert kind(second) is ResultKind.APPROVED_COMPLETE
    assert plan_of(world).state is PlanState.APPROVED
    assert plan_of(world).due_kind is DueKind.RESUME
    assert kinds(world)[-2:] == ["plan.decision_recorded", "plan.approved"]


def test_p5_a_quorum_of_one_is_complete_with_one() -> None:
    world = a_world()
    proposed(world, quorum=1)

    assert kind(world.decide(token(world))) is ResultKind.APPROVED_COMPLETE
    assert kind(world.decide(token(world, ERIN))) is ResultKind.QUORUM_COMPLETE


def test_one_rejection_ends_the_plan_and_needs_a_reason() -> None:
    world = a_world()
    proposed(world)

    without = world.decide(token(world), "reject")
    with_reason = world.decide(token(world), "reject", "The total is wrong.")

    assert FormInput.REASON in without.form.errors
    assert kind(with_reason) is ResultKind.REJECTED
    assert plan_of(world).state is PlanState.REJECTED
    assert plan_of(world).decisions[0].reason == "The total is wrong."
    assert kind(world.decide(token(world, ERIN))) is ResultKind.CLOSED_BY_OTHERS


def test_a_repeated_post_gets_the_first_answer() -> None:
    world = a_world()
    proposed(world)
    world.decide(token(world))

    again = world.decide(token(world), "reject", "I changed my mind.")

    assert kind(again) is ResultKind.ALREADY_DECIDED
    assert [one.verdict for one in plan_of(world).decisions] == [Verdict.APPROVE]
    assert kinds(world).count("plan.decision_recorded") == 1


def test_a_decision_whose_answer_was_lost_was_made_once() -> None:
    at = At()
    world = a_world(watcher=at)
    proposed(world)
    lost = InDoubtError("the answer was lost")
    at.after("store.commit plan.decision_recorded", failing(lost))
    with pytest.raises(InDoubtError):
        world.decide(token(world))

    assert kind(world.decide(token(world))) is ResultKind.ALREADY_DECIDED
    assert len(plan_of(world).decisions) == 1


def test_a_decision_that_was_not_stored_can_be_made_again() -> None:
    at = At()
    world = a_world(watcher=at)
    proposed(world)
    at.before("store.commit plan.decision_recorded", failing(TransientError("throttled")))
    with pytest.raises(TransientError):
        world.decide(token(world))

    assert kind(world.decide(token(world))) is ResultKind.APPROVED_WAITING


def test_two_people_who_decide_at_the_same_moment_are_both_counted() -> None:
    at = At()
    world = a_world(watcher=at)
    proposed(world)
    at.before("store.commit plan.decision_recorded", lambda: _decides(world, ERIN))

    reply = world.decide(token(world))

    assert kind(reply) is ResultKind.APPROVED_COMPLETE
    assert plan_of(world).state is PlanState.APPROVED
    assert len(plan_of(world).decisions) == 2


def _decides(world: World, approver: str) -> None:
    world.decide(token(world, approver))


def test_the_same_person_clicking_twice_at_the_same_moment_is_counted_once() -> None:
    at = At()
    world = a_world(watcher=at)
    proposed(world)
    at.before("store.commit plan.decision_recorded", lambda: _decides(world, DAVE))

    reply = world.decide(token(world))

    assert kind(reply) is ResultKind.ALREADY_DECIDED
    assert len(plan_of(world).decisions) == 1


# Words


@pytest.mark.parametrize("typed", ["", "  "])
def test_p6_a_robot_that_posts_the_bare_form_is_not_counted_against_the_person(typed: str) -> None:
    world = a_world()
    proposed(world)

    for _ in range(20):
        assert isinstance(world.post(token(world), a_form(world, confirmation=typed)).page, Card)

    assert world.link_behind(token(world)).wrong_confirmations == 0
    assert kind(world.decide(token(world))) is ResultKind.APPROVED_WAITING


@pytest.mark.parametrize("typed", ["wrong words", "acorn"])
def test_p6_wrong_words_are_counted_decide_nothing_and_never_use_the_link_up(typed: str) -> None:
    world = a_world()
    proposed(world)

    reply = world.post(token(world), a_form(world, confirmation=typed))

    assert isinstance(reply.page, Card)
    assert FormInput.CONFIRMATION in reply.form.errors
    assert plan_of(world).decisions == ()
    assert world.link_behind(token(world)).wrong_confirmations == 1
    assert world.link_behind(token(world)).state is LinkState.LIVE
    assert kind(world.decide(token(world))) is ResultKind.APPROVED_WAITING


def test_wrong_words_slow_further_wrong_ones_down() -> None:
    world = a_world()
    proposed(world)
    for _ in range(FREE_TRIES):
        world.post(token(world), a_form(world, confirmation="wrong"))

    too_soon = world.post(token(world), a_form(world, confirmation="wrong"))
    counted = world.link_behind(token(world)).wrong_confirmations
    world.clock.advance(timedelta(seconds=2))
    in_time = world.post(token(world), a_form(world, confirmation="wrong"))

    assert kind(too_soon) is ResultKind.TOO_MANY_TRIES
    assert counted == FREE_TRIES
    assert isinstance(in_time.page, Card)
    assert world.link_behind(token(world)).wrong_confirmations == FREE_TRIES + 1


def test_p6_a_robot_that_posts_nonsense_never_locks_the_person_out() -> None:
    world = a_world()
    proposed(world)
    for _ in range(200):
        world.post(token(world), a_form(world, confirmation="robot words"))
        world.clock.advance(timedelta(milliseconds=100))

    assert kind(world.decide(token(world))) is ResultKind.APPROVED_WAITING
    assert kinds(world).count("confirmation.wrong") < 20


def test_words_are_taken_in_any_case() -> None:
    world = a_world()
    proposed(world)
    words = " ".join(words_for(plan_of(world).digest, DAVE)).upper()

    reply = world.post(token(world), a_form(world, confirmation=words))

    assert kind(reply) is ResultKind.APPROVED_WAITING


def test_the_words_of_another_approver_do_not_fit() -> None:
    world = a_world()
    proposed(world)
    words = " ".join(words_for(plan_of(world).digest, ERIN))

    reply = world.post(token(world), a_form(world, confirmation=words))

    assert FormInput.CONFIRMATION in reply.form.errors


@pytest.mark.parametrize("decision", ["", "maybe", "APPROVE"])
def test_an_unknown_decision_is_asked_for_again(decision: str) -> None:
    world = a_world()
    proposed(world)

    reply = world.post(token(world), a_form(world, decision=decision))

    assert FormInput.DECISION in reply.form.errors
    assert world.link_behind(token(world)).wrong_confirmations == 0


def test_a_reason_beyond_its_bound_is_asked_for_again() -> None:
    world = a_world()
    proposed(world)

    reply = world.post(token(world), a_form(world, reason="x" * (MAX_REASON + 1)))

    assert FormInput.REASON in reply.form.errors
    assert len(reply.form.entered[FormInput.REASON]) == MAX_REASON


# Who and what


def test_p7_a_decision_about_another_digest_decides_nothing_and_is_recorded() -> None:
    world = a_world()
    proposed(world)

    reply = world.post(token(world), a_form(world, plan_digest="0" * 64))

    assert kind(reply) is ResultKind.SUPERSEDED
    assert plan_of(world).decisions == ()
    assert details(world, "decision.refused") == [{"code": "plan_changed"}]


def test_p5_a_person_who_is_no_longer_eligible_decides_nothing() -> None:
    world = a_world()
    proposed(world)
    world.policies.by_tenant = {TENANT: replace(POLICY, eligible=(ERIN,))}

    reply = world.decide(token(world))

    assert kind(reply) is ResultKind.UNKNOWN_LINK
    assert plan_of(world).decisions == ()
    assert details(world, "decision.refused") == [{"code": "not_eligible"}]


def test_p5_the_requester_is_never_an_approver_even_with_a_link() -> None:
    world = a_world()
    proposed(world)
    change_plan(world, requester_email="Dave+x@example.com")

    assert kind(world.decide(token(world))) is ResultKind.UNKNOWN_LINK
    assert plan_of(world).decisions == ()


def test_an_unknown_link_says_nothing() -> None:
    world = a_world()

    reply = world.post("nobody", DecisionForm("", "", "approve", "", ""))

    assert kind(reply) is ResultKind.UNKNOWN_LINK


def test_a_late_click_is_told_that_it_is_late() -> None:
    world = a_world()
    proposed(world)
    world.clock.set(plan_of(world).expires_at)

    assert kind(world.decide(token(world))) is ResultKind.EXPIRED
    assert plan_of(world).decisions == ()


class TickingClock(FixedClock):
    """Every look at it takes a minute."""

    def now(self) -> datetime:
        self.advance(timedelta(minutes=1))
        return super().now()


def test_a_deadline_that_passes_while_deciding_is_told_truthfully() -> None:
    world = a_world()
    proposed(world)
    # The link is opened in time; the decision itself comes too late.
    clock = TickingClock(plan_of(world).expires_at - timedelta(minutes=1, seconds=30))
    gate, showing = replace(world.gate, clock=clock), replace(world.showing, clock=clock)

    reply = record_decision(token(world), a_form(world), gate, showing, FixedHasher())

    assert kind(reply) is ResultKind.EXPIRED
    assert plan_of(world).decisions == ()
    assert details(world, "decision.refused") == [{"code": "approval_expired"}]


def test_a_withdrawal_that_commits_first_wins_and_the_approver_is_told() -> None:
    at = At()
    world = a_world(watcher=at)
    proposed(world, quorum=1)
    at.before("store.commit plan.approved", lambda: world.withdraw("r1"))

    reply = world.decide(token(world))

    assert kind(reply) is ResultKind.WITHDRAWN
    assert plan_of(world).state is PlanState.WITHDRAWN


def test_a_superseded_link_is_told_so() -> None:
    world = a_world()
    proposed(world)
    older = token(world)
    change_plan(world, links=())
    world.request_approval("r1", "second")
    world.store.plant(replace(world.link_behind(older), state=LinkState.SUPERSEDED))

    assert kind(world.decide(older)) is ResultKind.SUPERSEDED
    assert kind(world.decide(token(world))) is ResultKind.APPROVED_WAITING


def test_a_plan_that_keeps_moving_gets_an_error_page_and_no_decision() -> None:
    at = At()
    world = a_world(watcher=at)
    proposed(world)
    for nth in range(1, 5):
        at.before("store.commit plan.decision_recorded", failing(StaleError("moved")), nth)

    assert kind(world.decide(token(world))) is ResultKind.ERROR
    assert plan_of(world).decisions == ()


def test_an_approval_during_a_pause_is_recorded_and_says_what_happens() -> None:
    world = a_world()
    proposed(world, quorum=1)
    pause_begins(Statement("op", "planned work"), world.gate)

    assert kind(world.decide(token(world))) is ResultKind.APPROVED_PAUSED
    assert plan_of(world).state is PlanState.APPROVED


# Fields that witnesses dispute


def a_field(path: str, value: str | None, *, disputed: bool = False) -> dict[str, Any]:
    says = "disagrees" if disputed else "agrees"
    return {
        "path": path,
        "label": path,
        "value": value,
        "route": "human",
        "reason": "Please compare.",
        "witnesses": [{"name": "text layer", "says": says}],
        "page": 1,
    }


FIELDS = (a_field("invoice_number", "INV-7"), a_field("total_amount", "86.26", disputed=True))
DISPUTED = field_input_name(1)


def test_a_disputed_field_blocks_approve_until_it_is_answered() -> None:
    world = a_world()
    proposed(world, fields=FIELDS)

    unanswered = world.post(token(world), a_form(world, answers={}))
    other = world.post(token(world), a_form(world, answers={field_input_name(0): FIELD_CONFIRMED}))
    odd = world.post(token(world), a_form(world, answers={DISPUTED: "yes"}))

    for reply in (unanswered, other, odd):
        assert isinstance(reply.page, Card)
        assert set(reply.form.errors) == {DISPUTED}
    assert plan_of(world).decisions == ()
    assert world.link_behind(token(world)).wrong_confirmations == 0
    assert kind(world.decide(token(world))) is ResultKind.APPROVED_WAITING


def test_the_decision_keeps_which_value_was_confirmed_and_the_audit_only_a_keyed_hash() -> None:
    world = a_world()
    proposed(world, fields=FIELDS)

    world.decide(token(world))

    [decision] = plan_of(world).decisions
    assert decision.answers == (FieldAnswer("total_amount", "86.26", "86.26"),)
    assert (decision.approver, decision.at) == (DAVE, world.clock.now())
    hashed = FixedHasher().digest("r1", "86.26")
    assert details(world, "plan.decision_recorded")[0]["fields"] == [
        {"path": "total_amount", "old": hashed, "new": hashed}
    ]
    assert not any("86.26" in one.line for one in world.store.chain("r1"))


def test_a_field_named_by_the_document_is_not_named_in_the_audit() -> None:
    world = a_world()
    odd = 'notes["Call Alice Example"]'
    proposed(world, fields=(a_field(odd, None, disputed=True),))

    world.decide(token(world))

    [answer] = details(world, "plan.decision_recorded")[0]["fields"]
    assert answer == {"path": FixedHasher().digest("r1", odd), "old": "", "new": ""}


def test_a_rejection_needs_no_answer_to_disputed_fields() -> None:
    world = a_world()
    proposed(world, fields=FIELDS)

    reply = world.post(token(world), a_form(world, decision="reject", reason="No.", answers={}))

    assert kind(reply) is ResultKind.REJECTED


def test_p7_a_card_that_says_something_else_by_now_decides_nothing() -> None:
    world = a_world()
    proposed(world, fields=FIELDS)
    shown = a_form(world)
    request = request_of(world)
    world.store.plant(replace(request, notes=("The document carries a watermark.",)))

    reply = world.post(token(world), shown)

    assert isinstance(reply.page, Card)
    assert set(reply.form.errors) == {FormInput.CARD_DIGEST}
    assert reply.form.entered[DISPUTED] == FIELD_CONFIRMED
    assert plan_of(world).decisions == ()
    assert details(world, "decision.refused") == [{"code": "card_changed"}]
    assert kind(world.decide(token(world))) is ResultKind.APPROVED_WAITING


def test_the_stored_decision_names_the_card_that_was_shown() -> None:
    world = a_world()
    proposed(world, fields=FIELDS)
    card = world.open_card(token(world))

    world.decide(token(world))

    [decision] = plan_of(world).decisions
    assert decision.card_digest == card.digest
    assert details(world, "plan.decision_recorded")[0]["card"] == card.digest


def test_somebody_elses_decision_between_showing_and_deciding_does_not_change_the_card() -> None:
    world = a_world()
    proposed(world, fields=FIELDS)
    shown = a_form(world)
    world.decide(token(world, ERIN))

    assert kind(world.post(token(world), shown)) is ResultKind.APPROVED_COMPLETE


# What looking changes (P6): nothing


def test_p6_opening_a_card_changes_nothing_but_the_chain_of_opens() -> None:
    at = At()
    world = a_world(watcher=at)
    proposed(world)
    before = plan_of(world), world.store.chain("r1"), world.link_behind(token(world))
    at.seen.clear()

    for _ in range(30):
        assert isinstance(world.open_card(token(world)), Card)

    assert (plan_of(world), world.store.chain("r1"), world.link_behind(token(world))) == before
    assert [one for one in at.seen if one.startswith("store.commit")] == []
    assert len(world.store.chain("r1#opens")) == 20


def test_an_unknown_link_opens_nothing_and_is_not_recorded() -> None:
    world = a_world()
    proposed(world)

    page = world.open_card("nobody")

    assert isinstance(page, Result)
    assert page.kind is ResultKind.UNKNOWN_LINK
    assert world.store.chain("r1#opens") == ()


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (PlanState.REJECTED, ResultKind.CLOSED_BY_OTHERS),
        (PlanState.WITHDRAWN, ResultKind.WITHDRAWN),
        (PlanState.ABANDONED, ResultKind.ABANDONED),
        (PlanState.SUPERSEDED, ResultKind.SUPERSEDED),
        (PlanState.EXPIRED, ResultKind.EXPIRED),
        (PlanState.APPROVED, ResultKind.QUORUM_COMPLETE),
        (PlanState.EXECUTED, ResultKind.QUORUM_COMPLETE),
    ],
)
def test_a_late_click_is_told_what_became_of_the_plan(
    state: PlanState, expected: ResultKind
) -> None:
    world = a_world()
    proposed(world)
    change_plan(world, state=state)

    page = world.open_card(token(world))

    assert isinstance(page, Result)
    assert page.kind is expected
    assert len(world.store.chain("r1#opens")) == 1


def test_pictures_and_the_document_lie_behind_a_live_link_only() -> None:
    world = a_world()
    proposed(world)
    live = token(world)

    assert document_url(live, world.showing).startswith("https://")
    with pytest.raises(NotFoundError):
        page_picture(live, 1, world.showing)  # no picture was made yet
    picture = world.documents.put("requests/r1/round-1/page-1.png", b"PNG", "image/png")
    world.store.plant(replace(request_of(world), pages=(picture,)))
    assert page_picture(live, 1, world.showing) == b"PNG"

    world.decide(live)
    for dead in (live, "nobody"):
        with pytest.raises(NotFoundError):
            document_url(dead, world.showing)
        with pytest.raises(NotFoundError):
            page_picture(dead, 1, world.showing)


def test_an_approved_plan_shows_everybody_what_they_decided() -> None:
    world = a_world()
    approved(world)

    page = world.open_card(token(world))

    assert isinstance(page, Result)
    assert page.kind is ResultKind.ALREADY_DECIDED
