"""The stand-in's HTTP side: keys, envelopes, credits, switches."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from local.sandbox.nutrient.routes import EXTRACTION_KEY, PROCESSOR_KEY, routes
from tests.contract.sandbox.nutrient.asgi_client import AsgiClient
from tests.contract.sandbox.nutrient.reading_back import (
    REPO,
    fixture_json,
    invoice_pdf,
    pdfium_text,
)

SCHEMA = fixture_json("extraction/freight_invoice_schema.json")
SHARED = Path(os.environ.get("NO_UNDO_SHARED", REPO.parent / "shared"))
RECORDINGS = SHARED / "vendors" / "recordings"
EMAIL = {
    "type": "createRedactions",
    "strategy": "preset",
    "strategyOptions": {"preset": "email-address", "includeAnnotations": True},
}
APPLY = {"type": "applyRedactions"}
ROUTES = ("/extraction/extract", "/extraction/parse", "/build")


@dataclass
class State:
    """As much of the sandbox as these routes need."""

    data_dir: Path
    reset_hooks: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path)


@pytest.fixture
def client(state: State) -> AsgiClient:
    return AsgiClient(Starlette(routes=routes(state)))


def call(
    client: AsgiClient,
    route: str,
    instructions: object,
    *,
    key: str | None = None,
    pdf: bytes | None = None,
) -> httpx.Response:
    """Upload the invoice (or other bytes) with instructions."""
    used = key or (PROCESSOR_KEY if route == "/build" else EXTRACTION_KEY)
    part = "document" if route == "/build" else "file"
    content = invoice_pdf() if pdf is None else pdf
    return client.post(
        route,
        headers={"Authorization": f"Bearer {used}"},
        files={part: ("invoice.pdf", content, "application/pdf")},
        data={"instructions": json.dumps(instructions)},
    )


def build(client: AsgiClient, *actions: object, **more: Any) -> httpx.Response:  # noqa: ANN401 - see call
    instructions = {"parts": [{"file": "document"}], "actions": actions}
    return call(client, "/build", instructions, **more)


def switch(client: AsgiClient, **switches: object) -> None:
    assert client.put("/_sandbox/nutrient/switches", json=switches).status_code == 200


# --- keys ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "x"}])
def test_without_a_known_key_every_route_answers_401(
    client: AsgiClient, route: str, header: dict[str, str]
) -> None:
    assert client.post(route, headers=header).status_code == 401


@pytest.mark.parametrize(
    ("route", "key"),
    [("/extraction/extract", PROCESSOR_KEY), ("/build", EXTRACTION_KEY)],
)
def test_the_key_of_the_other_product_is_forbidden(
    client: AsgiClient, route: str, key: str
) -> None:
    answer = client.post(route, headers={"Authorization": f"Bearer {key}"})

    assert answer.status_code == 403
    assert answer.json()["error"]["details"] == "Forbidden"


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the vendor recordings are not at hand")
def test_the_forbidden_answer_has_the_recorded_shape(client: AsgiClient) -> None:
    path = RECORDINGS / "nutrient-extraction-403-2026-08-18.json"
    recorded = json.loads(path.read_text("utf-8"))["error"]

    answer = client.post("/build", headers={"Authorization": f"Bearer {EXTRACTION_KEY}"})

    given = answer.json()["error"]
    assert given.keys() == recorded.keys()
    assert (given["status"], given["supportUrl"]) == (recorded["status"], recorded["supportUrl"])


def test_both_keys_look_alike() -> None:
    assert EXTRACTION_KEY[:9] == PROCESSOR_KEY[:9] == "pdf_live_"


# --- work ---------------------------------------------------------------------------------------


def test_extract_answers_the_fields(client: AsgiClient) -> None:
    answer = call(client, "/extraction/extract", {"schema": SCHEMA})

    assert answer.status_code == 200
    assert answer.json()["output"]["data"]["total_amount"] == 86.86


def test_parse_runs_its_default_mode_without_instructions(client: AsgiClient) -> None:
    answer = client.post(
        "/extraction/parse",
        headers={"Authorization": f"Bearer {EXTRACTION_KEY}"},
        files={"file": ("invoice.pdf", invoice_pdf(), "application/pdf")},
    )

    assert answer.json()["configuration"]["mode"] == "understand"
    assert answer.json()["configuration"]["outputFormat"] == "spatial"


def test_build_answers_a_pdf_without_the_values(client: AsgiClient) -> None:
    answer = build(client, EMAIL, APPLY)

    assert answer.headers["content-type"] == "application/pdf"
    assert "@" not in pdfium_text(answer.content)
    assert "(201) 555-0142" in pdfium_text(answer.content)


def test_build_without_apply_only_stages(client: AsgiClient) -> None:
    assert "m.webb@" in pdfium_text(build(client, EMAIL).content)


def test_case_counts_for_patterns_and_not_for_text(client: AsgiClient) -> None:
    def target(strategy: str, value: str) -> dict[str, object]:
        return {
            "type": "createRedactions",
            "strategy": strategy,
            "strategyOptions": {strategy: value},
        }

    by_pattern = build(client, target("regex", "HANDLING"), APPLY)
    by_text = build(client, target("text", "HANDLING"), APPLY)

    assert "Handling" in pdfium_text(by_pattern.content)
    assert "Handling" not in pdfium_text(by_text.content)


@pytest.mark.parametrize(
    "preset",
    ["email", "phone", "ssn", "email_addresses", "emailAddress", "phone-number", 7, None],
)
def test_an_unknown_preset_is_refused(client: AsgiClient, preset: object) -> None:
    action = {**EMAIL, "strategyOptions": {"preset": preset}}

    answer = build(client, action, APPLY)

    assert answer.status_code == 400
    assert answer.json().keys() == {"details", "status", "requestId", "failingPaths"}


@pytest.mark.parametrize(
    "actions",
    [
        [{"type": "ocr"}],
        [{"type": "createRedactions", "strategy": "vision", "strategyOptions": {}}],
        [{"type": "createRedactions", "strategy": "regex", "strategyOptions": {"regex": "("}}],
        [{"type": "createRedactions", "strategy": "text", "strategyOptions": {"text": ""}}],
        [{"type": "createRedactions", "strategy": "text"}],
        ["applyRedactions"],
        [{**EMAIL, "strategyOptions": {"preset": "email-address", "start": -1}}],
    ],
)
def test_malformed_actions_are_refused(client: AsgiClient, actions: list[object]) -> None:
    assert build(client, *actions).status_code == 400


def test_a_part_that_was_not_uploaded_is_refused(client: AsgiClient) -> None:
    answer = call(client, "/build", {"parts": [{"file": "other"}], "actions": [APPLY]})

    assert answer.status_code == 400
    assert answer.json()["failingPaths"][0]["path"] == "$.other"


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("pdf", [b"", b"not a pdf", b"%PDF-1.7\n%%EOF"])
def test_a_file_that_is_no_pdf_is_refused(client: AsgiClient, route: str, pdf: bytes) -> None:
    instructions: dict[str, object] = {"schema": SCHEMA}
    if route == "/build":
        instructions = {"parts": [{"file": "document"}], "actions": [EMAIL, APPLY]}

    assert call(client, route, instructions, pdf=pdf).status_code == 400


def test_an_extraction_refusal_names_the_failing_path(client: AsgiClient) -> None:
    answer = call(
        client, "/extraction/extract", {"schema": SCHEMA, "parseConfig": {"mode": "text"}}
    )

    assert answer.status_code == 400
    assert answer.json()["errorDetails"]["failingPaths"][0]["path"] == "$.parseConfig.mode"
    assert answer.json()["errorDetails"]["code"] == "invalid_request"


@pytest.mark.parametrize("route", ROUTES)
def test_a_request_that_is_not_multipart_is_refused(client: AsgiClient, route: str) -> None:
    key = PROCESSOR_KEY if route == "/build" else EXTRACTION_KEY

    answer = client.post(route, headers={"Authorization": f"Bearer {key}"}, json={"url": "x"})

    assert answer.status_code == 400


# --- credits ------------------------------------------------------------------------------------


def test_each_redaction_action_costs_a_credit(client: AsgiClient) -> None:
    answer = build(client, EMAIL, EMAIL, EMAIL, APPLY)

    assert answer.headers["x-pspdfkit-request-cost"] == "3"


def test_a_build_is_refused_when_credits_are_short(client: AsgiClient) -> None:
    switch(client, remaining_credits=2)

    answer = build(client, EMAIL, EMAIL, EMAIL, APPLY)

    assert answer.status_code == 402
    assert "3 required credits aren't available" in answer.json()["details"]


def test_credits_run_down(client: AsgiClient) -> None:
    switch(client, remaining_credits=20)

    first, second = (call(client, "/extraction/extract", {"schema": SCHEMA}) for _ in range(2))

    assert first.json()["usage"]["data_extraction_credits"]["remainingCredits"] == 5
    assert second.status_code == 402


def test_a_refused_call_costs_nothing(client: AsgiClient) -> None:
    switch(client, remaining_credits=1)
    build(client, EMAIL, APPLY, pdf=b"not a pdf")

    assert build(client, EMAIL, APPLY).status_code == 200


# --- jobs ---------------------------------------------------------------------------------------


def start_job(
    client: AsgiClient, keys: Sequence[str], *actions: object, pdf: bytes | None = None
) -> httpx.Response:
    """Ask for an asynchronous build."""
    instructions = {"parts": [{"file": "document"}], "actions": actions}
    return client.post(
        "/build",
        headers=[
            ("Authorization", f"Bearer {PROCESSOR_KEY}"),
            ("Prefer", "respond-async"),
            *(("Idempotency-Key", key) for key in keys),
        ],
        files={"document": ("invoice.pdf", invoice_pdf() if pdf is None else pdf)},
        data={"instructions": json.dumps(instructions)},
    )


def ended(client: AsgiClient, job_id: str) -> dict[str, Any]:
    """Poll a job until it has ended."""
    give_up = time.monotonic() + 30
    while True:
        job: dict[str, Any] = processor_get(client, f"/async/jobs/{job_id}").json()
        if job["status"] != "running":
            return job
        assert time.monotonic() < give_up, "the job did not end in time"


def processor_get(client: AsgiClient, path: str) -> httpx.Response:
    return client.get(path, headers={"Authorization": f"Bearer {PROCESSOR_KEY}"})


def test_a_job_ends_with_the_redacted_document(client: AsgiClient) -> None:
    answer = start_job(client, ["operation-1"], EMAIL, APPLY)

    assert answer.status_code == 202
    job = ended(client, answer.json()["job_id"])
    assert job["status"] == "completed"
    assert "@" not in pdfium_text(processor_get(client, job["result_url"]).content)


def test_the_same_work_under_the_same_key_finds_the_first_job(client: AsgiClient) -> None:
    switch(client, remaining_credits=2)

    first, second = (start_job(client, ["operation-1"], EMAIL, APPLY).json() for _ in range(2))

    assert first["job_id"] == second["job_id"]
    ended(client, first["job_id"])
    assert build(client, EMAIL, APPLY).headers["x-pspdfkit-remaining-credits"] == "0"


def test_other_work_under_the_same_key_is_a_conflict(client: AsgiClient) -> None:
    start_job(client, ["operation-1"], EMAIL, APPLY)

    answer = start_job(client, ["operation-1"], EMAIL, EMAIL, APPLY)

    assert answer.status_code == 409
    assert answer.json()["code"] == "idempotency_key_conflict"


@pytest.mark.parametrize("keys", [[], [""], ["a", "b"], ["k" * 256]])
def test_a_job_needs_one_usable_key(client: AsgiClient, keys: list[str]) -> None:
    answer = start_job(client, keys, EMAIL, APPLY)

    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid_idempotency_key"


def test_a_job_on_a_broken_document_fails_and_has_no_result(client: AsgiClient) -> None:
    job_id = start_job(client, ["operation-1"], EMAIL, APPLY, pdf=b"not a pdf").json()["job_id"]

    assert ended(client, job_id)["status"] == "failed"
    assert processor_get(client, f"/async/jobs/{job_id}/result").status_code == 404


def test_a_key_in_admission_is_a_conflict_of_its_own(client: AsgiClient) -> None:
    switch(client, admission_in_progress=True)

    answer = start_job(client, ["operation-1"], EMAIL, APPLY)

    assert answer.status_code == 409
    assert answer.json()["code"] == "idempotency_admission_in_progress"


# --- switches -----------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, 503])
def test_failures_end_after_the_given_number(client: AsgiClient, status: int) -> None:
    switch(client, fail_status=status, fail_times=2)

    answers = [build(client, EMAIL, APPLY).status_code for _ in range(3)]

    assert answers == [status, status, 200]


@pytest.mark.parametrize("route", ROUTES)
def test_html_comes_with_status_200(client: AsgiClient, route: str) -> None:
    switch(client, html_200=True)

    answer = call(client, route, {})

    assert answer.status_code == 200
    assert answer.text.startswith("<!doctype html>")


def test_out_of_credits_is_402(client: AsgiClient) -> None:
    switch(client, out_of_credits=True)

    assert build(client, EMAIL, APPLY).status_code == 402


def test_slow_answers_come_late(client: AsgiClient) -> None:
    switch(client, slow_seconds=0.2)

    assert build(client, EMAIL, APPLY).elapsed.total_seconds() >= 0.2


def test_switches_reach_the_work(client: AsgiClient) -> None:
    switch(client, staged_only=True)

    assert "m.webb@" in pdfium_text(build(client, EMAIL, APPLY).content)


def test_before_september_request_ids_were_tokens(client: AsgiClient) -> None:
    switch(client, august=True)

    answer = call(client, "/extraction/extract", {"schema": SCHEMA})

    assert len(answer.json()["requestId"]) == 20


def test_an_unknown_switch_is_refused_and_changes_nothing(client: AsgiClient) -> None:
    switch(client, staged_only=True)

    answer = client.put("/_sandbox/nutrient/switches", json={"stagd_only": True})

    assert answer.status_code == 400
    assert client.get("/_sandbox/nutrient/switches").json()["staged_only"] is True


def test_switches_outlive_a_restart(client: AsgiClient, state: State) -> None:
    switch(client, miss_page=3)

    again = AsgiClient(Starlette(routes=routes(state)))

    assert again.get("/_sandbox/nutrient/switches").json()["miss_page"] == 3


def test_a_reset_of_the_sandbox_turns_everything_off(client: AsgiClient, state: State) -> None:
    switch(client, html_200=True)

    for hook in state.reset_hooks:
        hook()

    assert build(client, EMAIL, APPLY).headers["content-type"] == "application/pdf"


def test_calls_are_recorded_without_documents_or_keys(client: AsgiClient) -> None:
    build(client, EMAIL, APPLY)
    client.post("/build")

    calls = client.get("/_sandbox/nutrient/calls").json()["calls"]

    assert calls == [
        {"route": "/build", "status": 200, "cost": 1.0},
        {"route": "/build", "status": 401, "cost": 0.0},
    ]
