"""Nutrient redaction: what is asked for, that it is applied, and what the answers mean."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from no_undo.adapters.nutrient_redaction import (
    DEFAULT_BASE_URL,
    NutrientRedaction,
    build_instructions,
)
from no_undo.domain.errors import (
    InvalidRequestError,
    NothingSentError,
    NoUndoError,
    TransientError,
    VendorContractError,
    VendorRefusedError,
)
from no_undo.domain.redaction import RedactionTarget, TargetType
from no_undo.ports import RedactionService
from tests.contract.replay import (
    ScriptedVendor,
    SteppingClock,
    always,
    by_route,
    failing,
    parts_of,
    replays,
)

OBSERVED = "observed-nutrient-build-redaction.json"
DOCUMENT = b"%PDF-1.7 original"
REDACTED = b"%PDF-1.7 redacted"
OPERATION = "a" * 64
VIN_PATTERN = "[A-HJ-NPR-Z0-9]{17}"
KINDS = (
    "email",
    "phone",
    "vin",
    "ssn",
    "payment_card",
    "date",
    "time",
    "url",
    "ipv4",
    "ipv6",
    "ip_address",
)
APPLY = {"type": "applyRedactions"}
JOB = "GET /async/jobs/job-1"
RESULT = "GET /async/jobs/job-1/result"
ACCEPTED = httpx.Response(
    202,
    json={
        "job_id": "job-1",
        "status_url": "/async/jobs/job-1",
        "result_url": "/async/jobs/job-1/result",
    },
)


def kind(name: str) -> RedactionTarget:
    return RedactionTarget(TargetType.KIND, name, name)


def literal(value: str) -> RedactionTarget:
    return RedactionTarget(TargetType.LITERAL, value, "literal")


def pattern(value: str) -> RedactionTarget:
    return RedactionTarget(TargetType.PATTERN, value, "pattern")


def service(
    vendor: ScriptedVendor, clock: SteppingClock, *, async_jobs: bool = False
) -> NutrientRedaction:
    return NutrientRedaction(
        DEFAULT_BASE_URL,
        "our-key",
        clock=clock,
        transport=vendor.transport,
        async_jobs=async_jobs,
    )


def redact(
    vendor: ScriptedVendor, clock: SteppingClock, *targets: RedactionTarget, jobs: bool = False
) -> bytes:
    return service(vendor, clock, async_jobs=jobs).redact(
        DOCUMENT, targets or (kind("email"),), operation_id=OPERATION
    )


def actions_of(*targets: RedactionTarget) -> list[dict[str, Any]]:
    actions: list[dict[str, Any]] = json.loads(json.dumps(build_instructions(targets)))["actions"]
    return actions


def test_the_adapter_serves_the_port(clock: SteppingClock) -> None:
    port: RedactionService = service(always(httpx.Response(200)), clock)

    assert port is not None


def test_a_redaction_sends_the_document_and_applies_at_the_end(clock: SteppingClock) -> None:
    vendor = always(httpx.Response(200, content=REDACTED))

    redacted = redact(vendor, clock, kind("email"), kind("vin"), literal("Dana Ruiz"))

    assert redacted == REDACTED
    assert vendor.routes == ["POST /build"]
    assert vendor.request.headers["authorization"] == "Bearer our-key"
    assert "prefer" not in vendor.request.headers
    assert "idempotency-key" not in vendor.request.headers
    parts = parts_of(vendor.request)
    assert parts.keys() == {"document", "instructions"}
    assert parts["document"].content == DOCUMENT
    assert parts["document"].content_type == "application/pdf"
    assert json.loads(parts["instructions"].content) == {
        "parts": [{"file": "document"}],
        "actions": [
            {
                "type": "createRedactions",
                "strategy": "preset",
                "strategyOptions": {"preset": "email-address", "includeAnnotations": True},
            },
            {
                "type": "createRedactions",
                "strategy": "regex",
                "strategyOptions": {"regex": VIN_PATTERN, "includeAnnotations": True},
            },
            {
                "type": "createRedactions",
                "strategy": "text",
                "strategyOptions": {
                    "text": "Dana Ruiz",
                    "caseSensitive": False,
                    "includeAnnotations": True,
                },
            },
            APPLY,
        ],
    }


TARGETS = st.one_of(
    st.sampled_from(KINDS).map(kind),
    st.text(min_size=1).filter(str.strip).map(literal),
    st.text(min_size=1).filter(str.strip).map(pattern),
)


@given(st.lists(TARGETS, min_size=1, max_size=20))
def test_every_target_becomes_an_action_and_applying_comes_last_once(
    targets: list[RedactionTarget],
) -> None:
    actions = actions_of(*targets)

    assert actions[-1] == APPLY
    assert actions.count(APPLY) == 1
    for target in targets:
        for action in actions_of(target)[:-1]:
            assert actions.count(action) == 1
    assert all(a["strategyOptions"]["includeAnnotations"] for a in actions[:-1])


def test_an_address_kind_asks_for_both_versions() -> None:
    presets = [a["strategyOptions"]["preset"] for a in actions_of(kind("ip_address"))[:-1]]

    assert presets == ["ipv4", "ipv6"]


@replays(OBSERVED)
def test_only_presets_that_were_accepted_and_may_work_are_used(recording: bytes) -> None:
    [probe] = [run["presetProbe"] for run in json.loads(recording)["runs"] if "presetProbe" in run]
    used = {
        action["strategyOptions"]["preset"]
        for name in KINDS
        for action in actions_of(kind(name))[:-1]
        if action["strategy"] == "preset"
    }

    assert used <= set(probe["accepted200"])
    assert not used & set(probe["rejected400"])
    assert not used & set(probe["shownToRemoveNothing"])
    assert set(probe["shownToRemoveText"]) <= used


@replays(OBSERVED)
def test_the_pattern_for_a_vin_is_the_one_that_was_seen_to_work(recording: bytes) -> None:
    [trials] = [
        run["oneTargetAtATime"]
        for run in json.loads(recording)["runs"]
        if "oneTargetAtATime" in run
    ]
    [working] = [trial["target"] for trial in trials if not trial["vinStillPresent"]]

    [action, _] = actions_of(kind("vin"))

    assert action["strategy"] == working["strategy"] == "regex"
    assert action["strategyOptions"]["regex"] == working["regex"]


@replays(OBSERVED)
def test_a_refusal_for_want_of_credits_is_final(recording: bytes, clock: SteppingClock) -> None:
    [text] = [
        run["creditRefusal"] for run in json.loads(recording)["runs"] if "creditRefusal" in run
    ]
    vendor = always(httpx.Response(402, json={"details": text, "status": 402}))

    with pytest.raises(VendorRefusedError, match="out of credits") as caught:
        redact(vendor, clock)

    assert text not in str(caught.value)
    assert len(vendor.requests) == 1


@pytest.mark.parametrize("name", ["name", "address", "bic", "EMAIL", "email-address", "mrz"])
def test_a_kind_without_a_working_means_is_refused_not_ignored(
    name: str, clock: SteppingClock
) -> None:
    vendor = always(httpx.Response(200, content=REDACTED))

    with pytest.raises(InvalidRequestError) as caught:
        redact(vendor, clock, kind("email"), kind(name))

    assert caught.value.field == "targets[1].value"
    assert vendor.requests == []


@pytest.mark.parametrize("value", ["", "   ", "\n"])
def test_an_empty_target_is_refused(value: str, clock: SteppingClock) -> None:
    for target in (literal(value), pattern(value), kind(value)):
        vendor = always(httpx.Response(200, content=REDACTED))
        with pytest.raises(InvalidRequestError):
            redact(vendor, clock, target)
        assert vendor.requests == []


def test_nothing_to_redact_is_refused(clock: SteppingClock) -> None:
    vendor = always(httpx.Response(200, content=REDACTED))

    with pytest.raises(InvalidRequestError):
        service(vendor, clock).redact(DOCUMENT, (), operation_id=OPERATION)

    assert vendor.requests == []


@pytest.mark.parametrize("body", [b"", b"<html/>", b'{"details":"ok"}', b" %PDF-1.7"])
def test_a_success_that_is_no_pdf_is_refused(body: bytes, clock: SteppingClock) -> None:
    with pytest.raises(VendorContractError):
        redact(always(httpx.Response(200, content=body)), clock)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (302, VendorContractError),
        (400, VendorRefusedError),
        (401, VendorRefusedError),
        (402, VendorRefusedError),
        (403, VendorRefusedError),
        (408, TransientError),
        (409, VendorRefusedError),
        (413, VendorRefusedError),
        (422, VendorRefusedError),
        (429, TransientError),
        (500, TransientError),
        (502, TransientError),
    ],
)
def test_each_error_status_says_what_to_do_and_quotes_nothing(
    status: int, error: type[NoUndoError], clock: SteppingClock
) -> None:
    vendor = always(httpx.Response(status, json={"details": "Dana Ruiz not found"}))

    with pytest.raises(NoUndoError) as caught:
        redact(vendor, clock, literal("Dana Ruiz"))

    assert type(caught.value) is error
    assert len(vendor.requests) == 1
    for forbidden in ("Dana", "our-key"):
        assert forbidden not in str(caught.value)


def test_a_lost_answer_costs_a_credit_and_nothing_else(clock: SteppingClock) -> None:
    with pytest.raises(TransientError):
        redact(failing(httpx.ReadTimeout("late")), clock)
    with pytest.raises(NothingSentError):
        redact(failing(httpx.ConnectTimeout("late")), clock)


# jobs


def job(status: str, **facts: object) -> httpx.Response:
    return httpx.Response(200, json={"job_id": "job-1", "status": status, **facts})


def test_a_job_is_asked_for_with_the_operation_as_its_key(clock: SteppingClock) -> None:
    vendor = by_route(
        {
            "POST /build": ACCEPTED,
            JOB: [job("queued"), job("running"), job("completed")],
            RESULT: httpx.Response(200, content=REDACTED),
        }
    )

    assert redact(vendor, clock, jobs=True) == REDACTED

    assert vendor.requests[0].headers["prefer"] == "respond-async"
    assert vendor.requests[0].headers["idempotency-key"] == OPERATION
    assert vendor.routes == ["POST /build", JOB, JOB, JOB, RESULT]
    assert clock.slept == [1.0, 1.5]


def test_a_job_that_is_done_at_once_is_returned_at_once(clock: SteppingClock) -> None:
    vendor = always(httpx.Response(200, content=REDACTED))

    assert redact(vendor, clock, jobs=True) == REDACTED


def test_a_result_under_the_same_host_is_fetched_by_its_full_url(clock: SteppingClock) -> None:
    url = f"{DEFAULT_BASE_URL}/async/jobs/job-1/result?part=1"
    vendor = by_route(
        {
            "POST /build": ACCEPTED,
            JOB: job("Succeeded", result_url=url),
            RESULT: httpx.Response(200, content=REDACTED),
        }
    )

    assert redact(vendor, clock, jobs=True) == REDACTED
    assert vendor.requests[-1].url == httpx.URL(url)


@pytest.mark.parametrize(
    "url", ["https://other.example/result", "//other.example/result", "http://api.nutrient.io/r"]
)
def test_the_key_is_not_sent_to_another_host(url: str, clock: SteppingClock) -> None:
    vendor = by_route({"POST /build": ACCEPTED, JOB: job("completed", result_url=url)})

    with pytest.raises(VendorContractError, match="another host"):
        redact(vendor, clock, jobs=True)

    assert vendor.routes == ["POST /build", JOB]


def test_a_poll_without_an_answer_is_repeated(clock: SteppingClock) -> None:
    vendor = by_route(
        {
            "POST /build": ACCEPTED,
            JOB: [httpx.Response(502), httpx.Response(429), job("completed")],
            RESULT: httpx.Response(200, content=REDACTED),
        }
    )

    assert redact(vendor, clock, jobs=True) == REDACTED


def test_a_job_that_never_ends_can_be_asked_for_again(clock: SteppingClock) -> None:
    vendor = by_route({"POST /build": ACCEPTED, JOB: job("running")})

    with pytest.raises(TransientError, match="it finds this job"):
        redact(vendor, clock, jobs=True)

    assert 230 < sum(clock.slept) <= 240


@pytest.mark.parametrize("status", ["failed", "ERROR", "cancelled", "expired"])
def test_a_failed_job_is_a_refusal(status: str, clock: SteppingClock) -> None:
    vendor = by_route({"POST /build": ACCEPTED, JOB: job(status, details="Dana Ruiz")})

    with pytest.raises(VendorRefusedError) as caught:
        redact(vendor, clock, jobs=True)

    assert "Dana" not in str(caught.value)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("idempotency_admission_in_progress", TransientError),
        ("idempotency_key_conflict", VendorRefusedError),
    ],
)
def test_a_conflict_of_keys_says_what_to_do(
    code: str, error: type[NoUndoError], clock: SteppingClock
) -> None:
    vendor = always(httpx.Response(409, json={"code": code}))

    with pytest.raises(NoUndoError) as caught:
        redact(vendor, clock, jobs=True)

    assert type(caught.value) is error


@pytest.mark.parametrize("body", [{}, {"job_id": "../x"}, {"job_id": 1}, [], "text"])
def test_an_accepted_job_without_an_id_is_refused(body: object, clock: SteppingClock) -> None:
    vendor = always(httpx.Response(202, json=body))

    with pytest.raises(VendorContractError):
        redact(vendor, clock, jobs=True)


@pytest.mark.parametrize("operation", ["", "x" * 256, "a b", "schlüssel", "a\nb"])
def test_an_operation_that_cannot_be_a_key_is_refused(operation: str, clock: SteppingClock) -> None:
    vendor = always(httpx.Response(200, content=REDACTED))

    with pytest.raises(InvalidRequestError):
        service(vendor, clock, async_jobs=True).redact(
            DOCUMENT, (kind("email"),), operation_id=operation
        )

    assert vendor.requests == []
