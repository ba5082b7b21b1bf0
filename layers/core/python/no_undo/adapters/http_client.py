"""One HTTP client per vendor, and the one place that turns HTTP trouble into our errors.

What every vendor call has in common, and why:

- The `User-Agent` names us. The e-sign host refuses unnamed clients at its edge (403 / 1010).
- HTTPS only, unless the host is loopback: each call carries a key and a document.
- Redirects are not followed: they would carry the key to a host nobody configured.
- The environment is not trusted (`trust_env=False`). A proxy variable would hand keys and documents
  to whoever set it, and `.netrc` would replace our authorization. Egress control belongs to the
  network (a NAT gateway, a firewall), not to a variable.
- No retry, not even of the connection. Whether a call may be repeated is decided above.
- No kept-alive connection: a frozen Lambda wakes up to dead ones, and a send on a dead one is in
  doubt for nothing.
- No cookies: two calls have nothing in common but the credentials.
- Answers are read in pieces up to a limit, and for a limited time.

What an error means depends on the call, so each status and each httpx exception is mapped twice:
for a reversible call (repeat it) and for an effectful one (it may have happened).
"""

from __future__ import annotations

import ipaddress
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final, NoReturn

import httpx

from no_undo.adapters.json_answers import as_object, as_text, json_object
from no_undo.domain.errors import (
    InDoubtError,
    NothingSentError,
    NoUndoError,
    TransientError,
    VendorContractError,
    VendorRefusedError,
)

USER_AGENT: Final = "no-undo/0.1.0"

MAX_JSON_BYTES: Final = 4 * 1024 * 1024
MAX_DOCUMENT_BYTES: Final = 64 * 1024 * 1024

_CONNECT_SECONDS: Final = 10.0
_EDGE_REFUSAL: Final = re.compile(rb"(?<![\w-])1010(?![\w-])")
_EDGE_REFUSAL_SEARCH_BYTES: Final = 4096
_SUPPORT_REFERENCE: Final = re.compile(r"[A-Za-z0-9_-]{8,64}")
_THROTTLED_OR_LATE: Final = frozenset({408, 425, 429})


class Effect(Enum):
    """What a call does to the outside, hence what its failure means."""

    REVERSIBLE = "reversible"
    EFFECTFUL = "effectful"


class Trouble(StrEnum):
    """How far a call got before httpx gave up."""

    NOTHING_LEFT = "nothing left"
    ANSWER_LOST = "answer lost"
    ANSWER_UNUSABLE = "answer unusable"


