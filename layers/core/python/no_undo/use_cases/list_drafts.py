"""List Drafts: what lies at the vendor and will not be sent (design 8, Drafts)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from no_undo.domain.abandoned_drafts import due_at, watched
from no_undo.domain.request import Request, RequestState
from no_undo.ports import StateStore

LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class DraftView:
    """One abandoned draft, as an operator may see it; no values.

    Attributes:
        request_id: Whose draft it is; the envelope's name ends with its plan id.
        request_state: Where that request stands.
        envelope_id: The vendor's id.
        sent: True when the vendor has shown it as sent: an incident.
        next_look_at: When the sweep looks again, UTC; None when it does not any more.
    """

    request_id: str
    request_state: RequestState
    envelope_id: str
    sent: bool
    next_look_at: datetime | None


@dataclass(frozen=True, slots=True)
class AbandonedDrafts:
    """What will not be sent.

    Attributes:
        drafts: Those that were sent nevertheless first.
        complete: False when more requests have abandoned drafts than are looked at.
    """

    drafts: tuple[DraftView, ...]
    complete: bool


def list_drafts(store: StateStore) -> AbandonedDrafts:
    """Return the abandoned drafts of at most 1,000 requests, sent ones first."""
    request_ids = store.requests_with_drafts(limit=LIMIT)
    rows = (store.request(one) for one in dict.fromkeys(request_ids))
    views = [view for row in rows if row is not None for view in _views(row)]
    views.sort(key=lambda one: not one.sent)
    return AbandonedDrafts(tuple(views), complete=len(request_ids) < LIMIT)


def _views(request: Request) -> Iterator[DraftView]:
    looked_at = watched(request)
    for draft in request.abandoned_drafts:
        yield DraftView(
            request_id=request.request_id,
            request_state=request.state,
            envelope_id=draft,
            sent=draft in request.sent_drafts,
            next_look_at=due_at(request) if draft in looked_at else None,
        )
