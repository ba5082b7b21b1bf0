"""The `no-undo` command: shapes on standard output, sentences on standard error, 0, 1 or 2."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from no_undo.cli import operations, requests
from no_undo.cli.api import ApiClient, ApiError
from no_undo.cli.main import main

ROOT = Path(__file__).resolve().parents[3]
INVOICE = ROOT / "fixtures" / "documents" / "freight_invoice.pdf"


class FakeApi(ApiClient):
    """Answers from a table and remembers what was asked."""

    def __init__(self, answers: dict[str, Any]) -> None:
        object.__setattr__(self, "answers", answers)
        object.__setattr__(self, "calls", [])

    def get(self, path: str) -> dict[str, Any]:
        return self._answer("GET " + path)

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,  # noqa: ARG002 - as the real one
    ) -> dict[str, Any]:
        return self._answer("POST " + path, body)

    def upload(self, document: bytes) -> str:
        assert document.startswith(b"%PDF")
        return "upload-1"

    def _answer(self, key: str, body: object = None) -> dict[str, Any]:
        calls: list[tuple[str, Any]] = self.__dict__["calls"]
        calls.append((key, body))
        answer = self.__dict__["answers"][key]
        if isinstance(answer, ApiError):
            raise answer
        return dict(answer)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    """Put a fake API where the commands look for the deployment."""
    fake = FakeApi({})
    for module in (requests, operations):
        monkeypatch.setattr(module.ApiClient, "from_environment", lambda: fake)
    return fake


def answers(api: FakeApi) -> dict[str, Any]:
    """Return the fake's table."""
    table: dict[str, Any] = api.__dict__["answers"]
    return table


def test_parse_prints_the_payload_and_says_no_while_something_is_unresolved(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = main(["parse", "Send this invoice to Alice <alice@example.com> and Bob"])

    said = json.loads(capsys.readouterr().out)
    assert status == 1
    assert said["unresolved"] == ["Bob"]
    assert {"folder_name", "recipients", "instructions", "redact", "document_source"} <= set(said)


def test_pii_scan_shows_kinds_and_pages_and_values_only_when_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["pii", "scan", str(INVOICE)]) == 1
    plain = capsys.readouterr().out
    assert main(["pii", "scan", str(INVOICE), "--show-values"]) == 1
    shown = capsys.readouterr().out

    assert {one["kind"] for one in json.loads(plain)["findings"]} == {"email", "phone", "vin"}
    assert "555-0142" not in plain
    assert "555-0142" in shown


def test_redaction_verify_says_no_to_a_copy_that_was_not_redacted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["--before", str(INVOICE), "--after", str(INVOICE), "--value", "Marcus Webb"]

    status = main(["redaction", "verify", *arguments])

    verdict = json.loads(capsys.readouterr().out)
    assert (status, verdict["proven"]) == (1, False)
    assert {"channel", "reader", "result", "detail"} == set(verdict["channels"][0])
    assert "Marcus" not in json.dumps(verdict)


def test_submit_uploads_the_document_and_prints_the_request_id(
    api: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    answers(api)["POST /requests"] = {"request_id": "r1"}

    recipient = ["--recipient", "Alice Smith <alice@example.com>"]
    document = ["--document", str(INVOICE)]

    status = main(["submit", "--prompt", "Send it", *document, *recipient, "--quorum", "2"])

    [(_, body)] = api.__dict__["calls"]
    assert (status, json.loads(capsys.readouterr().out)) == (0, {"request_id": "r1"})
    assert body["document"] == {"upload_id": "upload-1"}
    assert body["recipients"] == [{"name": "Alice Smith", "email": "alice@example.com"}]
    assert body["quorum"] == 2


def test_a_plan_id_is_escaped_in_the_path(api: FakeApi) -> None:
    answers(api)["POST /operations/plans/r1%231/void"] = {"done": "void"}

    assert main(["void", "r1#1", "--reason", "wrong amount"]) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["submit", "--prompt", "x", "--document", "missing.pdf"],
        ["submit", "--prompt", "x", "--document", str(INVOICE), "--recipient", "alice"],
        ["pii", "scan", "missing.pdf"],
        ["route", "missing.json", "--schema", "missing.json"],
    ],
)
def test_bad_input_is_a_sentence_on_standard_error_and_status_2(
    api: FakeApi, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("no-undo: ")
    assert "Traceback" not in captured.err


def test_a_refusal_of_the_api_is_shown_with_its_field(
    api: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal = ApiError("There is no such plan.", status=404, field="plan_id")
    answers(api)["POST /operations/plans/p%231/retry"] = refusal

    assert main(["retry", "p#1", "--reason", "again"]) == 2
    assert capsys.readouterr().err == "no-undo: plan_id: There is no such plan.\n"


def test_without_a_deployment_named_the_command_says_which_variable_to_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NO_UNDO_API_URL", raising=False)

    assert main(["list"]) == 2
    assert "NO_UNDO_API_URL" in capsys.readouterr().err
