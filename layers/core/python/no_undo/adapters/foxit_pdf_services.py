"""Foxit PDF Services behind the `PdfService` port: HTML to PDF in four calls, then two deletions.

Source of every rule: vendors/foxit-pdf-services.md (its section numbers below).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

import httpx

from no_undo.adapters.http_client import (
    MAX_DOCUMENT_BYTES,
    Answer,
    Call,
    Effect,
    UploadedFile,
    VendorClient,
    is_transient_status,
    with_prefix,
)
from no_undo.adapters.json_answers import as_text, json_object
from no_undo.domain.errors import (
    NoUndoError,
    TransientError,
    VendorContractError,
    VendorRefusedError,
)
from no_undo.ports import Clock

DEFAULT_BASE_URL: Final = "https://na1.fusion.foxit.com"

_PREFIX: Final = "/pdf-services"

_VENDOR: Final = "Foxit PDF Services"

# Polling as another integrator measured it: five to eight polls a document (section 5).
_FIRST_POLL_SECONDS: Final = 0.7
_POLL_GROWTH: Final = 1.5
_LONGEST_POLL_SECONDS: Final = 4.0

# Downloads of one document closer together than about 2.1 s are throttled (section 4).
_DOWNLOAD_ATTEMPTS: Final = 5
_DOWNLOAD_BACKOFF_SECONDS: Final = 2.1

_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_UNSAFE_IN_FILE_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")

_LOG = logging.getLogger(__name__)


class FoxitPdfServices:
    """The document vendor's REST routes, with a client id and secret as two headers (section 1).

    Args:
        base_url: Gateway host, see `DEFAULT_BASE_URL`; its prefix may be there or not.
        client_id: Credential, sent as header `client_id`.
        client_secret: Credential, sent as header `client_secret`.
        clock: Waits between polls.
        transport: Replaces the network in tests.
        timeout_seconds: Longest silence while writing or reading one call.
        deadline_seconds: Longest time for one rendering, from the upload to the download.

    Raises:
        ValueError: The base URL is not HTTPS (loopback excepted), or a credential is unusable.
    """

    def __init__(  # noqa: PLR0913 -- one keyword per fact of the connection
        self,
        base_url: str,
        client_id: str,
        client_secret: str,
        *,
        clock: Clock,
        transport: httpx.BaseTransport | None = None,
        timeout_seconds: float = 30.0,
        deadline_seconds: float = 120.0,
    ) -> None:
        self._clock = clock
        self._deadline = timedelta(seconds=deadline_seconds)
        self._client = VendorClient(
            with_prefix(base_url, _PREFIX),
            vendor=_VENDOR,
            headers={"client_id": client_id, "client_secret": client_secret},
            timeout_seconds=timeout_seconds,
            transport=transport,
        )

    def render_html(self, html: str, *, name: str) -> bytes:
        """Convert self-contained HTML to PDF and delete both documents at the vendor again.

        Upload and conversion are made once: a repeated conversion costs a credit, a repeated upload
        leaves a copy behind. Polls and the download are repeated until the deadline.

        Args:
            html: Everything inline; what is fetched at conversion time may not arrive.
            name: Becomes the uploaded file's name, reduced to safe ASCII.
        """
        give_up_at = self._clock.now() + self._deadline
        with self._stored_documents() as stored:
            stored.append(self._upload(html, name))
            task_id = self._convert(stored[0])
            stored.append(self._finished(task_id, give_up_at))
            return self._download(stored[1], give_up_at)

    @contextmanager
    def _stored_documents(self) -> Generator[list[str]]:
        """Collect the ids of what the vendor stores for us, and delete all of it at the end."""
        stored: list[str] = []
        try:
            yield stored
        finally:
            for document_id in stored:
                self._delete(document_id)

    def _upload(self, html: str, name: str) -> str:
        stem = _UNSAFE_IN_FILE_NAME.sub("-", name).strip("-.")[:80] or "document"
        file = UploadedFile(f"{stem}.html", html.encode(), "text/html")
        call = Call("POST", "/api/documents/upload", files={"file": file})
        return _id_of(call, self._client.ask(call), "documentId")

    def _convert(self, document_id: str) -> str:
        call = Call("POST", "/api/documents/create/pdf-from-html", json={"documentId": document_id})
        return _id_of(call, self._client.ask(call), "taskId")

    def _finished(self, task_id: str, give_up_at: datetime) -> str:
        """Poll a task until it is done and return the id of its result (section 3)."""
        call = Call("GET", f"/api/tasks/{task_id}")
        wait_seconds = _FIRST_POLL_SECONDS
        while True:
            answer = self._attempt(call)
            status = "no answer" if answer is None else _status_of(call, answer)
            if answer is not None and status == "completed":
                return _id_of(call, answer, "resultDocumentId")
            if status == "failed":
                raise VendorRefusedError(
                    f"{_VENDOR}: {call}: the conversion failed; check that the HTML is "
                    "self-contained"
                )
            self._wait(wait_seconds, give_up_at, call)
            wait_seconds = min(wait_seconds * _POLL_GROWTH, _LONGEST_POLL_SECONDS)

    def _download(self, document_id: str, give_up_at: datetime) -> bytes:
        call = Call("GET", f"/api/documents/{document_id}/download", max_bytes=MAX_DOCUMENT_BYTES)
        for _ in range(_DOWNLOAD_ATTEMPTS):
            answer = self._attempt(call)
            if answer is not None and answer.body.startswith(b"%PDF"):
                return answer.body
            if answer is not None and httpx.codes.is_success(answer.status):
                raise VendorContractError(
                    f"{_VENDOR}: {call} answered {answer.status} with something else than a PDF"
                )
            self._wait(_backoff_seconds(answer, self._clock.now()), give_up_at, call)
        raise TransientError(
            f"{_VENDOR}: {call}: throttled {_DOWNLOAD_ATTEMPTS} times; repeat later"
        )

    def _attempt(self, call: Call) -> Answer | None:
        """Make a repeatable call once: a 2xx, a "not now" (429, 5xx), or None when none came."""
        try:
            answer = self._client.exchange(call, Effect.REVERSIBLE)
        except TransientError as error:
            _LOG.info("will be repeated: %s", error)
            return None
        if not is_transient_status(answer.status):
            self._client.require_success(answer, call, Effect.REVERSIBLE)
        return answer

    def _delete(self, document_id: str) -> None:
        call = Call("DELETE", f"/api/documents/{document_id}")
        try:
            self._client.ask(call)
        except NoUndoError as error:
            _LOG.warning(
                "the document stays stored at the vendor until it is deleted by hand: %s", error
            )

    def _wait(self, seconds: float, give_up_at: datetime, call: Call) -> None:
        if self._clock.now() + timedelta(seconds=seconds) > give_up_at:
            raise TransientError(
                f"{_VENDOR}: {call}: not done before the deadline of "
                f"{self._deadline.total_seconds():.0f} s; repeat later"
            )
        self._clock.sleep(seconds)


def _id_of(call: Call, answer: Answer, key: str) -> str:
    """Return an id of an answer; it becomes part of a path, so its characters are checked."""
    value = as_text((json_object(answer.body) or {}).get(key)) or ""
    if not _ID.fullmatch(value):
        raise VendorContractError(f"{_VENDOR}: {call} answered without a usable {key}")
    return value


def _status_of(call: Call, answer: Answer) -> str:
    """Return a task's status in lower case; whatever is not a known ending means: still working.

    Raises:
        VendorContractError: A 2xx answer without a status.
    """
    if is_transient_status(answer.status):
        return "not now"
    status = as_text((json_object(answer.body) or {}).get("status"))
    if status is None:
        raise VendorContractError(f"{_VENDOR}: {call} answered without a status")
    return status.casefold()


def _backoff_seconds(answer: Answer | None, now: datetime) -> float:
    """Return how long to wait: what `Retry-After` asks for (RFC 9110 10.2.3), at least 2.1 s."""
    asked = answer.headers.get("retry-after", "").strip() if answer else ""
    if asked.isascii() and asked.isdigit():
        return max(_DOWNLOAD_BACKOFF_SECONDS, float(asked[:9]))
    try:
        moment = parsedate_to_datetime(asked)
    except ValueError:
        return _DOWNLOAD_BACKOFF_SECONDS
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(_DOWNLOAD_BACKOFF_SECONDS, (moment - now).total_seconds())
