"""Record Decision: one decision by one person, once; the last one needed arms the plan (P5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from no_undo.domain.addresses import MAX_ADDRESS_OCTETS, check_address
from no_undo.domain.approval import (
    ApprovalLink,
    LinkState,
    decide,
    seconds_to_wait,
    used,
    wrong_confirmation,
)
from no_undo.domain.asking import asked, put_in_place
from no_undo.domain.canonical_json import Json
from no_undo.domain.card import Card, Choice, FormInput, FormState
from no_undo.domain.confirmation import matches
from no_undo.domain.corrections import Correction
from no_undo.domain.errors import (
    ConflictError,
    InvalidRequestError,
    NotEligibleError,
    PlanChangedError,
    RefusedError,
    StaleError,
)
from no_undo.domain.field_answers import FieldAnswers, read_answers
from no_undo.domain.plan import (
    Decision,
    FieldAnswer,
    Plan,
    PlanState,
    Question,
    StandIn,
    Verdict,
    approvals_for,
    deciders_of,
)
from no_undo.domain.request import Request, next_round
from no_undo.domain.results import (
    Result,
    approved_complete,
    approved_paused,
    approved_waiting,
    corrected,
    handed_over,
    page_error,
    question_sent,
    rejected,
    superseded,
    too_many_tries,
    unknown_link,
)
from no_undo.ports import Change, KeyedHasher, NotWithdrawn, Save
from no_undo.use_cases.approval_card import card_for, card_sources, reference_of
from no_undo.use_cases.gate import MAX_ROUNDS, Gate, event_of
from no_undo.use_cases.show_approval import Opened, Showing, open_link

MAX_REASON = 2_000
_REASON_NEEDED = {
    str(Choice.REJECT): "Say why you reject; the requester will read it.",
    str(Choice.ASK): "Write your question; the requester will read it.",
}
CARD_CHANGED = "This page has changed since you opened it. Please read it again, then decide."
_OUR_PATH = re.compile(r"[a-z0-9_.\[\]]{1,100}", re.ASCII)
"""A field path that is no text out of a document: only such a one is named in the audit."""


@dataclass(frozen=True, slots=True)
class DecisionForm:
    """What the form posted, as text.

    Attributes:
        plan_digest: Digest of the plan that was shown.
        card_digest: Digest of the card that was shown.
        decision: One of `Choice`; asking and handing over decide nothing.
        reason: Their words, at most 2,000 characters.
        confirmation: The two typed words.
        answers: Answers to single fields, by input name.
        hand_over_to: Address of the other person, for a hand-over.
    """

    plan_digest: str
    card_digest: str
    decision: str
    reason: str
    confirmation: str
    answers: Mapping[str, str] = field(default_factory=dict[str, str])
    hand_over_to: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the approver sees next.

    Attributes:
        page: A result, or the card again.
        form: What was entered and what was wrong, when the card is shown again.
    """

    page: Result | Card
    form: FormState = field(default_factory=FormState)


def record_decision(
    token: str, form: DecisionForm, gate: Gate, showing: Showing, hasher: KeyedHasher
) -> Reply:
    """Record a decision made on a card, or say what kept it from being recorded.

    A repeated post gets the first answer. A wrong confirmation is counted and never uses the link
    up. The decision, the link's use and the audit record are one write, conditional on the request
    not being withdrawn. Values of fields go to the audit as keyed hashes only. A correction ends
    the plan and moves the request to its next round in the same write.
    """
    for _ in range(MAX_ROUNDS):
        opened = open_link(token, showing)
        if opened is None:
            return Reply(unknown_link())
        if opened.result is not None:
            return Reply(opened.result)
        try:
            return _decide(opened, token, form, gate, showing, hasher)
        except StaleError:
            continue
    return Reply(page_error(back_url=_base(token, showing)))


