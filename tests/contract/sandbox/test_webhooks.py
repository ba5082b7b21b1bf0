"""Webhooks: signed in the query string, delivered twice, out of order, again when refused."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.contract.sandbox.running import RunningSandbox, eventually

SECRET = "channel-secret"


@dataclass
class Receiver:
    """An endpoint that keeps what it gets and answers as told."""

    url: str = ""
    answers: list[int] = field(default_factory=list[int])
    received: list[tuple[str, bytes]] = field(default_factory=list[tuple[str, bytes]])

    def names(self) -> list[str]:
        """Event names in the order of arrival."""
        return [json.loads(body)["event_name"] for _, body in self.received]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A webhook endpoint on loopback."""
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kept.received.append((self.path, body))
            self.send_response(kept.answers.pop(0) if kept.answers else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- inherited
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    kept.url = f"http://127.0.0.1:{server.server_port}/hook?tenant=1"
    yield kept
    server.shutdown()
    thread.join()
    server.server_close()


def _listen(sandbox: RunningSandbox, receiver: Receiver, **more: object) -> None:
    channel = {"url": receiver.url, "secret": SECRET}
    settings = {"webhook": channel, "redelivery_seconds": 60, **more}
    sandbox.control("PUT", "/settings", settings)


def test_an_event_carries_the_folder_and_a_signature_over_its_raw_body(
    sandbox: RunningSandbox, receiver: Receiver
) -> None:
    _listen(sandbox, receiver)
    folder_id = sandbox.draft()

    sandbox.send(folder_id)
    eventually(lambda: receiver.received)

    path, body = receiver.received[0]
    query = parse_qs(urlsplit(path).query)
    expected = base64.b64encode(hmac.new(SECRET.encode(), body, hashlib.sha256).digest())
    event = json.loads(body)
    assert query == {"tenant": ["1"], "signature": [expected.decode()]}
    assert event["event_name"] == "folder_sent"
    assert event["data"]["folder"]["folderId"] == folder_id
    assert event["data"]["folder"]["folderStatus"] == "SHARED"


def test_every_event_comes_twice_and_what_happens_together_comes_out_of_order(
    sandbox: RunningSandbox, receiver: Receiver
) -> None:
    _listen(sandbox, receiver)
    folder_id = sandbox.draft()
    sandbox.send(folder_id)
    eventually(lambda: len(receiver.received) == 1)

    sandbox.control("POST", f"/folders/{folder_id}/sign")
    eventually(lambda: len(receiver.received) == 5)
    sandbox.clock.advance(61)
    eventually(lambda: len(receiver.received) == 10)

    names = receiver.names()
    assert names[1:5] == ["folder_signed", "folder_executed", "folder_completed", "folder_signed"]
    assert sorted(names[:5]) == sorted(names[5:])


def test_a_signed_event_names_its_signer(sandbox: RunningSandbox, receiver: Receiver) -> None:
    _listen(sandbox, receiver)
    folder_id = sandbox.draft()
    sandbox.send(folder_id)
    sandbox.control("POST", f"/folders/{folder_id}/sign", {"party": 2})
    eventually(lambda: len(receiver.received) == 2)

    signed = json.loads(receiver.received[1][1])

    assert signed["data"]["signing_party"] == {"emailId": "bob@example.com"}
    assert signed["data"]["folder"]["folderStatus"] == "SHARED"


def test_a_delivery_that_is_not_accepted_is_repeated(
    sandbox: RunningSandbox, receiver: Receiver
) -> None:
    _listen(sandbox, receiver, redelivery_seconds=0)
    receiver.answers = [500, 503]

    sandbox.send(sandbox.draft())
    eventually(lambda: len(receiver.received) == 4)

    eventually(lambda: len(sandbox.control("GET", "/webhooks/deliveries")) == 4)
    statuses = [d["status"] for d in sandbox.control("GET", "/webhooks/deliveries")]
    assert sorted(statuses) == [200, 200, 500, 503]


def test_nothing_is_queued_without_a_channel(sandbox: RunningSandbox) -> None:
    sandbox.send(sandbox.draft())

    assert sandbox.state.store.all("webhook_outbox") == []


def test_a_receiver_that_is_down_is_tried_a_few_times_and_then_given_up(
    sandbox: RunningSandbox, receiver: Receiver
) -> None:
    channel = {"url": "http://127.0.0.1:9/closed", "secret": SECRET}
    sandbox.control("PUT", "/settings", {"webhook": channel, "redelivery_seconds": 0})

    sandbox.send(sandbox.draft())
    eventually(lambda: len(sandbox.control("GET", "/webhooks/deliveries")) == 8)
    eventually(lambda: not sandbox.state.store.all("webhook_outbox"))

    statuses = {d["status"] for d in sandbox.control("GET", "/webhooks/deliveries")}
    assert statuses == {None}
