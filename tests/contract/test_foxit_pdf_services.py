"""Foxit PDF Services: upload, convert, poll, download, and two deletions in every case."""

from __future__ import annotations

import json
import logging

import httpx
import pytest

from no_undo.adapters.foxit_pdf_services import DEFAULT_BASE_URL, FoxitPdfServices
from no_undo.domain.errors import (
    NothingSentError,
    NoUndoError,
    TransientError,
    VendorContractError,
    VendorRefusedError,
)
from no_undo.ports import PdfService
from tests.contract.replay import (
    ScriptedVendor,
    SteppingClock,
    by_route,
    failing,
    json_of,
    parts_of,
    replays,
)

PREFIX = "/pdf-services"
PDF = b"%PDF-1.7 rendered"
HTML = "<!doctype html><p>Invoice for Alice</p>"
SOURCE = "6a87bc7403aded2ba2797a40"
TASK = "6a87bc7403aded2ba2797a43"
RESULT = "6a87bc79335d041db3450ee1"
UPLOAD = f"POST {PREFIX}/api/documents/upload"
CONVERT = f"POST {PREFIX}/api/documents/create/pdf-from-html"
POLL = f"GET {PREFIX}/api/tasks/{TASK}"
DOWNLOAD = f"GET {PREFIX}/api/documents/{RESULT}/download"
DELETE_SOURCE = f"DELETE {PREFIX}/api/documents/{SOURCE}"
DELETE_RESULT = f"DELETE {PREFIX}/api/documents/{RESULT}"
THROTTLED = httpx.Response(429, json={"code": 429, "message": "rate limiter"})


def task(status: str, **facts: object) -> httpx.Response:
    return httpx.Response(200, json={"taskId": TASK, "status": status, "progress": 10, **facts})


COMPLETED = task("COMPLETED", resultDocumentId=RESULT)
GOOD: dict[str, httpx.Response | list[httpx.Response]] = {
    UPLOAD: httpx.Response(200, json={"documentId": SOURCE}),
    CONVERT: httpx.Response(200, json={"taskId": TASK}),
    POLL: COMPLETED,
    DOWNLOAD: httpx.Response(200, content=PDF),
    DELETE_SOURCE: httpx.Response(200),
    DELETE_RESULT: httpx.Response(204),
}


def service(vendor: ScriptedVendor, clock: SteppingClock) -> FoxitPdfServices:
    return FoxitPdfServices(
        DEFAULT_BASE_URL, "our-client", "our-secret", clock=clock, transport=vendor.transport
    )


def render(vendor: ScriptedVendor, clock: SteppingClock) -> bytes:
    return service(vendor, clock).render_html(HTML, name="Freight Invoice")


def test_the_adapter_serves_the_port(clock: SteppingClock) -> None:
    port: PdfService = service(by_route(GOOD), clock)

    assert port is not None


@replays("foxit-pdf-services-task-completed-2026-08-21.json")
def test_a_page_is_rendered_in_four_calls_and_both_documents_are_deleted(
    recording: bytes, clock: SteppingClock
) -> None:
    vendor = by_route({**GOOD, POLL: httpx.Response(200, content=recording)})

    pdf = render(vendor, clock)

    assert pdf == PDF
    assert vendor.routes == [UPLOAD, CONVERT, POLL, DOWNLOAD, DELETE_SOURCE, DELETE_RESULT]
    assert clock.slept == []


def test_the_html_is_uploaded_as_one_file_part(clock: SteppingClock) -> None:
    vendor = by_route(GOOD)

    render(vendor, clock)

    parts = parts_of(vendor.requests[0])
    assert list(parts) == ["file"]
    assert parts["file"].filename == "Freight-Invoice.html"
    assert parts["file"].content_type == "text/html"
    assert parts["file"].content == HTML.encode()


def test_the_conversion_names_the_uploaded_document_only(clock: SteppingClock) -> None:
    vendor = by_route(GOOD)

    render(vendor, clock)

    assert json_of(vendor.requests[1]) == {"documentId": SOURCE}


def test_every_call_carries_the_credentials(clock: SteppingClock) -> None:
    vendor = by_route(GOOD)

    render(vendor, clock)

    assert {request.headers["client_id"] for request in vendor.requests} == {"our-client"}
    assert {request.headers["client_secret"] for request in vendor.requests} == {"our-secret"}


@pytest.mark.parametrize(
    ("name", "filename"),
    [
        ("../../etc/passwd", "etc-passwd.html"),
        ("", "document.html"),
        ("...", "document.html"),
        ("Rechnung für Alice", "Rechnung-f-r-Alice.html"),
        ("x" * 300, "x" * 80 + ".html"),
    ],
)
def test_any_name_becomes_a_safe_file_name(name: str, filename: str, clock: SteppingClock) -> None:
    vendor = by_route(GOOD)

    service(vendor, clock).render_html(HTML, name=name)

    assert parts_of(vendor.requests[0])["file"].filename == filename


