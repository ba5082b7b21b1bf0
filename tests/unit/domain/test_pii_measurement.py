"""The measured recall and false alarms, on few texts: `make bench` measures on many."""

from __future__ import annotations

import pytest

from benchmarks.held_out_pii import HARMLESS, POSITIVES
from benchmarks.pii import ALARM_AIM, MISSED_AIM, alarms_in, missed_of
from no_undo.domain.pii import KINDS

FEW = 200


def test_every_kind_is_measured() -> None:
    assert set(POSITIVES) == set(KINDS)
    assert {"IPv4 address", "UUID", "tracking number", "invoice number"} <= set(HARMLESS)


@pytest.mark.parametrize("kind", POSITIVES)
def test_a_kind_is_missed_no_more_often_than_the_aim(kind: str) -> None:
    assert 100 * missed_of(kind, FEW) / FEW <= MISSED_AIM


def test_no_kind_cries_wolf_more_often_than_the_aim() -> None:
    alarms = alarms_in(FEW)

    assert {kind for kind, count in alarms.items() if 100 * count / FEW >= ALARM_AIM} == set()
