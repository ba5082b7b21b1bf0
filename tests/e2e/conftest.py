"""The local AWS that end-to-end tests run against."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from local.stack import stack
from local.stack.aws import Aws


@dataclass(frozen=True)
class Emulator:
    """A running emulator of this test session.

    Attributes:
        endpoint_url: Where it listens.
        aws: boto3 clients of its root key.
        data: Its data folder.
    """

    endpoint_url: str
    aws: Aws
    data: Path

    def as_user(self, access_key_id: str, secret_access_key: str) -> Aws:
        """Return clients of another key."""
        return Aws(self.endpoint_url, access_key_id, secret_access_key)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """One emulator for the whole session, with roles enforced; stopped at its end."""
    data = tmp_path_factory.mktemp("stack")
    running = stack.start(data, parts=("emulator",))
    yield Emulator(running.url("emulator"), running.aws, data)
    stack.stop(data)
