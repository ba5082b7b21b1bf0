"""What the steps around the irreversible call share: rows, conditions, settings, evidence.

The gate knows nothing about documents or e-sign; an `IrreversibleAction` tells it what it needs.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from no_undo.domain.approval import attests
from no_undo.domain.approver_policy import ApproverPolicy, still_eligible
from no_undo.domain.audit_chain import AuditEvent
from no_undo.domain.canonical_json import Json
from no_undo.domain.errors import RefusedError, TransientError
from no_undo.domain.ledger import BeginRules, Holdings, LedgerEntry, Transition, may_attempt
from no_undo.domain.plan import Plan
from no_undo.ports import (
    Change,
    Clock,
    PolicySource,
    Resumer,
    Save,
    StateStore,
    TokenSource,
)

logger = logging.getLogger(__name__)

MAX_ROUNDS = 4
"""How often a decision is made again after a row moved; each round reads everything afresh."""
LONGEST_PAUSE = timedelta(minutes=15)
"""Longest pause between two looks at one plan that is still open."""


@dataclass(frozen=True, slots=True)
class GateSettings:
    """Times and bounds of the gate, set by the deployment.

    Attributes:
        lease: Function timeout plus client timeout: how long a sender may be calling.
        call_budget: Time that one begin, call and confirm needs; with less left, begin refuses.
        settle_time: Bound on how late a request may still land at the vendor (design 8.8).
        max_attempts: Attempts per plan before a person decides.
        retry_after_release: False: after a release only an operator starts the next attempt.
        read_back_interval: Pause between looks at the system of record after the call.
        poll_interval: Shortest pause between two looks by the sweep at one plan.
        driver_interval: How often an open request is checked for a running execution.
        look_budget: Time that one look of the sweep may take; with less left, it stops.
    """

    lease: timedelta
    call_budget: timedelta
    settle_time: timedelta
    max_attempts: int
    retry_after_release: bool
    read_back_interval: timedelta
    poll_interval: timedelta
    driver_interval: timedelta
    look_budget: timedelta


@dataclass(frozen=True, slots=True)
class Gate:
    """The ports that the steps around an irreversible call work with; the action comes apart.

    Only the steps that talk to the outside are handed the action: approving and parking never are.
    """

    store: StateStore
    policies: PolicySource
    clock: Clock
    tokens: TokenSource
    settings: GateSettings

    def holdings(self, plan_id: str) -> Holdings | None:
        """Read the rows of one plan; None when there is no such plan."""
        plan = self.store.plan(plan_id)
        if plan is None:
            return None
        return Holdings(
            plan=plan,
            entry=self.store.entry(plan_id),
            fence=self.store.fence(plan.fence_key),
            pause=self.store.pause(),
        )

    def rules(self) -> BeginRules:
        """Return what a begin is checked against now."""
        return BeginRules(
            now=self.clock.now(),
            max_attempts=self.settings.max_attempts,
            retry_after_release=self.settings.retry_after_release,
            lease=self.settings.lease,
            counts=self.counts,
        )

    def policy(self, tenant: str) -> ApproverPolicy | None:
        """Return today's policy of a tenant that has plans already.

        Raises:
            TransientError: It cannot be read, or the deployed one cannot be used: nothing is
                decided until it can.
        """
        try:
            return self.policies.policy(tenant)
        except RefusedError as error:
            raise TransientError(str(error)) from None

    def eligible(self, plan: Plan, approver: str) -> bool:
        """Return whether today's policy lets this person approve this plan (P5).

        The requester is who the policy says today, and who it said when the plan was made.

        Raises:
            TransientError: The policy cannot be read, or the deployed one cannot be used: nothing
                is decided until it can.
        """
        policy = self.policy(plan.tenant)
        if policy is None:
            return False
        requesters = {plan.requester_email, policy.person_behind(plan.requester) or ""}
        return all(
            still_eligible(policy, approver, requester=one, recipients=plan.recipients)
            for one in requesters
        )

    def counts(self, plan: Plan, approver: str) -> bool:
        """Return whether a stored approval counts at begin: eligible, and attested by its link."""
        issued = next((one for one in plan.links if one.approver == approver), None)
        link = None if issued is None else self.store.link(issued.token_sha256)
        return attests(link, plan, approver) and self.eligible(plan, approver)

    def may_begin_again(self, entry: LedgerEntry | None) -> bool:
        """Return whether an APPROVED or RELEASED plan may go back to its call now."""
        return not self.paused() and may_attempt(
            entry,
            max_attempts=self.settings.max_attempts,
            retry_after_release=self.settings.retry_after_release,
        )

    def paused(self) -> bool:
        """Return whether an operator paused all begins."""
        pause = self.store.pause()
        return pause is not None and pause.paused

    def record(self, plan: Plan, kind: str, actor: str, **details: Json) -> None:
        """Put something on the request's chain that changes no row."""
        event = event_of(plan, kind, actor, self.clock.now(), **details)
        self.store.commit(Change(plan.request_id, event))


def ask_to_resume(resumer: Resumer, plan_id: str) -> None:
    """Ask for waits to be answered soon; what was decided stands even if nobody can be asked."""
    try:
        resumer.resume(plan_id)
    except TransientError:
        logger.warning("a resumption could not be asked for; the sweep asks again")


def event_of(plan: Plan, kind: str, actor: str, at: datetime, **details: Json) -> AuditEvent:
    """Return an audit event about a plan."""
    return AuditEvent(kind=kind, actor=actor, at=at, plan_id=plan.plan_id, details=details)


def saves(rows: Transition) -> tuple[Save, Save, Save]:
    """Return the writes that store a plan, its entry and its fence as one transition."""
    return Save(rows.plan), Save(rows.entry), Save(rows.fence)
