"""Foxit eSign, the recorded probe runs of August 2026, call by call."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import httpx
import pytest

from no_undo.domain.envelope import EnvelopeStatus, SendAnswer
from no_undo.domain.errors import (
    NothingSentError,
    TransientError,
    VendorContractError,
    VendorRefusedError,
)
from tests.contract.esign_vendor import (
    DESCRIBED,
    DRAFT,
    PREFIX,
    PROBES,
    gateway,
)
from tests.contract.replay import (
    RECORDINGS,
    always,
    by_route,
    json_of,
    read_json,
    replays,
)


def completed(text: str, **facts: object) -> bytes:
    """Close the JSON that the recorder cut off, and add facts its note tells."""
    cut = text.rindex(',"')
    payload = json.loads(text[:cut] + "}}")
    payload["folder"].update(facts)
    return json.dumps(payload).encode()


def recorded_call(route: str) -> list[tuple[str, int]]:
    """Return (file, position) of every recorded probe call to one route."""
    if not RECORDINGS.is_dir():
        return [(PROBES[0], 0)]
    return [
        (name, position)
        for name in PROBES
        for position, call in enumerate(json.loads((RECORDINGS / name).read_text())["calls"])
        if call["request"]["url"].split("?")[0].endswith(route)
    ]


def response_of(call: dict[str, Any]) -> httpx.Response:
    response = call["response"]
    body = json.dumps(response["json"]) if "json" in response else response["text"]
    return httpx.Response(response["status"], text=body)


@replays(*PROBES)
def test_our_routes_are_the_recorded_ones(recording: bytes) -> None:
    calls = json.loads(recording)["calls"]
    recorded = {httpx.URL(call["request"]["url"]).path for call in calls}

    assert {
        f"{PREFIX}/folders/getAllFolderIdsByStatus",
        f"{PREFIX}/folders/sendDraftFolder",
        f"{PREFIX}/folders/myfolder",
    } <= recorded


@pytest.mark.parametrize(("name", "position"), recorded_call("/folders/getAllFolderIdsByStatus"))
def test_each_recorded_list_refusal_is_a_refusal(name: str, position: int) -> None:
    call = read_json(name)["calls"][position]

    with pytest.raises(VendorRefusedError):
        gateway(always(response_of(call))).find_envelopes(date(2026, 8, 18), date(2026, 8, 18))


@pytest.mark.parametrize(("name", "position"), recorded_call("/folders/sendDraftFolder"))
def test_each_recorded_send_refusal_is_a_refusal(name: str, position: int) -> None:
    call = read_json(name)["calls"][position]

    assert gateway(always(response_of(call))).send_draft("1") is SendAnswer.REFUSED


@pytest.mark.parametrize(("name", "position"), recorded_call("/folders/createfolder"))
def test_each_recorded_draft_is_asked_for_as_we_do_and_gives_its_id(
    name: str, position: int
) -> None:
    call = read_json(name)["calls"][position]
    text = call["response"]["text"]
    vendor = always(httpx.Response(200, content=completed(text)))

    envelope_id = gateway(vendor).create_draft(DRAFT, b"%PDF")

    assert f'"folderId":{envelope_id},' in text
    assert json_of(vendor.request).keys() == call["request"]["body"].keys()
    assert (
        json_of(vendor.request)["parties"][0].keys() == call["request"]["body"]["parties"][0].keys()
    )


@pytest.mark.parametrize(("name", "position"), recorded_call("/folders/createfolder"))
def test_a_draft_answer_that_was_cut_off_has_the_wrong_shape(name: str, position: int) -> None:
    call = read_json(name)["calls"][position]

    with pytest.raises(VendorContractError):
        gateway(always(response_of(call))).create_draft(DRAFT, b"%PDF")


@pytest.mark.parametrize(("name", "position"), recorded_call("/folders/myfolder"))
def test_each_recorded_read_back_is_a_draft_once_its_status_is_there(
    name: str, position: int
) -> None:
    call = read_json(name)["calls"][position]
    envelope_id = httpx.URL(call["request"]["url"]).params["folderId"]
    text = call["response"]["text"]
    cut_off = always(httpx.Response(200, content=completed(text)))
    whole = always(httpx.Response(200, content=completed(text, folderStatus="DRAFT")))

    with pytest.raises(VendorContractError, match="without a status"):
        gateway(cut_off).read_envelope(envelope_id)
    envelope = gateway(whole).read_envelope(envelope_id)

    assert envelope.status is EnvelopeStatus.DRAFT
    assert envelope.name.startswith("no-undo-probe-")
    assert whole.request.url == httpx.URL(call["request"]["url"])


@replays("foxit-esign-probe-2026-08-29.json")
def test_the_recorded_download_refusals_are_to_be_repeated(recording: bytes) -> None:
    calls = json.loads(recording)["calls"]
    refusals = {
        f"GET {httpx.URL(call['request']['url']).path}": response_of(call)
        for call in calls
        if "download" in call["request"]["url"]
    }

    with pytest.raises(TransientError, match="not executed"):
        gateway(by_route(refusals)).download_signed("35633563")


@replays(DESCRIBED)
def test_the_described_edge_refusal_never_reached_the_vendor(recording: bytes) -> None:
    body = json.loads(recording)["shapes"]["edge refusal of an unnamed client (HTTP 403)"]
    vendor = always(httpx.Response(403, json=body))

    with pytest.raises(NothingSentError):
        gateway(vendor).send_draft("35426627")
    with pytest.raises(TransientError):
        gateway(vendor).read_envelope("35426627")
