"""The one HTTP client: what it sends, what it refuses, and what every failure means."""

from __future__ import annotations

import gzip
import inspect
import itertools
import logging
import tomllib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from no_undo.adapters.http_client import (
    TROUBLE_BY_EXCEPTION,
    USER_AGENT,
    Call,
    Effect,
    Trouble,
    UploadedFile,
    VendorClient,
    checked_base_url,
    with_prefix,
)
from no_undo.domain.errors import (
    InDoubtError,
    NothingSentError,
    NoUndoError,
    TransientError,
    VendorContractError,
    VendorRefusedError,
)
from tests.contract.replay import ScriptedVendor, always, failing

SECRET = "key-of-Alice-0123456789"
BASE = "https://vendor.example/api"
READ = Call("GET", "/thing")
SEND = Call("POST", "/send", json={"id": 1})


def client(vendor: ScriptedVendor, **options: float) -> VendorClient:
    return VendorClient(
        BASE,
        vendor="Example",
        headers={"client_secret": SECRET},
        timeout_seconds=options.get("timeout_seconds", 5.0),
        transport=vendor.transport,
    )


EXPORTED_EXCEPTIONS: list[type[Exception]] = [
    thing
    for _, thing in sorted(vars(httpx).items())
    if inspect.isclass(thing) and issubclass(thing, Exception)
]


def raised(kind: type[Exception]) -> Exception:
    """Make an exception of any httpx class, with a secret in its text."""
    request = httpx.Request("GET", BASE)
    if issubclass(kind, httpx.HTTPStatusError):
        return kind(SECRET, request=request, response=httpx.Response(500))
    if issubclass(kind, (httpx.StreamConsumed, httpx.ResponseNotRead, httpx.RequestNotRead)):
        return kind()
    if issubclass(kind, httpx.StreamClosed):
        return kind()
    return kind(SECRET)


def test_every_exception_class_of_httpx_is_mapped() -> None:
    assert set(TROUBLE_BY_EXCEPTION) == set(EXPORTED_EXCEPTIONS)


@pytest.mark.parametrize("kind", EXPORTED_EXCEPTIONS)
def test_no_httpx_exception_leaves_a_reversible_call(kind: type[Exception]) -> None:
    vendor = failing(raised(kind))

    with pytest.raises(NoUndoError) as caught:
        client(vendor).exchange(READ, Effect.REVERSIBLE)

    expected = {
        Trouble.NOTHING_LEFT: NothingSentError,
        Trouble.ANSWER_LOST: TransientError,
        Trouble.ANSWER_UNUSABLE: VendorContractError,
    }[TROUBLE_BY_EXCEPTION[kind]]
    assert type(caught.value) is expected


@pytest.mark.parametrize("kind", EXPORTED_EXCEPTIONS)
def test_an_effectful_call_is_in_doubt_unless_nothing_left(kind: type[Exception]) -> None:
    vendor = failing(raised(kind))

    with pytest.raises(NoUndoError) as caught:
        client(vendor).exchange(SEND, Effect.EFFECTFUL)

    nothing_left = TROUBLE_BY_EXCEPTION[kind] is Trouble.NOTHING_LEFT
    assert type(caught.value) is (NothingSentError if nothing_left else InDoubtError)
    assert len(vendor.requests) == 1


def test_only_errors_before_the_first_byte_count_as_nothing_left() -> None:
    nothing_left = {
        kind for kind, trouble in TROUBLE_BY_EXCEPTION.items() if trouble is Trouble.NOTHING_LEFT
    }

    assert nothing_left == {
        httpx.ConnectError,
        httpx.ConnectTimeout,
        httpx.PoolTimeout,
        httpx.UnsupportedProtocol,
        httpx.InvalidURL,
    }


