"""Mail after the first: reminders, escalation, hand-over, reassignment, questions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from no_undo.domain.approval import LinkState
from no_undo.domain.card import Card, FormInput
from no_undo.domain.errors import (
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    StaleError,
    TransientError,
    VendorRefusedError,
)
from no_undo.domain.plan import Delivery, PlanState, deciders_of
from no_undo.domain.results import Result, ResultKind
from no_undo.lab.pipeline import ProcessDiedError
from no_undo.lab.world import APPROVERS, CALLER, POLICY, REQUESTER, TENANT, World
from no_undo.use_cases.get_request import get_request
from no_undo.use_cases.reassign_approver import Reassignment, reassign_approver
from no_undo.use_cases.record_decision import DecisionForm
from no_undo.use_cases.send_envelope import SendOutcome, SendResult
from tests.fakes.worlds import At, a_world, change_plan, details, failing, kinds, plan_of, proposed
from tests.unit.use_cases.test_record_decision import a_form, kind, token

DAVE, ERIN = APPROVERS
FRANK, GRACE = "frank@example.com", "grace@example.com"


def a_waiting_world(at: At | None = None, *, escalation: tuple[str, ...] = (GRACE,)) -> World:
    world = a_world(watcher=at)
    world.policies.by_tenant = {TENANT: replace(POLICY, escalation=escalation)}
    proposed(world)
    return world


def at_the_reminder(world: World) -> None:
    moment = plan_of(world).remind_at
    assert moment is not None
    world.clock.set(moment)


def at_the_escalation(world: World) -> None:
    moment = plan_of(world).escalate_at
    assert moment is not None
    world.clock.set(moment)


def page_of(world: World, link: str) -> ResultKind:
    page = world.open_card(link)
    assert isinstance(page, Result)
    return page.kind


# Reminders


def test_nothing_is_mailed_before_its_time() -> None:
    world = a_waiting_world()

    assert world.remind() == {}
    assert len(world.mailer.sent) == 2


def test_a_reminder_issues_a_new_link_and_kills_the_old_one() -> None:
    world = a_waiting_world()
    old = token(world)
    at_the_reminder(world)

    assert world.remind() == {"reminder": 2}

    assert world.link_behind(old).state is LinkState.SUPERSEDED
    assert page_of(world, old) is ResultKind.SUPERSEDED
    assert kind(world.decide(old)) is ResultKind.SUPERSEDED
    assert kind(world.decide(token(world))) is ResultKind.APPROVED_WAITING


def test_everybody_is_reminded_once() -> None:
    world = a_waiting_world()
    at_the_reminder(world)
    world.remind()

    for _ in range(3):
        assert world.remind() == {}
    assert len(world.tokens_mailed_to(DAVE)) == 2


def test_whoever_has_decided_is_not_reminded() -> None:
    world = a_waiting_world()
    world.decide(token(world))
    at_the_reminder(world)

    assert world.remind() == {"reminder": 1}
    assert len(world.tokens_mailed_to(DAVE)) == 1


def test_one_bad_address_never_mails_the_others_again() -> None:
    at = At()
    world = a_waiting_world(at, escalation=())
    at_the_reminder(world)
    at.before("mailer.send", failing(VendorRefusedError("no such domain")))

    world.remind()
    for _ in range(3):
        world.clock.advance(world.settings.driver_interval / 3)
        world.remind()

    assert len(world.tokens_mailed_to(DAVE)) == 1
    assert len(world.tokens_mailed_to(ERIN)) == 2
    assert {one.approver: one.delivery for one in plan_of(world).links}[DAVE] is Delivery.REFUSED


def test_a_mail_that_was_not_taken_is_tried_again_for_that_person_alone() -> None:
    at = At()
    world = a_waiting_world(at)
    at_the_reminder(world)
    at.before("mailer.send", failing(TransientError("throttled")))

    assert world.remind() == {"failed": 1, "reminder": 1}
    mail_at = plan_of(world).mail_at
    assert mail_at is not None
    world.clock.set(mail_at)

    assert world.remind() == {"reminder": 1}
    assert [len(world.tokens_mailed_to(one)) for one in APPROVERS] == [2, 2]


@pytest.mark.parametrize(
    "call", ["store.commit link.issued", "mailer.send", "store.commit approval.asked"]
)
def test_a_crash_anywhere_in_a_reminder_leaves_everybody_with_a_link_that_works(call: str) -> None:
    for moment in ("before", "after"):
        at = At()
        world = a_waiting_world(at)
        at_the_reminder(world)
        getattr(at, moment)(call, failing(ProcessDiedError()))
        with pytest.raises(ProcessDiedError):
            world.remind()

        world.remind()

        for approver in APPROVERS:
            assert world.link_behind(token(world, approver)).state is LinkState.LIVE
            assert isinstance(world.open_card(token(world, approver)), Card)


def test_a_plan_that_moves_meanwhile_is_left_to_the_next_run() -> None:
    at = At()
    world = a_waiting_world(at)
    at_the_reminder(world)
    at.before("store.commit link.issued", lambda: world.withdraw("r1"))

    assert set(world.remind()) == {"moved"}
    assert len(world.mailer.sent) == 2
    assert world.remind() == {}


def test_one_plan_that_fails_does_not_stop_the_others() -> None:
    at = At()
    world = a_waiting_world(at)
    proposed(world, "r2", source=b"%PDF-1.7 other")
    at_the_reminder(world)
    at.before("store.commit link.issued", failing(TransientError("throttled")))

    assert world.remind() == {"failed": 1, "reminder": 2}


def test_a_plan_that_keeps_moving_is_counted_as_moved() -> None:
    at = At()
    world = a_waiting_world(at)
    at_the_escalation(world)
    at.before("store.commit plan.escalated", failing(StaleError("moved")))

    assert world.remind() == {"moved": 1}


def test_an_expired_plan_reminds_nobody() -> None:
    world = a_waiting_world()
    world.clock.set(plan_of(world).expires_at)

    assert world.remind() == {}
    assert world.sweep()["expired"] == 1


def test_reminders_never_move_what_the_sweep_has_to_do() -> None:
    world = a_waiting_world()
    before = plan_of(world).due_kind, plan_of(world).due_at
    at_the_reminder(world)
    world.remind()

    assert (plan_of(world).due_kind, plan_of(world).due_at) == before


# Escalation


def test_escalation_asks_the_second_list_before_the_deadline() -> None:
    world = a_waiting_world()
    world.decide(token(world))
    at_the_escalation(world)

    done = world.remind()

    assert (done["escalated"], done["escalation"]) == (1, 1)
    assert details(world, "plan.escalated") == [{"approvers": [GRACE]}]
    assert world.clock.now() < plan_of(world).expires_at
    assert kind(world.decide(token(world, GRACE))) is ResultKind.APPROVED_COMPLETE
    assert world.send("r1#1") == SendResult(SendOutcome.EXECUTED)


def test_p5_the_second_list_never_brings_in_the_requester_or_a_recipient() -> None:
    world = a_waiting_world(escalation=(REQUESTER, "alice@example.com", "erin@example.com"))
    at_the_escalation(world)

    world.remind()

    assert deciders_of(plan_of(world)) == APPROVERS
    assert details(world, "plan.escalated") == [{"approvers": []}]


def test_an_undelivered_request_escalates_at_once_and_is_no_consent() -> None:
    at = At()
    world = a_world(watcher=at)
    world.policies.by_tenant = {TENANT: replace(POLICY, escalation=(GRACE,))}
    at.before("mailer.send", failing(VendorRefusedError("no such domain")))
    proposed(world)

    done = world.remind()

    assert done == {"escalated": 1, "escalation": 1}
    assert plan_of(world).decisions == ()
    view = get_request("r1", TENANT, CALLER, world.store)
    assert [(one.address, one.says, one.mail) for one in view.approvers] == [
        (DAVE, "not mailed", "refused"),
        (ERIN, "asked", ""),
        (GRACE, "asked", ""),
    ]


def test_an_unusable_policy_mails_nobody_and_is_tried_again() -> None:
    world = a_waiting_world()
    at_the_escalation(world)
    world.policies.by_tenant = {}

    world.remind()

    assert len(world.mailer.sent) == 2


# Reassignment


def test_reassigning_gives_the_place_and_kills_the_old_link_in_the_same_write() -> None:
    world = a_waiting_world()
    old = token(world)

    world.reassign(DAVE, FRANK)

    assert page_of(world, old) is ResultKind.SUPERSEDED
    assert kind(world.decide(old)) is ResultKind.SUPERSEDED
    assert details(world, "approval.reassigned") == [
        {"approver": DAVE, "to": FRANK, "reason": "on holiday"}
    ]
    assert world.remind() == {"reassignment": 1}
    assert world.link_behind(token(world, FRANK)).approver == FRANK
    view = get_request("r1", TENANT, CALLER, world.store)
    assert [(one.address, one.instead_of) for one in view.approvers] == [(FRANK, DAVE), (ERIN, "")]


def test_an_approval_that_was_given_outlives_a_reassignment_and_sends_once() -> None:
    world = a_waiting_world()
    world.decide(token(world, ERIN))
    world.reassign(DAVE, FRANK)
    world.remind()

    assert kind(world.decide(token(world, FRANK))) is ResultKind.APPROVED_COMPLETE
    assert world.send("r1#1") == SendResult(SendOutcome.EXECUTED)
    assert len(world.esign.effects) == 1


@pytest.mark.parametrize(
    "to",
    [
        REQUESTER,
        "Carol@Example.com",
        "carol+x@example.com",
        "alice@example.com",
        "eve@evil.example",
        ERIN,
        "erin+2@example.com",
        DAVE,
        "not an address",
        "d\u0430ve@example.com",
        "frank@example.com\r\nBcc: eve@evil.example",
    ],
)
def test_p5_a_place_goes_only_to_another_eligible_person(to: str) -> None:
    world = a_waiting_world()

    with pytest.raises(InvalidRequestError):
        world.reassign(DAVE, to)

    assert deciders_of(plan_of(world)) == APPROVERS
    assert world.remind() == {}


def test_only_the_caller_of_a_request_reassigns() -> None:
    world = a_waiting_world()

    with pytest.raises(NotFoundError):
        reassign_approver("r1", TENANT, "somebody", Reassignment(DAVE, FRANK, "x"), world.gate)


def test_a_machine_names_no_approvers_here_either() -> None:
    world = a_waiting_world()
    change_plan(world, requester_email="")

    with pytest.raises(InvalidRequestError, match="machines"):
        world.reassign(DAVE, FRANK)


def test_nobody_is_reassigned_before_anybody_was_asked_or_after_a_decision() -> None:
    world = a_waiting_world()
    world.submit("r2", source=b"%PDF-1.7 other", start=False)
    with pytest.raises(ConflictError):
        world.reassign(DAVE, FRANK, "r2")

    world.decide(token(world))
    with pytest.raises(ConflictError):
        world.reassign(DAVE, FRANK)


def test_a_decision_and_a_reassignment_at_the_same_moment_make_one_of_them() -> None:
    at = At()
    world = a_waiting_world(at)
    at.before("store.commit approval.reassigned", lambda: world.decide(token(world)))

    with pytest.raises(ConflictError):
        world.reassign(DAVE, FRANK)
    assert [one.approver for one in plan_of(world).decisions] == [DAVE]


def test_a_reassignment_that_commits_first_makes_the_old_links_decision_void() -> None:
    at = At()
    world = a_waiting_world(at)
    at.before("store.commit plan.decision_recorded", lambda: world.reassign(DAVE, FRANK))

    assert kind(world.decide(token(world))) is ResultKind.SUPERSEDED
    assert plan_of(world).decisions == ()


def test_a_plan_that_keeps_moving_is_not_reassigned() -> None:
    at = At()
    world = a_waiting_world(at)
    for nth in range(1, 5):
        at.before("store.commit approval.reassigned", failing(StaleError("moved")), nth)

    with pytest.raises(StaleError):
        world.reassign(DAVE, FRANK)


# Hand-over and questions, from the card


def test_handing_over_decides_nothing_and_gives_the_place_away() -> None:
    world = a_waiting_world()
    old = token(world)

    reply = world.post(old, a_form(world, decision="hand_over", hand_over_to=FRANK))

    assert kind(reply) is ResultKind.HANDED_OVER
    assert plan_of(world).decisions == ()
    assert world.link_behind(old).state is LinkState.SUPERSEDED
    assert details(world, "approval.handed_over") == [{"to": FRANK}]
    assert world.remind() == {"reassignment": 1}
    assert kind(world.decide(token(world, FRANK))) is ResultKind.APPROVED_WAITING


@pytest.mark.parametrize(
    "to", ["", "x", REQUESTER, ERIN, DAVE, "alice@example.com", "eve@evil.example"]
)
def test_p5_a_hand_over_goes_only_to_another_eligible_person(to: str) -> None:
    world = a_waiting_world()

    reply = world.post(token(world), a_form(world, decision="hand_over", hand_over_to=to))

    assert isinstance(reply.page, Card)
    assert FormInput.HAND_OVER_TO in reply.form.errors
    assert deciders_of(plan_of(world)) == APPROVERS
    assert world.link_behind(token(world)).state is LinkState.LIVE


@pytest.mark.parametrize("decision", ["hand_over", "ask"])
def test_p6_neither_happens_without_the_two_words(decision: str) -> None:
    world = a_waiting_world()
    form = a_form(
        world, decision=decision, hand_over_to=FRANK, reason="Why?", confirmation="no words"
    )

    reply = world.post(token(world), form)

    assert FormInput.CONFIRMATION in reply.form.errors
    assert plan_of(world).stand_ins == ()
    assert plan_of(world).questions == ()


def test_a_question_is_mailed_to_the_requester_and_decides_nothing() -> None:
    world = a_waiting_world()

    reply = world.post(token(world), a_form(world, decision="ask", reason=" Which rate is this? "))

    assert kind(reply) is ResultKind.QUESTION_SENT
    assert details(world, "question.asked") == [{"question": "Which rate is this?"}]
    assert world.remind() == {"question": 1}
    assert world.remind() == {}
    assert [one.to for one in world.mailer.sent][-1] == REQUESTER
    assert plan_of(world).decisions == ()
    assert kind(world.decide(token(world))) is ResultKind.APPROVED_WAITING


def test_a_question_needs_words() -> None:
    world = a_waiting_world()

    reply = world.post(token(world), a_form(world, decision="ask", reason="  "))

    assert FormInput.REASON in reply.form.errors


def test_questions_are_bounded() -> None:
    world = a_waiting_world()
    replies = [
        world.post(token(world), a_form(world, decision="ask", reason=f"Question {number}?"))
        for number in range(6)
    ]

    assert FormInput.REASON in replies[-1].form.errors
    assert len(plan_of(world).questions) == 5


def test_where_no_person_is_behind_the_caller_nobody_can_be_asked() -> None:
    world = a_waiting_world()
    change_plan(world, requester_email="")

    reply = world.post(token(world), a_form(world, decision="ask", reason="Why?"))

    assert FormInput.DECISION in reply.form.errors


@pytest.mark.parametrize("error", [TransientError("throttled"), VendorRefusedError("no domain")])
def test_a_question_that_was_not_taken_is_tried_again_unless_it_was_refused(
    error: Exception,
) -> None:
    at = At()
    world = a_waiting_world(at)
    world.post(token(world), a_form(world, decision="ask", reason="Why?"))
    at.before("mailer.send", failing(error))

    world.remind()
    world.clock.advance(world.settings.driver_interval)
    world.remind()

    mailed = [one for one in world.mailer.sent if one.to == REQUESTER]
    assert len(mailed) == (1 if isinstance(error, TransientError) else 0)
    assert kinds(world).count("question.passed_on") == 1


# 2 of 3 with every false second person refused


FALSE_SECOND_PERSONS = [
    DAVE,
    "Dave@Example.com",
    "DAVE@EXAMPLE.COM",
    "dave+second@example.com",
    "d\u0430ve@example.com",
    "dave@ex\u0430mple.com",
    REQUESTER,
    "Carol+x@example.com",
    "alice@example.com",
    "mallory@evil.example",
]


def three(world: World) -> None:
    world.policies.by_tenant = {TENANT: POLICY}
    world.submit(start=False)
    request = world.store.request("r1")
    assert request is not None
    world.store.plant(replace(request, approvers=(DAVE, ERIN, FRANK)))
    world.create_draft("r1")
    world.request_approval("r1", "approval-r1")


@pytest.mark.parametrize("second", FALSE_SECOND_PERSONS)
def test_p5_two_of_three_refuses_every_false_second_person(second: str) -> None:
    world = a_world()
    three(world)
    world.decide(token(world, DAVE))

    for approver in (ERIN, FRANK):
        handed = world.post(
            token(world, approver),
            a_form(world, approver, decision="hand_over", hand_over_to=second),
        )
        assert FormInput.HAND_OVER_TO in handed.form.errors
        with pytest.raises((InvalidRequestError, ConflictError)):
            world.reassign(approver, second)
    again = world.post(token(world, DAVE), a_form(world, DAVE))

    assert kind(again) is ResultKind.ALREADY_DECIDED
    assert plan_of(world).state is PlanState.AWAITING_APPROVAL
    assert world.send("r1#1") == SendResult(SendOutcome.REFUSED, "quorum_not_met")
    assert world.esign.sends == []
    assert kind(world.decide(token(world, FRANK))) is ResultKind.APPROVED_COMPLETE


def test_a_form_that_nobody_was_given_is_nothing() -> None:
    world = a_waiting_world()

    reply = world.post("nobody", DecisionForm("", "", "hand_over", "", "", {}, FRANK))

    assert kind(reply) is ResultKind.UNKNOWN_LINK
