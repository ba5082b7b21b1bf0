"""Abandoned drafts: prepared outside, never to be sent, and nothing of ours can delete them.

Rules:
1. No vendor call that deletes a draft is known, so an abandoned one stays where somebody else can
   send it (ADR 0005). It is listed, and looked at until the watch ends.
2. Looks come ever more rarely: the pause is half the time since the first look, no shorter than the
   settle time and no longer than a month.
3. The watch ends after 400 days, or when every draft of the request was seen sent. Whatever is
   abandoned later starts it anew.
4. One that was seen sent is an incident for good; it is never looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from no_undo.domain.request import Request

LONGEST_PAUSE = timedelta(days=30)
WATCHED_FOR = timedelta(days=400)


def abandon(request: Request, drafts: Iterable[str]) -> Request:
    """Return the request with more drafts that will not be sent; new ones start the watch anew."""
    kept = tuple(dict.fromkeys((*request.abandoned_drafts, *drafts)))
    if kept == request.abandoned_drafts:
        return request
    return replace(request, abandoned_drafts=kept, drafts_since=None, drafts_check_at=None)


def watched(request: Request) -> tuple[str, ...]:
    """Return the drafts that are still looked at, in the order in which they were abandoned."""
    ended = request.drafts_since is not None and request.drafts_check_at is None
    if ended:
        return ()
    return tuple(one for one in request.abandoned_drafts if one not in request.sent_drafts)


def due_at(request: Request) -> datetime | None:
    """Return when the drafts are looked at next: at once where nobody looked yet; None: never."""
    if not watched(request):
        return None
    return request.drafts_check_at or request.created_at


def looked_at(request: Request, now: datetime, shortest_pause: timedelta) -> Request:
    """Return the request with its next look, or with its watch ended (rules 2 and 3).

    Args:
        request: With the drafts that were just looked at.
        now: When, UTC.
        shortest_pause: Shortest pause between two looks, over zero.
    """
    since = request.drafts_since or now
    age = now - since
    pause = min(max(shortest_pause, age / 2), max(shortest_pause, LONGEST_PAUSE))
    over = age >= WATCHED_FOR or set(request.abandoned_drafts) <= set(request.sent_drafts)
    return replace(request, drafts_since=since, drafts_check_at=None if over else now + pause)


def seen_sent(request: Request, drafts: Iterable[str]) -> Request:
    """Return the request with drafts that somebody sent although they were abandoned (rule 4)."""
    return replace(request, sent_drafts=tuple(dict.fromkeys((*request.sent_drafts, *drafts))))