@pytest.mark.parametrize("kind", EXPORTED_EXCEPTIONS)
def test_an_error_names_the_route_and_the_cause_and_quotes_nothing(kind: type[Exception]) -> None:
    vendor = failing(raised(kind))

    with pytest.raises(NoUndoError) as caught:
        client(vendor).exchange(READ, Effect.REVERSIBLE)

    assert "GET /thing" in str(caught.value)
    assert kind.__name__ in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (301, VendorContractError),
        (302, VendorContractError),
        (308, VendorContractError),
        (400, VendorRefusedError),
        (401, VendorRefusedError),
        (402, VendorRefusedError),
        (403, VendorRefusedError),
        (404, VendorRefusedError),
        (408, TransientError),
        (413, VendorRefusedError),
        (422, VendorRefusedError),
        (425, TransientError),
        (429, TransientError),
        (500, TransientError),
        (502, TransientError),
        (503, TransientError),
        (504, TransientError),
    ],
)
def test_a_status_of_a_reversible_call_says_what_to_do(
    status: int, error: type[NoUndoError]
) -> None:
    vendor = always(httpx.Response(status, text="body of Alice"))

    with pytest.raises(NoUndoError) as caught:
        client(vendor).ask(READ)

    assert type(caught.value) is error
    assert str(status) in str(caught.value)
    assert "Alice" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (302, InDoubtError),
        (400, VendorRefusedError),
        (401, VendorRefusedError),
        (403, VendorRefusedError),
        (408, InDoubtError),
        (425, InDoubtError),
        (429, TransientError),
        (500, InDoubtError),
        (502, InDoubtError),
        (503, InDoubtError),
        (504, InDoubtError),
    ],
)
def test_a_status_of_an_effectful_call_says_what_may_have_happened(
    status: int, error: type[NoUndoError]
) -> None:
    vendor = always(httpx.Response(status, text="body of Alice"))
    answer = client(vendor).exchange(SEND, Effect.EFFECTFUL)

    with pytest.raises(NoUndoError) as caught:
        client(vendor).require_success(answer, SEND, Effect.EFFECTFUL)

    assert type(caught.value) is error
    assert "Alice" not in str(caught.value)


@given(st.integers(min_value=300, max_value=599), st.sampled_from(Effect))
def test_every_status_that_is_no_success_is_an_error(status: int, effect: Effect) -> None:
    vendor = always(httpx.Response(status))
    answer = client(vendor).exchange(READ, effect)

    with pytest.raises(NoUndoError):
        client(vendor).require_success(answer, READ, effect)


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_a_success_is_returned_whole(status: int) -> None:
    vendor = always(httpx.Response(status, headers={"X-Cost": "3"}, content=b"abc"))

    answer = client(vendor).ask(READ)

    assert (answer.status, answer.body, answer.headers["x-cost"]) == (status, b"abc", "3")


@pytest.mark.parametrize("effect", Effect)
@pytest.mark.parametrize(
    "body", [b'{"error code": 1010}', b"error code: 1010", b"<h1>error code 1010</h1>"]
)
def test_a_403_with_1010_never_reached_the_vendor(body: bytes, effect: Effect) -> None:
    vendor = always(httpx.Response(403, content=body))
    answer = client(vendor).exchange(SEND, effect)

    with pytest.raises(NothingSentError, match="User-Agent"):
        client(vendor).require_success(answer, SEND, effect)


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(403, text="folder 351010 is not yours"),
        httpx.Response(403, json={"requestId": "GMz6-1010-QQgfKYAAIuR"}),
        httpx.Response(403),
        httpx.Response(400, text="error code: 1010"),
    ],
)
def test_a_plain_refusal_is_no_edge_refusal(response: httpx.Response) -> None:
    vendor = always(response)
    answer = client(vendor).exchange(SEND, Effect.EFFECTFUL)

    with pytest.raises(VendorRefusedError):
        client(vendor).require_success(answer, SEND, Effect.EFFECTFUL)


def test_the_vendors_request_id_is_named_for_its_support() -> None:
    vendor = always(httpx.Response(403, json={"error": {"requestId": "GMz6cKyalQQgfKYAAIuR"}}))

    with pytest.raises(VendorRefusedError, match="GMz6cKyalQQgfKYAAIuR"):
        client(vendor).ask(READ)


