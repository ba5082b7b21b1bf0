"""Schedules fire on their own."""

import pytest

from tests.e2e.emulator.conftest import Probe, until


@pytest.mark.long
@pytest.mark.parametrize("schedule", ["scheduled", "ruled"])
def test_a_function_scheduled_every_minute_runs_within_two(probe: Probe, schedule: str) -> None:
    assert until(lambda: probe.item(schedule), seconds=130)
