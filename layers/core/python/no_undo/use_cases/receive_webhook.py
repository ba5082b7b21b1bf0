"""Receive Webhook: the vendor's hint to look. It is never a fact and decides nothing (P3).

The envelope's name carries the plan id; the sweep then asks the system of record.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import replace

from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.plan import DueKind, FollowUp, PlanState
from no_undo.ports import Sweeper
from no_undo.use_cases.gate import Gate

_PLAN_IN_NAME = re.compile(r"\[([0-9a-z]{26}#[1-9][0-9]{0,3})\]$", re.ASCII)


def check_signature(body: bytes, signature: str, secret: str) -> None:
    """Refuse a body whose HMAC-SHA-256 (base64) is not the one given.

    Source: vendors/foxit-esign.md 8; base64 in a query string may have lost `+` to a space.

    Raises:
        InvalidRequestError: No secret is configured, or the signature is another.
    """
    expected = base64.b64encode(hmac.new(secret.encode(), body, hashlib.sha256).digest())
    given = signature.replace(" ", "+").encode("utf-8")
    if not secret or not hmac.compare_digest(expected, given):
        raise InvalidRequestError("The signature does not match the body.", field="signature")


def receive_webhook(envelope_name: str, gate: Gate, sweeper: Sweeper) -> bool:
    """Make the named plan due now and ask for a sweep.

    Args:
        envelope_name: Name of the envelope that the vendor speaks of.
        gate: Store and clock.
        sweeper: Asks for a sweep.

    Returns:
        Whether the hint was of use: unknown, unsent and finished plans need no look.
    """
    named = _PLAN_IN_NAME.search(envelope_name)
    plan = gate.store.plan(named.group(1)) if named else None
    if plan is None or plan.state is not PlanState.EXECUTED:
        return False
    if plan.follow_up is not FollowUp.NONE or plan.due_kind is not DueKind.FOLLOW_UP:
        return False
    gate.store.reschedule(replace(plan, due_at=gate.clock.now()))
    sweeper.sweep()
    return True
