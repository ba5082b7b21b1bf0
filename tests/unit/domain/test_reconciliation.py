"""How an open attempt is settled; the numbers are those of the module's docstring."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from no_undo.domain.ledger import confirm
from no_undo.domain.reconciliation import (
    LookUp,
    LookUpAnswer,
    Settlement,
    may_ask,
    note_not_done,
    settle,
)
from tests.fakes.rows import AFTER_LEASE, EVIDENCE, begun, entry_of, released

SETTLE_TIME = timedelta(minutes=30)
ENTRY = entry_of(begun())
MOMENT = timedelta(microseconds=1)


def answer(says: LookUp) -> LookUpAnswer:
    return LookUpAnswer(says, "status")


def test_rule_1_nobody_asks_before_the_lease_is_over() -> None:
    assert not may_ask(ENTRY, AFTER_LEASE - MOMENT)
    assert may_ask(ENTRY, AFTER_LEASE)


@pytest.mark.parametrize("says", LookUp)
def test_rule_1_an_answer_from_before_the_end_of_the_lease_settles_nothing(says: LookUp) -> None:
    noted = note_not_done(ENTRY, AFTER_LEASE - SETTLE_TIME)

    assert settle(noted, answer(says), AFTER_LEASE - MOMENT, SETTLE_TIME) is Settlement.WAIT


def test_only_an_open_attempt_is_asked_about() -> None:
    rows = begun()
    done = confirm(rows.plan, entry_of(rows), rows.fence, EVIDENCE)

    assert not may_ask(done.entry, AFTER_LEASE)
    assert not may_ask(entry_of(released(rows)), AFTER_LEASE)


def test_p3_rule_2_done_confirms() -> None:
    assert settle(ENTRY, answer(LookUp.DONE), AFTER_LEASE, SETTLE_TIME) is Settlement.CONFIRM


def test_rule_3_the_first_not_done_is_only_noted() -> None:
    found = settle(ENTRY, answer(LookUp.NOT_DONE), AFTER_LEASE, SETTLE_TIME)

    assert found is Settlement.NOTE_NOT_DONE
    assert note_not_done(ENTRY, AFTER_LEASE).first_draft_at == AFTER_LEASE


def test_rule_3_the_second_not_done_releases_only_one_settle_time_later() -> None:
    noted = note_not_done(ENTRY, AFTER_LEASE)
    second = AFTER_LEASE + SETTLE_TIME

    early = settle(noted, answer(LookUp.NOT_DONE), second - MOMENT, SETTLE_TIME)
    late = settle(noted, answer(LookUp.NOT_DONE), second, SETTLE_TIME)

    assert early is Settlement.WAIT
    assert late is Settlement.RELEASE


@pytest.mark.parametrize("noted", [True, False])
def test_p4_rule_4_unknown_changes_nothing_however_long_it_lasts(*, noted: bool) -> None:
    entry = replace(ENTRY, first_draft_at=AFTER_LEASE if noted else None)

    found = settle(entry, answer(LookUp.UNKNOWN), AFTER_LEASE + 100 * SETTLE_TIME, SETTLE_TIME)

    assert found is Settlement.WAIT
