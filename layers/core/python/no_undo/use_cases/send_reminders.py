"""Send Reminders: every mail to approvers after the first, and questions to requesters (design 9).

Reminder, escalation, hand-over and reassignment each give one person a fresh link, which kills the
one before it. What a decision or a reassignment left to be mailed stands on the plan; this function
mails it, so that nothing that callers reach can write a link (P12). One plan, one person or one
mail that cannot be handled does not stop the others.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace

from no_undo.domain.asking import escalate, next_mail_at, to_mail
from no_undo.domain.errors import NoUndoError, StaleError, TransientError
from no_undo.domain.notices import ApprovalMailKind, question_asked
from no_undo.domain.plan import Plan, PlanState, Question
from no_undo.ports import Change, Save
from no_undo.use_cases.approval_card import reference_of
from no_undo.use_cases.gate import Gate, event_of
from no_undo.use_cases.request_approval import Mailing, issue_link, mail_link

logger = logging.getLogger(__name__)

ACTOR = "send_reminders"
BATCH = 100
"""How many plans one run looks at."""


def send_reminders(gate: Gate, mailing: Mailing) -> dict[str, int]:
    """Look once at every plan whose mail is due.

    Returns:
        Counts by what was done: `request`, `reminder`, `escalation`, `reassignment`, `question`,
        `escalated`, `moved` (somebody else was faster), `failed`.
    """
    counts: Counter[str] = Counter()
    for plan_id in gate.store.plans_to_mail(gate.clock.now(), limit=BATCH):
        try:
            counts.update(look_at_mail(plan_id, gate, mailing))
        except StaleError:
            counts.update(["moved"])
        except NoUndoError as error:
            logger.exception("a plan's mail failed", extra={"id": plan_id, "code": error.code})
            counts.update(["failed"])
    return dict(counts)


def look_at_mail(plan_id: str, gate: Gate, mailing: Mailing) -> Counter[str]:
    """Mail what is due for one plan; return what was done.

    Raises:
        StaleError: The plan moved on meanwhile; the next run looks again.
        TransientError: The policy could not be read, or something could not be stored.
    """
    counts: Counter[str] = Counter()
    plan = _waiting(plan_id, gate)
    if plan is None:
        return counts
    now = gate.clock.now()
    if plan.escalate_at is not None and plan.escalate_at <= now:
        plan = _escalate(plan, gate)
        counts.update(["escalated"])
    for approver, kind in to_mail(plan, now):
        counts.update([_ask(plan_id, approver, kind, gate, mailing)])
    for question in plan.questions:
        if question.mailed_at is None:
            counts.update([_pass_on(plan_id, question, gate, mailing)])
    after = _waiting(plan_id, gate)
    if after is not None:
        gate.store.reschedule_mail(replace(after, mail_at=next_mail_at(after, now)))
    return counts


def _waiting(plan_id: str, gate: Gate) -> Plan | None:
    plan = gate.store.plan(plan_id)
    if plan is None or plan.state is not PlanState.AWAITING_APPROVAL:
        return None
    return plan if gate.clock.now() < plan.expires_at else None


def _escalate(plan: Plan, gate: Gate) -> Plan:
    """Put the policy's second list beside those who decide; an empty one is recorded too."""
    policy = gate.policy(plan.tenant)
    listed = () if policy is None else policy.escalation
    now = gate.clock.now()
    wider = escalate(plan, [one for one in listed if gate.eligible(plan, one)], now)
    added = [one.approver for one in wider.stand_ins[len(plan.stand_ins) :]]
    event = event_of(plan, "plan.escalated", ACTOR, now, approvers=added)
    gate.store.commit(Change(plan.request_id, event, (Save(wider),)))
    return replace(wider, revision=wider.revision + 1)


def _ask(plan_id: str, approver: str, kind: ApprovalMailKind, gate: Gate, mailing: Mailing) -> str:
    """Give one person a fresh link by mail; one failure is that person's alone."""
    plan = _waiting(plan_id, gate)
    # Whoever is not eligible (any more) gets no link: they could not decide.
    if plan is None or not gate.eligible(plan, approver):
        return "moved"
    token = issue_link(plan, approver, ACTOR, gate, reminder=kind is ApprovalMailKind.REMINDER)
    if token is None:
        return "moved"
    try:
        mail_link(plan, approver, token, kind, ACTOR, gate, mailing)
    except TransientError:
        logger.warning("a mail was not taken this time; it is tried again")
        return "failed"
    return kind.value


def _pass_on(plan_id: str, question: Question, gate: Gate, mailing: Mailing) -> str:
    """Mail one question to the requester, then mark it; a crash between may mail it twice."""
    plan = _waiting(plan_id, gate)
    if plan is None or question not in plan.questions:
        return "moved"
    notice = question_asked(
        reference=reference_of(plan_id),
        title=plan.title,
        approver=question.approver,
        question=question.text,
    )
    try:
        mailing.mailer.send(
            plan.requester_email, mailing.pages.requester_mail(notice), tag=plan.request_id
        )
    except TransientError:
        logger.warning("a question was not taken this time; it is tried again")
        return "failed"
    except NoUndoError as error:
        gate.record(plan, "question.mail_refused", ACTOR, code=error.code)
    now = gate.clock.now()
    told = tuple(replace(one, mailed_at=now) if one == question else one for one in plan.questions)
    event = event_of(plan, "question.passed_on", ACTOR, now, approver=question.approver)
    gate.store.commit(Change(plan.request_id, event, (Save(replace(plan, questions=told)),)))
    return "question"
