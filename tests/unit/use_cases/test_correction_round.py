"""A correction starts a new round: new document, draft, plan, links; nothing old counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from no_undo.domain.approval import LinkState
from no_undo.domain.card import Card, Choice, FormInput, correction_input_name, field_input_name
from no_undo.domain.corrections import LAST_ROUND, Correction
from no_undo.domain.field_answers import (
    CANNOT_CORRECT,
    CHOOSE_CORRECT,
    CONFIRM_FIRST,
    NOTHING_CORRECTED,
    SAME_VALUE,
)
from no_undo.domain.plan import FieldAnswer, Plan, PlanState, Verdict
from no_undo.domain.request import Assembly, Request, RequestState, Stage
from no_undo.domain.results import Result, ResultKind
from no_undo.domain.waiting import WaitKind
from no_undo.lab.life import People, live
from no_undo.lab.stand_ins import FixedHasher
from no_undo.lab.world import APPROVERS, CORRECTIONS, FIELDS, World
from no_undo.use_cases.record_decision import Reply
from tests.fakes.worlds import At, a_world, details, kinds, plan_of, proposed, request_of

DAVE, ERIN = APPROVERS
TOTAL = "total_amount"
ANSWER, VALUE = field_input_name(1), correction_input_name(1)


def token(world: World, approver: str = DAVE) -> str:
    return world.tokens_mailed_to(approver)[-1]


def correctable() -> World:
    world = a_world()
    proposed(world, fields=FIELDS, assembly=Assembly.REBUILD)
    return world


def corrected() -> World:
    world = correctable()
    world.correct(token(world), CORRECTIONS)
    return world


def again(world: World) -> Plan:
    """Let the second round get to its approvers; return its plan."""
    world.assemble("r1")
    world.redact("r1")
    world.verify("r1")
    world.create_draft("r1")
    world.request_approval("r1", "approval-r1-2")
    return plan_of(world, "r1#2")


def card_of(world: World, approver: str = DAVE) -> Card:
    page = world.open_card(token(world, approver))
    assert isinstance(page, Card)
    return page


def kind(page: Card | Result) -> ResultKind:
    assert isinstance(page, Result)
    return page.kind


def errors(reply: Reply) -> dict[str, str]:
    assert isinstance(reply.page, Card)
    return dict(reply.form.errors)


def test_a_correction_starts_the_next_round_in_one_write() -> None:
    world = correctable()
    draft, commits = request_of(world).envelope_id, world.store.commits

    reply = world.correct(token(world), CORRECTIONS)

    assert kind(reply.page) is ResultKind.CORRECTED
    assert world.store.commits == commits + 1
    assert plan_of(world).state is PlanState.SUPERSEDED
    request = request_of(world)
    assert (request.round, request.stage, request.state) == (
        2,
        Stage.ASSEMBLE,
        RequestState.PREPARING,
    )
    assert (request.envelope_id, request.abandoned_drafts) == ("", (draft,))
    assert request.draft_begun_at is None
    assert set(request.artefacts) == {"fields"}
    now = world.clock.now()
    assert request.corrections == (Correction(TOTAL, DAVE, now, old="86.26", new="86.86"),)


def test_the_decision_keeps_old_and_new_value_and_the_audit_only_keyed_hashes() -> None:
    world = correctable()
    draft = request_of(world).envelope_id
    world.decide(token(world, ERIN))

    world.correct(token(world), CORRECTIONS)

    decision = plan_of(world).decisions[-1]
    assert (decision.approver, decision.verdict, decision.at) == (
        DAVE,
        Verdict.CORRECT,
        world.clock.now(),
    )
    assert decision.answers == (FieldAnswer(TOTAL, "86.26", "86.86"),)
    [told] = details(world, "plan.corrected")
    hashed = FixedHasher().digest
    assert told["fields"] == [
        {"path": TOTAL, "old": hashed("r1", "86.26"), "new": hashed("r1", "86.86")}
    ]
    assert (told["withdrawnApprovals"], told["abandonedDraft"]) == ([ERIN], draft)
    assert not any("86.86" in one.line or "86.26" in one.line for one in world.store.chain("r1"))


def test_the_next_round_has_another_document_draft_digest_and_links() -> None:
    world = corrected()
    first, old = plan_of(world), token(world)

    second = again(world)

    assert b"86.86" in world.documents.get(second.document)
    assert b"86.26" not in world.documents.get(second.document)
    assert second.document.sha256 != first.document.sha256
    assert (second.target != first.target, second.digest != first.digest) == (True, True)
    assert second.decisions == ()
    assert token(world) != old
    links = [{one.token_sha256 for one in plan.links} for plan in (first, second)]
    assert links[0].isdisjoint(links[1])


def test_what_is_sent_in_the_end_is_the_corrected_document_alone() -> None:
    world = a_world()
    world.submit(fields=FIELDS, assembly=Assembly.REBUILD)

    live(world, People(decisions={DAVE: "correct", ERIN: "approve"}))

    assert request_of(world).state is RequestState.COMPLETED
    [effect] = world.esign.effects
    assert effect.envelope_id == plan_of(world, "r1#2").target
    assert plan_of(world, "r1#2").state is PlanState.EXECUTED
    assert world.store.entry("r1#1") is None


def test_links_of_the_old_round_say_what_happened_and_decide_nothing() -> None:
    world = correctable()
    world.decide(token(world, ERIN))
    dave, erin = token(world), token(world, ERIN)
    world.correct(dave, CORRECTIONS)

    assert kind(world.open_card(dave)) is ResultKind.CORRECTED
    assert kind(world.open_card(erin)) is ResultKind.APPROVAL_WITHDRAWN
    assert kind(world.decide(erin).page) is ResultKind.APPROVAL_WITHDRAWN
    assert len(plan_of(world).decisions) == 2


def test_somebody_who_had_not_decided_is_sent_to_the_newest_mail() -> None:
    world = correctable()
    erin = token(world, ERIN)
    world.correct(token(world), CORRECTIONS)

    assert kind(world.decide(erin).page) is ResultKind.SUPERSEDED
    assert world.link_behind(erin).state is LinkState.LIVE  # dead by its plan, not used up


def test_a_corrected_value_is_shown_and_confirmed_by_everybody() -> None:
    world = corrected()
    again(world)

    [(index, shown)] = card_of(world, ERIN).fields_to_answer
    assert (shown.path, shown.value, shown.witnesses, shown.reason) == (TOTAL, "86.86", (), "")
    assert shown.corrected is not None
    assert (shown.corrected.old, shown.corrected.by) == ("86.26", DAVE)
    unanswered = world.post(token(world, ERIN), replace(world.form(token(world, ERIN)), answers={}))
    assert errors(unanswered) == {field_input_name(index): CONFIRM_FIRST}
    assert kind(world.decide(token(world, ERIN)).page) is ResultKind.APPROVED_WAITING


def test_a_second_correction_replaces_the_first_and_both_are_kept() -> None:
    world = corrected()
    again(world)

    world.correct(token(world, ERIN), {TOTAL: "96.86"})

    assert [(one.by, one.old, one.new) for one in request_of(world).corrections] == [
        (DAVE, "86.26", "86.86"),
        (ERIN, "86.86", "96.86"),
    ]
    assert request_of(world).round == 3


def test_a_value_that_nobody_disputes_can_be_corrected_too() -> None:
    world = correctable()
    form = world.form(token(world), "correct")
    answers = {correction_input_name(0): "INV-8"}

    world.post(token(world), replace(form, answers=answers))

    assert [(one.path, one.new) for one in request_of(world).corrections] == [
        ("invoice_number", "INV-8")
    ]


@pytest.mark.parametrize(
    ("decision", "answers", "expected"),
    [
        ("approve", {ANSWER: "corrected", VALUE: "86.86"}, {FormInput.DECISION: CHOOSE_CORRECT}),
        ("approve", {ANSWER: "confirmed", "field_0_value": "INV-8"},
         {FormInput.DECISION: CHOOSE_CORRECT}),
        ("correct", {}, {FormInput.DECISION: NOTHING_CORRECTED}),
        ("correct", {ANSWER: "confirmed"}, {FormInput.DECISION: NOTHING_CORRECTED}),
        ("correct", {ANSWER: "corrected", VALUE: "86.26"}, {VALUE: SAME_VALUE}),
    ],
)  # fmt: skip
def test_a_form_that_says_two_things_decides_nothing(
    decision: str, answers: dict[str, str], expected: dict[str, str]
) -> None:
    world = correctable()
    form = replace(world.form(token(world), decision), answers=answers)

    assert errors(world.post(token(world), form)) == expected
    assert plan_of(world).decisions == ()


@pytest.mark.parametrize("typed", ["", "86,86", "1e9", "86.86 EUR", "NaN"])
def test_a_correction_without_the_shape_of_its_field_is_asked_for_again(typed: str) -> None:
    world = correctable()

    reply = world.correct(token(world), {TOTAL: typed})

    assert set(errors(reply)) == {VALUE}
    assert reply.form.entered[VALUE] == typed
    assert request_of(world).round == 1


def test_with_attach_nothing_can_be_corrected_and_the_page_says_so() -> None:
    world = a_world()
    proposed(world, fields=FIELDS, assembly=Assembly.ATTACH)

    card = card_of(world)
    reply = world.correct(token(world), CORRECTIONS)

    assert Choice.CORRECT not in card.choices
    assert not card.corrections_allowed
    assert errors(reply)[FormInput.DECISION] == CANNOT_CORRECT
    assert request_of(world).round == 1
    assert plan_of(world).state is PlanState.AWAITING_APPROVAL


def test_the_last_round_offers_no_correction() -> None:
    world = correctable()
    request, plan = request_of(world), plan_of(world)
    world.store.plant(replace(request, round=LAST_ROUND))
    world.store.plant(replace(plan, round=LAST_ROUND))

    reply = world.correct(token(world), CORRECTIONS)

    assert errors(reply)[FormInput.DECISION] == CANNOT_CORRECT


def test_a_rejection_with_a_corrected_value_is_a_rejection() -> None:
    world = correctable()
    form = world.form(token(world), "reject", "The total is wrong.", corrections=CORRECTIONS)

    assert kind(world.post(token(world), form).page) is ResultKind.REJECTED
    assert request_of(world).corrections == ()


# What can come between


def test_an_approval_that_commits_first_wins_over_a_correction() -> None:
    at = At()
    world = a_world(watcher=at)
    proposed(world, fields=FIELDS, assembly=Assembly.REBUILD, quorum=1)
    at.before("store.commit plan.corrected", lambda: world.decide(token(world, ERIN)))

    reply = world.correct(token(world), CORRECTIONS)

    assert kind(reply.page) is ResultKind.QUORUM_COMPLETE
    assert plan_of(world).state is PlanState.APPROVED
    assert request_of(world).round == 1


def test_a_correction_that_commits_first_wins_over_an_approval() -> None:
    at = At()
    world = a_world(watcher=at)
    proposed(world, fields=FIELDS, assembly=Assembly.REBUILD, quorum=1)
    at.before("store.commit plan.approved", lambda: world.correct(token(world), CORRECTIONS))

    reply = world.decide(token(world, ERIN))

    assert kind(reply.page) is ResultKind.SUPERSEDED
    assert plan_of(world).state is PlanState.SUPERSEDED
    assert request_of(world).round == 2


def test_of_two_corrections_at_the_same_moment_one_counts() -> None:
    at = At()
    world = a_world(watcher=at)
    proposed(world, fields=FIELDS, assembly=Assembly.REBUILD)
    at.before(
        "store.commit plan.corrected",
        lambda: world.correct(token(world, ERIN), {TOTAL: "96.86"}),
    )

    reply = world.correct(token(world), CORRECTIONS)

    assert kind(reply.page) is ResultKind.SUPERSEDED
    assert [one.by for one in request_of(world).corrections] == [ERIN]
    assert kinds(world).count("plan.corrected") == 1


def test_a_withdrawal_that_commits_first_wins_over_a_correction() -> None:
    at = At()
    world = a_world(watcher=at)
    proposed(world, fields=FIELDS, assembly=Assembly.REBUILD)
    at.before("store.commit plan.corrected", lambda: world.withdraw("r1"))

    assert kind(world.correct(token(world), CORRECTIONS).page) is ResultKind.WITHDRAWN
    assert request_of(world).round == 1


def test_asking_again_after_a_correction_answers_the_round_before() -> None:
    world = corrected()

    world.request_approval("r1", "the machine repeats its step")

    wait = world.waits.get("r1#1", WaitKind.APPROVAL)
    assert wait is not None
    assert wait.task_token == "the machine repeats its step"
    assert world.store.plan("r1#2") is None


def test_a_slow_stage_of_the_round_before_stores_nothing_in_this_one() -> None:
    at = At()
    world = a_world(watcher=at)
    proposed(world, fields=FIELDS, assembly=Assembly.REBUILD)
    world.correct(token(world), CORRECTIONS)
    at.before("store.commit document.assembled", lambda: world.store.plant(round_three(world)))

    world.assemble("r1")

    assert "assembled" not in request_of(world).artefacts
    assert request_of(world).round == 3


def round_three(world: World) -> Request:
    return replace(request_of(world), round=3, revision=request_of(world).revision + 1)


def test_a_draft_of_the_round_before_that_comes_late_is_abandoned() -> None:
    at = At()
    world = a_world(watcher=at)
    world.submit("r1", start=False, fields=FIELDS, assembly=Assembly.REBUILD)
    at.before(
        "store.commit draft.created",
        lambda: world.store.plant(
            replace(
                request_of(world),
                round=2,
                stage=Stage.ASSEMBLE,
                revision=request_of(world).revision + 1,
            )
        ),
    )

    world.create_draft("r1")

    request = request_of(world)
    assert (request.envelope_id, request.stage) == ("", Stage.ASSEMBLE)
    assert len(request.abandoned_drafts) == 1