# Every exception class httpx exports; a test fails when one is missing. A class is NOTHING_LEFT
# only when no byte of a request can have been written: LocalProtocolError is not (h11 raises it in
# the middle of a body too), nor is ProxyError (what a proxy did before is not ours to know).
TROUBLE_BY_EXCEPTION: Final[Mapping[type[Exception], Trouble]] = {
    httpx.ConnectError: Trouble.NOTHING_LEFT,
    httpx.ConnectTimeout: Trouble.NOTHING_LEFT,
    httpx.PoolTimeout: Trouble.NOTHING_LEFT,
    httpx.UnsupportedProtocol: Trouble.NOTHING_LEFT,
    httpx.InvalidURL: Trouble.NOTHING_LEFT,
    httpx.ReadTimeout: Trouble.ANSWER_LOST,
    httpx.WriteTimeout: Trouble.ANSWER_LOST,
    httpx.TimeoutException: Trouble.ANSWER_LOST,
    httpx.ReadError: Trouble.ANSWER_LOST,
    httpx.WriteError: Trouble.ANSWER_LOST,
    httpx.CloseError: Trouble.ANSWER_LOST,
    httpx.NetworkError: Trouble.ANSWER_LOST,
    httpx.RemoteProtocolError: Trouble.ANSWER_LOST,
    httpx.LocalProtocolError: Trouble.ANSWER_LOST,
    httpx.ProtocolError: Trouble.ANSWER_LOST,
    httpx.ProxyError: Trouble.ANSWER_LOST,
    httpx.TransportError: Trouble.ANSWER_LOST,
    httpx.RequestError: Trouble.ANSWER_LOST,
    httpx.HTTPError: Trouble.ANSWER_LOST,
    httpx.DecodingError: Trouble.ANSWER_UNUSABLE,
    httpx.TooManyRedirects: Trouble.ANSWER_UNUSABLE,
    httpx.HTTPStatusError: Trouble.ANSWER_UNUSABLE,
    httpx.CookieConflict: Trouble.ANSWER_UNUSABLE,
    httpx.StreamError: Trouble.ANSWER_UNUSABLE,
    httpx.StreamConsumed: Trouble.ANSWER_UNUSABLE,
    httpx.StreamClosed: Trouble.ANSWER_UNUSABLE,
    httpx.ResponseNotRead: Trouble.ANSWER_UNUSABLE,
    httpx.RequestNotRead: Trouble.ANSWER_UNUSABLE,
}


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """One file part of a multipart request."""

    name: str
    content: bytes = field(repr=False)
    content_type: str


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a vendor.

    Attributes:
        method: HTTP method, upper case.
        route: Path below the base URL, starts with `/`; it is named in error messages, so it
            carries ids and nothing else.
        params: Query parameters.
        json: Body to send as JSON, or None.
        form: Text parts of a multipart body.
        files: File parts of a multipart body, by part name.
        headers: Headers of this call only.
        max_bytes: Longest answer accepted, in bytes after decompression.
    """

    method: str
    route: str
    params: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    json: Mapping[str, object] | None = field(default=None, repr=False)
    form: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    files: Mapping[str, UploadedFile] = field(default_factory=dict[str, UploadedFile], repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    max_bytes: int = MAX_JSON_BYTES

    def __str__(self) -> str:
        return f"{self.method} {self.route}"


@dataclass(frozen=True, slots=True)
class Answer:
    """One complete HTTP answer, whatever its status.

    Attributes:
        status: HTTP status, 200 to 599.
        headers: Names in lower case.
        body: Decompressed bytes.
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


