"""Nutrient Processor behind the `RedactionService` port: removes targets from a copy of a PDF.

Source of every rule: vendors/nutrient-dws.md (its section numbers below) and
`recordings/observed-nutrient-build-redaction.json`. A 200 says nothing about what was removed: a
target that matches nothing is answered with a valid PDF and no count (6.2).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Final, assert_never

import httpx

from no_undo.adapters.http_client import (
    MAX_DOCUMENT_BYTES,
    Answer,
    Call,
    Effect,
    UploadedFile,
    VendorClient,
)
from no_undo.adapters.json_answers import as_object, as_text, json_object
from no_undo.domain.errors import (
    InvalidRequestError,
    TransientError,
    VendorContractError,
    VendorRefusedError,
)
from no_undo.domain.redaction import RedactionTarget, TargetType
from no_undo.ports import Clock

DEFAULT_BASE_URL: Final = "https://api.nutrient.io"

# What removes a kind. Evidence (6.2, probes of 20 August and 1 September 2026):
#   removes          preset email-address, preset north-american-phone-number, the VIN pattern
#   accepted         the other presets here; whether they match was not measured
#   removes nothing  preset vin: accepted, and a well-formed VIN stayed. Not used.
# Whatever is used, only the verification afterwards shows that a value is gone (P8). A kind without
# a row is refused; its values can be sent as literals.
_PRESETS_BY_KIND: Final[Mapping[str, tuple[str, ...]]] = {
    "email": ("email-address",),
    "phone": ("north-american-phone-number",),
    "ssn": ("social-security-number",),
    "payment_card": ("credit-card-number",),
    "date": ("date",),
    "time": ("time",),
    "url": ("url",),
    "ipv4": ("ipv4",),
    "ipv6": ("ipv6",),
    "ip_address": ("ipv4", "ipv6"),
}
# 17 characters without I, O and Q (ISO 3779). No word boundary, so a longer run matches too.
_PATTERNS_BY_KIND: Final[Mapping[str, str]] = {"vin": "[A-HJ-NPR-Z0-9]{17}"}

_VENDOR: Final = "Nutrient redaction"
_DOCUMENT_PART: Final = "document"
_MAX_KEY_BYTES: Final = 255
_JOB_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_ERROR_IN_PROGRESS: Final = "idempotency_admission_in_progress"

# ? The words of a finished job are not recorded; an unknown word means: still working.
_JOB_DONE: Final = frozenset({"completed", "complete", "succeeded", "success", "done", "finished"})
_JOB_FAILED: Final = frozenset({"failed", "failure", "error", "cancelled", "canceled", "expired"})
_FIRST_POLL_SECONDS: Final = 1.0
_POLL_GROWTH: Final = 1.5
_LONGEST_POLL_SECONDS: Final = 5.0


class NutrientRedaction:
    """The `/build` route, with a Processor key (an extraction key is another product).

    Args:
        base_url: Host, see `DEFAULT_BASE_URL`.
        api_key: Processor key.
        clock: Waits between polls of a job.
        transport: Replaces the network in tests.
        timeout_seconds: Longest silence while writing or reading one call.
        async_jobs: Ask for a job with an idempotency key, so that a repeated stage finds its first
            job instead of paying twice (6.6). Test keys do not have this.
        job_deadline_seconds: Longest time to wait for a job.

    Raises:
        ValueError: The base URL is not HTTPS (loopback excepted), or the key is unusable.
    """

    def __init__(  # noqa: PLR0913 -- one keyword per fact of the connection
        self,
        base_url: str,
        api_key: str,
        *,
        clock: Clock,
        transport: httpx.BaseTransport | None = None,
        timeout_seconds: float = 120.0,
        async_jobs: bool = False,
        job_deadline_seconds: float = 240.0,
    ) -> None:
        self._clock = clock
        self._async_jobs = async_jobs
        self._job_deadline = timedelta(seconds=job_deadline_seconds)
        self._client = VendorClient(
            base_url,
            vendor=_VENDOR,
            headers={"Authorization": f"Bearer {api_key}"},
            timeout_seconds=timeout_seconds,
            transport=transport,
        )

    def redact(
        self, document: bytes, targets: Sequence[RedactionTarget], *, operation_id: str
    ) -> bytes:
        """Return a redacted copy with every mark applied, never only staged (6.1, 6.3).

        It makes a new file, so a lost answer costs credits and nothing else: the call is
        reversible.

        Raises:
            InvalidRequestError: No targets, an empty one, a kind this vendor has nothing for, or an
                operation id that cannot be a key. Nothing was sent.
            TransientError: No answer, throttled, a 5xx, or the job is not done at the deadline.
            VendorRefusedError: Key, credits (402) or document refused, or the job failed.
            VendorContractError: The answer is not a PDF.
        """
        instructions = json.dumps(build_instructions(targets), ensure_ascii=False)
        call = Call(
            "POST",
            "/build",
            form={"instructions": instructions},
            files={_DOCUMENT_PART: UploadedFile("document.pdf", document, "application/pdf")},
            headers=_job_headers(operation_id) if self._async_jobs else {},
            max_bytes=MAX_DOCUMENT_BYTES,
        )
        answer = self._client.exchange(call, Effect.REVERSIBLE)
        if answer.status == HTTPStatus.CONFLICT and self._async_jobs:
            _raise_conflict(call, answer)
        self._client.require_success(answer, call, Effect.REVERSIBLE)
        if answer.status == HTTPStatus.ACCEPTED and self._async_jobs:
            return self._result_of_job(call, answer)
        return _pdf_of(call, answer)

    def _result_of_job(self, call: Call, answer: Answer) -> bytes:
        """Wait for an accepted job and fetch its result."""
        accepted = _job(call, answer)
        job_id = as_text(accepted.get("job_id")) or ""
        if not _JOB_ID.fullmatch(job_id):
            raise VendorContractError(f"{_VENDOR}: {call} answered without a usable job_id")
        finished = self._finished(Call("GET", f"/async/jobs/{job_id}"))
        url = as_text(finished.get("result_url")) or as_text(accepted.get("result_url")) or ""
        route = self._client.same_origin_route(url)
        if route is None:
            raise VendorContractError(
                f"{_VENDOR}: the job's result lies at another host; this key is not sent there"
            )
        result = Call("GET", route, max_bytes=MAX_DOCUMENT_BYTES)
        return _pdf_of(result, self._client.ask(result))

    def _finished(self, call: Call) -> dict[str, object]:
        give_up_at = self._clock.now() + self._job_deadline
        wait_seconds = _FIRST_POLL_SECONDS
        while True:
            job = self._poll(call)
            status = (as_text(job.get("status")) or as_text(job.get("state")) or "").casefold()
            if status in _JOB_DONE:
                return job
            if status in _JOB_FAILED:
                raise VendorRefusedError(f"{_VENDOR}: {call}: the job failed")
            self._wait(wait_seconds, give_up_at, call)
            wait_seconds = min(wait_seconds * _POLL_GROWTH, _LONGEST_POLL_SECONDS)

    def _poll(self, call: Call) -> dict[str, object]:
        try:
            return _job(call, self._client.ask(call))
        except TransientError:
            return {}

    def _wait(self, seconds: float, give_up_at: datetime, call: Call) -> None:
        if self._clock.now() + timedelta(seconds=seconds) > give_up_at:
            raise TransientError(
                f"{_VENDOR}: {call}: not done after {self._job_deadline.total_seconds():.0f} s; "
                "repeat with the same operation, it finds this job"
            )
        self._clock.sleep(seconds)


def build_instructions(targets: Sequence[RedactionTarget]) -> dict[str, object]:
    """Return the `/build` instructions: one creating action per target, and the applying one last.

    Without the last action the vendor only stages: black boxes over text that is still there.

    Raises:
        InvalidRequestError: No targets, an empty one, or a kind without a preset or pattern.
    """
    strategies = [
        strategy
        for position, target in enumerate(targets)
        for strategy in _strategies(target, f"targets[{position}]")
    ]
    if not strategies:
        raise InvalidRequestError(
            "there is nothing to redact: no target was given", field="targets"
        )
    # The vendor charges per action, so equal ones are sent once.
    distinct = [s for position, s in enumerate(strategies) if s not in strategies[:position]]
    return {
        "parts": [{"file": _DOCUMENT_PART}],
        "actions": [
            *({"type": "createRedactions", **strategy} for strategy in distinct),
            {"type": "applyRedactions"},
        ],
    }


def _strategies(target: RedactionTarget, field: str) -> list[dict[str, object]]:
    """Return the actions of one target; what it names never appears in an error."""
    if not target.value.strip():
        raise InvalidRequestError("a redaction target is empty", field=f"{field}.value")
    match target.type:
        case TargetType.KIND:
            return _strategies_of_kind(target.value, field)
        case TargetType.PATTERN:
            return [_strategy("regex", {"regex": target.value})]
        case TargetType.LITERAL:
            return [_strategy("text", {"text": target.value, "caseSensitive": False})]
        case _:
            assert_never(target.type)


def _strategies_of_kind(kind: str, field: str) -> list[dict[str, object]]:
    if kind in _PATTERNS_BY_KIND:
        return [_strategy("regex", {"regex": _PATTERNS_BY_KIND[kind]})]
    if kind not in _PRESETS_BY_KIND:
        known = ", ".join(sorted({*_PRESETS_BY_KIND, *_PATTERNS_BY_KIND}))
        raise InvalidRequestError(
            f"this redaction vendor has nothing for that kind (it has: {known}); send its values "
            "as literals or a pattern",
            field=f"{field}.value",
        )
    return [_strategy("preset", {"preset": preset}) for preset in _PRESETS_BY_KIND[kind]]


def _strategy(name: str, options: Mapping[str, object]) -> dict[str, object]:
    return {"strategy": name, "strategyOptions": {**options, "includeAnnotations": True}}


def _job_headers(operation_id: str) -> dict[str, str]:
    """Return the headers that ask for a job; the operation's digest is the key."""
    usable = operation_id.isascii() and operation_id.isprintable() and " " not in operation_id
    if not usable or not 0 < len(operation_id) <= _MAX_KEY_BYTES:
        raise InvalidRequestError(
            f"the operation id must be 1 to {_MAX_KEY_BYTES} visible ASCII characters",
            field="operation_id",
        )
    return {"Prefer": "respond-async", "Idempotency-Key": operation_id}


def _raise_conflict(call: Call, answer: Answer) -> None:
    """Raise what a 409 means: the first request of this key is under way, or was another one."""
    if _ERROR_IN_PROGRESS.encode() in answer.body:
        raise TransientError(f"{_VENDOR}: {call}: this operation is being admitted; repeat")
    raise VendorRefusedError(
        f"{_VENDOR}: {call}: this operation id was used for other work; nothing was redacted"
    )


def _job(call: Call, answer: Answer) -> dict[str, object]:
    """Return the job an answer describes; its fields may sit under `job`."""
    body = json_object(answer.body)
    if body is None:
        raise VendorContractError(
            f"{_VENDOR}: {call} answered {answer.status} with something else than a JSON object"
        )
    return as_object(body.get("job")) or body


def _pdf_of(call: Call, answer: Answer) -> bytes:
    if not answer.body.startswith(b"%PDF"):
        raise VendorContractError(
            f"{_VENDOR}: {call} answered {answer.status} with something else than a PDF"
        )
    return answer.body
