"""Foxit eSign, the calls that change something: draft, send, cancel."""

from __future__ import annotations

import base64
import json
from datetime import date

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from no_undo.adapters.foxit_esign import VENDOR_FACTS
from no_undo.domain.envelope import SendAnswer
from no_undo.domain.errors import (
    InDoubtError,
    InvalidRequestError,
    NothingSentError,
    NoUndoError,
    VendorContractError,
    VendorRefusedError,
)
from no_undo.domain.recipients import Recipient
from no_undo.ports import EnvelopeDraft, ESignGateway
from tests.contract.esign_vendor import (
    ALICE,
    BOB,
    CLIENT_SECRET,
    DESCRIBED,
    DRAFT,
    DROPPED,
    EDGE_REFUSAL,
    NEVER_LEFT,
    ODD_ANSWERS,
    PDF,
    PREFIX,
    REFUSAL,
    answered,
    folder,
    gateway,
)
from tests.contract.replay import (
    always,
    failing,
    json_of,
    replays,
)


def test_the_adapter_serves_the_port() -> None:
    port: ESignGateway = gateway(always(httpx.Response(200)))

    assert port is not None


# create_draft


def test_a_draft_is_asked_for_in_the_proven_shape() -> None:
    vendor = answered({"folder": folder()})

    envelope_id = gateway(vendor).create_draft(DRAFT, b"%PDF-1.7 document")

    assert envelope_id == "35426627"
    assert vendor.routes == [f"POST {PREFIX}/folders/createfolder"]
    assert vendor.request.url.host == "na1.fusion.foxit.com"
    assert vendor.request.headers["client_id"] == "our-client"
    assert vendor.request.headers["client_secret"] == CLIENT_SECRET
    assert json_of(vendor.request) == {
        "folderName": "Freight Invoice [plan 7]",
        "inputType": "base64",
        "base64FileString": [base64.b64encode(b"%PDF-1.7 document").decode()],
        "fileNames": ["Freight Invoice.pdf"],
        "processTextTags": True,
        "processAcroFields": False,
        "sendNow": False,
        "parties": [
            {
                "firstName": "Alice",
                "lastName": "Smith",
                "emailId": "alice@example.com",
                "permission": "FILL_FIELDS_AND_SIGN",
                "sequence": 1,
            }
        ],
    }


def test_two_recipients_sign_in_order() -> None:
    vendor = answered({"folder": folder()})
    draft = EnvelopeDraft("name", "a.pdf", (BOB, ALICE))

    gateway(vendor).create_draft(draft, b"%PDF")

    request = json_of(vendor.request)
    assert request["signInSequence"] is True
    assert [(p["emailId"], p["sequence"]) for p in request["parties"]] == [
        ("alice@example.com", 1),
        ("bob@example.com", 2),
    ]


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("Alice Smith", "Alice", "Smith"),
        ("Bob van Dyke", "Bob van", "Dyke"),
        ("Alice", "Alice", ""),
        ("  Alice   Smith ", "Alice", "Smith"),
    ],
)
def test_a_name_is_split_so_that_joining_it_gives_it_back(name: str, first: str, last: str) -> None:
    vendor = answered({"folder": folder()})
    draft = EnvelopeDraft("name", "a.pdf", (Recipient(name, "alice@example.com", 1),))

    gateway(vendor).create_draft(draft, b"%PDF")

    sent = json_of(vendor.request)["parties"][0]
    assert (sent["firstName"], sent["lastName"]) == (first, last)


def test_a_draft_never_asks_for_an_embedded_session_or_to_be_sent() -> None:
    vendor = answered({"folder": folder()})

    gateway(vendor).create_draft(EnvelopeDraft("name", "a.pdf", (ALICE, BOB)), b"%PDF")

    request = json_of(vendor.request)
    assert request["sendNow"] is False
    assert not [key for key in request if "embedded" in key.casefold()]


def test_a_draft_without_a_recipient_is_refused_before_any_call() -> None:
    vendor = answered({"folder": folder()})

    with pytest.raises(InvalidRequestError):
        gateway(vendor).create_draft(EnvelopeDraft("name", "a.pdf", ()), b"%PDF")

    assert vendor.requests == []


