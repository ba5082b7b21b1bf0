"""Commands of a caller: submit, status, list, withdraw, document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from no_undo.cli.requests import PATIENCE, PEOPLE_POLL_SECONDS, POLL_SECONDS
from no_undo.entrypoint.inputs import SubmitBody
from no_undo.lab.world import CALLER, TENANT
from tests.fakes.worlds import a_world, approved, proposed
from tests.unit.cli.deployment import Deployment
from tests.unit.cli.fake_api import NO_ANSWER, Answer, FakeApi, problem
from tests.unit.cli.running import run

DOCUMENTS = Path(__file__).resolve().parents[3] / "fixtures" / "documents"
INVOICE = DOCUMENTS / "freight_invoice.json"
SUBMIT = ("submit", "--prompt", "Send it", "--document", str(INVOICE))


def view(state: str, **changes: object) -> Answer:
    """Return a request as `GET /requests/{id}` shows it."""
    body: dict[str, Any] = {
        "request_id": "r1",
        "state": state,
        "in_doubt": False,
        "stages_done": [],
        "approvals": 0,
        "quorum": 2,
        "ending": None,
    }
    return Answer(body={**body, **changes})


ENDING = {"stage": "Archive Signed Document", "code": "completed", "reason": ""}


def accepting() -> FakeApi:
    """Return an API that takes every submission in as r1."""
    api = FakeApi()
    api.on("POST /requests", Answer(202, {"request_id": "r1"}))
    return api


def test_submit_hands_in_invoice_data_and_prints_the_request_id() -> None:
    api = accepting()

    ran = run(*SUBMIT, connect=api.connect)

    [body] = api.bodies()
    assert (ran.status, ran.said, ran.err) == (0, {"request_id": "r1"}, "")
    assert body["document"] == {"invoice": json.loads(INVOICE.read_text("utf-8"))}


def test_submit_uploads_a_pdf() -> None:
    api = accepting()
    api.on("POST /uploads", Answer(201, {"upload_id": "u1", "url": "https://s.example.com/p"}))
    api.on("PUT /p", Answer())
    pdf = DOCUMENTS / "freight_invoice.pdf"

    ran = run("submit", "--prompt", "Send it", "--document", str(pdf), connect=api.connect)

    assert ran.status == 0
    assert api.asked[1].content == pdf.read_bytes()
    assert json.loads(api.asked[2].content)["document"] == {"upload_id": "u1"}


def test_every_option_of_submit_arrives_in_the_body_that_the_api_takes() -> None:
    api = accepting()
    options = {
        "--recipient": ["Alice Smith <alice@example.com>", '"Jones, Bob" <bob@example.com>'],
        "--approver": ["dave@example.com"],
        "--quorum": ["2"],
        "--redact": ["email", "vin"],
        "--redact-value": ["Marcus Webb"],
        "--extraction": ["none"],
        "--repeat-of": ["r0#1"],
    }
    arguments = [part for name, values in options.items() for one in values for part in (name, one)]

    run(*SUBMIT, *arguments, "--idempotency-key", "order-4711", connect=api.connect)

    taken = SubmitBody.model_validate(api.bodies()[0])
    assert [(one.name, one.email) for one in taken.recipients] == [
        ("Alice Smith", "alice@example.com"),
        ("Jones, Bob", "bob@example.com"),
    ]
    assert (taken.approvers, taken.quorum) == (["dave@example.com"], 2)
    assert (taken.redact, taken.redact_values) == (["email", "vin"], ["Marcus Webb"])
    assert (taken.extraction, taken.repeat_of) == ("none", "r0#1")
    assert api.asked[0].headers["idempotency-key"] == "order-4711"


def test_two_submissions_have_two_keys() -> None:
    api = accepting()

    run(*SUBMIT, connect=api.connect)
    run(*SUBMIT, connect=api.connect)

    assert len({one.headers["idempotency-key"] for one in api.asked}) == 2


def test_a_submission_without_an_answer_says_where_to_look_before_it_is_repeated() -> None:
    api = FakeApi()
    api.on("POST /requests", NO_ANSWER)

    ran = run(*SUBMIT, connect=api.connect)

    assert (ran.status, ran.out) == (2, "")
    assert "gave no answer" in ran.err
    assert "no-undo list" in ran.err


@pytest.mark.parametrize(
    "recipient",
    ["alice", "alice@example.com", "<alice@example.com>", "Alice <alice>", "A <a@b.example> x"],
)
def test_a_recipient_without_name_and_address_is_refused(recipient: str) -> None:
    ran = run(*SUBMIT, "--recipient", recipient, connect=FakeApi().connect)

    assert (ran.status, ran.out) == (2, "")
    assert "Name <mail@example.com>" in ran.err


def test_a_document_that_is_neither_pdf_nor_json_is_not_uploaded(tmp_path: Path) -> None:
    for name, content in (("a.pdf", b"PK\3\4"), ("a.json", b"{")):
        (tmp_path / name).write_bytes(content)
    api = FakeApi()

    for name in ("a.pdf", "a.json", "missing.pdf"):
        ran = run(
            "submit", "--prompt", "x", "--document", str(tmp_path / name), connect=api.connect
        )
        assert (ran.status, ran.out) == (2, "")
        assert name in ran.err
    assert api.asked == []


def test_wait_follows_a_request_to_its_end() -> None:
    api = accepting()
    api.on(
        "GET /requests/r1",
        view("PREPARING"),
        view("PREPARING", stages_done=["Parse Request"]),
        view("AWAITING_APPROVAL", approvals=1),
        view("SENDING", in_doubt=True),
        view("AWAITING_SIGNATURE"),
        view("COMPLETED", ending=ENDING),
    )

    ran = run(*SUBMIT, "--wait", connect=api.connect, terminal=True)

    assert ran.status == 0
    assert ran.err.splitlines() == [
        "request r1",
        "preparing",
        "preparing, Parse Request is done",
        "awaiting approval, 1 of 2",
        "sending, it is not known yet whether it was sent",
        "awaiting signature",
        "completed",
    ]
    assert api.pauses == [
        POLL_SECONDS,
        POLL_SECONDS,
        PEOPLE_POLL_SECONDS,
        POLL_SECONDS,
        PEOPLE_POLL_SECONDS,
    ]


def test_wait_tells_only_the_request_id_when_nobody_is_watching() -> None:
    api = accepting()
    api.on("GET /requests/r1", view("PREPARING"), view("COMPLETED", ending=ENDING))

    ran = run(*SUBMIT, "--wait", connect=api.connect)

    assert ran.err == "request r1\n"
    assert ran.said["state"] == "COMPLETED"


@pytest.mark.parametrize(
    ("state", "status"),
    [("COMPLETED", 0), ("REJECTED", 1), ("FAILED", 1), ("SIGNED_NOT_ARCHIVED", 2)],
)
def test_the_status_says_how_a_request_ended(state: str, status: int) -> None:
    api = accepting()
    api.on("GET /requests/r1", view(state, ending=ENDING))

    assert run(*SUBMIT, "--wait", connect=api.connect).status == status


def test_wait_outlasts_an_outage_and_not_a_refusal() -> None:
    api = accepting()
    outage = [NO_ANSWER] * (PATIENCE // 2)
    api.on("GET /requests/r1", *outage, view("COMPLETED", ending=ENDING))
    assert run(*SUBMIT, "--wait", connect=api.connect).status == 0

    api.on("GET /requests/r1", problem(404, "You have no request of this id."))
    assert run(*SUBMIT, "--wait", connect=api.connect).status == 2

    api.on("GET /requests/r1", NO_ANSWER)
    assert run(*SUBMIT, "--wait", connect=api.connect).status == 2


def test_status_and_list_show_what_the_routes_answer() -> None:
    world = a_world()
    proposed(world)
    deployment = Deployment(world)

    one = run("status", "r1", connect=deployment.connect)
    every = run("list", connect=deployment.connect)

    assert one.said["state"] == "AWAITING_APPROVAL"
    assert every.said["requests"] == [one.said]


def test_reassign_gives_the_place_to_another_or_says_no() -> None:
    world = a_world()
    proposed(world)
    deployment = Deployment(world)
    arguments = ("reassign", "r1", "--approver", "dave@example.com", "--reason", "On holiday.")

    done = run(*arguments, "--to", "frank@example.com", connect=deployment.connect)
    gone = run(*arguments, "--to", "grace@example.com", connect=deployment.connect)

    assert (done.status, gone.status) == (0, 2)
    assert [one["address"] for one in done.said["approvers"]] == [
        "frank@example.com",
        "erin@example.com",
    ]
    assert "approver is not one who may decide now" in gone.err


def test_withdraw_takes_a_request_back_or_says_no() -> None:
    world = a_world()
    proposed(world)
    sent = approved(world, "r2")
    world.send(sent)
    deployment = Deployment(world)

    taken_back = run("withdraw", "r1", connect=deployment.connect)
    too_late = run("withdraw", "r2", connect=deployment.connect)

    stored = world.store.requests_of(TENANT, CALLER, limit=9)
    assert taken_back.status == 0
    assert {one.request_id for one in stored if one.withdrawn} == {"r1"}
    assert (too_late.status, too_late.out) == (1, "")
    assert "too late to withdraw" in too_late.err


def test_a_request_id_cannot_reach_another_route() -> None:
    api = FakeApi()
    api.on("GET /requests/..%2Foperations%2Fin-doubt", problem(404, "No such request."))

    assert run("status", "../operations/in-doubt", connect=api.connect).status == 2


def test_document_is_written_where_it_was_asked_for(tmp_path: Path) -> None:
    api = FakeApi()
    api.on("GET /requests/r1/document", Answer(303, b"", {"location": "https://s.example.com/g"}))
    api.on("GET /g", Answer(body=b"%PDF-1.7"))
    path = tmp_path / "signed.pdf"

    ran = run("document", "r1", "--output", str(path), connect=api.connect)
    nowhere = run("document", "r1", "--output", str(tmp_path / "no" / "x.pdf"), connect=api.connect)

    assert (ran.status, ran.said) == (0, {"path": str(path), "bytes": 8})
    assert path.read_bytes() == b"%PDF-1.7"
    assert (nowhere.status, nowhere.out) == (2, "")
    assert "cannot be written" in nowhere.err


def test_a_document_that_is_not_proven_yet_is_a_no(tmp_path: Path) -> None:
    world = a_world()
    world.submit("r1", start=False)

    ran = run("document", "r1", "--output", str(tmp_path / "x"), connect=Deployment(world).connect)

    assert ran.status == 1
    assert "no proven document yet" in ran.err
    assert not (tmp_path / "x").exists()
