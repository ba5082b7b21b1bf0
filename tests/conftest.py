"""What holds for every test: no network beyond this machine, no real AWS credentials."""

import pytest
from hypothesis import HealthCheck, settings
from pytest_socket import socket_allow_hosts

pytest.register_assert_rewrite("tests.integration.aws.state_store_contract")

# How fast an example is made says nothing about the code, and much about what else is running.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

LOOPBACK = ["127.0.0.1", "::1", "localhost"]


def pytest_runtest_setup() -> None:
    """Let a test reach servers of its own on loopback, and nothing else."""
    socket_allow_hosts(LOOPBACK, allow_unix_socket=True)


@pytest.fixture(autouse=True)
def no_real_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put example credentials where a machine's own could be found."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_PROFILE", raising=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run browser tests last: their driver keeps an event loop running in this thread."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
