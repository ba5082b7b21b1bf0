"""Asking people: who may decide beside those the plan named, and who is mailed when.

Rules:
1. The digest holds who was asked at first. A hand-over or a reassignment puts one eligible person
   in the place of one who has not decided; an escalation puts people beside them. Neither changes
   what is approved, so neither changes the digest; who may count is asked of the policy at the
   decision and at begin.
2. Nobody takes a place who has one already, under any spelling: it would be a false second person.
   Nobody who has decided gives their place away.
3. The link of whoever lost their place is dead from that write on: it is no longer on the plan.
4. A plan's people are reminded once and its matter is escalated once, at moments fixed when the
   plan is made, so many hours before the deadline, and never in the first half (reminder) or the
   first three quarters (escalation) of the time given. Moments are instants in UTC: a clock change
   moves none of them.
5. Mail that could not be delivered escalates at once. It is never consent, and whoever cannot be
   reached, or does not want the mail, is not reminded.
6. What is still to be mailed stands on the plan, for each person apart: one bad address never has
   the others mailed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from no_undo.domain.addresses import same_person
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
)

MAX_STAND_INS: Final = 20
"""Hand-overs, reassignments and escalations of one plan together."""
MAX_QUESTIONS: Final = 5
"""Questions that one person may ask about one plan."""
RETRY_MAIL: Final = timedelta(minutes=5)
"""After a mail that was not taken this time."""

UNREACHABLE: Final = frozenset({Delivery.BOUNCED, Delivery.SUPPRESSED, Delivery.REFUSED})
_LEAVE_ALONE: Final = UNREACHABLE | {Delivery.UNWANTED}


def reminder_at(created: datetime, expires: datetime, hours_before: int) -> datetime:
    """Return when people who have not decided are reminded (rule 4)."""
    return max(created + (expires - created) / 2, expires - timedelta(hours=hours_before))


def escalation_at(created: datetime, expires: datetime, hours_before: int) -> datetime:
    """Return when a plan that nobody completed is escalated (rule 4)."""
    return max(created + (expires - created) * 3 / 4, expires - timedelta(hours=hours_before))


def put_in_place(plan: Plan, stand_in: StandIn, *, eligible: bool) -> Plan:
    """Return the plan with one person in the place of another (rules 1 to 3).

    Args:
        plan: As just read.
        stand_in: Who takes whose place.
        eligible: Whether the policy lets the new person approve this plan now.

    Raises:
        ConflictError: The plan no longer waits, that person has decided, or it was done too often.
        InvalidRequestError: `field` is `approver` when there is no such place to give, `to` when
            the new person may not take it.
    """
    waiting = plan.state is PlanState.AWAITING_APPROVAL and stand_in.at < plan.expires_at
    if not waiting:
        raise ConflictError("the plan no longer waits for decisions")
    if stand_in.replaces not in deciders_of(plan):
        raise InvalidRequestError("approver is not one who may decide now.", field="approver")
    if any(one.approver == stand_in.replaces for one in plan.decisions):
        raise ConflictError("this approver has decided already")
    if len(plan.stand_ins) >= MAX_STAND_INS:
        raise ConflictError("the plan was handed over too often; submit a new request")
    if any(same_person(stand_in.approver, one) for one in deciders_of(plan)):
        raise InvalidRequestError(
            "to is one of those who may decide already; one person counts once.", field="to"
        )
    if not eligible:
        raise InvalidRequestError(
            "to may not approve this: the policy does not list them, or they are the requester "
            "or a recipient.",
            field="to",
        )
    return replace(
        plan,
        stand_ins=(*plan.stand_ins, stand_in),
        links=tuple(one for one in plan.links if one.approver != stand_in.replaces),
        mail_at=stand_in.at,
    )


def escalate(plan: Plan, eligible: Sequence[str], at: datetime) -> Plan:
    """Return the plan with the people of the second list beside those who decide (rules 1, 2).

    Args:
        plan: As just read.
        eligible: The policy's escalation list, without those who may not approve this plan.
        at: UTC.
    """
    added: list[StandIn] = []
    for one in eligible:
        taken = (*deciders_of(plan), *(other.approver for other in added))
        if not any(same_person(one, other) for other in taken):
            added.append(StandIn(approver=one, replaces="", at=at))
    return replace(plan, stand_ins=(*plan.stand_ins, *added), escalate_at=None, mail_at=at)


def asked(plan: Plan, question: Question) -> Plan:
    """Return the plan with one more question to pass on to the requester.

    Raises:
        ConflictError: This person has asked as often as one may.
    """
    before = sum(one.approver == question.approver for one in plan.questions)
    if before >= MAX_QUESTIONS:
        raise ConflictError("you have asked as often as this page allows; write to the requester")
    return replace(plan, questions=(*plan.questions, question), mail_at=question.at)


def delivered_as(plan: Plan, token_sha256: str, delivery: Delivery, at: datetime) -> Plan:
    """Return the plan with what became of one person's mail; the unreachable escalate (rule 5)."""
    links = tuple(
        replace(one, delivery=delivery) if one.token_sha256 == token_sha256 else one
        for one in plan.links
    )
    told = replace(plan, links=links)
    if delivery not in _LEAVE_ALONE or plan.escalate_at is None:
        return told
    return replace(told, escalate_at=at, mail_at=at)


def to_mail(plan: Plan, now: datetime) -> tuple[tuple[str, ApprovalMailKind], ...]:
    """Return who is to get a mail with a fresh link now, and why (rules 4 to 6)."""
    decided = {one.approver for one in plan.decisions}
    found = ((one, _wanted(plan, one, now)) for one in deciders_of(plan) if one not in decided)
    return tuple((approver, kind) for approver, kind in found if kind is not None)


def next_mail_at(plan: Plan, now: datetime) -> datetime | None:
    """Return when to look at a plan's mail again, None when nothing is left to do."""
    pending = bool(to_mail(plan, now)) or any(one.mailed_at is None for one in plan.questions)
    moments = [one for one in (plan.remind_at, plan.escalate_at) if one is not None and one > now]
    if pending or (plan.escalate_at is not None and plan.escalate_at <= now):
        moments.append(now + RETRY_MAIL)
    return min(moments, default=None)


def _wanted(plan: Plan, approver: str, now: datetime) -> ApprovalMailKind | None:
    link = next((one for one in plan.links if one.approver == approver), None)
    if link is None:
        return _first_kind(plan, approver)
    if link.delivery in _LEAVE_ALONE:
        return None
    if link.mailed_at is None:
        return ApprovalMailKind.REMINDER if link.reminder else _first_kind(plan, approver)
    return ApprovalMailKind.REMINDER if _has_to_be_reminded(plan, link, now) else None


def _has_to_be_reminded(plan: Plan, link: IssuedLink, now: datetime) -> bool:
    """A mail from the moment of the reminder on is the reminder, or comes too late for one."""
    at, mailed = plan.remind_at, link.mailed_at
    return at is not None and mailed is not None and mailed < at <= now


def _first_kind(plan: Plan, approver: str) -> ApprovalMailKind:
    for one in reversed(plan.stand_ins):
        if one.approver == approver:
            return ApprovalMailKind.REASSIGNMENT if one.replaces else ApprovalMailKind.ESCALATION
    return ApprovalMailKind.REQUEST