class VendorClient:
    """Talks to one vendor under one base URL with one set of credentials.

    Args:
        base_url: Scheme, host and path prefix; HTTPS unless the host is loopback.
        vendor: Name used in error messages, for example `Foxit eSign`.
        headers: Sent with every call; credentials belong here.
        timeout_seconds: Longest silence while writing or reading, and longest time from the first
            byte of an answer to its last.
        transport: Replaces the network in tests.
        monotonic: Seconds that only grow; replaced in tests.

    Raises:
        ValueError: The base URL or a header is not usable; the message never quotes a header.
    """

    def __init__(  # noqa: PLR0913 -- one keyword per fact of the connection; called four times
        self,
        base_url: str,
        *,
        vendor: str,
        headers: Mapping[str, str],
        timeout_seconds: float,
        transport: httpx.BaseTransport | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._vendor = vendor
        self._base_url = checked_base_url(base_url)
        self._timeout_seconds = timeout_seconds
        self._monotonic = monotonic
        self._client = httpx.Client(
            headers={
                **checked_headers(headers),
                "User-Agent": USER_AGENT,
                "Accept-Encoding": "identity",
            },
            timeout=httpx.Timeout(timeout_seconds, connect=min(_CONNECT_SECONDS, timeout_seconds)),
            cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=[])),
            follow_redirects=False,
            trust_env=False,
            transport=transport or _network(),
        )

    def exchange(self, call: Call, effect: Effect) -> Answer:
        """Send one request once and return the whole answer, whatever its status.

        Raises:
            NothingSentError: No connection was made, so no request left.
            TransientError: Reversible call: no complete answer came.
            VendorContractError: Reversible call: the answer is too long or cannot be decoded.
            InDoubtError: Effectful call: anything but a complete answer.
        """
        try:
            return self._send(call, effect)
        except tuple(TROUBLE_BY_EXCEPTION) as error:
            # The cause is dropped on purpose: h11 quotes header values (keys) and pieces of the
            # answer in its messages. Its class says what happened.
            raise self._transport_error(type(error), call, effect) from None

    def ask(self, call: Call) -> Answer:
        """Make a reversible call and return its answer, which has a 2xx status.

        Raises:
            TransientError: No answer, throttled, or a 5xx.
            VendorRefusedError: A 4xx that repeating does not cure.
            VendorContractError: A redirect, or an unusable answer.
        """
        answer = self.exchange(call, Effect.REVERSIBLE)
        self.require_success(answer, call, Effect.REVERSIBLE)
        return answer

    def require_success(self, answer: Answer, call: Call, effect: Effect) -> None:
        """Raise what a status other than 2xx means for this kind of call.

        Raises:
            NothingSentError: The edge refused the client before the vendor saw the request.
            TransientError: Reversible and 408, 425, 429 or 5xx; or effectful and 429.
            VendorRefusedError: Any other 4xx.
            VendorContractError: Reversible and 3xx.
            InDoubtError: Effectful and 3xx, 408, 425 or 5xx.
        """
        if httpx.codes.is_success(answer.status):
            return
        where = f"{self._where(call)} answered {answer.status}{_reference(answer)}"
        if is_edge_refusal(answer):
            raise NothingSentError(
                f"{where}: the edge filter refused this client (1010) before the vendor saw the "
                "request; check the User-Agent and the egress address"
            )
        if effect is Effect.EFFECTFUL:
            _raise_effectful_status(answer.status, where)
        _raise_reversible_status(answer.status, where)

    def same_origin_route(self, url: str) -> str | None:
        """Return the route of a URL the vendor handed us, or None when it is not below our base."""
        if url.startswith("/"):
            return None if url.startswith("//") else url
        prefix = f"{self._base_url}/"
        return url.removeprefix(self._base_url) if url.startswith(prefix) else None

    def _where(self, call: Call) -> str:
        return f"{self._vendor}: {call}"

    def _send(self, call: Call, effect: Effect) -> Answer:
        with self._client.stream(
            call.method,
            f"{self._base_url}{call.route}",
            params=dict(call.params) or None,
            json=call.json,
            data=dict(call.form) or None,
            files={
                part: (file.name, file.content, file.content_type)
                for part, file in call.files.items()
            }
            or None,
            headers=dict(call.headers),
        ) as response:
            body = self._read(response, call, effect)
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Answer(response.status_code, headers, body)

    def _read(self, response: httpx.Response, call: Call, effect: Effect) -> bytes:
        """Read an answer piece by piece, up to its limits in bytes and seconds."""
        give_up_at = self._monotonic() + self._timeout_seconds
        body = bytearray()
        for piece in response.iter_bytes():
            body += piece
            if len(body) > call.max_bytes:
                self._raise_too_long(call, effect)
            if self._monotonic() > give_up_at:
                raise self._transport_error(httpx.ReadTimeout, call, effect)
        return bytes(body)

    def _raise_too_long(self, call: Call, effect: Effect) -> NoReturn:
        message = f"{self._where(call)} answered more than {call.max_bytes} bytes"
        if effect is Effect.EFFECTFUL:
            raise InDoubtError(f"{message}; ask the system of record what happened")
        raise VendorContractError(message)

    def _transport_error(self, kind: type[Exception], call: Call, effect: Effect) -> NoUndoError:
        trouble = TROUBLE_BY_EXCEPTION.get(kind, Trouble.ANSWER_LOST)
        message = f"{self._where(call)}: {trouble} ({kind.__name__})"
        if trouble is Trouble.NOTHING_LEFT:
            return NothingSentError(f"{message}; check the address and the network, then repeat")
        if effect is Effect.EFFECTFUL:
            return InDoubtError(f"{message}; ask the system of record what happened")
        if trouble is Trouble.ANSWER_UNUSABLE:
            return VendorContractError(f"{message}; the answer cannot be read")
        return TransientError(f"{message}; repeat the call")


