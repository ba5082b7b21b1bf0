"""The sandbox's answers have the keys, and where fixed the words, of the vendor's recordings."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from tests.contract.replay import read_json, read_recording
from tests.contract.sandbox.running import ESIGN, HEADERS, PDF_SERVICES, RunningSandbox

_PROBES = ("foxit-esign-probe-2026-08-18.json", "foxit-esign-probe-2026-08-30.json")
_KEY = re.compile(r'(?<=[{,])"(\w+)(?:":|$)')
"""A key, the last one perhaps cut short as the recorder cut it."""


def _step(probe: str, step: str) -> dict[str, Any]:
    call: dict[str, Any]
    (call,) = (call for call in read_json(probe)["calls"] if call["step"] == step)
    return call


def _described(name: str) -> Any:  # noqa: ANN401 -- the shapes have many types
    return read_json("described-foxit-esign-shapes.json")["shapes"][name]


def _assert_begins_with(ours: list[str], recorded: list[str]) -> None:
    assert ours[: len(recorded) - 1] == recorded[:-1]
    assert ours[len(recorded) - 1].startswith(recorded[-1])


@pytest.mark.parametrize("probe", _PROBES)
def test_a_created_draft_has_the_recorded_keys_in_order(
    sandbox: RunningSandbox, probe: str
) -> None:
    recorded = _KEY.findall(_step(probe, "create draft")["response"]["text"])

    ours = _KEY.findall(sandbox.create().text)

    _assert_begins_with(ours, recorded)


@pytest.mark.parametrize("probe", _PROBES)
def test_a_draft_that_is_read_back_has_the_recorded_keys_in_order(
    sandbox: RunningSandbox, probe: str
) -> None:
    recorded = _KEY.findall(_step(probe, "read draft back")["response"]["text"])

    ours = _KEY.findall(sandbox.get("myfolder", folderId=sandbox.draft()).text)

    _assert_begins_with(ours, recorded)


def test_a_draft_has_every_described_key(sandbox: RunningSandbox) -> None:
    described = _described("createfolder draft, fuller key list")["folder"]

    assert described.keys() <= sandbox.create().json()["folder"].keys()


def test_documents_and_parties_of_a_sent_folder_have_the_described_keys(
    sandbox: RunningSandbox,
) -> None:
    described = _described("webhook folder_sent")["data"]["folder"]
    folder_id = sandbox.draft()
    sandbox.send(folder_id)

    ours = sandbox.get("myfolder", folderId=folder_id).json()["folder"]

    assert ours["documentsList"][0].keys() == described["documentsList"][0].keys()
    assert ours["documentsList"][0]["contractStatus"] == "WAITING_FOR_SIGNATURE"
    party, described_party = (
        ours["folderRecipientParties"][0],
        described["folderRecipientParties"][0],
    )
    assert described_party.keys() <= party.keys()
    assert party["partyDetails"].keys() == described_party["partyDetails"].keys()


def test_an_executed_folder_shows_its_history_as_described(sandbox: RunningSandbox) -> None:
    described = _described("myfolder of an executed folder (vendor sample)")
    folder_id = sandbox.draft()
    sandbox.send(folder_id)
    sandbox.sign(folder_id)

    ours = sandbox.get("myfolder", folderId=folder_id).json()

    assert ours.keys() == described.keys()
    assert ours["Folder History"][0].keys() == described["Folder History"][0].keys()
    assert {entry["action"] for entry in described["Folder History"]} <= {
        entry["action"] for entry in ours["Folder History"]
    }


def test_business_errors_are_those_recorded(sandbox: RunningSandbox) -> None:
    no_folder = sandbox.post("sendDraftFolder", {})
    no_dates = sandbox.get("getAllFolderIdsByStatus", folderStatus="DRAFT")

    assert no_folder.json() == read_json("foxit-esign-error-folderid-missing.json")
    assert no_dates.json() == read_json("foxit-esign-error-datefrom-missing.json")
    assert (no_folder.status_code, no_dates.status_code) == (200, 200)


@pytest.mark.parametrize(
    ("described", "route"),
    [
        ("createfolder with the wrong file keys (HTTP 200)", "createfolder"),
        ("viewActivityHistory of a draft (HTTP 200)", "viewActivityHistory"),
    ],
)
def test_described_errors_have_the_described_words(
    sandbox: RunningSandbox, described: str, route: str
) -> None:
    answers = {
        "createfolder": lambda: sandbox.post("createfolder", {"documents": [], "recipients": []}),
        "viewActivityHistory": lambda: sandbox.get("viewActivityHistory", folderId=sandbox.draft()),
    }

    assert answers[route]().json() == _described(described)


def test_download_refusals_are_those_recorded(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    number_zero = sandbox.get("document/download", folderId=folder_id, docNumber=0)
    too_early = sandbox.get("download", folderId=folder_id)
    recorded = read_recording("foxit-esign-error-download-not-executed.txt").decode()

    assert number_zero.content == read_recording("foxit-esign-error-download-docnumber-0.txt")
    assert too_early.text == re.sub(r"\d+", str(folder_id), recorded)


def test_a_wrong_pair_gets_the_recorded_answer(sandbox: RunningSandbox) -> None:
    headers = HEADERS | {"client_id": "wrong"}

    for path in (f"{ESIGN}/myfolder", f"{PDF_SERVICES}/tasks/1"):
        answer = httpx.get(sandbox.url + path, headers=headers)
        assert answer.json() == read_json("foxit-error-invalid-credentials.json")


def test_a_finished_task_has_exactly_the_recorded_keys(sandbox: RunningSandbox) -> None:
    recorded = read_json("foxit-pdf-services-task-completed-2026-08-21.json")
    sandbox.control("PUT", "/settings", {"polls_until_done": 1})
    files = {"file": ("a.html", b"<p>hello</p>", "text/html")}
    upload = sandbox.client.post(f"{PDF_SERVICES}/documents/upload", files=files).json()
    task = sandbox.client.post(f"{PDF_SERVICES}/documents/create/pdf-from-html", json=upload).json()

    ours = sandbox.client.get(f"{PDF_SERVICES}/tasks/{task['taskId']}").json()

    assert list(ours) == list(recorded)
    assert (ours["status"], ours["progress"]) == (recorded["status"], recorded["progress"])
    assert len(ours["resultDocumentId"]) == len(recorded["resultDocumentId"])