def test_a_request_id_that_is_none_is_not_repeated() -> None:
    vendor = always(httpx.Response(403, json={"requestId": "alice@example.com wrote this"}))

    with pytest.raises(VendorRefusedError) as caught:
        client(vendor).ask(READ)

    assert "alice" not in str(caught.value)


def test_every_call_names_this_program_and_its_version() -> None:
    vendor = always(httpx.Response(200))

    client(vendor).ask(READ)

    project = Path(__file__).resolve().parents[3] / "pyproject.toml"
    version = tomllib.loads(project.read_text())["project"]["version"]
    assert f"no-undo/{version}" == USER_AGENT
    assert vendor.request.headers["user-agent"] == USER_AGENT


def test_the_credentials_travel_with_every_call() -> None:
    vendor = always(httpx.Response(200))

    client(vendor).ask(READ)

    assert vendor.request.headers["client_secret"] == SECRET


def test_a_redirect_is_not_followed() -> None:
    vendor = always(httpx.Response(307, headers={"Location": "https://other.example/"}))

    with pytest.raises(VendorContractError, match="redirects are not followed"):
        client(vendor).ask(READ)

    assert vendor.request.url.host == "vendor.example"


def test_cookies_are_not_kept_between_calls() -> None:
    vendor = always(httpx.Response(200, headers={"Set-Cookie": "session=1; Path=/"}))
    shared = client(vendor)

    shared.ask(READ)
    shared.ask(READ)

    assert ["cookie" in request.headers for request in vendor.requests] == [False, False]


def test_the_environment_changes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine vendor.example login alice password other\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    vendor = always(httpx.Response(200))

    client(vendor).ask(READ)

    assert "authorization" not in vendor.request.headers


@pytest.mark.parametrize(
    ("effect", "error"),
    [(Effect.REVERSIBLE, VendorContractError), (Effect.EFFECTFUL, InDoubtError)],
)
def test_an_answer_over_the_limit_is_given_up(effect: Effect, error: type[NoUndoError]) -> None:
    vendor = always(httpx.Response(200, content=b"x" * 11))

    with pytest.raises(error, match="more than 10 bytes"):
        client(vendor).exchange(Call("GET", "/thing", max_bytes=10), effect)


def test_an_answer_at_the_limit_is_read() -> None:
    vendor = always(httpx.Response(200, content=b"x" * 10))

    assert client(vendor).ask(Call("GET", "/thing", max_bytes=10)).body == b"x" * 10


def test_the_limit_counts_bytes_after_decompression() -> None:
    body = gzip.compress(b"x" * 100_000)
    gzipped = {"Content-Encoding": "gzip"}
    vendor = ScriptedVendor(lambda _request: httpx.Response(200, headers=gzipped, content=body))

    with pytest.raises(VendorContractError, match="more than 1000 bytes"):
        client(vendor).ask(Call("GET", "/thing", max_bytes=1000))


class Endless(httpx.SyncByteStream):
    """A body that never ends and counts how many pieces were taken."""

    def __init__(self) -> None:
        self.taken = 0

    def __iter__(self) -> Iterator[bytes]:
        for _ in itertools.count():
            self.taken += 1
            yield b"x" * 100


def test_an_endless_answer_is_not_read_to_its_end() -> None:
    body = Endless()
    vendor = ScriptedVendor(lambda _request: httpx.Response(200, stream=body))

    with pytest.raises(VendorContractError):
        client(vendor).ask(Call("GET", "/thing", max_bytes=1000))

    assert body.taken == 11


