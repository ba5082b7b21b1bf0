"""Nutrient's routes: `/extraction/extract`, `/extraction/parse`, `/build`, and our own controls.

Two products with two keys; both keys look alike, and each opens its own product only.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from local.sandbox.nutrient import build, envelope, extract, parse
from local.sandbox.nutrient.errors import BadRequestError, SandboxError, TooLargeError
from local.sandbox.nutrient.switches import HONEST, Switches
from local.sandbox.nutrient.worker import WorkerPool, shared_pool

EXTRACTION_KEY = "pdf_live_sandbox_data_extraction"
PROCESSOR_KEY = "pdf_live_sandbox_processor"
MAX_UPLOAD_BYTES = 50 * 1024 * 1024

_NO_LIMIT_CREDITS = 5000.0
_KEPT_CALLS = 1000


class SandboxState(Protocol):
    """What these routes need of the sandbox."""

    @property
    def data_dir(self) -> Path:
        """Folder where the switches are kept over a restart."""
        ...

    @property
    def reset_hooks(self) -> list[Callable[[], None]]:
        """Called when the whole sandbox is reset."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """One answered call: route, HTTP status, credits taken; no document, no key."""

    route: str
    status: int
    cost: float


@dataclass(slots=True)
class Nutrient:
    """Switches, credits and the record of calls of one sandbox."""

    file: Path
    pool: WorkerPool
    switches: Switches = HONEST
    failures_left: int = 0
    spent: dict[str, float] = field(default_factory=dict[str, float])
    calls: deque[Call] = field(default_factory=lambda: deque(maxlen=_KEPT_CALLS))

    def load(self) -> None:
        """Read the switches kept from before a restart."""
        if self.file.is_file():
            self.change(Switches.model_validate_json(self.file.read_text("utf-8")))

    def change(self, switches: Switches) -> None:
        """Replace all switches and start counting failures and credits anew."""
        self.switches = switches
        self.failures_left = switches.fail_times
        self.spent = {}
        self.file.write_text(switches.model_dump_json(), "utf-8")

    def reset(self) -> None:
        """Behave again, and forget the calls."""
        self.change(HONEST)
        self.calls.clear()

    def remaining(self, product: str) -> float:
        """Return the credits left in one product's bucket."""
        limit = self.switches.remaining_credits
        return (_NO_LIMIT_CREDITS if limit is None else limit) - self.spent.get(product, 0.0)

    def can_pay(self, product: str, cost: float) -> bool:
        """Return False when out of credits; unlimited when no limit is set."""
        if self.switches.out_of_credits:
            return False
        return self.switches.remaining_credits is None or self.remaining(product) >= cost

    def take_failure(self) -> bool:
        """Return True while answers are to fail, counting down."""
        if self.failures_left <= 0:
            return False
        self.failures_left -= 1
        return True


_Handler = Callable[[Request], Awaitable[Response]]


class _NoCreditsError(SandboxError):
    """The bucket is too empty for the call. HTTP 402."""

    status = 402
    code = "insufficient_credits"


def routes(state: SandboxState) -> list[BaseRoute]:
    """Return the routes of both products and of the controls below `/_sandbox/nutrient/`."""
    nutrient = Nutrient(state.data_dir / "nutrient-switches.json", shared_pool())
    nutrient.load()
    state.reset_hooks.append(nutrient.reset)
    vendor = _Vendor(nutrient)
    controls = _Controls(nutrient)
    return [
        Route("/extraction/extract", vendor.extract, methods=["POST"]),
        Route("/extraction/parse", vendor.parse, methods=["POST"]),
        Route("/build", vendor.build, methods=["POST"]),
        Route("/_sandbox/nutrient/switches", controls.switches, methods=["GET", "PUT", "DELETE"]),
        Route("/_sandbox/nutrient/calls", controls.calls, methods=["GET"]),
    ]