@pytest.mark.parametrize("status", ["Completed", "completed", "COMPLETED"])
def test_the_status_is_compared_without_case(status: str, clock: SteppingClock) -> None:
    vendor = by_route({**GOOD, POLL: task(status, resultDocumentId=RESULT)})

    assert render(vendor, clock) == PDF


def test_any_other_status_means_still_working(clock: SteppingClock) -> None:
    working = [task("IN_PROGRESS"), task("queued"), task("FINALIZING"), task("?"), task("DONE")]
    vendor = by_route({**GOOD, POLL: [*working, COMPLETED]})

    assert render(vendor, clock) == PDF
    assert clock.slept == pytest.approx([0.7, 1.05, 1.575, 2.3625, 3.54375])


@pytest.mark.parametrize("hiccup", [THROTTLED, httpx.Response(502), httpx.Response(504)])
def test_a_poll_without_an_answer_is_repeated(hiccup: httpx.Response, clock: SteppingClock) -> None:
    vendor = by_route({**GOOD, POLL: [hiccup, COMPLETED]})

    assert render(vendor, clock) == PDF
    assert vendor.routes.count(CONVERT) == 1


def test_a_poll_or_a_download_whose_answer_is_lost_is_repeated(clock: SteppingClock) -> None:
    good, lost = by_route(GOOD), {POLL, DOWNLOAD}

    def answer(request: httpx.Request) -> httpx.Response:
        route = f"{request.method} {request.url.path}"
        if route in lost:
            lost.remove(route)
            raise httpx.ReadTimeout("late")
        return good.script(request)

    vendor = ScriptedVendor(answer)

    assert render(vendor, clock) == PDF
    assert clock.slept == [0.7, 2.1]
    assert (vendor.routes.count(CONVERT), vendor.routes.count(UPLOAD)) == (1, 1)


def test_a_task_that_never_ends_is_given_up_at_the_deadline(clock: SteppingClock) -> None:
    vendor = by_route({**GOOD, POLL: task("working")})

    with pytest.raises(TransientError, match="deadline of 120 s"):
        render(vendor, clock)

    assert 110 < sum(clock.slept) <= 120
    assert vendor.routes[-1] == DELETE_SOURCE


@pytest.mark.parametrize("status", ["FAILED", "failed"])
def test_a_failed_task_is_a_refusal_and_the_upload_is_deleted(
    status: str, clock: SteppingClock
) -> None:
    vendor = by_route({**GOOD, POLL: task(status, detail="Alice's page is broken")})

    with pytest.raises(VendorRefusedError) as caught:
        render(vendor, clock)

    assert "Alice" not in str(caught.value)
    assert vendor.routes[-1] == DELETE_SOURCE


@pytest.mark.parametrize(
    ("route", "answer"),
    [
        (UPLOAD, httpx.Response(200, json={})),
        (UPLOAD, httpx.Response(200, html="<html/>")),
        (UPLOAD, httpx.Response(200, json={"documentId": "../tasks/1"})),
        (UPLOAD, httpx.Response(200, json={"documentId": 1})),
        (CONVERT, httpx.Response(200, json={"taskId": ""})),
        (CONVERT, httpx.Response(302)),
        (POLL, httpx.Response(200, json={"taskId": TASK})),
        (POLL, httpx.Response(200, html="<html/>")),
        (POLL, task("COMPLETED")),
        (POLL, task("COMPLETED", resultDocumentId=None)),
        (POLL, task("COMPLETED", resultDocumentId="a/../b")),
        (DOWNLOAD, httpx.Response(200, html="<html>error</html>")),
        (DOWNLOAD, httpx.Response(200, content=b"")),
        (DOWNLOAD, httpx.Response(302)),
    ],
)
def test_an_answer_of_another_shape_stops_the_rendering(
    route: str, answer: httpx.Response, clock: SteppingClock
) -> None:
    vendor = by_route({**GOOD, route: answer})

    with pytest.raises(VendorContractError):
        render(vendor, clock)


@pytest.mark.parametrize("route", [CONVERT, POLL, DOWNLOAD])
def test_the_upload_is_deleted_whatever_fails_later(route: str, clock: SteppingClock) -> None:
    vendor = by_route({**GOOD, route: httpx.Response(400, json={"message": "no"})})

    with pytest.raises(VendorRefusedError):
        render(vendor, clock)

    assert DELETE_SOURCE in vendor.routes
    assert (DELETE_RESULT in vendor.routes) == (route == DOWNLOAD)


