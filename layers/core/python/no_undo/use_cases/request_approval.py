"""Request Approval: park the execution, store the plan, mail each approver a link of their own.

The task token stays here; the link carries a random token of which only the hash is stored (P10).
A crash between storing a link and mailing it leaves a link that nobody has; the next run issues a
new one and supersedes it. A link that was mailed is never mailed again by this step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypedDict

from no_undo.actions.esign_send import KIND
from no_undo.domain.approval import ApprovalLink, LinkState, token_sha256
from no_undo.domain.approver_policy import ApproverPolicy
from no_undo.domain.asking import delivered_as, escalation_at, reminder_at
from no_undo.domain.audit_chain import AuditEvent
from no_undo.domain.errors import StaleError, VendorRefusedError
from no_undo.domain.notices import ApprovalMailKind, ApprovalNotice
from no_undo.domain.plan import (
    Delivery,
    DueKind,
    IssuedLink,
    Plan,
    PlanState,
    deciders_of,
    digest_of,
    plan_id_of,
)
from no_undo.domain.request import Request, RequestState, Stage
from no_undo.domain.waiting import Wait, WaitKind
from no_undo.ports import Change, KeyedHasher, Mailer, Pages, Save, WaitStore
from no_undo.use_cases.approval_card import action_sentence, irreversibility_sentence, reference_of
from no_undo.use_cases.create_draft import fence_key
from no_undo.use_cases.gate import MAX_ROUNDS, Gate, event_of
from no_undo.use_cases.resume_execution import park
from no_undo.use_cases.stage import final_document, load

ACTOR = "request_approval"


@dataclass(frozen=True, slots=True)
class Mailing:
    """What mails links to approvers, and words to requesters.

    Attributes:
        pages: Renders the mail.
        mailer: Sends it.
        link_base: Public address of the API; a link is `<link_base>/approvals/<token>`.
    """

    pages: Pages
    mailer: Mailer
    link_base: str


@dataclass(frozen=True, slots=True)
class Asking:
    """What asks people for their decision.

    Attributes:
        waits: Parked task tokens.
        mailing: Mails the links.
        hasher: Hashes recipients for the audit.
    """

    waits: WaitStore
    mailing: Mailing
    hasher: KeyedHasher


def request_approval(request_id: str, task_token: str, gate: Gate, asking: Asking) -> None:
    """Park the token, then make sure that the plan exists and every approver has a mail.

    Raises:
        WithdrawnError: The caller took the request back before the plan existed.
        TransientError: The mail service took no mail this time; the step is repeated.
    """
    request = load(request_id, gate.store)
    wait = Wait(_plan_asked_about(request), WaitKind.APPROVAL, task_token, gate.clock.now())
    asking.waits.put(wait)
    plan = gate.store.plan(wait.plan_id) or _store_plan(request, gate, asking)
    if plan.state is PlanState.AWAITING_APPROVAL:
        for approver in deciders_of(plan):
            _ask(plan.plan_id, approver, gate, asking)
    park(wait, gate, asking.waits, ACTOR)


class _Later(TypedDict):
    remind_at: datetime | None
    escalate_at: datetime | None
    mail_at: datetime | None


def _plan_asked_about(request: Request) -> str:
    """Return the plan whose answer the execution waits for.

    A correction may come between this step's mail and its repetition: the request is in its next
    round then, and the answer is that the plan of the round before is superseded.
    """
    asked = request.round if request.stage is Stage.APPROVE else max(1, request.round - 1)
    return plan_id_of(request.request_id, asked)


def plan_for(request: Request, gate: Gate) -> Plan:
    """Return the plan of a request's round, not yet stored."""
    now = gate.clock.now()
    expires_at = request.deadline or now + timedelta(hours=request.deadline_hours)
    plan = Plan(
        plan_id=plan_id_of(request.request_id, request.round),
        request_id=request.request_id,
        tenant=request.tenant,
        requester=request.caller,
        requester_email=request.caller_email,
        round=request.round,
        action_kind=KIND,
        title=request.title,
        instruction=request.instruction,
        document=final_document(request),
        recipients=request.recipients,
        target=request.envelope_id,
        fence_key=fence_key(request, KIND),
        approvers=request.approvers,
        quorum=request.quorum,
        created_at=now,
        expires_at=expires_at,
        repeat_of=request.repeat_of,
        due_kind=DueKind.EXPIRE,
        due_at=expires_at,
        **_later(now, expires_at, gate.policy(request.tenant)),
    )
    return replace(plan, digest=digest_of(plan))


def _later(now: datetime, expires_at: datetime, policy: ApproverPolicy | None) -> _Later:
    """Fix when people are reminded and the matter escalates; without a policy nobody counts."""
    if policy is None:
        return _Later(remind_at=None, escalate_at=None, mail_at=None)
    remind_at = reminder_at(now, expires_at, policy.reminder_hours)
    escalate_at = escalation_at(now, expires_at, policy.escalation_hours)
    return _Later(remind_at=remind_at, escalate_at=escalate_at, mail_at=min(remind_at, escalate_at))


def _store_plan(request: Request, gate: Gate, asking: Asking) -> Plan:
    for _ in range(MAX_ROUNDS):
        plan = plan_for(request, gate)
        event = event_of(
            plan,
            "plan.proposed",
            ACTOR,
            plan.created_at,
            digest=plan.digest,
            document=plan.document.sha256,
            quorum=plan.quorum,
            approvers=list(plan.approvers),
            envelope=plan.target,
            expiresAt=plan.expires_at.isoformat(),
            recipients=[
                asking.hasher.digest(plan.request_id, one.email) for one in plan.recipients
            ],
        )
        waiting = replace(request, state=RequestState.AWAITING_APPROVAL)
        try:
            gate.store.commit(Change(plan.request_id, event, (Save(plan), Save(waiting))))
        except StaleError:
            stored = gate.store.plan(plan.plan_id)
            if stored is not None:
                return stored
            request = load(request.request_id, gate.store)
            continue
        return replace(plan, revision=1)
    raise StaleError("the request kept changing while its plan was being stored")


