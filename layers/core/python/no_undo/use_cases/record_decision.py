"""Record Decision: one decision by one person, once; the last one needed arms the plan (P5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from no_undo.domain.approval import (
    ApprovalLink,
    decide,
    seconds_to_wait,
    used,
    wrong_confirmation,
)
from no_undo.domain.canonical_json import Json
from no_undo.domain.card import Card, FormInput, FormState
from no_undo.domain.confirmation import matches
from no_undo.domain.errors import NotEligibleError, PlanChangedError, RefusedError, StaleError
from no_undo.domain.field_answers import FieldAnswers, read_answers
from no_undo.domain.plan import Decision, FieldAnswer, Plan, PlanState, Verdict, approvals_for
from no_undo.domain.results import (
    Result,
    approved_complete,
    approved_paused,
    approved_waiting,
    page_error,
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
CARD_CHANGED = "This page has changed since you opened it. Please read it again, then decide."
_OUR_PATH = re.compile(r"[a-z0-9_.\[\]]{1,100}", re.ASCII)
"""A field path that is no text out of a document: only such a one is named in the audit."""


@dataclass(frozen=True, slots=True)
class DecisionForm:
    """What the form posted, as text.

    Attributes:
        plan_digest: Digest of the plan that was shown.
        card_digest: Digest of the card that was shown.
        decision: `approve` or `reject`.
        reason: Their words, at most 2,000 characters.
        confirmation: The two typed words.
        answers: Answers to single fields, by input name.
    """

    plan_digest: str
    card_digest: str
    decision: str
    reason: str
    confirmation: str
    answers: Mapping[str, str] = field(default_factory=dict[str, str])


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
    not being withdrawn. Values of fields go to the audit as keyed hashes only.
    """
    for _ in range(MAX_ROUNDS):
        opened = open_link(token, showing.store, showing.clock)
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
    errors = _errors(form, said, opened.plan, opened.link)
    # Nothing typed is no guess: a robot that posts the bare form is not counted.
    if FormInput.CONFIRMATION in errors and form.confirmation.strip():
        wait = seconds_to_wait(opened.link, gate.clock.now())
        if wait:
            return Reply(too_many_tries(wait_seconds=wait, back_url=_base(token, showing)))
        _count_wrong(opened.link, opened.plan, gate)
    if errors:
        return _again(card, form, errors)
    if form.card_digest != card.digest and form.plan_digest == opened.plan.digest:
        gate.record(opened.plan, "decision.refused", opened.link.approver, code="card_changed")
        return _again(card, form, {FormInput.CARD_DIGEST: CARD_CHANGED})
    return _commit(opened, form, said.answers, gate, hasher)


def _errors(
    form: DecisionForm, said: FieldAnswers, plan: Plan, link: ApprovalLink
) -> dict[str, str]:
    """Check the form; one sentence per input that needs something."""
    errors = dict(said.errors)
    if form.decision not in tuple(Verdict):
        errors[FormInput.DECISION] = "Choose whether you approve or reject."
    if form.decision == Verdict.REJECT and not form.reason.strip():
        errors[FormInput.REASON] = "Say why you reject; the requester will read it."
    if len(form.reason) > MAX_REASON:
        errors[FormInput.REASON] = f"Use at most {MAX_REASON:,} characters."
    if not matches(form.confirmation, plan.digest, link.approver):
        errors[FormInput.CONFIRMATION] = (
            "Type the two words that stand in the last sentence of this page."
        )
    return errors


def _again(card: Card, form: DecisionForm, errors: dict[str, str]) -> Reply:
    entered = {
        **form.answers,
        FormInput.DECISION: form.decision,
        FormInput.REASON: form.reason[:MAX_REASON],
    }
    return Reply(card, FormState(entered=entered, errors=errors))


def _count_wrong(link: ApprovalLink, plan: Plan, gate: Gate) -> None:
    now = gate.clock.now()
    event = event_of(plan, "confirmation.wrong", link.approver, now)
    counted = Save(wrong_confirmation(link, now))
    gate.store.commit(Change(plan.request_id, event, (counted,)))


def _commit(
    opened: Opened,
    form: DecisionForm,
    answers: tuple[FieldAnswer, ...],
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
        answers=answers,
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
        fields=[_audited(one, plan.request_id, hasher) for one in answers],
        approvals=len(approvals_for(decided)),
        quorum=plan.quorum,
    )
    writes = (Save(decided), Save(used(link, decision)), NotWithdrawn(plan.request_id))
    gate.store.commit(Change(plan.request_id, event, writes))
    return Reply(_result(decided, decision, gate))


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
        case _:
            return "decision_recorded"


def _result(decided: Plan, decision: Decision, gate: Gate) -> Result:
    reference, title = reference_of(decided.plan_id), decided.title
    if decision.verdict is Verdict.REJECT:
        return rejected(reference=reference, title=title)
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
