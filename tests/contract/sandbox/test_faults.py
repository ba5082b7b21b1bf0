"""Every way the e-sign vendor can fail or lie: what the caller sees, and what really happened."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from tests.contract.sandbox.running import (
    ESIGN,
    RunningSandbox,
    create_body,
    eventually,
    two_party_pdf,
)


def _no_answer(call: Callable[[], httpx.Response]) -> bool:
    try:
        call()
    except httpx.RemoteProtocolError:
        return True
    return False


def _truth(sandbox: RunningSandbox, folder_id: int) -> tuple[str, int]:
    return sandbox.true_status(folder_id), sandbox.sends(folder_id)


def test_a_send_can_be_accepted_and_its_connection_dropped(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    sandbox.arm("sendDraftFolder", "accept_and_drop")

    assert _no_answer(lambda: sandbox.send(folder_id))
    assert _truth(sandbox, folder_id) == ("SHARED", 1)


def test_a_send_can_be_dropped_without_effect(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    sandbox.arm("sendDraftFolder", "drop_without_effect")

    assert _no_answer(lambda: sandbox.send(folder_id))
    assert _truth(sandbox, folder_id) == ("DRAFT", 0)


@pytest.mark.parametrize(
    ("behaviour", "status", "says", "truth"),
    [
        ("accept_and_502", 502, "502", ("SHARED", 1)),
        ("502_without_effect", 502, "502", ("DRAFT", 0)),
        ("error_result_with_effect", 200, '"result":"error"', ("SHARED", 1)),
        ("success_without_effect", 200, '"result":"success"', ("DRAFT", 0)),
        ("html_200", 200, "<html>", ("DRAFT", 0)),
        ("html_200_with_effect", 200, "<html>", ("SHARED", 1)),
        ("wrong_shape", 200, '"data":[]', ("DRAFT", 0)),
        ("wrong_shape_with_effect", 200, '"data":[]', ("SHARED", 1)),
        ("edge_refusal", 403, "1010", ("DRAFT", 0)),
        ("throttled", 429, "rate limiter", ("DRAFT", 0)),
    ],
)
def test_a_send_can_answer_one_thing_and_do_another(
    sandbox: RunningSandbox, behaviour: str, status: int, says: str, truth: tuple[str, int]
) -> None:
    folder_id = sandbox.draft()
    sandbox.arm("sendDraftFolder", behaviour)

    answer = sandbox.send(folder_id)

    assert answer.status_code == status
    assert says in answer.text
    assert _truth(sandbox, folder_id) == truth


def test_a_sent_folder_can_show_draft_for_a_while(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    sandbox.arm("sendDraftFolder", "status_lags", seconds=60)

    sandbox.send(folder_id)
    read = sandbox.get("myfolder", folderId=folder_id).json()
    at_once, lines_at_once = read["folder"], read["Folder History"]
    history_at_once = sandbox.get("viewActivityHistory", folderId=folder_id).json()["result"]
    truth = _truth(sandbox, folder_id)
    sandbox.clock.advance(61)

    assert (at_once["folderStatus"], at_once["folderSentDate"]) == ("DRAFT", None)
    assert [line["action"] for line in lines_at_once] == ["Created"]
    assert history_at_once == "error"
    assert truth == ("SHARED", 1)
    assert sandbox.status(folder_id) == "SHARED"


def test_an_effect_can_land_after_the_connection_was_dropped(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    sandbox.arm("sendDraftFolder", "late_effect", seconds=60)

    assert _no_answer(lambda: sandbox.send(folder_id))
    before = _truth(sandbox, folder_id)
    sandbox.clock.advance(61)
    eventually(lambda: sandbox.sends(folder_id))

    assert before == ("DRAFT", 0)
    assert _truth(sandbox, folder_id) == ("SHARED", 1)


def test_an_effect_can_land_after_the_client_gave_up_waiting(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    sandbox.arm("sendDraftFolder", "late_effect_silent", seconds=60)

    with pytest.raises(httpx.ReadTimeout):
        sandbox.client.post(f"{ESIGN}/sendDraftFolder", json={"folderId": folder_id}, timeout=0.2)
    before = _truth(sandbox, folder_id)
    eventually(lambda: sandbox.state.store.all("late_calls"))
    sandbox.clock.advance(61)
    eventually(lambda: sandbox.sends(folder_id))

    assert before == ("DRAFT", 0)


def test_an_answer_can_be_slower_than_the_client_waits(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    sandbox.arm("sendDraftFolder", "slow_answer", seconds=30)

    with pytest.raises(httpx.ReadTimeout):
        sandbox.client.post(f"{ESIGN}/sendDraftFolder", json={"folderId": folder_id}, timeout=0.2)

    assert _truth(sandbox, folder_id) == ("SHARED", 1)


def test_a_slow_answer_arrives_in_the_end(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    sandbox.arm("sendDraftFolder", "slow_answer", seconds=0.05)

    assert sandbox.send(folder_id).json() == {"result": "success"}


def test_a_status_can_be_one_that_nobody_knows(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    sandbox.arm("myfolder", "unknown_status", status_text="PARTIALLY_SOMETHING")

    assert sandbox.status(folder_id) == "PARTIALLY_SOMETHING"
    assert sandbox.status(folder_id) == "DRAFT"


def test_the_activity_history_can_contradict_the_folder(sandbox: RunningSandbox) -> None:
    draft, sent = sandbox.draft(), sandbox.draft()
    sandbox.send(sent)
    sandbox.arm("viewActivityHistory", "contradicting_history", times=2)

    assert sandbox.get("viewActivityHistory", folderId=draft).json()["result"] == "success"
    assert sandbox.get("viewActivityHistory", folderId=sent).json()["result"] == "error"


def test_a_folder_can_be_created_and_the_answer_lost(sandbox: RunningSandbox) -> None:
    sandbox.arm("createfolder", "accept_and_drop")

    assert _no_answer(sandbox.create)

    (folder,) = sandbox.control("GET", "/folders")
    assert folder["name"] == create_body(two_party_pdf())["folderName"]


def test_reading_can_be_out_for_some_calls(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    sandbox.arm("myfolder", "502_without_effect", times=3, http_status=503)

    statuses = [sandbox.get("myfolder", folderId=folder_id).status_code for _ in range(5)]

    assert statuses == [503, 503, 503, 200, 200]


def test_a_fault_can_wait_for_a_later_call(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    sandbox.arm("myfolder", "502_without_effect", skip=2)

    statuses = [sandbox.get("myfolder", folderId=folder_id).status_code for _ in range(4)]

    assert statuses == [200, 200, 502, 200]


def test_a_fault_can_be_for_one_folder_only_and_for_ever(sandbox: RunningSandbox) -> None:
    healthy, broken = sandbox.draft(), sandbox.draft()
    sandbox.arm("myfolder", "502_without_effect", times=None, folder=broken)

    statuses = [
        sandbox.get("myfolder", folderId=folder_id).status_code
        for folder_id in (broken, healthy, broken, healthy)
    ]

    assert statuses == [502, 200, 502, 200]


def test_faults_are_used_up_in_their_order_and_shown_while_armed(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    armed = [
        {"route": "myfolder", "behaviour": "throttled", "times": 1},
        {"route": "myfolder", "behaviour": "html_200", "times": 1},
    ]
    sandbox.control("PUT", "/faults", armed)

    first = sandbox.get("myfolder", folderId=folder_id)
    left = sandbox.control("GET", "/faults")
    second = sandbox.get("myfolder", folderId=folder_id)

    assert first.status_code == 429
    assert [fault["times"] for fault in left] == [0, 1]
    assert second.text.startswith("<!doctype html>")


def test_a_wrong_shape_can_be_given_word_for_word(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    sandbox.arm("myfolder", "wrong_shape", body={"result": "success"})

    assert sandbox.get("myfolder", folderId=folder_id).json() == {"result": "success"}


@pytest.mark.parametrize(
    "fault",
    [
        {"route": "myfolder", "behaviour": "unheard_of"},
        {"route": "nowhere", "behaviour": "throttled"},
        {"route": "myfolder", "behaviour": "throttled", "tmies": 1},
    ],
)
def test_a_misspelt_fault_is_refused(sandbox: RunningSandbox, fault: dict[str, object]) -> None:
    answer = sandbox.client.put("/_sandbox/faults", json=[fault])

    assert answer.status_code == 422
    assert sandbox.control("GET", "/faults") == []


def test_the_log_shows_an_answer_that_was_never_given(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    sandbox.arm("sendDraftFolder", "accept_and_drop")
    assert _no_answer(lambda: sandbox.send(folder_id))

    eventually(lambda: len(sandbox.control("GET", "/requests")) == 2)

    dropped = sandbox.control("GET", "/requests")[-1]
    assert (dropped["route"], dropped["status"], dropped["behaviour"]) == (
        "sendDraftFolder",
        None,
        "accept_and_drop",
    )
