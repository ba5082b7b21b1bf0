"""The PDF Services side: four calls, a real document, and every way it can go wrong."""

from __future__ import annotations

import re

import httpx
import pypdfium2
import pytest

from local.sandbox.pdf_services.rendering import (
    PageSetup,
    RenderError,
    checked_render,
    render_html,
    render_with_xhtml2pdf,
)
from tests.contract.sandbox.running import PDF_SERVICES, RunningSandbox, tagged_html

ID = re.compile(r"[0-9a-f]{24}")


def _upload(sandbox: RunningSandbox, html: str = tagged_html(1)) -> httpx.Response:
    files = {"file": ("invoice.html", html.encode(), "text/html")}
    return sandbox.client.post(f"{PDF_SERVICES}/documents/upload", files=files)


def _convert(sandbox: RunningSandbox, html: str = tagged_html(1), **config: object) -> str:
    body = {"documentId": _upload(sandbox, html).json()["documentId"], **config}
    answer = sandbox.client.post(f"{PDF_SERVICES}/documents/create/pdf-from-html", json=body)
    return str(answer.json()["taskId"])


def _poll(sandbox: RunningSandbox, task_id: str) -> httpx.Response:
    return sandbox.client.get(f"{PDF_SERVICES}/tasks/{task_id}")


def _result(sandbox: RunningSandbox, task_id: str) -> str:
    sandbox.control("PUT", "/settings", {"polls_until_done": 1})
    return str(_poll(sandbox, task_id).json()["resultDocumentId"])


def _download(sandbox: RunningSandbox, document_id: str) -> httpx.Response:
    return sandbox.client.get(f"{PDF_SERVICES}/documents/{document_id}/download")


def _text(pdf: bytes) -> str:
    document = pypdfium2.PdfDocument(pdf)
    text = "\n".join(page.get_textpage().get_text_bounded() for page in document)
    document.close()
    return text


def test_html_becomes_a_pdf_whose_text_can_be_read_but_not_found_among_its_bytes(
    sandbox: RunningSandbox,
) -> None:
    pdf = _download(sandbox, _result(sandbox, _convert(sandbox))).content

    assert pdf.startswith(b"%PDF")
    assert "Total due $86.86" in _text(pdf)
    assert "${signfield:1:y:____}" in _text(pdf)
    assert b"86.86" not in pdf


def test_a_task_is_done_after_as_many_polls_as_asked_for(sandbox: RunningSandbox) -> None:
    sandbox.control("PUT", "/settings", {"polls_until_done": 3})
    task_id = _convert(sandbox)

    answers = [_poll(sandbox, task_id).json() for _ in range(3)]

    assert [answer["status"] for answer in answers][2] == "COMPLETED"
    assert all(answer["status"] not in ("COMPLETED", "FAILED") for answer in answers[:2])
    assert answers[2]["progress"] == 100


def test_ids_are_24_hex_characters(sandbox: RunningSandbox) -> None:
    task_id = _convert(sandbox)

    assert ID.fullmatch(task_id)
    assert ID.fullmatch(_result(sandbox, task_id))


def test_a_page_size_can_be_asked_for(sandbox: RunningSandbox) -> None:
    config = {"dimension": {"width": "300", "height": "400"}, "pageMode": "MULTIPLE_PAGE"}

    pdf = _download(sandbox, _result(sandbox, _convert(sandbox, config=config))).content

    document = pypdfium2.PdfDocument(pdf)
    assert [round(x) for x in document[0].get_size()] == [300, 400]
    document.close()


def test_deleting_is_counted(sandbox: RunningSandbox) -> None:
    task_id = _convert(sandbox)
    document_id = _result(sandbox, task_id)
    before = sandbox.control("GET", "/documents")

    deleted = sandbox.client.delete(f"{PDF_SERVICES}/documents/{document_id}")
    again = sandbox.client.delete(f"{PDF_SERVICES}/documents/{document_id}")
    after = sandbox.control("GET", "/documents")

    assert (deleted.status_code, again.status_code) == (200, 404)
    assert (before["stored"], before["deleted"]) == (2, 0)
    assert (after["stored"], after["deleted"]) == (1, 1)
    assert _download(sandbox, document_id).status_code == 404


def test_a_second_download_of_the_same_document_must_wait(sandbox: RunningSandbox) -> None:
    document_id = _result(sandbox, _convert(sandbox))

    first = _download(sandbox, document_id)
    at_once = _download(sandbox, document_id)
    sandbox.clock.advance(2.2)
    later = _download(sandbox, document_id)

    assert [answer.status_code for answer in (first, at_once, later)] == [200, 429, 200]
    assert at_once.headers["retry-after"] == "2"


def test_a_conversion_without_a_document_is_refused(sandbox: RunningSandbox) -> None:
    answer = sandbox.client.post(f"{PDF_SERVICES}/documents/create/pdf-from-html", json={})

    assert (answer.status_code, answer.json()["message"]) == (400, "documentId is required")


