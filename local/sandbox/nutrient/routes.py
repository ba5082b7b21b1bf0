"""Nutrient's routes: extract, parse, build and its jobs, and our own controls.

Two products with two keys; both keys look alike, and each opens its own product only.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import partial
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
from local.sandbox.nutrient.build import BuildRequest
from local.sandbox.nutrient.errors import BadRequestError, SandboxError, TooLargeError
from local.sandbox.nutrient.jobs import AdmissionInProgressError, digest_of
from local.sandbox.nutrient.service import Call, Nutrient
from local.sandbox.nutrient.switches import Switches
from local.sandbox.nutrient.worker import shared_pool

EXTRACTION_KEY = "pdf_live_sandbox_data_extraction"
PROCESSOR_KEY = "pdf_live_sandbox_processor"
MAX_UPLOAD_BYTES = 50 * 1024 * 1024


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


_Handler = Callable[[Request], Awaitable[Response]]


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
        Route("/async/jobs/{job_id}", vendor.job, methods=["GET"]),
        Route("/async/jobs/{job_id}/result", vendor.job_result, methods=["GET"]),
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

    async def job(self, request: Request) -> Response:
        return await self._guarded(request, PROCESSOR_KEY, self._job)

    async def job_result(self, request: Request) -> Response:
        return await self._guarded(request, PROCESSOR_KEY, self._job_result)

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
            body = envelope.processor_error(
                error.status, str(error), error.code, error.path, august=august
            )
        else:
            body = envelope.extraction_error(
                error.status, str(error), error.code, error.path, august=august
            )
        return JSONResponse(body, error.status)

    # the calls themselves

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
        self._nutrient.check_credits("extraction", price)
        header = {"job": job, "instructions": instructions, "switches": self._switches()}
        answer, _ = await run_in_threadpool(self._nutrient.pool.run, header, pdf)
        body: dict[str, Any] = answer["answer"]
        credit = body["usage"]["data_extraction_credits"]
        self._nutrient.charge("extraction", credit["cost"])
        credit["remainingCredits"] = self._nutrient.remaining("extraction")
        return JSONResponse(body)

    async def _build(self, request: Request) -> Response:
        form = await _form(request)
        instructions = _json_part(form, "instructions", required=True)
        asked = build.read_request(instructions)
        pdf = await _file_part(form, asked.file)
        self._nutrient.check_credits("processor", asked.cost)
        run = partial(self._redacted, asked, pdf)
        if "respond-async" in request.headers.get("prefer", ""):
            if self._nutrient.switches.admission_in_progress:
                raise AdmissionInProgressError("the first request with this key is being admitted")
            keys = request.headers.getlist("idempotency-key")
            job = self._nutrient.jobs.admit(keys, digest_of(instructions, pdf), run)
            return JSONResponse({**job.body(), "job_access_token": job.access_token}, 202)
        result = await run_in_threadpool(run)
        headers = {
            "x-pspdfkit-request-cost": f"{asked.cost:g}",
            "x-pspdfkit-remaining-credits": f"{self._nutrient.remaining('processor'):g}",
        }
        return Response(result, media_type="application/pdf", headers=headers)

    def _redacted(self, asked: BuildRequest, pdf: bytes) -> bytes:
        """Do the work of one build, and charge for it."""
        header = {
            "job": "redact",
            "targets": [asdict(target) for target in asked.targets],
            "apply": asked.apply,
            "switches": self._switches(),
        }
        _, result = self._nutrient.pool.run(header, pdf)
        self._nutrient.charge("processor", asked.cost)
        return result

    async def _job(self, request: Request) -> Response:
        return JSONResponse(self._nutrient.jobs.get(request.path_params["job_id"]).body())

    async def _job_result(self, request: Request) -> Response:
        result = self._nutrient.jobs.result(request.path_params["job_id"])
        return Response(result, media_type="application/pdf")

    async def _instructions_and_file(self, request: Request) -> tuple[Any, bytes]:
        if request.headers.get("content-type", "").startswith("application/json"):
            raise BadRequestError(
                "documents by URL are not fetched here: upload a file", path="url"
            )
        form = await _form(request)
        return _json_part(form, "instructions", required=False), await _file_part(form, "file")

    def _switches(self) -> dict[str, Any]:
        return self._nutrient.switches.model_dump(mode="json")


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
