"""Fixtures of the contract tests."""

from __future__ import annotations

import pytest

from tests.contract.replay import SteppingClock, read_recording


@pytest.fixture
def recording(request: pytest.FixtureRequest) -> bytes:
    """The bytes of the recording named by `replays`."""
    return read_recording(request.param)


@pytest.fixture
def clock() -> SteppingClock:
    """A clock that only moves when somebody sleeps."""
    return SteppingClock()