@replays(DESCRIBED)
def test_a_refused_draft_is_an_error_though_the_status_is_200(recording: bytes) -> None:
    vendor = answered(
        json.loads(recording)["shapes"]["createfolder with the wrong file keys (HTTP 200)"]
    )

    with pytest.raises(VendorRefusedError) as caught:
        gateway(vendor).create_draft(DRAFT, b"%PDF")

    assert "fileUrls" not in str(caught.value)


@replays(DESCRIBED)
def test_the_described_draft_answer_gives_its_id(recording: bytes) -> None:
    vendor = answered(json.loads(recording)["shapes"]["createfolder draft, fuller key list"])

    assert gateway(vendor).create_draft(DRAFT, b"%PDF") == "35637439"


@pytest.mark.parametrize(
    "payload",
    [
        {"folder": {}},
        {"folder": None},
        {"folder": {"folderId": None}},
        {"folder": {"folderId": "35426627"}},
        {"folder": {"folderId": 0}},
        {"folder": {"folderId": -1}},
        {"folder": {"folderId": True}},
        {"folderId": 35426627},
        {"result": "success"},
        {},
    ],
)
def test_a_draft_answer_without_an_id_has_the_wrong_shape(payload: object) -> None:
    with pytest.raises(VendorContractError):
        gateway(answered(payload)).create_draft(DRAFT, b"%PDF")


@pytest.mark.parametrize("error", DROPPED)
def test_a_lost_draft_answer_may_have_made_a_draft(error: Exception) -> None:
    with pytest.raises(InDoubtError):
        gateway(failing(error)).create_draft(DRAFT, b"%PDF")


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
def test_a_5xx_on_a_draft_may_have_made_a_draft(status: int) -> None:
    with pytest.raises(InDoubtError):
        gateway(always(httpx.Response(status))).create_draft(DRAFT, b"%PDF")


@pytest.mark.parametrize("error", NEVER_LEFT)
def test_a_draft_without_a_connection_was_not_made(error: Exception) -> None:
    with pytest.raises(NothingSentError):
        gateway(failing(error)).create_draft(DRAFT, b"%PDF")


# send_draft


@replays(DESCRIBED)
def test_a_send_is_one_request_and_its_answer_is_kept(recording: bytes) -> None:
    shapes = json.loads(recording)["shapes"]
    vendor = answered(
        shapes["sendDraftFolder success (assumed by two integrators, never captured)"]
    )

    answer = gateway(vendor).send_draft("35426627")

    assert answer is SendAnswer.ACCEPTED
    assert vendor.routes == [f"POST {PREFIX}/folders/sendDraftFolder"]
    assert json_of(vendor.request) == {"folderId": 35426627}


@replays(DESCRIBED)
def test_a_send_without_a_signature_field_is_refused(recording: bytes) -> None:
    shapes = json.loads(recording)["shapes"]
    name = "sendDraftFolder without a signature field (HTTP status not captured, 200 likely)"

    assert gateway(answered(shapes[name])).send_draft("35426627") is SendAnswer.REFUSED


@replays("foxit-esign-error-folderid-missing.json")
def test_a_business_error_on_a_send_is_a_refusal(recording: bytes) -> None:
    vendor = always(httpx.Response(200, content=recording))

    assert gateway(vendor).send_draft("35426627") is SendAnswer.REFUSED


@replays("foxit-esign-error-legacy-token-missing.json", "foxit-error-invalid-credentials.json")
def test_bad_credentials_on_a_send_are_a_refusal(recording: bytes) -> None:
    for status in (401, 200):
        vendor = always(httpx.Response(status, content=recording))
        assert gateway(vendor).send_draft("35426627") is SendAnswer.REFUSED


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 422, 429])
def test_a_4xx_on_a_send_is_a_refusal(status: int) -> None:
    vendor = always(httpx.Response(status, html="<html>no</html>"))

    assert gateway(vendor).send_draft("35426627") is SendAnswer.REFUSED
    assert len(vendor.requests) == 1


@pytest.mark.parametrize("response", ODD_ANSWERS)
def test_an_odd_answer_to_a_send_is_in_doubt(response: httpx.Response) -> None:
    vendor = always(response)

    with pytest.raises(InDoubtError):
        gateway(vendor).send_draft("35426627")

    assert len(vendor.requests) == 1


