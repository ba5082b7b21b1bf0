"""The HTTP API as the command line calls it: signed requests, problems as sentences.

A read, an upload and a submission with its idempotency key are asked for again while the API is
busy or the network fails, a bounded time. Everything else that changes something is sent once.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import urlsplit

from no_undo.domain.errors import NoUndoError

if TYPE_CHECKING:
    import boto3
    import httpx

T = TypeVar("T")

SERVICE: Final = "execute-api"
USER_AGENT: Final = "no-undo"
TIMEOUT_SECONDS: Final = 60.0
BUSY: Final = frozenset({429, 502, 503, 504})
REFUSALS: Final = frozenset({409, 422})
"""A rule said no: the input was understood, and the answer is no."""
BUSY_PAUSES: Final = (0.5, 1.0, 2.0, 4.0)
"""Seconds before a read is asked for again."""
SUBMIT_PAUSES: Final = (*BUSY_PAUSES, 8.0, 16.0, 8.0)
"""Longer than one submission can be under way (30 s, the timeout of its function)."""
IDEMPOTENCY_KEY: Final = "Idempotency-Key"

_CONFLICT = 409
_UNAUTHORIZED = frozenset({401, 403})
_FIRST_ERROR = 400  # RFC 9110 15
_GATEWAY_HOST = re.compile(r"[a-z0-9]+\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class ApiError(NoUndoError):
    """The API refused, or could not be called; the message is a sentence for a person.

    Attributes:
        status: HTTP status, 0 when none was answered.
        field: Field at fault, or empty.
    """

    code = "api"

    def __init__(self, message: str, *, status: int = 0, field: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.field = field

    @property
    def is_refusal(self) -> bool:
        """Whether a rule said no."""
        return self.status in REFUSALS

    @property
    def may_pass(self) -> bool:
        """Whether the same call may succeed in a moment."""
        return self.status in BUSY


class NoAnswerError(ApiError):
    """No answer came: what was asked for may have been done."""

    @property
    def may_pass(self) -> bool:
        """Whether the same call may succeed in a moment."""
        return True


@dataclass(frozen=True, slots=True)
class ApiClient:
    """Calls one deployment with the AWS credentials at hand.

    Attributes:
        base_url: Output `ApiUrl` of the deployment; HTTPS unless it is on this machine.
        session: Where credentials and region come from.
        transport: Replaces the network in tests.
        wait: Passes the seconds between two tries.
    """

    base_url: str
    session: boto3.Session
    transport: httpx.BaseTransport | None = None
    wait: Callable[[float], None] = time.sleep

    @classmethod
    def from_environment(cls) -> ApiClient:
        """Return the client of the deployment that `NO_UNDO_API_URL` names.

        Raises:
            ApiError: The variable is missing or no usable address, or AWS is not configured.
        """
        base_url = _checked(os.environ.get("NO_UNDO_API_URL", "").rstrip("/"))
        import boto3  # noqa: PLC0415 - half a second that the offline commands need not wait

        with _aws_problems():
            return cls(base_url, boto3.Session())

    def get(self, path: str) -> dict[str, Any]:
        """Return the JSON answer to a GET."""
        return self._patiently(lambda: self._call("GET", path, None, {}))

    def post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Return the JSON answer to a POST of JSON, sent once."""
        return self._call("POST", path, json.dumps(body).encode("utf-8"), headers or {})

    def submit(self, body: Mapping[str, Any], key: str) -> str:
        """Hand in a request and return its id; the key keeps it from being taken in twice.

        Args:
            body: Body of `POST /requests`.
            key: 1 to 255 visible ASCII characters, of this one submission.

        Raises:
            ApiError: It was refused, or it is not known whether it was taken in.
        """
        unanswered = False

        def once() -> dict[str, Any]:
            nonlocal unanswered
            try:
                return self.post("/requests", body, {IDEMPOTENCY_KEY.lower(): key})
            except ApiError as error:
                # Our own earlier try, whose answer was lost, may still be under way.
                ours = error.status == _CONFLICT and error.field == IDEMPOTENCY_KEY
                if unanswered and ours:
                    raise NoAnswerError(str(error)) from error
                unanswered = error.may_pass
                raise

        return str(self._patiently(once, SUBMIT_PAUSES)["request_id"])

    def location(self, path: str) -> str:
        """Return where a GET redirects to."""
        answer = self._patiently(lambda: self._send("GET", path, None, {}))
        if "location" not in answer.headers:
            raise ApiError("the API did not say where the document is", status=answer.status_code)
        return answer.headers["location"]

    def download(self, path: str) -> bytes:
        """Return what a GET redirects to."""
        url = self.location(path)
        return self._patiently(lambda: self._fetch("GET", url, "the document")).content

    def upload(self, document: bytes) -> str:
        """Upload a PDF and return its upload id."""
        offer = self._patiently(lambda: self.post("/uploads", {}))
        self._patiently(lambda: self._fetch("PUT", offer["url"], "the upload", document))
        return cast("str", offer["upload_id"])

    def _patiently(self, call: Callable[[], T], pauses: tuple[float, ...] = BUSY_PAUSES) -> T:
        for pause in pauses:
            try:
                return call()
            except ApiError as error:
                if not error.may_pass:
                    raise
            self.wait(pause)
        return call()

    def _call(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> dict[str, Any]:
        answer = self._send(method, path, body, headers)
        value = _object(answer)
        if value is None:
            raise ApiError(
                "the answer is not this API's; is NO_UNDO_API_URL the deployment's ApiUrl?",
                status=answer.status_code,
            )
        return value

    def _send(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> httpx.Response:
        url = self.base_url + path
        answer = self._exchange(method, url, body, self._signed(method, url, body, headers))
        if answer.status_code >= _FIRST_ERROR:
            raise _problem(answer)
        return answer

    def _fetch(
        self, method: str, url: str, what: str, document: bytes | None = None
    ) -> httpx.Response:
        """Call an address that carries its own credential."""
        headers = {} if document is None else {"content-type": "application/pdf"}
        answer = self._exchange(method, url, document, headers)
        if not answer.is_success:
            raise ApiError(
                f"{what} was not accepted by the store ({answer.status_code})",
                status=answer.status_code,
                field="document",
            )
        return answer

    def _exchange(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> httpx.Response:
        import httpx  # noqa: PLC0415 - only where something is called

        try:
            with httpx.Client(timeout=TIMEOUT_SECONDS, transport=self.transport) as http:
                return http.request(
                    method, url, content=body, headers={**headers, "user-agent": USER_AGENT}
                )
        except httpx.RequestError as error:
            raise NoAnswerError(
                f"{urlsplit(url).hostname} gave no answer ({type(error).__name__})"
            ) from error

    def _signed(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the headers of a request with its SigV4 signature."""
        from botocore.auth import SigV4Auth  # noqa: PLC0415 - only where something is called
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415

        sent = {"content-type": "application/json", **headers}
        request = AWSRequest(method=method, url=url, data=body, headers=sent)
        with _aws_problems():
            credentials = self.session.get_credentials()
            if credentials is None:
                raise ApiError("there are no AWS credentials; set them as for the AWS command line")
            SigV4Auth(credentials, SERVICE, self._region()).add_auth(request)
        return dict(request.headers.items())

    def _region(self) -> str:
        """Return the region to sign for: of the gateway's own host name, or else configured."""
        host = urlsplit(self.base_url).hostname or ""
        named = _GATEWAY_HOST.fullmatch(host)
        if named:
            return named[1]
        # boto3 does not read AWS_REGION, the variable that most other AWS tools set.
        region = self.session.region_name or os.environ.get("AWS_REGION", "")
        if not region and host not in _LOOPBACK:
            raise ApiError("set AWS_REGION to the deployment's region")
        return region or "us-east-1"


def _checked(base_url: str) -> str:
    if not base_url:
        raise ApiError("set it to the deployment's ApiUrl", field="NO_UNDO_API_URL")
    no_address = ApiError("this is no address of a deployment", field="NO_UNDO_API_URL")
    try:
        parts = urlsplit(base_url)
        _ = parts.port  # refused here, not in the middle of the first call
    except ValueError:
        raise no_address from None
    if not parts.hostname or parts.username or parts.query or parts.fragment:
        raise no_address
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise ApiError("must be https: prompts and documents travel there", field="NO_UNDO_API_URL")
    return base_url


@contextmanager
def _aws_problems() -> Generator[None]:
    """Turn what is wrong with the AWS configuration into a sentence."""
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - loaded with boto3 anyway

    try:
        yield
    except BotoCoreError as error:
        raise ApiError(f"the AWS credentials cannot be used: {error}") from error


def _object(answer: httpx.Response) -> dict[str, Any] | None:
    try:
        value: object = answer.json()
    except ValueError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _problem(answer: httpx.Response) -> ApiError:
    problem = _object(answer) or {}
    message = problem.get("detail") or problem.get("title")
    if not message:
        said = problem.get("message")  # the gateway's own answers have nothing else
        message = f"the API answered {answer.status_code}{f' ({said})' if said else ''}"
        if answer.status_code in _UNAUTHORIZED:
            message += "; may these credentials call this route?"
    return ApiError(str(message), status=answer.status_code, field=str(problem.get("field") or ""))