def test_an_upload_must_be_multipart_with_a_file(sandbox: RunningSandbox) -> None:
    url = f"{PDF_SERVICES}/documents/upload"

    not_multipart = sandbox.client.post(url, content=b"<p>hello</p>")
    no_file = sandbox.client.post(url, files={"data": ("a.html", b"x", "text/html")})

    assert (not_multipart.status_code, no_file.status_code) == (415, 400)


def test_an_unknown_task_is_free_to_ask_about_and_not_a_refusal_of_the_pair(
    sandbox: RunningSandbox,
) -> None:
    answer = _poll(sandbox, "00000000-0000-0000-0000-000000000000")

    assert answer.status_code == 404


def test_a_page_without_text_fails_its_task(sandbox: RunningSandbox) -> None:
    sandbox.control("PUT", "/settings", {"polls_until_done": 1})

    answer = _poll(sandbox, _convert(sandbox, "<p></p>")).json()

    assert answer["status"] == "FAILED"
    assert "resultDocumentId" not in answer


@pytest.mark.parametrize("route", ["pdf/create", "pdf/task"])
def test_a_task_can_fail(sandbox: RunningSandbox, route: str) -> None:
    sandbox.control("PUT", "/settings", {"polls_until_done": 1})
    sandbox.arm(route, "task_fails")

    assert _poll(sandbox, _convert(sandbox)).json()["status"] == "FAILED"


def test_a_task_can_work_for_ever(sandbox: RunningSandbox) -> None:
    sandbox.control("PUT", "/settings", {"polls_until_done": 1})
    sandbox.arm("pdf/create", "task_never_ends")
    task_id = _convert(sandbox)

    statuses = {_poll(sandbox, task_id).json()["status"] for _ in range(20)}

    assert statuses == {"IN_PROGRESS"}


def test_a_completed_task_can_come_without_its_result(sandbox: RunningSandbox) -> None:
    sandbox.arm("pdf/task", "no_result_document")

    answer = _poll(sandbox, _convert(sandbox)).json()

    assert answer["status"] == "COMPLETED"
    assert "resultDocumentId" not in answer


@pytest.mark.parametrize("route", ["pdf/upload", "pdf/create", "pdf/task", "pdf/download"])
def test_a_gateway_error_goes_away_when_repeated(sandbox: RunningSandbox, route: str) -> None:
    task_id = _convert(sandbox)
    document_id = _result(sandbox, task_id)
    calls = {
        "pdf/upload": lambda: _upload(sandbox),
        "pdf/create": lambda: sandbox.client.post(
            f"{PDF_SERVICES}/documents/create/pdf-from-html",
            json={"documentId": _upload(sandbox).json()["documentId"]},
        ),
        "pdf/task": lambda: _poll(sandbox, task_id),
        "pdf/download": lambda: _download(sandbox, document_id),
    }
    sandbox.arm(route, "502_without_effect")

    assert [calls[route]().status_code for _ in range(2)] == [502, 200]


def test_a_download_can_be_an_error_page_that_calls_itself_a_success(
    sandbox: RunningSandbox,
) -> None:
    document_id = _result(sandbox, _convert(sandbox))
    sandbox.arm("pdf/download", "html_200")

    answer = _download(sandbox, document_id)

    assert answer.status_code == 200
    assert answer.text.startswith("<!doctype html>")


def test_the_same_html_gives_the_same_bytes() -> None:
    assert render_html(tagged_html(1, 2)) == render_html(tagged_html(1, 2))


def test_any_script_of_the_bundled_font_is_readable_whatever_font_the_page_names() -> None:
    words = "Łukasz Ελληνικά Привет"

    pdf = render_html(f'<h1 style="font-family:Nonexistent,serif !important">{words}</h1>')

    assert words in _text(pdf)


def test_no_file_of_this_machine_gets_into_a_document(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    secret = tmp_path_factory.mktemp("secret") / "style.css"
    secret.write_text("p::after{content:'LEAKED'}")
    link = f'<link rel="stylesheet" href="file://{secret}">'

    for pdf in (
        render_html(f"{link}<p>hello</p>"),
        checked_render(render_with_xhtml2pdf, f"{link}<p>hello</p>", PageSetup()),
    ):
        assert "hello" in _text(pdf)
        assert "LEAKED" not in _text(pdf)


def test_the_fallback_engine_keeps_the_signature_tags() -> None:
    pdf = checked_render(render_with_xhtml2pdf, tagged_html(1, 2), PageSetup())

    assert "${signfield:1:y:____}" in _text(pdf)
    assert "${signfield:2:y:____}" in _text(pdf)


def test_a_page_without_text_is_refused() -> None:
    with pytest.raises(RenderError, match="no text"):
        render_html("<div></div>")
