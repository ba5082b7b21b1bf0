"""An API that answers by script and remembers what it was asked."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

import boto3
import httpx

from no_undo.cli.api import ApiClient

BASE_URL: Final = "https://abc123.execute-api.eu-central-1.amazonaws.com"
NO_ANSWER: Final = httpx.ReadTimeout("the answer was lost")


@dataclass(frozen=True)
class Answer:
    """One answer: status, JSON body (bytes as they are) and headers."""

    status: int = 200
    body: Any = field(default_factory=dict[str, Any])
    headers: dict[str, str] = field(default_factory=dict[str, str])

    def response(self) -> httpx.Response:
        """Return it as the transport gives it."""
        content = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        return httpx.Response(self.status, content=content, headers=self.headers)


def problem(status: int, detail: str, at: str = "") -> Answer:
    """Return a problem document as `entrypoint/http_responses.py` writes it."""
    body = {"type": "urn:no-undo:problem:x", "title": "X", "status": status, "detail": detail}
    return Answer(status, {**body, "field": at} if at else body)


class FakeApi:
    """Answers each `METHOD /path` with its script, the last answer again and again.

    Attributes:
        asked: The requests, in order.
        pauses: Seconds the client waited between tries.
    """

    def __init__(self) -> None:
        self.asked: list[httpx.Request] = []
        self.pauses: list[float] = []
        self._scripts: dict[str, list[Answer | httpx.TransportError]] = {}

    def on(self, key: str, *answers: Answer | httpx.TransportError) -> None:
        """Set the answers to a method and path."""
        self._scripts[key] = list(answers)

    def connect(self) -> ApiClient:
        """Return a client of this API."""
        session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test")
        return ApiClient(BASE_URL, session, httpx.MockTransport(self._handle), self.pauses.append)

    def bodies(self) -> list[Any]:
        """Return the JSON bodies that were sent."""
        return [json.loads(one.content) for one in self.asked]

    def _handle(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        script = self._scripts[f"{request.method} {request.url.raw_path.decode()}"]
        answer = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(answer, httpx.TransportError):
            raise answer
        return answer.response()
