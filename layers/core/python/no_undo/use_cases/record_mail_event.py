"""Record Mail Event: what became of a mail; shown, escalated, and never a decision.

Three kinds of mail are told apart: one with an approver's link (it carries the link's hash as a
tag), any other of ours (it carries the request's id), and the e-sign vendor's mail to a signer,
where that goes out through this account: its subject holds the envelope's name, and with it the
plan id in brackets. Events come late, twice and out of order.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, replace
from typing import Final

from no_undo.domain.addresses import same_person
from no_undo.domain.approval import ApprovalLink
from no_undo.domain.asking import delivered_as
from no_undo.domain.audit_chain import AuditEvent
from no_undo.domain.errors import StaleError, TransientError, VendorRefusedError
from no_undo.domain.notices import approval_mail_undelivered
from no_undo.domain.plan import Delivery, Plan, SignerMail
from no_undo.ports import Change, Save
from no_undo.use_cases.approval_card import reference_of
from no_undo.use_cases.close_request import Telling
from no_undo.use_cases.gate import MAX_ROUNDS, Gate, event_of

logger = logging.getLogger(__name__)

ACTOR: Final = "record_mail_event"
_PLAN_IN_NAME: Final = re.compile(r"\[([0-9a-z]{1,60}#[0-9]{1,6})\]", re.ASCII)
_SHA256: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class MailEvent:
    """What is said about one mail.

    Attributes:
        delivery: What became of it.
        request_id: The request it was about, or empty.
        link: SHA-256 of the approval token inside, or empty.
        addresses: Whom it was for.
        subject: Its subject.
    """

    delivery: Delivery
    request_id: str
    link: str
    addresses: tuple[str, ...]
    subject: str


def record_mail_event(event: MailEvent, gate: Gate, telling: Telling) -> str:
    """Record what became of a mail, and tell the requester when an approver was not reached.

    Returns:
        Whose mail it was: `approver`, `requester`, `signer`, or empty when it was none of ours or
        says nothing new.

    Raises:
        StaleError: The plan kept moving; the event is delivered again.
    """
    if _SHA256.fullmatch(event.link):
        link = gate.store.link(event.link)
        return "" if link is None else _approvers_mail(link, event, gate, telling)
    if event.request_id:
        return _requesters_mail(event, gate)
    return _signers_mail(event, gate)


def _approvers_mail(link: ApprovalLink, event: MailEvent, gate: Gate, telling: Telling) -> str:
    for _ in range(MAX_ROUNDS):
        plan = gate.store.plan(link.plan_id)
        links = () if plan is None else plan.links
        known = next((one for one in links if one.token_sha256 == event.link), None)
        # A link that was replaced says nothing about the mail with the newer one.
        if plan is None or known is None or not _is_news(known.delivery, event.delivery):
            return ""
        now = gate.clock.now()
        told = delivered_as(plan, event.link, event.delivery, now)
        record = event_of(
            plan,
            "approval.mail_followed",
            ACTOR,
            now,
            approver=link.approver,
            mail=event.delivery.value,
        )
        try:
            gate.store.commit(Change(plan.request_id, record, (Save(told),)))
        except StaleError:
            continue
        if event.delivery is not Delivery.DELIVERED:
            _tell(plan, link.approver, event.delivery, telling)
        return "approver"
    raise StaleError("the plan kept changing while a mail event was being recorded")


def _is_news(known: Delivery, said: Delivery) -> bool:
    """A repeated event is no news, and neither is a delivery after a failure."""
    return known is Delivery.UNKNOWN or (known is Delivery.DELIVERED and said is not known)


def _tell(plan: Plan, approver: str, delivery: Delivery, telling: Telling) -> None:
    if not plan.requester_email:
        return
    notice = approval_mail_undelivered(
        reference=reference_of(plan.plan_id),
        title=plan.title,
        approver=approver,
        outcome=delivery.value,
    )
    try:
        telling.mailer.send(
            plan.requester_email, telling.pages.requester_mail(notice), tag=plan.request_id
        )
    except (TransientError, VendorRefusedError):
        # It shows on the request and escalates, whether or not the requester could be told.
        logger.warning("the requester could not be told", extra={"request": plan.request_id})


def _requesters_mail(event: MailEvent, gate: Gate) -> str:
    """Only what did not arrive is worth a record: nobody waits for the others."""
    request = gate.store.request(event.request_id)
    if request is None or event.delivery is Delivery.DELIVERED:
        return ""
    record = AuditEvent(
        kind="request.mail_followed",
        actor=ACTOR,
        at=gate.clock.now(),
        details={"mail": event.delivery.value},
    )
    gate.store.commit(Change(request.request_id, record))
    return "requester"


def _signers_mail(event: MailEvent, gate: Gate) -> str:
    named = _PLAN_IN_NAME.search(event.subject)
    for _ in range(MAX_ROUNDS):
        plan = None if named is None else gate.store.plan(named.group(1))
        order = 0 if plan is None else _order_of(plan, event.addresses)
        if plan is None or not order:
            return ""
        known = {one.order: one for one in plan.signer_mail}
        before = known[order].delivery if order in known else Delivery.UNKNOWN
        if not _is_news(before, event.delivery):
            return ""
        now = gate.clock.now()
        known[order] = SignerMail(order, event.delivery, now)
        told = replace(plan, signer_mail=tuple(known[one] for one in sorted(known)))
        record = event_of(
            plan, "signer.mail_followed", ACTOR, now, order=order, mail=event.delivery.value
        )
        try:
            gate.store.commit(Change(plan.request_id, record, (Save(told),)))
        except StaleError:
            continue
        return "signer"
    raise StaleError("the plan kept changing while a mail event was being recorded")


def _order_of(plan: Plan, addresses: tuple[str, ...]) -> int:
    for one in plan.recipients:
        if any(same_person(one.email, address) for address in addresses):
            return one.order
    return 0