@pytest.mark.parametrize("failure", [httpx.Response(404), httpx.Response(500), httpx.Response(302)])
def test_a_failed_deletion_is_reported_by_id_and_fails_nothing(
    failure: httpx.Response, clock: SteppingClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    vendor = by_route({**GOOD, DELETE_SOURCE: failure})

    assert render(vendor, clock) == PDF

    assert DELETE_RESULT in vendor.routes
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert SOURCE in record.getMessage()
    assert "Alice" not in record.getMessage()


def test_a_failed_deletion_does_not_hide_the_first_failure(clock: SteppingClock) -> None:
    vendor = by_route({**GOOD, POLL: task("FAILED"), DELETE_SOURCE: httpx.Response(500)})

    with pytest.raises(VendorRefusedError, match="conversion failed"):
        render(vendor, clock)


@pytest.mark.parametrize(
    ("retry_after", "waited"),
    [
        (None, 2.1),
        ("0", 2.1),
        ("7", 7.0),
        ("Thu, 03 Sep 2026 12:00:30 GMT", 30.0),
        ("Thu, 03 Sep 2026 11:00:00 GMT", 2.1),
        ("soon", 2.1),
        ("-5", 2.1),
    ],
)
def test_a_throttled_download_waits_as_long_as_it_is_told(
    retry_after: str | None, waited: float, clock: SteppingClock
) -> None:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    vendor = by_route(
        {**GOOD, DOWNLOAD: [httpx.Response(429, headers=headers), httpx.Response(200, content=PDF)]}
    )

    assert render(vendor, clock) == PDF
    assert clock.slept == [pytest.approx(waited)]


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_download_is_repeated_a_bounded_number_of_times(
    status: int, clock: SteppingClock
) -> None:
    vendor = by_route({**GOOD, DOWNLOAD: httpx.Response(status, text="rate limiter")})

    with pytest.raises(TransientError):
        render(vendor, clock)

    assert vendor.routes.count(DOWNLOAD) == 5
    assert min(clock.slept) >= 2.1
    assert vendor.routes[-2:] == [DELETE_SOURCE, DELETE_RESULT]


def test_a_retry_after_beyond_the_deadline_is_not_waited_for(clock: SteppingClock) -> None:
    later = httpx.Response(429, headers={"Retry-After": "3600"})
    vendor = by_route({**GOOD, DOWNLOAD: later})

    with pytest.raises(TransientError):
        render(vendor, clock)

    assert clock.slept == []


@pytest.mark.parametrize("route", [UPLOAD, CONVERT])
def test_what_costs_or_leaves_a_copy_is_not_repeated(route: str, clock: SteppingClock) -> None:
    vendor = by_route({**GOOD, route: httpx.Response(502)})

    with pytest.raises(TransientError):
        render(vendor, clock)

    assert vendor.routes.count(route) == 1


@replays("foxit-error-invalid-credentials.json")
def test_bad_credentials_are_a_refusal(recording: bytes, clock: SteppingClock) -> None:
    vendor = by_route({**GOOD, UPLOAD: httpx.Response(401, content=recording)})

    with pytest.raises(VendorRefusedError, match="key"):
        render(vendor, clock)


def test_no_connection_is_transient(clock: SteppingClock) -> None:
    with pytest.raises(NothingSentError):
        render(failing(httpx.ConnectError("refused")), clock)


@replays("foxit-pdf-services-endpoint-probe-2026-08-21.json")
def test_only_routes_that_were_seen_to_exist_are_used(
    recording: bytes, clock: SteppingClock
) -> None:
    calls = json.loads(recording)["calls"]
    missing = {f"{call['method']} {call['path']}" for call in calls if call["status"] in {404, 405}}
    existing = {f"{call['method']} {call['path']}" for call in calls} - missing
    vendor = by_route(GOOD)

    render(vendor, clock)

    used = {route.replace(TASK, "{id}") for route in vendor.routes}
    assert existing & used == {UPLOAD, CONVERT, POLL.replace(TASK, "{id}")}
    assert not missing & used


@replays("foxit-pdf-services-endpoint-probe-2026-08-21.json")
def test_each_recorded_refusal_of_our_routes_is_a_refusal(
    recording: bytes, clock: SteppingClock
) -> None:
    refusals = [
        (f"{call['method']} {call['path']}", call)
        for call in json.loads(recording)["calls"]
        if f"{call['method']} {call['path']}" in GOOD
    ]

    for route, call in refusals:
        message = call.get("message", "")
        answer = httpx.Response(call["status"], json={"message": message})
        with pytest.raises(VendorRefusedError) as caught:
            render(by_route({**GOOD, route: answer}), clock)
        assert not message or message not in str(caught.value)

    assert len(refusals) == 2


@pytest.mark.parametrize("status", [302, 400, 401, 403, 413, 415, 429, 500])
def test_no_error_carries_a_body(status: int, clock: SteppingClock) -> None:
    vendor = by_route({**GOOD, UPLOAD: httpx.Response(status, text="page of Alice")})

    with pytest.raises(NoUndoError) as caught:
        render(vendor, clock)

    assert "Alice" not in str(caught.value)
    assert "our-secret" not in str(caught.value)