@pytest.mark.parametrize("error", DROPPED)
def test_a_lost_answer_to_a_send_is_in_doubt_and_not_retried(error: Exception) -> None:
    vendor = failing(error)

    with pytest.raises(InDoubtError):
        gateway(vendor).send_draft("35426627")

    assert len(vendor.requests) == 1


@pytest.mark.parametrize("error", NEVER_LEFT)
def test_a_send_without_a_connection_did_not_leave(error: Exception) -> None:
    vendor = failing(error)

    with pytest.raises(NothingSentError):
        gateway(vendor).send_draft("35426627")

    assert len(vendor.requests) == 1


def test_a_send_refused_at_the_edge_did_not_leave() -> None:
    with pytest.raises(NothingSentError):
        gateway(always(EDGE_REFUSAL)).send_draft("35426627")


BODIES = st.one_of(
    st.binary(max_size=50),
    st.sampled_from(
        [
            b'{"result": "success"}',
            b'{"result": "error"}',
            b'{"allow": false}',
            b'{"error code": 1010}',
            b'{"result": "success", "allow": false}',
            b"<html></html>",
        ]
    ),
)


@given(st.integers(min_value=200, max_value=599), BODIES)
def test_whatever_is_answered_a_send_is_one_request_and_accepted_only_in_so_many_words(
    status: int, body: bytes
) -> None:
    vendor = always(httpx.Response(status, content=body))

    try:
        answer = gateway(vendor).send_draft("35426627")
    except (InDoubtError, NothingSentError):
        answer = None

    assert len(vendor.requests) == 1
    accepted = status < 300 and body == b'{"result": "success"}'
    assert (answer is SendAnswer.ACCEPTED) == accepted


@pytest.mark.parametrize("envelope_id", ["", "0", "-1", "abc", "1 2", "../1", "1" * 30])
def test_a_send_of_no_envelope_does_not_leave(envelope_id: str) -> None:
    vendor = answered({"result": "success"})

    with pytest.raises(NothingSentError):
        gateway(vendor).send_draft(envelope_id)

    assert vendor.requests == []


# cancel


@replays(DESCRIBED)
def test_a_sent_envelope_is_cancelled_with_its_reason(recording: bytes) -> None:
    vendor = answered(json.loads(recording)["shapes"]["cancelFolder success"])

    gateway(vendor).cancel("35426627", "sent to the wrong address")

    assert vendor.routes == [f"POST {PREFIX}/folders/cancelFolder"]
    assert json_of(vendor.request) == {
        "folderId": 35426627,
        "reason_for_cancellation": "sent to the wrong address",
    }


def test_a_refused_cancellation_says_so() -> None:
    vendor = answered({"result": "error", "error_description": "folder of Alice is executed"})

    with pytest.raises(VendorRefusedError) as caught:
        gateway(vendor).cancel("35426627", "reason")

    assert "Alice" not in str(caught.value)


@pytest.mark.parametrize("response", ODD_ANSWERS)
def test_an_odd_answer_to_a_cancellation_is_in_doubt(response: httpx.Response) -> None:
    with pytest.raises(InDoubtError):
        gateway(always(response)).cancel("35426627", "reason")


# errors and facts


@pytest.mark.parametrize("response", [*ODD_ANSWERS, EDGE_REFUSAL, REFUSAL])
def test_no_error_carries_a_body_an_address_or_a_key(response: httpx.Response) -> None:
    adapter = gateway(always(response))
    said: list[str] = []
    for call in (
        lambda: adapter.create_draft(DRAFT, PDF),
        lambda: adapter.find_envelopes(date(2026, 8, 18), date(2026, 8, 18)),
        lambda: adapter.read_envelope("35426627"),
        lambda: adapter.download_signed("35426627"),
        lambda: adapter.cancel("35426627", "reason of Alice"),
    ):
        with pytest.raises(NoUndoError) as caught:
            call()
        said.append(str(caught.value))

    for forbidden in ("Alice", "example.com", CLIENT_SECRET, "html", "other.example"):
        assert forbidden not in " ".join(said)


def test_the_vendor_facts_are_unknown_until_somebody_records_them() -> None:
    assert {row.fact for row in VENDOR_FACTS.values()} == {"F1", "F2"}
    assert all(row.holds is None for row in VENDOR_FACTS.values())
    assert all(row.evidence and row.as_of <= date(2026, 12, 31) for row in VENDOR_FACTS.values())
