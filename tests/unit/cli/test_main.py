"""What holds for every command: JSON out, sentences on standard error, status 0, 1 or 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from no_undo.cli.api import ApiClient, ApiError
from no_undo.domain.errors import InvalidRequestError
from tests.unit.cli.fake_api import Answer, FakeApi, problem
from tests.unit.cli.running import run

LAYER = Path(__file__).resolve().parents[3] / "layers" / "core" / "python"


def python(code: str, *, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter that finds the package."""
    return subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(LAYER)},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )


def test_parse_loads_nothing_that_only_other_commands_need() -> None:
    heavy = ["boto3", "botocore", "httpx", "pydantic", "pypdfium2", "pikepdf", "pdfminer", "jinja2"]
    code = (
        "import sys; from no_undo.cli.main import main; main(['parse', 'Send it to Bob']);"
        f"print([one for one in {heavy!r} if one in sys.modules], file=sys.stderr)"
    )

    assert python(code).stderr.strip() == "[]"


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    code = (
        "import os, sys; from no_undo.cli.main import main;"
        "read, write = os.pipe(); os.close(read); os.dup2(write, 1);"
        "sys.exit(main(['parse', 'Send it to Bob']))"
    )

    ended = python(code)

    assert (ended.returncode, ended.stderr) == (2, "")


def test_the_version_is_the_packages() -> None:
    with pytest.raises(SystemExit) as ended:
        run("--version")

    assert ended.value.code == 0


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["pii"], ["void", "r1#1"], ["list", "x"]])
def test_a_wrong_command_line_exits_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(*arguments)

    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("status", "exit_status"),
    [(400, 2), (403, 2), (404, 2), (409, 1), (422, 1), (500, 2), (503, 2)],
)
def test_a_rule_that_says_no_exits_with_1_and_everything_else_with_2(
    status: int, exit_status: int
) -> None:
    api = FakeApi()
    api.on("POST /operations/pause", problem(status, "No."))

    ran = run("pause", "--reason", "drill", connect=api.connect)

    assert (ran.status, ran.out, ran.err) == (exit_status, "", "no-undo: No.\n")


def test_a_field_at_fault_is_named_once() -> None:
    api = FakeApi()
    api.on("POST /operations/plans/p%231/retry", problem(404, "There is no such plan.", "plan_id"))
    api.on("POST /operations/pause", problem(400, "reason: Too long.", "reason"))

    retry = run("retry", "p#1", "--reason", "again", connect=api.connect)
    pause = run("pause", "--reason", "x", connect=api.connect)

    assert retry.err == "no-undo: plan_id: There is no such plan.\n"
    assert pause.err == "no-undo: reason: Too long.\n"


def test_what_cannot_move_a_terminals_cursor_reaches_standard_error() -> None:
    def connect() -> NoReturn:
        raise InvalidRequestError("bad \x1b[2J name\u202e")

    assert run("list", connect=connect).err == "no-undo: bad ?[2J name?\n"


def test_without_a_deployment_named_the_command_says_which_variable_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_UNDO_API_URL", raising=False)

    ran = run("list", connect=ApiClient.from_environment)

    assert (ran.status, ran.out) == (2, "")
    assert "NO_UNDO_API_URL" in ran.err


def test_a_missing_package_is_named() -> None:
    def connect() -> NoReturn:
        raise ModuleNotFoundError("No module named 'boto3'", name="boto3")

    ran = run("list", connect=connect)

    assert (ran.status, ran.err) == (
        2,
        "no-undo: this command needs the package boto3, which is not installed\n",
    )


def test_an_interruption_exits_with_2() -> None:
    def connect() -> NoReturn:
        raise KeyboardInterrupt

    assert run("list", connect=connect).status == 2


def test_a_mistake_of_ours_does_not_exit_with_1_which_says_no() -> None:
    def connect() -> NoReturn:
        raise LookupError

    ran = run("list", connect=connect)

    assert ran.status == 2
    assert "LookupError" in ran.err


def test_on_a_terminal_a_person_gets_tables() -> None:
    api = FakeApi()
    row = {"request_id": "r1", "state": "PREPARING", "title": "A\x1b]0;x\x07", "in_doubt": False}
    api.on("GET /requests", Answer(body={"requests": [row]}))
    api.on("GET /requests/r1", Answer(body={**row, "approvers": [{"address": "a@example.com"}]}))

    rows = run("list", connect=api.connect, terminal=True)
    one = run("status", "r1", connect=api.connect, terminal=True)

    assert rows.out.splitlines() == [
        "request id  state      title    created at",
        "r1          PREPARING  A?]0;x?  -",
    ]
    assert one.out.splitlines() == [
        "request id  r1",
        "state       PREPARING",
        "title       A?]0;x?",
        "in doubt    no",
        "",
        "approvers",
        "address",
        "a@example.com",
    ]


def test_an_empty_list_says_so_on_a_terminal() -> None:
    api = FakeApi()
    api.on("GET /requests", Answer(body={"requests": []}))

    assert run("list", connect=api.connect, terminal=True).out == "requests  -\n"
    assert run("list", connect=api.connect).said == {"requests": []}


def test_json_is_ascii_whatever_the_locale() -> None:
    api = FakeApi()
    api.on("GET /requests", Answer(body={"requests": [{"title": "Fracht M\u00fcnchen"}]}))

    ran = run("list", connect=api.connect)

    assert ran.out.isascii()
    assert ran.said["requests"][0]["title"] == "Fracht M\u00fcnchen"


def test_an_error_of_the_api_knows_whether_it_is_a_refusal() -> None:
    assert ApiError("no", status=409).is_refusal
    assert not ApiError("what?", status=400).is_refusal