def _decide(  # noqa: PLR0913, PLR0917 - what was posted, and the ports it takes
    opened: Opened,
    token: str,
    form: DecisionForm,
    gate: Gate,
    showing: Showing,
    hasher: KeyedHasher,
) -> Reply:
    sources = card_sources(opened.request, showing.documents)
    card = card_for(opened.plan, sources, opened.link.approver, _base(token, showing))
    said = read_answers(card, form.answers, form.decision)
    errors = _errors(form, card, said, opened.plan)
    # Nothing typed is no guess: a robot that posts the bare form is not counted.
    if FormInput.CONFIRMATION in errors and form.confirmation.strip():
        wait = seconds_to_wait(opened.link, gate.clock.now())
        if wait:
            return Reply(too_many_tries(wait_seconds=wait, back_url=_base(token, showing)))
        _count_wrong(opened.link, opened.plan, gate)
    if errors:
        return _again(card, form, errors)
    if form.decision == Choice.ASK:
        return _ask(opened, card, form, gate)
    if form.decision == Choice.HAND_OVER:
        return _hand_over(opened, card, form, gate)
    if form.card_digest != card.digest and form.plan_digest == opened.plan.digest:
        gate.record(opened.plan, "decision.refused", opened.link.approver, code="card_changed")
        return _again(card, form, {FormInput.CARD_DIGEST: CARD_CHANGED})
    return _commit(opened, form, said, gate, hasher)


def _errors(form: DecisionForm, card: Card, said: FieldAnswers, plan: Plan) -> dict[str, str]:
    """Check the form; one sentence per input that needs something."""
    errors = dict(said.errors)
    if form.decision not in card.choices:
        errors.setdefault(FormInput.DECISION, "Choose what you decide.")
    if form.decision in _REASON_NEEDED and not form.reason.strip():
        errors[FormInput.REASON] = _REASON_NEEDED[form.decision]
    if len(form.reason) > MAX_REASON:
        errors[FormInput.REASON] = f"Use at most {MAX_REASON:,} characters."
    if not matches(form.confirmation, plan.digest, card.approver):
        errors[FormInput.CONFIRMATION] = (
            "Type the two words that stand in the last sentence of this page."
        )
    return errors


def _again(card: Card, form: DecisionForm, errors: dict[str, str]) -> Reply:
    entered = {
        **form.answers,
        FormInput.DECISION: form.decision,
        FormInput.REASON: form.reason[:MAX_REASON],
        FormInput.HAND_OVER_TO: form.hand_over_to[:MAX_ADDRESS_OCTETS],
    }
    return Reply(card, FormState(entered=entered, errors=errors))


def _ask(opened: Opened, card: Card, form: DecisionForm, gate: Gate) -> Reply:
    """Keep a question for the requester; `send_reminders` mails it. It decides nothing."""
    plan, approver = opened.plan, opened.link.approver
    question = Question(approver, form.reason.strip(), gate.clock.now())
    try:
        changed = asked(plan, question)
    except ConflictError as refusal:
        return _again(card, form, {FormInput.REASON: _sentence(refusal)})
    event = event_of(plan, "question.asked", approver, question.at, question=question.text)
    gate.store.commit(
        Change(plan.request_id, event, (Save(changed), NotWithdrawn(plan.request_id)))
    )
    return Reply(question_sent(reference=card.reference, title=card.title))


def _hand_over(opened: Opened, card: Card, form: DecisionForm, gate: Gate) -> Reply:
    """Give this person's place to another; `send_reminders` mails them. It decides nothing."""
    plan, link, now = opened.plan, opened.link, gate.clock.now()
    try:
        to = check_address(form.hand_over_to, field="The address")
        stand_in = StandIn(to, link.approver, now)
        changed = put_in_place(plan, stand_in, eligible=gate.eligible(plan, to))
    except InvalidRequestError as refusal:
        return _again(card, form, {FormInput.HAND_OVER_TO: _sentence(refusal)})
    event = event_of(plan, "approval.handed_over", link.approver, now, to=to)
    writes = (
        Save(changed),
        Save(replace(link, state=LinkState.SUPERSEDED)),
        NotWithdrawn(plan.request_id),
    )
    gate.store.commit(Change(plan.request_id, event, writes))
    return Reply(handed_over(reference=card.reference, title=card.title))


def _sentence(refusal: InvalidRequestError) -> str:
    """Return a refusal for a reader: the API's field names are not theirs."""
    text = str(refusal).removeprefix("to ").rstrip(".")
    if refusal.field == "to":
        text = f"this person {text}"
    return f"{text[:1].upper()}{text[1:]}."


def _count_wrong(link: ApprovalLink, plan: Plan, gate: Gate) -> None:
    now = gate.clock.now()
    event = event_of(plan, "confirmation.wrong", link.approver, now)
    counted = Save(wrong_confirmation(link, now))
    gate.store.commit(Change(plan.request_id, event, (counted,)))


