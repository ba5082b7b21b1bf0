"""What operators do by hand: drive a request on, and look after drafts that will not be sent."""

from __future__ import annotations

import pytest

from local.demo.people import wait_for
from no_undo.cli.api import ApiError
from tests.e2e.site import Site


@pytest.fixture(scope="module")
def requests(site: Site) -> tuple[str, ...]:
    """Two requests that wait for their approver."""
    return tuple(site.prepared({"Stopped": {}, "Abandoned": {}}))


def test_p11_an_operator_drives_a_request_on_whose_execution_was_stopped(
    site: Site, requests: tuple[str, ...]
) -> None:
    request_id, _ = requests
    path, statement = f"/operations/requests/{request_id}/resume", {"reason": "the cause is gone"}
    with pytest.raises(ApiError) as driven:
        site.api.post(path, statement)
    machines = site.running.aws.client("stepfunctions")
    machines.stop_execution(executionArn=site.execution_arn(request_id))

    answer = site.api.post(path, statement)

    assert driven.value.status == 409
    assert answer == {"request_id": request_id, "execution": f"{request_id}-r1"}
    assert site.execution(f"{request_id}-r1") == "RUNNING"
    site.api.post(f"/requests/{request_id}/withdraw", {})
    assert site.ended(request_id)["state"] == "WITHDRAWN"


def test_an_abandoned_draft_that_somebody_sends_is_an_incident(
    site: Site, requests: tuple[str, ...]
) -> None:
    _, request_id = requests
    site.api.post(f"/requests/{request_id}/withdraw", {})
    site.ended(request_id)
    folder_id = site.folder_id(request_id)
    before = drafts(site)[request_id]

    site.vendor.send_outside(folder_id)

    wait_for(lambda: seen_sent(site, request_id), "the incident")
    assert (before["envelope_id"], before["sent"]) == (str(folder_id), False)
    assert drafts(site)[request_id]["sent"]
    kinds = site.kinds(request_id)
    assert kinds.count("draft.seen_sent") == 1
    assert not {"plan.begun", "plan.executed"} & set(kinds)
    assert site.view(request_id)["state"] == "WITHDRAWN"


def drafts(site: Site) -> dict[str, dict[str, object]]:
    """Return what operators see of abandoned drafts, by request."""
    found = site.api.get("/operations/drafts")
    return {one["request_id"]: one for one in found["drafts"]}


def seen_sent(site: Site, request_id: str) -> bool | None:
    site.sweep()
    return True if "draft.seen_sent" in site.kinds(request_id) else None
