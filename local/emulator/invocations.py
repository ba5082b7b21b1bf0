"""Throttled and asynchronous invocations.

Gap: a throttle reaches a state machine as ``Lambda.Unknown``; an asynchronous event that meets a
    full account uses up its retries on the throttle and is lost.
AWS: the state machine sees ``Lambda.TooManyRequestsException`` (Step Functions guide, "Lambda
    service exceptions"); a throttled asynchronous event goes back to the queue for up to six
    hours and costs no attempt (Lambda guide, "How Lambda handles errors and retries").
Correction: both.
"""

# ruff: noqa: SLF001 -- corrections reach into private parts of the emulator; pins guard them

import contextvars
import time
from collections.abc import Callable
from typing import Any

from local.emulator import pins

_THROTTLED = "TooManyRequestsException"
_REQUEUE_SECONDS = 0.25
_EVENT_AGE_SECONDS = 6 * 60 * 60

Json = dict[str, Any]


def _wait_out_throttle(execute: Callable[..., Json], function: Json, event: object) -> Json:
    """Run a function, again after a pause for as long as the account is full."""
    deadline = time.monotonic() + _EVENT_AGE_SECONDS
    while True:
        result = execute(function, event)
        if not result.get("throttle") or time.monotonic() > deadline:
            return result
        time.sleep(_REQUEUE_SECONDS)


def install() -> None:
    """Treat throttles as AWS does."""
    service, machine = pins.module("services.lambda_svc"), pins.module("services.stepfunctions")
    asynchronous: contextvars.ContextVar[bool] = contextvars.ContextVar("asynchronous")

    def mark_asynchronous(invoke: Callable[..., None]) -> Callable[..., None]:
        def run(function: Json, event: object) -> None:
            token = asynchronous.set(True)  # the emulator's thread runs in a copy of this context
            try:
                invoke(function, event)
            finally:
                asynchronous.reset(token)

        return run

    def wait_when_asynchronous(execute: Callable[..., Json]) -> Callable[..., Json]:
        def run(function: Json, event: object) -> Json:
            if asynchronous.get(False):
                return _wait_out_throttle(execute, function, event)
            return execute(function, event)

        return run

    def name_throttle(call: Callable[..., object]) -> Callable[..., object]:
        def run(function: str, event: object) -> object:
            try:
                return call(function, event)
            except machine._ExecutionError as error:
                if error.error == "Lambda.Unknown" and _THROTTLED in (error.cause or ""):
                    raise machine._ExecutionError(f"Lambda.{_THROTTLED}", error.cause) from error
                raise

        return run

    pins.replace(service, "invoke_async_with_retry", "289fe4d3cbd4", mark_asynchronous)
    pins.replace(service, "_execute_function", "3ceb16d6480a", wait_when_asynchronous)
    pins.replace(machine, "_call_lambda", "25830369b126", name_throttle)
