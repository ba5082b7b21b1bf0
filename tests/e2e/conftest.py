"""The local AWS that end-to-end tests run against, and the deployments on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local.demo.people import approve
from local.stack import stack
from local.stack.aws import Aws
from tests.e2e.site import INVOICE_PDF, QUICK, Site, site_in


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


@dataclass(frozen=True)
class WholeJob:
    """One request that went all the way, and the secrets that it had on the way.

    Attributes:
        request_id: Its id.
        view: What its caller sees at the end.
        answers: Everything the API answered about it, as text.
        signed: The archived signed PDF.
        approval_token: The secret in the mailed link.
        task_tokens: The state machine's secrets that were parked while it waited.
    """

    request_id: str
    view: dict[str, Any]
    answers: str
    signed: bytes
    approval_token: str
    task_tokens: frozenset[str]


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


@pytest.fixture(scope="session")
def build_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the deployments of this session are built into, once."""
    return tmp_path_factory.mktemp("build")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, build_folder: Path) -> Iterator[Site]:
    """The deployment that most tests share; the fence keeps their people apart."""
    with site_in(tmp_path_factory.mktemp("site"), build_folder, QUICK) as deployed:
        deployed.vendor.settings(polls_until_done=1)
        yield deployed


@pytest.fixture(scope="session")
def spare_site(tmp_path_factory: pytest.TempPathFactory, build_folder: Path) -> Iterator[Site]:
    """A deployment without vendor accounts beyond signing; its parts may be killed."""
    poor = {**QUICK, "RedactionAccount": "no", "ExtractionAccount": "no"}
    with site_in(tmp_path_factory.mktemp("spare"), build_folder, poor) as deployed:
        deployed.vendor.settings(polls_until_done=1)
        yield deployed


@pytest.fixture(scope="session")
def whole_job(site: Site) -> WholeJob:
    """The main job over an uploaded PDF, from the sentence to the signed document."""
    upload_id = site.api.upload(INVOICE_PDF.read_bytes())
    request_id = site.submit("Upload", redact=True, document={"upload_id": upload_id})
    link = site.link(request_id)
    waiting = parked_tokens(site)
    asked = site.api.get("/requests")
    approve(link)
    site.wait(request_id, "AWAITING_SIGNATURE")
    waiting |= parked_tokens(site)
    view = site.signed(request_id)
    return WholeJob(
        request_id=request_id,
        view=view,
        answers=f"{asked} {view} {site.api.get('/requests')}",
        signed=site.api.download(f"/requests/{request_id}/document"),
        approval_token=link.rpartition("/")[2],
        task_tokens=frozenset(waiting),
    )


def parked_tokens(site: Site) -> set[str]:
    """Return the task tokens that are parked now."""
    return {row["task_token"]["S"] for row in site.rows("Waits")}
