"""The README's commands that start a stack, as `make` runs them, in a data folder of their own.

`tests/infrastructure/test_readme.py` holds the README to these tests: each says in its docstring
which command it runs.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 300


def recipe(target: str) -> list[str]:
    """Return the command that a make target ends in, once everything is set up."""
    dry = subprocess.run(  # noqa: S603 - our own Makefile
        ["make", "--no-print-directory", "--dry-run", target],  # noqa: S607 - the system's make
        cwd=ROOT,
        env=plain_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    *_, command = dry.stdout.strip().splitlines()
    return shlex.split(command.rpartition("||")[2])


def plain_environment() -> dict[str, str]:
    """Return this process's environment without what a surrounding make or the AWS tests set."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "MAKE"))
    }


def run(target: str, data: Path) -> subprocess.CompletedProcess[str]:
    """Run a make target's command on a data folder of its own, as from a plain shell."""
    return subprocess.run(  # noqa: S603 - our own Makefile
        [*recipe(target), "--data", str(data)],
        cwd=ROOT,
        env=plain_environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def verified(export: Path) -> dict[str, Any]:
    """Run the README's command on an export, with the path alone replaced."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [line] = [one for one in readme.splitlines() if "no-undo audit verify" in one]
    command = shlex.split(line.replace(".local/audit-export", str(export)))
    ended = subprocess.run(  # noqa: S603 - our own command
        command, cwd=ROOT, env=plain_environment(), capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    answer: dict[str, Any] = json.loads(ended.stdout)
    return answer


def verified_receipt(data: Path) -> dict[str, Any]:
    """Verify the receipt that a demo left."""
    key = str(data / "audit-export" / "public-key.pem")
    ended = subprocess.run(  # noqa: S603 - our own command
        [ROOT / ".venv/bin/no-undo", "audit", "verify", str(data / "receipt.json"), "--key", key],
        env=plain_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    answer: dict[str, Any] = json.loads(ended.stdout)
    return answer


@pytest.fixture
def data(tmp_path: Path, build_folder: Path) -> Path:
    """A data folder outside the checkout, where no other stack is; what is built is shared."""
    folder = tmp_path / "stack"
    folder.mkdir()
    (folder / "build").symlink_to(build_folder)
    return folder


def test_the_demo_ends_with_one_send_and_a_signed_pdf(data: Path) -> None:
    """Runs `make demo`.

    Runs `.venv/bin/no-undo audit verify .local/audit-export --key .local/audit-export/public-key.pem`.
    """  # noqa: E501 - one command
    ended = run("demo", data)

    assert ended.returncode == 0, ended.stderr
    *story, last = ended.stdout.splitlines()
    assert last.startswith("demo: COMPLETED sends=1 signed=")
    assert (data / "signed.pdf").read_bytes().startswith(b"%PDF-")
    assert any("all signatures validate" in line for line in story)
    assert verified(data / "audit-export")["verified"] is True
    assert verified_receipt(data)["verified"] is True


def test_the_demo_with_a_killed_sender_still_sends_once(data: Path) -> None:
    """Runs `make demo-crash`."""
    ended = run("demo-crash", data)

    assert ended.returncode == 0, ended.stderr
    *story, last = ended.stdout.splitlines()
    assert last.startswith("demo: COMPLETED sends=1 ")
    assert any("KILLED the sender" in line for line in story)
    assert any("in doubt" in line for line in story)


def test_a_stack_that_is_up_answers_until_it_is_taken_down(data: Path) -> None:
    """Runs `make up`. Runs `make down`."""
    up = run("up", data)
    try:
        assert up.returncode == 0, up.stderr
        state = json.loads((data / "stack.json").read_text())
        inbox = f"http://127.0.0.1:{state['ports']['inbox']}/"
        assert state["outputs"]["ApiUrl"] in up.stdout
        assert inbox in up.stdout
        assert httpx.get(inbox, timeout=10).status_code == httpx.codes.OK
    finally:
        down = run("down", data)

    assert down.returncode == 0, down.stderr
    with pytest.raises(httpx.ConnectError):
        httpx.get(inbox, timeout=10)