@pytest.mark.parametrize(
    ("effect", "error"),
    [(Effect.REVERSIBLE, TransientError), (Effect.EFFECTFUL, InDoubtError)],
)
def test_an_answer_that_drips_is_given_up_in_time(effect: Effect, error: type[NoUndoError]) -> None:
    body = Endless()
    vendor = ScriptedVendor(lambda _request: httpx.Response(200, stream=body))
    seconds = itertools.count()
    slow = VendorClient(
        BASE,
        vendor="Example",
        headers={},
        timeout_seconds=5,
        transport=vendor.transport,
        monotonic=lambda: float(next(seconds)),
    )

    with pytest.raises(error, match="ReadTimeout"):
        slow.exchange(READ, effect)

    assert body.taken == 6


def test_each_phase_has_its_timeout() -> None:
    vendor = always(httpx.Response(200))

    client(vendor, timeout_seconds=30.0).ask(READ)

    assert vendor.request.extensions["timeout"] == {
        "connect": 10.0,
        "read": 30.0,
        "write": 30.0,
        "pool": 30.0,
    }


@pytest.mark.parametrize(
    "url",
    [
        "https://vendor.example/api",
        "https://vendor.example:8443/api/",
        "http://127.0.0.1:8000/api",
        "http://127.9.9.9/api",
        "http://[::1]:8000/api",
        "http://localhost:8000/api",
    ],
)
def test_a_base_url_is_https_or_loopback(url: str) -> None:
    assert checked_base_url(url) == url.rstrip("/")


@pytest.mark.parametrize(
    "url",
    [
        "http://vendor.example/api",
        "http://10.0.0.1/api",
        "http://localhost.example/api",
        "http://127.0.0.1.example/api",
        "http://0.0.0.0/api",
        "ftp://127.0.0.1/api",
        "vendor.example/api",
        "https:///api",
        "https://alice:secret@vendor.example/api",
        "https://vendor.example/api?key=secret",
        "https://vendor.example/api#part",
        "https://vendor.example:port/api",
        "",
    ],
)
def test_another_base_url_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(ValueError, match="base URL") as caught:
        checked_base_url(url)

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("value", ["", " key", "key\n", "ke\ny", "schlüssel", "key\x00"])
def test_a_key_that_cannot_be_a_header_is_refused_without_quoting_it(value: str) -> None:
    with pytest.raises(ValueError, match="header client_secret") as caught:
        VendorClient(BASE, vendor="Example", headers={"client_secret": value}, timeout_seconds=5)

    assert not value.strip() or value.strip() not in str(caught.value)


def test_nothing_secret_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    vendor = always(httpx.Response(200, text="body of Alice"))

    client(vendor).ask(Call("POST", "/thing", json={"name": "Alice"}))

    assert SECRET not in caplog.text
    assert "Alice" not in caplog.text


def test_calls_and_answers_do_not_print_what_they_carry() -> None:
    vendor = always(httpx.Response(200, text="body of Alice"))
    call = Call(
        "POST",
        "/thing",
        params={"q": "Alice"},
        form={"f": "Alice"},
        files={"file": UploadedFile("a.pdf", b"Alice", "application/pdf")},
        headers={"X-Key": SECRET},
    )

    answer = client(vendor).ask(call)

    assert "Alice" not in f"{call!r}{answer!r}{call.files!r}"
    assert SECRET not in repr(call)


@pytest.mark.parametrize(
    "url", ["https://vendor.example", "https://vendor.example/", "https://vendor.example/a/b/"]
)
def test_a_prefix_is_there_once(url: str) -> None:
    assert with_prefix(url, "/a/b") == "https://vendor.example/a/b"


@pytest.mark.parametrize(
    ("url", "route"),
    [
        ("https://vendor.example/api/jobs/1/result?part=2", "/jobs/1/result?part=2"),
        ("/jobs/1", "/jobs/1"),
        ("//other.example/jobs/1", None),
        ("https://vendor.example.other.example/api/jobs/1", None),
        ("https://vendor.example/apix/jobs/1", None),
        ("http://vendor.example/api/jobs/1", None),
        ("", None),
    ],
)
def test_a_url_the_vendor_names_is_used_only_below_the_base(url: str, route: str | None) -> None:
    assert client(always(httpx.Response(200))).same_origin_route(url) == route