def _commit(
    opened: Opened,
    form: DecisionForm,
    said: FieldAnswers,
    gate: Gate,
    hasher: KeyedHasher,
) -> Reply:
    link, plan = opened.link, opened.plan
    decision = Decision(
        approver=link.approver,
        verdict=Verdict(form.decision),
        at=gate.clock.now(),
        plan_digest=form.plan_digest,
        card_digest=form.card_digest,
        reason=form.reason.strip(),
        answers=said.answers,
    )
    try:
        decided = decide(plan, decision, eligible=gate.eligible(plan, link.approver))
    except RefusedError as refusal:
        return _refused(plan, link, refusal, gate)
    event = event_of(
        plan,
        f"plan.{_verb(decided)}",
        link.approver,
        decision.at,
        verdict=decision.verdict.value,
        digest=decision.plan_digest,
        card=decision.card_digest,
        reason=decision.reason,
        fields=[_audited(one, plan.request_id, hasher) for one in said.answers],
        approvals=len(approvals_for(decided)),
        quorum=plan.quorum,
        **_superseding(decided),
    )
    on_request = _on_request(opened.request, plan, decision, said)
    writes = (Save(decided), Save(used(link, decision)), on_request)
    gate.store.commit(Change(plan.request_id, event, writes))
    return Reply(_result(decided, decision, gate))


def _superseding(decided: Plan) -> dict[str, Json]:
    """Say in the audit what a correction takes away: approvals given, and the draft."""
    if decided.state is not PlanState.SUPERSEDED:
        return {}
    withdrawn: list[Json] = [one.approver for one in approvals_for(decided)]
    return {"withdrawnApprovals": withdrawn, "abandonedDraft": decided.target}


def _on_request(
    request: Request, plan: Plan, decision: Decision, said: FieldAnswers
) -> Save | NotWithdrawn:
    """Return what a decision does to its request: a correction starts the next round."""
    if decision.verdict is not Verdict.CORRECT:
        return NotWithdrawn(request.request_id)
    corrections = tuple(
        Correction(one.path, decision.approver, decision.at, one.old, one.new)
        for one in said.corrected
    )
    return Save(next_round(request, corrections, deciders_of(plan)))


def _audited(answer: FieldAnswer, request_id: str, hasher: KeyedHasher) -> dict[str, Json]:
    """Return an answer as the audit may hold it: values as keyed hashes, empty where none (P10)."""

    def hashed(value: str | None) -> str:
        return "" if value is None else hasher.digest(request_id, value)

    ours = _OUR_PATH.fullmatch(answer.path)
    return {
        "path": answer.path if ours else hashed(answer.path),
        "old": hashed(answer.old),
        "new": hashed(answer.new),
    }


def _verb(decided: Plan) -> str:
    match decided.state:
        case PlanState.APPROVED:
            return "approved"
        case PlanState.REJECTED:
            return "rejected"
        case PlanState.SUPERSEDED:
            return "corrected"
        case _:
            return "decision_recorded"


def _result(decided: Plan, decision: Decision, gate: Gate) -> Result:
    reference, title = reference_of(decided.plan_id), decided.title
    if decision.verdict is Verdict.REJECT:
        return rejected(reference=reference, title=title)
    if decision.verdict is Verdict.CORRECT:
        return corrected(reference=reference, title=title)
    if decided.state is PlanState.APPROVED:
        if gate.paused():
            return approved_paused(reference=reference, title=title)
        return approved_complete(reference=reference, title=title)
    missing = decided.quorum - len(approvals_for(decided))
    return approved_waiting(missing, reference=reference, title=title)


def _refused(plan: Plan, link: ApprovalLink, refusal: RefusedError, gate: Gate) -> Reply:
    """A refusal is recorded too; what the approver reads depends on what they may know."""
    gate.record(plan, "decision.refused", link.approver, code=refusal.code)
    reference, title = reference_of(plan.plan_id), plan.title
    if isinstance(refusal, PlanChangedError):
        return Reply(superseded(reference=reference, title=title))
    if isinstance(refusal, NotEligibleError):
        return Reply(unknown_link())
    raise StaleError("the plan moved on while the decision was being made")


def _base(token: str, showing: Showing) -> str:
    return f"{showing.link_base}/approvals/{token}"
