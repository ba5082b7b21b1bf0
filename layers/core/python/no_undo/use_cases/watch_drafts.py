"""Watch Drafts: the sweep's look at drafts that will not be sent (design 8, Drafts).

One that is seen sent was sent past the gate, or by a request of ours that landed after its plan had
ended. Either way people were mailed about something that nobody was to send: an incident.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from no_undo.domain.abandoned_drafts import due_at, looked_at, seen_sent, watched
from no_undo.domain.audit_chain import AuditEvent
from no_undo.domain.plan import plan_id_of
from no_undo.domain.reconciliation import LookUp, LookUpAnswer
from no_undo.domain.request import Request
from no_undo.ports import Change, Save
from no_undo.use_cases.gate import Gate

logger = logging.getLogger(__name__)

ACTOR = "reconcile_sends"
REQUESTS_PER_SWEEP = 10
"""How many requests' drafts one sweep asks about: the vendor's patience is for what is in doubt."""


def look_at_drafts(request_id: str, gate: Gate, ask: Callable[[str], LookUpAnswer]) -> str:
    """Ask once about each abandoned draft of a request whose time has come.

    Args:
        request_id: Whose drafts.
        gate: Store, clock and settings.
        ask: Asks the system of record about one draft; no answer is UNKNOWN.

    Returns:
        `draft_sent` when one was found sent, `draft_checked` when none was, empty when nobody had
        to be asked.
    """
    request = gate.store.request(request_id)
    now = gate.clock.now()
    due = None if request is None else due_at(request)
    if request is None or due is None or due > now:
        return ""
    asked = [draft for draft in watched(request) if not _asked_as_plan(request, draft, gate)]
    answers = {draft: ask(draft) for draft in asked}
    sent = {draft: one for draft, one in answers.items() if one.says is LookUp.DONE}
    later = looked_at(seen_sent(request, sent), gate.clock.now(), gate.settings.settle_time)
    if not sent:
        gate.store.reschedule(later)
        return "draft_checked" if asked else ""
    logger.error("an abandoned draft was sent", extra={"request": request_id})
    event = AuditEvent(
        kind="draft.seen_sent",
        actor=ACTOR,
        at=gate.clock.now(),
        details={
            "envelopes": list(sent),
            "because": ", ".join(sorted({one.because for one in sent.values()})),
        },
    )
    gate.store.commit(Change(request_id, event, (Save(later),)))
    return "draft_sent"


def _asked_as_plan(request: Request, draft: str, gate: Gate) -> bool:
    """Whether the sweep asks about this draft already, because something is due for its plan."""
    plan = gate.store.plan(plan_id_of(request.request_id, request.round))
    return plan is not None and plan.target == draft and plan.due_at is not None


def put_off_drafts(request_id: str, gate: Gate) -> None:
    """Look at these drafts later, as if they had been looked at."""
    request = gate.store.request(request_id)
    if request is not None:
        now = gate.clock.now()
        gate.store.reschedule(looked_at(request, now, gate.settings.settle_time))
