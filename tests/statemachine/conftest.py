"""A deployment in memory for each test."""

from __future__ import annotations

import pytest

from tests.statemachine.machine import Machine


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The real definition and the real handlers over stand-ins for the ports."""
    return Machine(monkeypatch)
