"""Foxit eSign, the calls that only look: list, read, history, download."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import UTC, date, datetime

import httpx
import pytest

from no_undo.domain.envelope import ActivityHistory, EnvelopeRecipient, EnvelopeStatus
from no_undo.domain.errors import (
    InvalidRequestError,
    TransientError,
    VendorContractError,
    VendorRefusedError,
)
from tests.contract.esign_vendor import (
    CERTIFICATE,
    DESCRIBED,
    DROPPED,
    EDGE_REFUSAL,
    NEVER_LEFT,
    PDF,
    PREFIX,
    answered,
    folder,
    gateway,
    party,
)
from tests.contract.replay import (
    always,
    by_route,
    failing,
    replays,
)

# find_envelopes


def test_envelopes_are_listed_by_day_and_status() -> None:
    vendor = answered({"result": "success", "allFolderIds": [30, 4, 200, 4]})

    found = gateway(vendor).find_envelopes(date(2026, 8, 30), date(2026, 9, 1), "SENT")

    assert found == ("4", "30", "200")
    assert vendor.routes == [f"GET {PREFIX}/folders/getAllFolderIdsByStatus"]
    assert dict(vendor.request.url.params) == {
        "dateFrom": "2026-08-30",
        "dateTo": "2026-09-01",
        "status": "SHARED",
    }


@replays(DESCRIBED)
def test_the_described_list_is_read(recording: bytes) -> None:
    vendor = answered(json.loads(recording)["shapes"]["getAllFolderIdsByStatus success"])

    assert gateway(vendor).find_envelopes(date(2026, 8, 18), date(2026, 8, 18)) == ("35426627",)
    assert "status" not in vendor.request.url.params


@replays("foxit-esign-error-datefrom-missing.json")
def test_a_refused_list_is_not_an_empty_list(recording: bytes) -> None:
    vendor = always(httpx.Response(200, content=recording))

    with pytest.raises(VendorRefusedError):
        gateway(vendor).find_envelopes(date(2026, 8, 18), date(2026, 8, 18))


@pytest.mark.parametrize("ids", [None, {}, "1", [1, "2"], [None]])
def test_a_list_of_something_else_is_not_an_empty_list(ids: object) -> None:
    vendor = answered({"result": "success", "allFolderIds": ids})

    with pytest.raises(VendorContractError):
        gateway(vendor).find_envelopes(date(2026, 8, 18), date(2026, 8, 18))


@pytest.mark.parametrize("status", ["DECLINED", "EXPIRED", "UNKNOWN", "SHARED", ""])
def test_a_status_whose_vendor_word_is_unknown_cannot_be_filtered_by(status: str) -> None:
    vendor = answered({"result": "success", "allFolderIds": []})

    with pytest.raises(InvalidRequestError):
        gateway(vendor).find_envelopes(date(2026, 8, 18), date(2026, 8, 18), status)

    assert vendor.requests == []


def test_days_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(InvalidRequestError):
        gateway(answered({})).find_envelopes(date(2026, 8, 19), date(2026, 8, 18))


# read_envelope


def test_an_envelope_is_read_from_the_system_of_record() -> None:
    vendor = answered(
        {
            "result": "success",
            "folder": folder(
                folderStatus="SHARED",
                folderSentDate=1620666888484,
                folderDocumentIds=[10439741],
                documentsList=[{"documentId": 10439741}],
                folderRecipientParties=[
                    party("alice@example.com", sequence=2),
                    party("bob@example.com", sequence=1),
                ],
            ),
        }
    )

    envelope = gateway(vendor).read_envelope("35426627")

    assert vendor.routes == [f"GET {PREFIX}/folders/myfolder"]
    assert dict(vendor.request.url.params) == {"folderId": "35426627"}
    assert envelope.envelope_id == "35426627"
    assert envelope.name == "Freight Invoice [plan 7]"
    assert envelope.status is EnvelopeStatus.SENT
    assert envelope.vendor_status == "SHARED"
    assert envelope.sent_at == datetime(2021, 5, 10, 17, 14, 48, 484000, tzinfo=UTC)
    assert envelope.document_count == 1
    assert envelope.recipients == (
        EnvelopeRecipient("Alice Smith", "bob@example.com", 1),
        EnvelopeRecipient("Alice Smith", "alice@example.com", 2),
    )


@replays(DESCRIBED)
def test_the_described_folder_of_a_webhook_is_read(recording: bytes) -> None:
    shapes = json.loads(recording)["shapes"]
    shown = shapes["webhook folder_sent"]["data"]["folder"]

    envelope = gateway(answered({"result": "success", "folder": shown})).read_envelope("8817451")

    assert envelope.status is EnvelopeStatus.SENT
    assert envelope.recipients == (EnvelopeRecipient("Signer Example", "signer@example.com", 1),)
    assert envelope.document_count == 1


@replays(DESCRIBED)
def test_a_described_folder_without_parties_shows_none(recording: bytes) -> None:
    shapes = json.loads(recording)["shapes"]
    draft = shapes["createfolder draft, fuller key list"]["folder"]
    progress = shapes["webhook folder_signed"]["data"]["folder"]

    read_draft = gateway(answered({"folder": draft})).read_envelope("35637439")
    read_progress = gateway(answered({"folder": progress})).read_envelope("649")

    assert (read_draft.status, read_draft.recipients) == (EnvelopeStatus.DRAFT, None)
    assert (read_draft.document_count, read_draft.sent_at) == (1, None)
    assert (read_progress.recipients, read_progress.document_count) == (None, None)


@replays(DESCRIBED)
def test_the_described_executed_folder_is_signed(recording: bytes) -> None:
    shapes = json.loads(recording)["shapes"]
    vendor = answered(shapes["myfolder of an executed folder (vendor sample)"])

    assert gateway(vendor).read_envelope("86377").status is EnvelopeStatus.SIGNED


@pytest.mark.parametrize(
    ("vendor_status", "status"),
    [
        ("DRAFT", EnvelopeStatus.DRAFT),
        ("SHARED", EnvelopeStatus.SENT),
        ("EXECUTED", EnvelopeStatus.SIGNED),
        ("CANCELLED", EnvelopeStatus.CANCELLED),
        ("DECLINED", EnvelopeStatus.DECLINED),
        ("EXPIRED", EnvelopeStatus.EXPIRED),
        ("IN_PROGRESS", EnvelopeStatus.UNKNOWN),
        ("COMPLETED", EnvelopeStatus.UNKNOWN),
        ("draft", EnvelopeStatus.UNKNOWN),
        (" DRAFT", EnvelopeStatus.UNKNOWN),
        ("Draft folder", EnvelopeStatus.UNKNOWN),
    ],
)
def test_only_exact_status_words_are_known(vendor_status: str, status: EnvelopeStatus) -> None:
    vendor = answered({"result": "success", "folder": folder(folderStatus=vendor_status)})

    envelope = gateway(vendor).read_envelope("35426627")

    assert (envelope.status, envelope.vendor_status) == (status, vendor_status)


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"result": "success"},
        {"result": "success", "folder": None},
        {"result": "success", "folder": []},
        {"result": "success", "folder": folder(folderStatus=None)},
        {"result": "success", "folder": folder(folderStatus="")},
        {"result": "success", "folder": folder(folderStatus=1)},
        {"result": "success", "folder": folder(folderId=35426628)},
        {"result": "success", "folder": folder(folderId=None)},
        {"result": "error", "error_description": "no such folder", "folder": folder()},
    ],
)
def test_an_answer_without_this_folder_is_never_a_draft(payload: object) -> None:
    with pytest.raises(VendorContractError):
        gateway(answered(payload)).read_envelope("35426627")


@pytest.mark.parametrize(
    "parties",
    [
        None,
        [],
        "none",
        [None],
        [{}],
        [party(None)],
        [party("")],
        [party("alice@example.com"), party(None)],
        [{"emailId": "alice@example.com"}],
    ],
)
def test_parties_that_are_not_all_shown_are_not_shown(parties: object) -> None:
    vendor = answered({"folder": folder(folderRecipientParties=parties)})

    assert gateway(vendor).read_envelope("35426627").recipients is None


@pytest.mark.parametrize(
    ("first", "second", "orders"),
    [
        ({}, {}, (1, 2)),
        ({"partySequence": 1}, {"partySequence": 2}, (1, 2)),
        ({"sequence": 1}, {}, (1, 2)),
        ({"sequence": True}, {"sequence": 2}, (1, 2)),
        ({"sequence": 5}, {"sequence": 7}, (5, 7)),
    ],
)
def test_the_order_is_the_number_all_parties_carry_or_their_place(
    first: dict[str, object], second: dict[str, object], orders: tuple[int, int]
) -> None:
    parties = [party("alice@example.com", **first), party("bob@example.com", **second)]
    vendor = answered({"folder": folder(folderRecipientParties=parties)})

    recipients = gateway(vendor).read_envelope("35426627").recipients

    assert recipients is not None
    assert tuple(recipient.order for recipient in recipients) == orders


@pytest.mark.parametrize("sent", [None, 0, -1, "2026-08-18", True, 1.5, 10**18, {"date": 1}])
def test_a_sent_date_that_is_none_is_not_read_as_one(sent: object) -> None:
    vendor = answered({"folder": folder(folderSentDate=sent)})

    assert gateway(vendor).read_envelope("35426627").sent_at is None


@pytest.mark.parametrize(
    ("documents", "ids", "count"),
    [
        (None, None, None),
        ([], [], None),
        ([], [1], 1),
        (["contract"], [1, 2], 2),
        (["contract", "annex"], None, 2),
    ],
)
def test_documents_are_counted_where_they_are_shown(
    documents: object, ids: object, count: int | None
) -> None:
    vendor = answered({"folder": folder(documentsList=documents, folderDocumentIds=ids)})

    assert gateway(vendor).read_envelope("35426627").document_count == count


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_read_without_an_answer_is_to_be_repeated(status: int) -> None:
    with pytest.raises(TransientError):
        gateway(always(httpx.Response(status))).read_envelope("35426627")


@pytest.mark.parametrize("error", [*DROPPED, *NEVER_LEFT])
def test_a_read_that_was_lost_is_to_be_repeated(error: Exception) -> None:
    with pytest.raises(TransientError):
        gateway(failing(error)).read_envelope("35426627")


@pytest.mark.parametrize("envelope_id", ["", "0", "abc", "1&status=DRAFT", "../1"])
def test_an_id_of_another_kind_is_never_asked_for(envelope_id: str) -> None:
    vendor = answered({"folder": folder()})

    for call in (
        gateway(vendor).read_envelope,
        gateway(vendor).activity_history,
        gateway(vendor).download_signed,
    ):
        with pytest.raises(InvalidRequestError):
            call(envelope_id)

    assert vendor.requests == []


def test_an_html_page_with_status_200_is_no_envelope() -> None:
    with pytest.raises(VendorContractError):
        gateway(always(httpx.Response(200, html="<html/>"))).read_envelope("35426627")


@replays("foxit-error-invalid-credentials.json")
def test_a_read_with_bad_credentials_says_so(recording: bytes) -> None:
    for status in (401, 200):
        vendor = always(httpx.Response(status, content=recording))
        with pytest.raises(VendorRefusedError, match=r"credentials|key"):
            gateway(vendor).read_envelope("35426627")


# activity_history


@replays(DESCRIBED)
def test_the_history_of_a_draft_says_not_shared(recording: bytes) -> None:
    shapes = json.loads(recording)["shapes"]
    vendor = answered(shapes["viewActivityHistory of a draft (HTTP 200)"])

    assert gateway(vendor).activity_history("35426627") is ActivityHistory.NOT_SHARED
    assert vendor.routes == [f"GET {PREFIX}/folders/viewActivityHistory"]
    assert dict(vendor.request.url.params) == {"folderId": "35426627"}


@replays(DESCRIBED)
def test_a_history_that_is_shown_says_shared(recording: bytes) -> None:
    shapes = json.loads(recording)["shapes"]
    vendor = answered(shapes["myfolder of an executed folder (vendor sample)"])

    assert gateway(vendor).activity_history("86377") is ActivityHistory.SHARED


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(200, json={"result": "error", "error_description": "no such folder"}),
        httpx.Response(200, json={"result": "error", "error_description": None}),
        httpx.Response(200, json={"status": "ok", "data": []}),
        httpx.Response(200, html="<html>non-shared folder</html>"),
        httpx.Response(400, text="non-shared folder"),
        httpx.Response(302),
        httpx.Response(502),
        EDGE_REFUSAL,
    ],
)
def test_an_odd_history_says_unknown(response: httpx.Response) -> None:
    assert gateway(always(response)).activity_history("1") is ActivityHistory.UNKNOWN


@pytest.mark.parametrize("error", [*DROPPED, *NEVER_LEFT])
def test_a_lost_history_says_unknown(error: Exception) -> None:
    assert gateway(failing(error)).activity_history("1") is ActivityHistory.UNKNOWN


# download_signed

DOCUMENT_ROUTE = f"GET {PREFIX}/folders/document/download"
ENVELOPE_ROUTE = f"GET {PREFIX}/folders/download"


def zip_of(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.pdf", content)
    return buffer.getvalue()


def test_the_document_and_its_certificate_are_downloaded() -> None:
    vendor = by_route(
        {
            DOCUMENT_ROUTE: httpx.Response(200, content=PDF),
            ENVELOPE_ROUTE: httpx.Response(200, content=zip_of(a=PDF, Certificate=CERTIFICATE)),
        }
    )

    signed = gateway(vendor).download_signed("35426627")

    assert (signed.pdf, signed.certificate) == (PDF, CERTIFICATE)
    assert [dict(request.url.params) for request in vendor.requests] == [
        {"folderId": "35426627", "docNumber": "1"},
        {"folderId": "35426627"},
    ]


@replays("foxit-esign-error-download-docnumber-0.txt")
def test_the_envelope_serves_when_the_document_route_refuses(recording: bytes) -> None:
    vendor = by_route(
        {
            DOCUMENT_ROUTE: httpx.Response(400, content=recording),
            ENVELOPE_ROUTE: httpx.Response(200, content=zip_of(a=PDF, Certificate=CERTIFICATE)),
        }
    )

    signed = gateway(vendor).download_signed("35426627")

    assert (signed.pdf, signed.certificate) == (PDF, CERTIFICATE)


@replays("foxit-esign-error-download-not-executed.txt")
def test_a_download_before_the_end_is_to_be_repeated(recording: bytes) -> None:
    vendor = always(httpx.Response(400, content=recording))

    with pytest.raises(TransientError, match="not executed"):
        gateway(vendor).download_signed("35633563")


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(400, text="no such thing"),
        httpx.Response(200, html="<html>error</html>"),
        httpx.Response(200, json={"result": "error"}),
        httpx.Response(200, content=b"PK\x03\x04 broken"),
        httpx.Response(302),
    ],
)
def test_a_document_without_a_certificate_is_kept(response: httpx.Response) -> None:
    vendor = by_route({DOCUMENT_ROUTE: httpx.Response(200, content=PDF), ENVELOPE_ROUTE: response})

    signed = gateway(vendor).download_signed("35426627")

    assert (signed.pdf, signed.certificate) == (PDF, None)


@pytest.mark.parametrize("status", [429, 502, 503])
def test_a_certificate_that_may_still_come_is_waited_for(status: int) -> None:
    vendor = by_route(
        {DOCUMENT_ROUTE: httpx.Response(200, content=PDF), ENVELOPE_ROUTE: httpx.Response(status)}
    )

    with pytest.raises(TransientError):
        gateway(vendor).download_signed("35426627")


def test_an_envelope_that_is_a_pdf_is_accepted() -> None:
    vendor = by_route(
        {
            DOCUMENT_ROUTE: httpx.Response(200, html="<html/>"),
            ENVELOPE_ROUTE: httpx.Response(200, content=PDF),
        }
    )

    assert gateway(vendor).download_signed("35426627").pdf == PDF


@pytest.mark.parametrize(
    "body", [b"<html/>", b'{"result":"error"}', b"", b" %PDF-1.7", b"PK\x05\x06" + b"\0" * 18]
)
def test_a_body_is_accepted_by_its_first_bytes_only(body: bytes) -> None:
    vendor = always(httpx.Response(200, headers={"Content-Type": "application/pdf"}, content=body))

    with pytest.raises(VendorContractError):
        gateway(vendor).download_signed("35426627")


def test_bad_credentials_end_a_download_at_once() -> None:
    vendor = always(httpx.Response(401))

    with pytest.raises(VendorRefusedError):
        gateway(vendor).download_signed("35426627")

    assert len(vendor.requests) == 1