class _Vendor:
    """The vendor's side."""

    def __init__(self, nutrient: Nutrient) -> None:
        self._nutrient = nutrient

    async def extract(self, request: Request) -> Response:
        return await self._guarded(request, EXTRACTION_KEY, self._extract)

    async def parse(self, request: Request) -> Response:
        return await self._guarded(request, EXTRACTION_KEY, self._parse)

    async def build(self, request: Request) -> Response:
        return await self._guarded(request, PROCESSOR_KEY, self._build)

    # what every route does first

    async def _guarded(self, request: Request, key: str, handler: _Handler) -> Response:
        try:
            response = await self._answer(request, key, handler)
        finally:
            await request.close()  # uploads wait in temporary files
        cost = float(response.headers.get("x-pspdfkit-request-cost", "0"))
        self._nutrient.calls.append(Call(request.url.path, response.status_code, cost))
        return response

    async def _answer(self, request: Request, key: str, handler: _Handler) -> Response:
        switches = self._nutrient.switches
        if switches.slow_seconds:
            await asyncio.sleep(switches.slow_seconds)
        refused = self._key_refused(request, key)
        if refused is not None:
            return refused
        if self._nutrient.take_failure():
            status = HTTPStatus(switches.fail_status)
            headers = {"retry-after": "1"} if status is HTTPStatus.TOO_MANY_REQUESTS else {}
            return self._gateway(status, status.phrase, headers)
        if switches.html_200:
            return HTMLResponse("<!doctype html><title>Nutrient</title><h1>Please stand by</h1>")
        try:
            return await handler(request)
        except SandboxError as error:
            return self._refusal(error, key)

    def _key_refused(self, request: Request, key: str) -> Response | None:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or given not in (EXTRACTION_KEY, PROCESSOR_KEY):
            return self._gateway(401, "Unauthorized")
        return self._gateway(403, "Forbidden") if given != key else None

    def _gateway(
        self, status: int, details: str, headers: dict[str, str] | None = None
    ) -> Response:
        body = envelope.gateway_error(status, details, august=self._nutrient.switches.august)
        return JSONResponse(body, status, headers=headers)

    def _refusal(self, error: SandboxError, key: str) -> Response:
        august = self._nutrient.switches.august
        if key == PROCESSOR_KEY:
            body = envelope.processor_error(error.status, str(error), error.path, august=august)
        else:
            body = envelope.extraction_error(
                error.status, str(error), error.code, error.path, august=august
            )
        return JSONResponse(body, error.status)

    # the three products' calls

    async def _extract(self, request: Request) -> Response:
        instructions, pdf = await self._instructions_and_file(request)
        asked = extract.read_request(instructions)
        price = envelope.EXTRACT_CREDITS + envelope.PARSE_CREDITS[asked.mode]
        return await self._read("extract", instructions, pdf, price)

    async def _parse(self, request: Request) -> Response:
        instructions, pdf = await self._instructions_and_file(request)
        asked = parse.read_request(instructions)
        return await self._read("parse", instructions, pdf, envelope.PARSE_CREDITS[asked.mode])

    async def _read(self, job: str, instructions: Any, pdf: bytes, price: float) -> Response:  # noqa: ANN401
        self._check_credits("extraction", price)
        header = {"job": job, "instructions": instructions, "switches": self._switches()}
        answer, _ = await run_in_threadpool(self._nutrient.pool.run, header, pdf)
        body: dict[str, Any] = answer["answer"]
        credit = body["usage"]["data_extraction_credits"]
        self._charge("extraction", credit["cost"])
        credit["remainingCredits"] = self._nutrient.remaining("extraction")
        return JSONResponse(body)

    async def _build(self, request: Request) -> Response:
        form = await _form(request)
        asked = build.read_request(_json_part(form, "instructions", required=True))
        pdf = await _file_part(form, asked.file)
        self._check_credits("processor", asked.cost)
        header = {
            "job": "redact",
            "targets": [asdict(target) for target in asked.targets],
            "apply": asked.apply,
            "switches": self._switches(),
        }
        _, result = await run_in_threadpool(self._nutrient.pool.run, header, pdf)
        self._charge("processor", asked.cost)
        headers = {
            "x-pspdfkit-request-cost": f"{asked.cost:g}",
            "x-pspdfkit-remaining-credits": f"{self._nutrient.remaining('processor'):g}",
        }
        return Response(result, media_type="application/pdf", headers=headers)

    async def _instructions_and_file(self, request: Request) -> tuple[Any, bytes]:
        if request.headers.get("content-type", "").startswith("application/json"):
            raise BadRequestError(
                "documents by URL are not fetched here: upload a file", path="url"
            )
        form = await _form(request)
        return _json_part(form, "instructions", required=False), await _file_part(form, "file")

    def _switches(self) -> dict[str, Any]:
        return self._nutrient.switches.model_dump(mode="json")

    def _check_credits(self, product: str, cost: float) -> None:
        if not self._nutrient.can_pay(product, cost):
            raise _NoCreditsError(
                f"operation failed because {cost:g} required credits aren't available"
            )

    def _charge(self, product: str, cost: float) -> None:
        self._nutrient.spent[product] = self._nutrient.spent.get(product, 0.0) + cost


async def _form(request: Request) -> FormData:
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > MAX_UPLOAD_BYTES:
        raise TooLargeError(f"the request is larger than {MAX_UPLOAD_BYTES} bytes")
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise BadRequestError("the request must be multipart/form-data")
    try:
        return await request.form(max_files=4, max_fields=8)
    except HTTPException as error:
        raise BadRequestError("the multipart body cannot be read") from error


def _json_part(form: FormData, name: str, *, required: bool) -> Any:  # noqa: ANN401 - JSON
    part = form.get(name)
    if part is None and not required:
        return {}
    if not isinstance(part, str):
        raise BadRequestError("must be a text part with JSON", path=name)
    try:
        return json.loads(part)
    except (ValueError, RecursionError) as error:
        raise BadRequestError("is not JSON", path=name) from error


async def _file_part(form: FormData, name: str) -> bytes:
    part = form.get(name)
    if not isinstance(part, UploadFile):
        raise BadRequestError("no such file part", path=name)
    content = await part.read(MAX_UPLOAD_BYTES + 1)
    if not content:
        raise BadRequestError("the file is empty", path=name)
    if len(content) > MAX_UPLOAD_BYTES:
        raise TooLargeError(f"the file is larger than {MAX_UPLOAD_BYTES} bytes", path=name)
    return content


class _Controls:
    """Our side: switches and the record of calls. Not part of the vendor's service."""

    def __init__(self, nutrient: Nutrient) -> None:
        self._nutrient = nutrient

    async def switches(self, request: Request) -> Response:
        """GET shows, PUT replaces (keys left out are off), DELETE turns everything off."""
        if request.method == "PUT":
            try:
                self._nutrient.change(Switches.model_validate_json(await request.body()))
            except ValidationError as error:
                problems = error.errors(
                    include_url=False, include_input=False, include_context=False
                )
                return JSONResponse({"problems": problems}, 400)
        elif request.method == "DELETE":
            self._nutrient.reset()
        return JSONResponse(self._nutrient.switches.model_dump(mode="json"))

    async def calls(self, _: Request) -> Response:
        """List the calls since the last reset, oldest first."""
        return JSONResponse({"calls": [asdict(call) for call in self._nutrient.calls]})