def _ask(plan_id: str, approver: str, gate: Gate, asking: Asking) -> None:
    """Issue and mail one link, unless this approver already has a mailed one or has decided.

    Raises:
        StaleError: The plan kept changing; the step is repeated.
    """
    for _ in range(MAX_ROUNDS):
        plan = gate.store.plan(plan_id)
        if plan is None or not _has_to_be_asked(plan, approver):
            return
        token = issue_link(plan, approver, ACTOR, gate)
        if token is not None:
            kind = ApprovalMailKind.REQUEST
            mail_link(plan, approver, token, kind, ACTOR, gate, asking.mailing)
            return
    raise StaleError("the plan kept changing while a link was being issued")


def _has_to_be_asked(plan: Plan, approver: str) -> bool:
    if plan.state is not PlanState.AWAITING_APPROVAL:
        return False
    mailed = any(
        one.approver == approver and (one.mailed_at is not None or one.delivery is Delivery.REFUSED)
        for one in plan.links
    )
    decided = any(one.approver == approver for one in plan.decisions)
    return not (mailed or decided)


def mail_link(  # noqa: PLR0913, PLR0917 - what is mailed to whom, and the ports it takes
    plan: Plan,
    approver: str,
    token: str,
    kind: ApprovalMailKind,
    actor: str,
    gate: Gate,
    mailing: Mailing,
) -> None:
    """Mail one link to its approver and mark it on the plan.

    One bad address must not keep the others from deciding: it is marked, shows on the request and
    escalates.

    Raises:
        TransientError: The mail was not taken this time; the link is not marked.
    """
    message = mailing.pages.approval_mail(
        notice_for(plan, approver, link_of(mailing.link_base, token), kind)
    )
    hashed = token_sha256(token)
    try:
        mailing.mailer.send(approver, message, tag=plan.request_id, link=hashed)
    except VendorRefusedError:
        _mark(
            plan.plan_id,
            AuditEvent("approval.mail_refused", actor, gate.clock.now(), {"approver": approver}),
            lambda now_plan, at: delivered_as(now_plan, hashed, Delivery.REFUSED, at),
            gate,
        )
        return
    mark_mailed(plan.plan_id, approver, hashed, actor, gate)


def issue_link(
    plan: Plan, approver: str, actor: str, gate: Gate, *, reminder: bool = False
) -> str | None:
    """Store a fresh link for one approver and supersede the older one; return its token.

    Args:
        plan: As just read.
        approver: For whom.
        actor: Which function does it.
        gate: Store, clock and tokens.
        reminder: Whether it goes out with the reminder.

    Returns:
        The token, to be mailed and then forgotten; None when the plan moved on meanwhile.
    """
    token = gate.tokens.token()
    hashed = token_sha256(token)
    older = next((one for one in plan.links if one.approver == approver), None)
    fresh = IssuedLink(approver, hashed, reminder=reminder)
    links = (*(one for one in plan.links if one.approver != approver), fresh)
    writes = [
        Save(replace(plan, links=links)),
        Save(ApprovalLink(hashed, plan.plan_id, plan.request_id, approver, plan.expires_at)),
    ]
    if older is not None:
        old = gate.store.link(older.token_sha256)
        if old is not None and old.state is LinkState.LIVE:
            writes.append(Save(replace(old, state=LinkState.SUPERSEDED)))
    event = event_of(plan, "link.issued", actor, gate.clock.now(), approver=approver)
    try:
        gate.store.commit(Change(plan.request_id, event, tuple(writes)))
    except StaleError:
        return None
    return token


def mark_mailed(plan_id: str, approver: str, hashed: str, actor: str, gate: Gate) -> None:
    """Note that the mail with an approver's link was handed to the mail service."""

    def marked(plan: Plan, at: datetime) -> Plan:
        links = tuple(
            replace(one, mailed_at=at) if one.token_sha256 == hashed else one for one in plan.links
        )
        return replace(plan, links=links)

    event = AuditEvent("approval.asked", actor, gate.clock.now(), {"approver": approver})
    _mark(plan_id, event, marked, gate)


def _mark(
    plan_id: str, event: AuditEvent, change: Callable[[Plan, datetime], Plan], gate: Gate
) -> None:
    for _ in range(MAX_ROUNDS):
        plan = gate.store.plan(plan_id)
        if plan is None:
            return
        now = gate.clock.now()
        recorded = replace(event, at=now, plan_id=plan_id)
        try:
            gate.store.commit(Change(plan.request_id, recorded, (Save(change(plan, now)),)))
        except StaleError:
            continue
        return


def link_of(link_base: str, token: str) -> str:
    """Return the address that is mailed."""
    return f"{link_base}/approvals/{token}"


def notice_for(plan: Plan, approver: str, link: str, kind: ApprovalMailKind) -> ApprovalNotice:
    """Return the mail that asks one approver to decide about a plan."""
    return ApprovalNotice(
        kind=kind,
        reference=reference_of(plan.plan_id),
        title=plan.title,
        requester=plan.requester_email or plan.requester,
        action_sentence=action_sentence(plan),
        irreversibility_sentence=irreversibility_sentence(),
        approver=approver,
        needed=plan.quorum,
        approver_count=len(deciders_of(plan)),
        deadline=plan.expires_at,
        link=link,
    )
