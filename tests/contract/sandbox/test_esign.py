"""The eSign side of the sandbox when nothing is wrong, and its refusals."""

from __future__ import annotations

import io
import zipfile
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from local.sandbox.pdf_services.rendering import render_html
from tests.contract.sandbox.running import (
    ESIGN,
    HEADERS,
    RunningSandbox,
    tagged_html,
)


def test_a_created_folder_is_a_draft_with_an_integer_id_and_no_result_key(
    sandbox: RunningSandbox,
) -> None:
    answer = sandbox.create().json()

    assert "result" not in answer
    assert isinstance(answer["folder"]["folderId"], int)
    assert answer["folder"]["folderStatus"] == "DRAFT"
    assert answer["folder"]["folderSentDate"] is None
    assert answer["folder"]["folderAuthorEmail"] is None


def test_nobody_is_emailed_by_a_draft(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()

    assert sandbox.sends(folder_id) == 0
    assert sandbox.control("GET", "/emails") == []


def test_a_send_emails_every_party_once_and_shares_the_folder(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()

    answer = sandbox.send(folder_id)

    assert answer.json() == {"result": "success"}
    assert sandbox.status(folder_id) == "SHARED"
    assert sandbox.get("myfolder", folderId=folder_id).json()["folder"]["folderSentDate"] > 0
    (mail,) = sandbox.control("GET", "/emails")
    assert (mail["folderId"], mail["recipients"]) == (
        folder_id,
        ["alice@example.com", "bob@example.com"],
    )


def test_a_second_send_emails_everybody_again_by_default(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    sandbox.send(folder_id)

    answer = sandbox.send(folder_id)

    assert answer.json() == {"result": "success"}
    assert sandbox.sends(folder_id) == 2


def test_a_second_send_is_refused_where_the_settings_say_so(sandbox: RunningSandbox) -> None:
    sandbox.control("PUT", "/settings", {"second_send_refused": True})
    folder_id = sandbox.draft()
    sandbox.send(folder_id)

    answer = sandbox.send(folder_id)

    assert answer.status_code == 200
    assert answer.json()["result"] == "error"
    assert sandbox.sends(folder_id) == 1


@pytest.mark.parametrize(("refused", "mails"), [(True, 1), (False, 8)])
def test_sends_at_the_same_time_are_counted_one_by_one(
    sandbox: RunningSandbox, *, refused: bool, mails: int
) -> None:
    sandbox.control("PUT", "/settings", {"second_send_refused": refused})
    folder_id = sandbox.draft()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(sandbox.send, [folder_id] * 8))

    accepted = [answer for answer in answers if answer.json() == {"result": "success"}]
    assert len(accepted) == mails
    assert sandbox.sends(folder_id) == mails


def test_a_folder_created_with_send_now_is_sent(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft(sendNow=True)

    assert sandbox.status(folder_id) == "SHARED"
    assert sandbox.sends(folder_id) == 1


def test_an_embedded_session_bypasses_the_send_call(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft(createEmbeddedSigningSession=True)

    assert sandbox.status(folder_id) == "SHARED"


def test_a_send_is_refused_when_a_party_has_no_signature_tag(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft(render_html(tagged_html(1)))

    answer = sandbox.send(folder_id)

    assert answer.status_code == 200
    assert answer.json()["error_description"].startswith("Please assign a signature field to Bob")
    assert sandbox.status(folder_id) == "DRAFT"
    assert sandbox.sends(folder_id) == 0


def test_tags_do_nothing_unless_their_processing_is_asked_for(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft(processTextTags=False)

    assert sandbox.send(folder_id).json()["result"] == "error"


def test_the_short_form_of_a_tag_counts(sandbox: RunningSandbox) -> None:
    pdf = render_html("<p>${s:1:y}</p><p>${s:2:______}</p>")

    assert sandbox.send(sandbox.draft(pdf)).json() == {"result": "success"}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"base64FileString": []}, "fileUrls or base64FileString cannot be empty"),
        ({"base64FileString": ["%%%"]}, "not valid base64"),
        ({"base64FileString": ["aGVsbG8="]}, "Only PDF files"),
        ({"fileNames": []}, "fileNames"),
        ({"parties": []}, "parties"),
        ({"parties": [{"firstName": "Alice"}]}, "emailId"),
        ({"parties": "Alice"}, "not valid"),
    ],
)
def test_a_malformed_folder_is_refused_with_200(
    sandbox: RunningSandbox, changes: dict[str, object], complaint: str
) -> None:
    answer = sandbox.create(**changes)

    assert answer.status_code == 200
    assert answer.json()["result"] == "error"
    assert complaint in answer.json()["error_description"]


def test_ids_are_listed_by_day_and_status(sandbox: RunningSandbox) -> None:
    draft, sent = sandbox.draft(), sandbox.draft()
    sandbox.send(sent)
    window = {"dateFrom": "2000-01-01", "dateTo": "2999-12-31"}

    everything = sandbox.get("getAllFolderIdsByStatus", **window).json()
    shared = sandbox.get("getAllFolderIdsByStatus", status="SHARED", **window).json()
    past = sandbox.get("getAllFolderIdsByStatus", dateFrom="2000-01-01", dateTo="2000-01-02")

    assert everything["allFolderIds"] == [draft, sent]
    assert shared["allFolderIds"] == [sent]
    assert past.json()["allFolderIds"] == []


def test_a_list_without_dates_is_refused(sandbox: RunningSandbox) -> None:
    answer = sandbox.get("getAllFolderIdsByStatus", folderStatus="DRAFT")

    assert answer.status_code == 200
    assert answer.json()["error_description"] == "The parameters dateFrom can not be empty."


def test_an_unknown_folder_is_an_error_and_carries_no_status(sandbox: RunningSandbox) -> None:
    answer = sandbox.get("myfolder", folderId=1)

    assert answer.status_code == 200
    assert answer.json()["result"] == "error"
    assert "folder" not in answer.json()


def test_the_activity_history_is_only_shown_of_a_sent_folder(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    before = sandbox.get("viewActivityHistory", folderId=folder_id).json()
    sandbox.send(folder_id)
    after = sandbox.get("viewActivityHistory", folderId=folder_id).json()

    assert before == {
        "result": "error",
        "error_description": "logs of a non-shared folder can not be viewed.",
    }
    assert after["result"] == "success"


def test_a_cancelled_folder_stays_cancelled(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    sandbox.send(folder_id)

    answer = sandbox.post(
        "cancelFolder", {"folderId": folder_id, "reason_for_cancellation": "wrong recipient"}
    )

    assert answer.json() == {"result": "success"}
    assert sandbox.status(folder_id) == "CANCELLED"
    assert sandbox.send(folder_id).json()["result"] == "error"


@pytest.mark.parametrize("ending", ["decline", "expire"])
def test_a_folder_can_be_declined_or_expire(sandbox: RunningSandbox, ending: str) -> None:
    folder_id = sandbox.draft()
    sandbox.send(folder_id)

    sandbox.control("POST", f"/folders/{folder_id}/{ending}")

    assert sandbox.status(folder_id) == {"decline": "DECLINED", "expire": "EXPIRED"}[ending]


def test_downloads_are_refused_in_plain_text_until_everybody_has_signed(
    sandbox: RunningSandbox,
) -> None:
    folder_id = sandbox.draft()

    document = sandbox.get("document/download", folderId=folder_id, docNumber=1)
    envelope = sandbox.get("download", folderId=folder_id)
    number_zero = sandbox.get("document/download", folderId=folder_id, docNumber=0)

    assert (document.status_code, envelope.status_code, number_zero.status_code) == (400, 400, 400)
    assert document.text == envelope.text == f"folder {folder_id} is not executed yet."
    assert number_zero.text == "invalid document index number"


def test_an_executed_folder_downloads_as_pdf_and_as_zip_with_a_certificate(
    sandbox: RunningSandbox,
) -> None:
    folder_id = sandbox.draft()
    sandbox.send(folder_id)
    sandbox.sign(folder_id)

    document = sandbox.get("document/download", folderId=folder_id, docNumber=1).content
    envelope = sandbox.get("download", folderId=folder_id).content

    archive = zipfile.ZipFile(io.BytesIO(envelope))
    assert archive.namelist() == ["Freight Invoice.pdf", "Completion Certificate.pdf"]
    assert archive.read("Freight Invoice.pdf") == document
    assert all(archive.read(name).startswith(b"%PDF") for name in archive.namelist())


@pytest.mark.parametrize("user_agent", ["", "Python-urllib/3.11", "python-httpx/0.28.1"])
def test_a_client_without_a_name_of_its_own_is_refused_at_the_edge(
    sandbox: RunningSandbox, user_agent: str
) -> None:
    answer = sandbox.client.get(
        f"{ESIGN}/myfolder", params={"folderId": 1}, headers={"User-Agent": user_agent}
    )

    assert answer.status_code == 403
    assert answer.json() == {"error code": 1010}


def test_a_wrong_pair_of_credentials_is_refused(sandbox: RunningSandbox) -> None:
    headers = HEADERS | {"client_secret": "wrong"}

    answer = httpx.get(f"{sandbox.url}{ESIGN}/myfolder?folderId=1", headers=headers)

    assert answer.status_code == 401
    assert answer.json() == {"allow": False, "reason": "Invalid credentials"}


def test_the_request_log_names_routes_and_statuses_but_no_secret(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    sandbox.send(folder_id)

    log = sandbox.control("GET", "/requests")

    assert [(e["route"], e["status"]) for e in log] == [
        ("createfolder", 200),
        ("sendDraftFolder", 200),
    ]
    assert log[1]["folderId"] == folder_id
    assert HEADERS["client_secret"] not in str(log)
