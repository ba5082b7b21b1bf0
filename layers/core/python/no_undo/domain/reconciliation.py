"""How an open attempt is settled: by the system of record, never by a guess (P4).

Rules:
1. Nobody asks before the lease is over.
2. Done confirms. Nothing else confirms.
3. Not done, seen twice at least one settle time apart, both after the lease, with no contradiction
   by the second oracle, releases. The settle time bounds how late a request may still land; that
   bound is a vendor fact (design 8, F1 and F2), kept with its evidence in the adapter.
4. Unknown, errors included, changes nothing; it also does not reset a first "not done": the record
   never said "done" in between.
5. Waiting longer is always safe. The age alarm calls a person.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from no_undo.domain.ledger import LedgerEntry, LedgerState


class LookUp(StrEnum):
    """What the system of record says about one effect."""

    DONE = "DONE"
    NOT_DONE = "NOT_DONE"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class LookUpAnswer:
    """One look at the system of record.

    Attributes:
        says: Done, not done or unknown.
        because: The evidence in our words, for example `status SENT`; no values.
    """

    says: LookUp
    because: str


class Settlement(StrEnum):
    """What to do with an open attempt now."""

    WAIT = "WAIT"
    CONFIRM = "CONFIRM"
    NOTE_NOT_DONE = "NOTE_NOT_DONE"
    RELEASE = "RELEASE"


def may_ask(entry: LedgerEntry, now: datetime) -> bool:
    """Return whether the system of record may be asked about the open attempt (rule 1)."""
    return entry.state is LedgerState.EXECUTING and now >= entry.attempt.lease_expires_at


def settle(
    entry: LedgerEntry, answer: LookUpAnswer, now: datetime, settle_time: timedelta
) -> Settlement:
    """Decide from one answer what an open attempt has become (rules 1 to 4).

    Args:
        entry: The entry as just read.
        answer: What the system of record said to a question asked after the entry was read.
        now: When the question was asked, UTC: an answer may be as old as its question.
        settle_time: Bound on how late a request may land, over zero.
    """
    if not may_ask(entry, now):
        return Settlement.WAIT
    match answer.says:
        case LookUp.DONE:
            return Settlement.CONFIRM
        case LookUp.UNKNOWN:
            return Settlement.WAIT
        case LookUp.NOT_DONE:
            if entry.first_draft_at is None:
                return Settlement.NOTE_NOT_DONE
            if now - entry.first_draft_at < settle_time:
                return Settlement.WAIT
            return Settlement.RELEASE


def note_not_done(entry: LedgerEntry, now: datetime) -> LedgerEntry:
    """Return the entry with the first "not done" answer noted (rule 3)."""
    return replace(entry, first_draft_at=now)