def _network() -> httpx.HTTPTransport:
    return httpx.HTTPTransport(
        retries=0, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
    )


def _raise_effectful_status(status: int, where: str) -> NoReturn:
    match status:
        case 429:
            raise TransientError(f"{where}: throttled, nothing was done; wait and repeat")
        case 408 | 425:
            raise InDoubtError(f"{where}: ask the system of record what happened")
        case _ if httpx.codes.is_client_error(status):
            raise VendorRefusedError(f"{where}: refused; {_advice(status)}")
        case _:
            raise InDoubtError(f"{where}: ask the system of record what happened")


def _raise_reversible_status(status: int, where: str) -> NoReturn:
    if is_transient_status(status):
        raise TransientError(f"{where}: wait and repeat")
    if httpx.codes.is_client_error(status):
        raise VendorRefusedError(f"{where}: refused; {_advice(status)}")
    raise VendorContractError(
        f"{where}: only a 2xx is an answer here, and redirects are not followed because the call "
        "carries a key; check the base URL"
    )


def _advice(status: int) -> str:
    match status:
        case 401 | 403:
            return "check that this key is valid and belongs to this product"
        case 402:
            return "the account is out of credits, do not repeat"
        case 404 | 405:
            return "check the base URL and the id"
        case 413:
            return "the document is too large"
        case 415 | 422:
            return "the document cannot be processed"
        case _:
            return "the request does not fit; repeating it changes nothing"


def is_transient_status(status: int) -> bool:
    """Return whether a status says: not now (RFC 9110 15.5.9, 15.6; RFC 6585 4)."""
    return status in _THROTTLED_OR_LATE or httpx.codes.is_server_error(status)


def is_edge_refusal(answer: Answer) -> bool:
    """Return whether the edge filter refused the client, so that the vendor saw no request.

    Source: vendors/foxit-esign.md 1 (HTTP 403, a body with `error code` 1010; reported by an
    integrator whose console showed no request).
    """
    return answer.status == HTTPStatus.FORBIDDEN and bool(
        _EDGE_REFUSAL.search(answer.body[:_EDGE_REFUSAL_SEARCH_BYTES])
    )


def checked_base_url(base_url: str) -> str:
    """Return a base URL without its last slash.

    Raises:
        ValueError: Not HTTPS (except to loopback), or it carries credentials, a query or a
            fragment.
    """
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL:
        raise ValueError("the base URL is not a URL") from None
    if not url.host or url.userinfo or url.query or url.fragment:
        raise ValueError("the base URL must be scheme, host and path, and nothing else")
    if url.scheme != "https" and not (url.scheme == "http" and _is_loopback(url.host)):
        raise ValueError(f"the base URL of {url.host} must be https: every call carries a key")
    return str(url).rstrip("/")


def with_prefix(base_url: str, prefix: str) -> str:
    """Return a base URL that ends in the vendor's path prefix, whether it did before or not."""
    return base_url.rstrip("/").removesuffix(prefix) + prefix


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers whose values are visible ASCII.

    A key read from a file often ends in a line break; the HTTP library would quote the whole key in
    its complaint. So it is refused here, by name only.

    Raises:
        ValueError: A value is empty or holds something else than visible ASCII and inner spaces.
    """
    for name, value in headers.items():
        if not value or value != value.strip() or not (value.isascii() and value.isprintable()):
            raise ValueError(f"header {name}: the value is empty or has unprintable characters")
    return dict(headers)


def _reference(answer: Answer) -> str:
    """Return the vendor's own id of a failed request, for its support, when it gives one."""
    payload = json_object(answer.body) or {}
    error = as_object(payload.get("error")) or {}
    reference = as_text(payload.get("requestId")) or as_text(error.get("requestId")) or ""
    return f" (request {reference})" if _SUPPORT_REFERENCE.fullmatch(reference) else ""
