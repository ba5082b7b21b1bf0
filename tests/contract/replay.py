"""What the contract tests share: recordings, a vendor that answers by script, and a clock."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

import httpx
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("NO_UNDO_SHARED") or REPOSITORY.parent / "shared")
RECORDINGS = SHARED / "vendors" / "recordings"
FIXTURES = REPOSITORY / "fixtures"

REPLAYED: set[str] = set()
"""Names of the recordings that some test replays; `replays` fills it at import."""


def replays(*names: str) -> pytest.MarkDecorator:
    """Run a test once per recording, as its argument `recording` (the file's bytes)."""
    REPLAYED.update(names)
    return pytest.mark.parametrize("recording", names, indirect=True, ids=names)


def read_recording(name: str) -> bytes:
    """Return a recording's bytes, or skip the test where the shared data is absent."""
    path = RECORDINGS / name
    if not path.is_file():
        pytest.skip(f"no recording {name}: set NO_UNDO_SHARED to the shared vendor data")
    return path.read_bytes()


def read_json(name: str) -> Any:  # noqa: ANN401 -- the recordings have many shapes
    """Return a recording as parsed JSON."""
    return json.loads(read_recording(name))


class SteppingClock:
    """A clock that only moves when somebody sleeps."""

    def __init__(self) -> None:
        self.current = datetime(2026, 9, 3, 12, 0, tzinfo=UTC)
        self.slept: list[float] = []

    def now(self) -> datetime:
        """Return the current time."""
        return self.current

    def sleep(self, seconds: float) -> None:
        """Move the time on."""
        self.slept.append(seconds)
        self.current += timedelta(seconds=seconds)


Answerer = Callable[[httpx.Request], httpx.Response]


@dataclass
class ScriptedVendor:
    """A vendor behind `httpx.MockTransport` that answers by script and remembers what was asked."""

    script: Answerer
    requests: list[httpx.Request] = field(default_factory=list[httpx.Request])

    @property
    def transport(self) -> httpx.MockTransport:
        """The transport to hand to an adapter."""
        return httpx.MockTransport(self._answer)

    @property
    def request(self) -> httpx.Request:
        """The only request that was made."""
        assert len(self.requests) == 1, f"{len(self.requests)} requests were made"
        return self.requests[0]

    @property
    def routes(self) -> list[str]:
        """Method and path of every request, in order."""
        return [f"{request.method} {request.url.path}" for request in self.requests]

    def _answer(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        return self.script(request)


def always(response: httpx.Response) -> ScriptedVendor:
    """Return a vendor that gives every request the same answer."""
    return ScriptedVendor(
        lambda _request: httpx.Response(
            response.status_code, headers=response.headers, content=response.content
        )
    )


def failing(error: Exception) -> ScriptedVendor:
    """Return a vendor whose every exchange ends in this error."""

    def answer(_request: httpx.Request) -> httpx.Response:
        raise error

    return ScriptedVendor(answer)


def by_route(answers: Mapping[str, httpx.Response | list[httpx.Response]]) -> ScriptedVendor:
    """Return a vendor that answers by `METHOD /path`; of a list each answer is given once."""
    left = {
        route: list(given) if isinstance(given, list) else given for route, given in answers.items()
    }

    def answer(request: httpx.Request) -> httpx.Response:
        given = left[f"{request.method} {request.url.path}"]
        chosen = given.pop(0) if isinstance(given, list) else given
        return httpx.Response(chosen.status_code, headers=chosen.headers, content=chosen.content)

    return ScriptedVendor(answer)


def json_of(request: httpx.Request) -> Any:  # noqa: ANN401 -- whatever was sent
    """Return the JSON body that was sent."""
    assert request.headers["content-type"] == "application/json"
    return json.loads(request.content)


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a multipart request."""

    filename: str | None
    content_type: str | None
    content: bytes


def parts_of(request: httpx.Request) -> dict[str, Part]:
    """Return the parts of a multipart request by name."""
    content_type = request.headers["content-type"]
    assert content_type.startswith("multipart/form-data")
    message = message_from_bytes(
        b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + request.content
    )
    return {_part_name(part): _part(part) for part in message.walk() if not part.is_multipart()}


def _part_name(part: Message) -> str:
    return str(part.get_param("name", header="content-disposition"))


def _part(part: Message) -> Part:
    payload = part.get_payload(decode=True)
    assert isinstance(payload, bytes)
    content_type = part.get_content_type() if "content-type" in part else None
    return Part(part.get_filename(), content_type, payload)
