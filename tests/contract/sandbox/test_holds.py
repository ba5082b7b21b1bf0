"""Holds: a process can be killed exactly before or exactly after the vendor's effect."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.contract.sandbox.running import ESIGN, HEADERS, RunningSandbox, eventually

_CALLER = """
import json, sys, urllib.request
url, headers, folder = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
body = json.dumps({"folderId": folder}).encode()
urllib.request.urlopen(urllib.request.Request(url, body, headers, method="POST"))
"""


@contextmanager
def _sending_process(
    sandbox: RunningSandbox, folder_id: int
) -> Generator[subprocess.Popen[bytes], None, None]:
    arguments = [f"{sandbox.url}{ESIGN}/sendDraftFolder", json.dumps(HEADERS), str(folder_id)]
    process = subprocess.Popen(  # noqa: S603 -- our own interpreter and script
        [sys.executable, "-c", _CALLER, *arguments]
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _hold(sandbox: RunningSandbox, point: str, **more: object) -> int:
    body = {"route": "sendDraftFolder", "point": point, **more}
    return int(sandbox.control("POST", "/holds", body)["id"])


def _state(sandbox: RunningSandbox) -> str:
    return str(sandbox.control("GET", "/holds")[0]["state"])


@pytest.mark.parametrize(
    ("point", "truth"), [("before_effect", ("DRAFT", 0)), ("after_effect", ("SHARED", 1))]
)
def test_a_caller_killed_at_a_point_leaves_exactly_what_had_happened(
    sandbox: RunningSandbox, point: str, truth: tuple[str, int]
) -> None:
    folder_id = sandbox.draft()
    _hold(sandbox, point)

    with _sending_process(sandbox, folder_id) as process:
        eventually(lambda: _state(sandbox) == "holding")
        process.kill()
        eventually(lambda: _state(sandbox) == "abandoned")

    assert (sandbox.true_status(folder_id), sandbox.sends(folder_id)) == truth


@pytest.mark.parametrize(
    ("point", "meanwhile"), [("before_effect", "DRAFT"), ("after_effect", "SHARED")]
)
def test_a_released_call_goes_on_as_if_nothing_had_been(
    sandbox: RunningSandbox, point: str, meanwhile: str
) -> None:
    folder_id = sandbox.draft()
    hold_id = _hold(sandbox, point)

    with ThreadPoolExecutor() as pool:
        answer = pool.submit(sandbox.send, folder_id)
        eventually(lambda: _state(sandbox) == "holding")
        status_while_held = sandbox.status(folder_id)
        sandbox.control("DELETE", f"/holds/{hold_id}")

    assert status_while_held == meanwhile
    assert answer.result().json() == {"result": "success"}
    assert sandbox.sends(folder_id) == 1
    assert _state(sandbox) == "released"


def test_a_hold_for_one_folder_lets_others_pass(sandbox: RunningSandbox) -> None:
    held, other = sandbox.draft(), sandbox.draft()
    _hold(sandbox, "before_effect", folder=held)

    assert sandbox.send(other).json() == {"result": "success"}
    assert _state(sandbox) == "armed"


def test_a_hold_that_is_released_before_it_caught_a_call_catches_none(
    sandbox: RunningSandbox,
) -> None:
    folder_id = sandbox.draft()
    sandbox.control("DELETE", f"/holds/{_hold(sandbox, 'before_effect')}")

    assert sandbox.send(folder_id).json() == {"result": "success"}


def test_there_is_no_releasing_what_was_never_armed(sandbox: RunningSandbox) -> None:
    assert sandbox.client.delete("/_sandbox/holds/99").status_code == 404


def test_a_hold_needs_a_route_that_exists(sandbox: RunningSandbox) -> None:
    body = {"route": "nowhere", "point": "before_effect"}

    assert sandbox.client.post("/_sandbox/holds", json=body).status_code == 422
