"""Fixtures of the sandbox's own tests: one server for all, reset between tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.sandbox.running import RunningSandbox, running_sandbox


@pytest.fixture(scope="session")
def shared_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """The one server of this test run."""
    with running_sandbox(tmp_path_factory.mktemp("sandbox")) as running:
        yield running


@pytest.fixture
def sandbox(shared_sandbox: RunningSandbox) -> RunningSandbox:
    """A sandbox without folders, faults, holds or requests."""
    shared_sandbox.control("POST", "/reset")
    return shared_sandbox
