"""The HTTP API as the command line calls it: signed requests, problems as sentences."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from no_undo.domain.errors import NoUndoError

if TYPE_CHECKING:
    import boto3
    import httpx

SERVICE = "execute-api"
TIMEOUT_SECONDS = 60.0
BUSY = frozenset({429, 503})
BUSY_PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds before a read is asked for again; nothing that changes anything is ever repeated."""


class ApiError(NoUndoError):
    """The API refused; the message is the problem document's own sentence.

    Attributes:
        status: HTTP status.
        field: Field at fault, or empty.
    """

    code = "api"

    def __init__(self, message: str, *, status: int, field: str) -> None:
        super().__init__(message)
        self.status = status
        self.field = field


@dataclass(frozen=True, slots=True)
class ApiClient:
    """Calls one deployment with the AWS credentials at hand.

    Attributes:
        base_url: Output `ApiUrl` of the deployment.
        session: Where credentials and region come from.
    """

    base_url: str
    session: boto3.Session

    @classmethod
    def from_environment(cls) -> ApiClient:
        """Return the client of the deployment that `NO_UNDO_API_URL` names.

        Raises:
            ApiError: The variable is not set.
        """
        base_url = os.environ.get("NO_UNDO_API_URL", "")
        if not base_url:
            raise ApiError(
                "set NO_UNDO_API_URL to the deployment's ApiUrl", status=0, field="NO_UNDO_API_URL"
            )
        import boto3  # noqa: PLC0415 - half a second that the offline commands need not wait

        return cls(base_url.rstrip("/"), boto3.Session())

    def get(self, path: str) -> dict[str, Any]:
        """Return the JSON answer to a GET; asks again while the API is busy, a bounded time."""
        for pause in BUSY_PAUSES:
            try:
                return self._call("GET", path, None, {})
            except ApiError as error:
                if error.status not in BUSY:
                    raise
            time.sleep(pause)
        return self._call("GET", path, None, {})

    def post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Return the JSON answer to a POST of JSON."""
        return self._call("POST", path, json.dumps(body).encode("utf-8"), headers or {})

    def location(self, path: str) -> str:
        """Return where a GET redirects to."""
        answer = self._send("GET", path, None, {})
        return answer.headers["location"]

    def download(self, path: str) -> bytes:
        """Return what a GET redirects to."""
        import httpx  # noqa: PLC0415 - only where something is called

        answer = httpx.get(self.location(path), timeout=TIMEOUT_SECONDS)
        if answer.is_error:
            raise ApiError("the document could not be fetched", status=answer.status_code, field="")
        return answer.content

    def upload(self, document: bytes) -> str:
        """Upload a PDF and return its upload id."""
        import httpx  # noqa: PLC0415 - only where something is called

        offer = self.post("/uploads", {})
        with httpx.Client(timeout=TIMEOUT_SECONDS) as http:
            put = http.put(
                offer["url"], content=document, headers={"content-type": "application/pdf"}
            )
        if put.is_error:
            raise ApiError("the upload was not accepted", status=put.status_code, field="document")
        return cast("str", offer["upload_id"])

    def _call(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> dict[str, Any]:
        return cast("dict[str, Any]", self._send(method, path, body, headers).json())

    def _send(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> httpx.Response:
        import httpx  # noqa: PLC0415 - only where something is called
        from botocore.auth import SigV4Auth  # noqa: PLC0415
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415

        url = self.base_url + path
        sent = {"content-type": "application/json", **headers}
        request = AWSRequest(method=method, url=url, data=body, headers=sent)
        credentials = self.session.get_credentials()
        region = self.session.region_name or "us-east-1"
        if credentials is not None:
            SigV4Auth(credentials, SERVICE, region).add_auth(request)
        with httpx.Client(timeout=TIMEOUT_SECONDS) as http:
            answer = http.request(method, url, content=body, headers=dict(request.headers.items()))
        if answer.status_code >= 400:  # noqa: PLR2004 - RFC 9110 15
            raise _problem(answer)
        return answer


def _problem(answer: httpx.Response) -> ApiError:
    try:
        problem = cast("dict[str, Any]", answer.json())
    except json.JSONDecodeError:
        problem = {}
    message = problem.get("detail") or problem.get("title") or problem.get("message")
    return ApiError(
        str(message or f"the API answered {answer.status_code}"),
        status=answer.status_code,
        field=str(problem.get("field", "")),
    )
