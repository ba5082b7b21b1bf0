"""The sandbox as a process: it says when it is ready, and a kill loses nothing."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from local.sandbox.__main__ import main
from local.sandbox.record import record
from local.sandbox.state import Sandbox
from local.sandbox.store import Store
from tests.contract.replay import FIXTURES, REPOSITORY
from tests.contract.sandbox.running import (
    ESIGN,
    HEADERS,
    create_body,
    eventually,
    two_party_pdf,
)


@contextmanager
def _process(data: Path) -> Generator[tuple[subprocess.Popen[str], httpx.Client], None, None]:
    command = [sys.executable, "-m", "local.sandbox", "--port", "0", "--data", str(data)]
    process = subprocess.Popen(  # noqa: S603 -- our own interpreter and script
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        ready = re.fullmatch(
            r"sandbox ready (http://127\.0\.0\.1:\d+)\n", process.stdout.readline()
        )
        assert ready is not None
        with httpx.Client(base_url=ready[1], headers=HEADERS) as client:
            yield process, client
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_folders_mails_faults_and_the_root_survive_a_kill(tmp_path: Path) -> None:
    with _process(tmp_path) as (_, client):
        created = client.post(f"{ESIGN}/createfolder", json=create_body(two_party_pdf())).json()
        folder_id = created["folder"]["folderId"]
        client.post(f"{ESIGN}/sendDraftFolder", json={"folderId": folder_id})
        root = client.get("/_sandbox/ca.pem").content
        client.put("/_sandbox/faults", json=[{"route": "myfolder", "behaviour": "throttled"}])

    with _process(tmp_path) as (_, client):
        query = {"folderId": folder_id}
        statuses = [client.get(f"{ESIGN}/myfolder", params=query).status_code for _ in range(2)]
        signed = client.post(f"/_sandbox/folders/{folder_id}/sign")
        assert client.get("/_sandbox/sends").json() == {str(folder_id): 1}
        assert client.get("/_sandbox/ca.pem").content == root

    assert statuses == [429, 200]
    assert signed.json()["status"] == "EXECUTED"


def test_a_late_effect_survives_a_kill(tmp_path: Path) -> None:
    with _process(tmp_path) as (_, client):
        created = client.post(f"{ESIGN}/createfolder", json=create_body(two_party_pdf())).json()
        folder_id = created["folder"]["folderId"]
        fault = {"route": "sendDraftFolder", "behaviour": "late_effect", "seconds": 3600}
        client.put("/_sandbox/faults", json=[fault])
        with pytest.raises(httpx.RemoteProtocolError):
            client.post(f"{ESIGN}/sendDraftFolder", json={"folderId": folder_id})

    store = Store(tmp_path / "sandbox.sqlite3")
    ((number, kept),) = store.all("late_calls")
    store.put("late_calls", number, {**kept, "due_ms": 0})
    store.close()
    with _process(tmp_path) as (_, client):
        eventually(lambda: client.get("/_sandbox/sends").json() == {str(folder_id): 1})


def test_a_stopped_sandbox_ends_well_even_with_a_call_on_hold(tmp_path: Path) -> None:
    hold = {"route": "myfolder", "point": "before_effect"}
    with _process(tmp_path) as (process, client), ThreadPoolExecutor() as pool:
        client.post("/_sandbox/holds", json=hold)
        held = pool.submit(client.get, f"{ESIGN}/myfolder", params={"folderId": 1})
        eventually(lambda: client.get("/_sandbox/holds").json()[0]["state"] == "holding")

        process.terminate()

        assert process.wait(timeout=20) in (0, -signal.SIGTERM)
        assert held.exception() is not None


def test_a_port_that_is_taken_is_an_error(tmp_path: Path) -> None:
    with _process(tmp_path / "first") as (_, client):
        port = str(client.base_url.port)
        command = [sys.executable, "-m", "local.sandbox", "--port", port]
        second = subprocess.run(  # noqa: S603 -- our own interpreter and module
            [*command, "--data", str(tmp_path / "second")],
            cwd=REPOSITORY,
            capture_output=True,
            check=False,
        )

    assert second.returncode != 0
    assert b"address already in use" in second.stderr


def test_the_command_needs_a_data_folder(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--port", "0"])

    assert "--data" in capsys.readouterr().err


def test_a_reset_forgets_folders_but_never_gives_an_id_twice(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    first = sandbox.store.next_number("folders", 36000001)
    sandbox.store.add("emails", {})

    sandbox.reset()

    assert sandbox.store.all("emails") == []
    assert sandbox.store.next_number("folders", 36000001) == first + 1
    sandbox.store.close()


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_kept_recordings_are_what_the_sandbox_answers_today(tmp_path: Path) -> None:
    kept = [
        path
        for folder in ("esign", "pdf", "extraction", "redaction")
        for path in sorted((FIXTURES / folder).glob("*.json"))
        if '"recordedOn"' in path.read_text("utf-8")
    ]
    (recorded_on,) = {_recorded_on(path) for path in kept}

    await record(tmp_path, recorded_on)

    assert _names(tmp_path) == sorted(path.relative_to(FIXTURES) for path in kept)
    for path in kept:
        fresh = tmp_path / path.relative_to(FIXTURES)
        assert _steady(fresh) == _steady(path), path.name
    redacted = Path("redaction", "build.pdf")
    assert (tmp_path / redacted).read_bytes() == (FIXTURES / redacted).read_bytes()


def _recorded_on(path: Path) -> str:
    found = re.search(r'"recordedOn": "(\d{4}-\d\d-\d\d)"', path.read_text("utf-8"))
    assert found is not None
    return found[1]


_FRESH = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # ids
    r'|(?<="processingTimeMs": )\d+'
    r'|(?<=/async/jobs/)[\w-]{16}|(?<="job_id": ")[\w-]{16}'
)
"""What is another one in every answer of Nutrient's."""


def _steady(path: Path) -> object:
    """Return what does not change from one recording to the next."""
    if path.parent.name in ("esign", "pdf"):
        return path.read_text("utf-8")
    recording = json.loads(_FRESH.sub("0", path.read_text("utf-8")))
    answer = recording["response"].get("json", {})
    mode = answer.get("configuration", {}).get("mode", "structure")
    if mode != "structure":  # OCR counts a little differently on another processor
        recording["response"]["json"] = _shape(answer)
    return recording


def _shape(value: Any) -> object:  # noqa: ANN401 - JSON
    """Return keys and types; of a list, the different shapes in it."""
    if isinstance(value, dict):
        return {key: _shape(one) for key, one in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        items = cast("Iterable[Any]", value)
        return sorted({json.dumps(_shape(one)) for one in items})
    return "number" if isinstance(value, int | float) else type(value).__name__


def _names(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*.json"))
