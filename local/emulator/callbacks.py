"""Step Functions callbacks: waits, heartbeats, timeouts and tokens.

Gap: ``HeartbeatSeconds`` and the ``...SecondsPath`` fields are ignored; the failure of the Lambda
    that starts a wait is swallowed; every attempt of a retried wait has the same token; a late
    answer gets ``TaskDoesNotExist``; a stopped execution keeps its tokens alive.
AWS: a missed heartbeat ends the task with error ``States.Timeout`` and a ``TaskTimedOut`` event
    (recorded on AWS: LocalStack's ``test_heartbeats.snapshot.json``, 2024-04-18), while a Catch or
    Retry may name it ``States.HeartbeatTimeout`` (Step Functions guide, "Error names"). A failure
    of the request fails the task. A new attempt has a new token. An answer for a task that ended
    gets ``TaskTimedOut`` (recorded on AWS for a late answer; believed for a second use), and an
    unknown token ``InvalidToken``.
Correction: all of the above. The clock starts before the request, so a slow Lambda uses it up.
"""

# ruff: noqa: SLF001 -- corrections reach into private parts of the emulator; pins guard them

import contextvars
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from local.emulator import pins

_NO_TIMEOUT_SECONDS = 99_999_999
_TIMEOUT, _HEARTBEAT_TIMEOUT = "States.Timeout", "States.HeartbeatTimeout"
_ENDED = ("TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'")

Json = dict[str, Any]


class MissedHeartbeat(str):
    """The error name of a missed heartbeat: reads ``States.Timeout``, may be caught as either."""

    __slots__ = ()


@dataclass(slots=True)
class ParkedTask:
    """One task that waits for a callback.

    Attributes:
        done: Set when an answer or a failure is there.
        result: The answer's JSON text.
        error: Name and cause of a failure.
        beat: Monotonic time of the last sign of life, in seconds.
    """

    done: threading.Event = field(default_factory=threading.Event)
    result: str = "{}"
    error: tuple[str, str] | None = None
    beat: float = field(default_factory=time.monotonic)
    _first: threading.Lock = field(default_factory=threading.Lock)

    def succeed(self, result: str) -> None:
        """End the task with an answer, unless it has ended."""
        if self._first.acquire(blocking=False):
            self.result = result
            self.done.set()

    def fail(self, error: str, cause: str) -> None:
        """End the task with an error, unless it has ended."""
        if self._first.acquire(blocking=False):
            self.error = (error, cause)
            self.done.set()


class CallbackBook:
    """Every callback token of this process: the ones that wait and the ones that are used up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parked: dict[str, tuple[str, ParkedTask]] = {}
        self._ended: set[str] = set()

    def park(self, token: str, execution_arn: str) -> ParkedTask:
        """Register a task under its token."""
        task = ParkedTask()
        with self._lock:
            self._parked[token] = (execution_arn, task)
        return task

    def end(self, token: str) -> None:
        """Mark a token as used up."""
        with self._lock:
            self._parked.pop(token, None)
            self._ended.add(token)

    def end_execution(self, execution_arn: str) -> None:
        """Let go of every task of an execution that was stopped."""
        with self._lock:
            stopped = [
                (token, task) for token, (arn, task) in self._parked.items() if arn == execution_arn
            ]
        for token, task in stopped:
            task.fail("States.Runtime", "The execution was stopped.")
            self.end(token)

    def find(self, token: str) -> ParkedTask | None:
        """Return the task that waits under the token."""
        with self._lock:
            return self._parked.get(token, (None, None))[1]

    def refusal(self, token: str) -> tuple[str, str]:
        """Return the error code and message for a token that nothing waits under."""
        if token in self._ended:
            return _ENDED
        return "InvalidToken", "Invalid Token: 'Invalid token'"


def wait_for_callback(task: ParkedTask, timeout: float, heartbeat: float | None) -> str | None:
    """Wait for an answer.

    Returns:
        None when an answer or a failure arrived, or else the error name.
    """
    started = time.monotonic()
    while True:
        left = timeout - (time.monotonic() - started)
        if left <= 0:
            return _TIMEOUT
        if heartbeat is not None:
            silence_left = heartbeat - (time.monotonic() - task.beat)
            if silence_left <= 0:
                return MissedHeartbeat(_TIMEOUT)
            left = min(left, silence_left)
        if task.done.wait(left):
            return None


def matching_rules(rules: Iterable[Json], error: str) -> list[Json]:
    """Return Retry or Catch rules in which a missed heartbeat is found under both of its names."""
    if not isinstance(error, MissedHeartbeat):
        return list(rules)
    return [
        rule
        | {
            "ErrorEquals": [
                _TIMEOUT if name == _HEARTBEAT_TIMEOUT else name
                for name in rule.get("ErrorEquals", [])
            ]
        }
        for rule in rules
    ]


class _Callbacks:
    """The replacements, sharing one book."""

    def __init__(self, service: Any) -> None:  # noqa: ANN401 the emulator's module
        self._service = service
        self._book = CallbackBook()
        self._task: contextvars.ContextVar[tuple[str, Json, Json]] = contextvars.ContextVar("task")

    def remember_task(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        def run(state: Json, data: object, execution: Json | None, context: Json) -> object:
            execution_arn = (execution or {}).get("executionArn", "")
            self._task.set((execution_arn, context, {"input": data}))
            return execute(state, data, execution, context)

        return run

    def fresh_token(self, build: Callable[..., Any]) -> Callable[..., Any]:
        """Give each attempt a new token: the arguments are built once per attempt."""

        def run(state: Json, data: object, context: Json | None = None) -> object:
            if ".waitForTaskToken" in state.get("Resource", "") and context is not None:
                context["Task"] = {"Token": "AQC" + uuid.uuid4().hex * 4}
            return build(state, data, context)

        return run

    def seconds(self, state: Json, name: str, default: float | None) -> float | None:
        """Return ``TimeoutSeconds`` or ``HeartbeatSeconds``, also when given as a path."""
        if name in state:
            return float(state[name])
        if f"{name}Path" not in state:
            return default
        _, context, task = self._task.get()
        path = state[f"{name}Path"]
        return float(self._service._resolve_path_or_ctx(path, task["input"], context))

    def invoke_with_callback(self, _invoke: Callable[..., Any]) -> Callable[..., Any]:
        service = self._service

        def run(resource: str, data: object, token: str, state: Json) -> object:
            execution_arn = self._task.get()[0]
            task = self._book.park(token, execution_arn)
            self._request(task, resource.replace(".waitForTaskToken", ""), data)
            timeout = self.seconds(state, "TimeoutSeconds", _NO_TIMEOUT_SECONDS)
            heartbeat = self.seconds(state, "HeartbeatSeconds", None)
            expired = wait_for_callback(task, timeout or _NO_TIMEOUT_SECONDS, heartbeat)
            self._book.end(token)
            if expired is not None:
                raise service._ExecutionError(expired, "")
            if task.error is not None:
                raise service._ExecutionError(*task.error)
            return json.loads(task.result)

        return run

    def _request(self, task: ParkedTask, resource: str, data: object) -> None:
        """Send the request of a waiting task; its failure ends the task at once."""
        service = self._service

        def send() -> None:
            try:
                service._invoke_resource(resource, data)
            except service._ExecutionError as error:
                task.fail(error.error, error.cause)

        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(send,), daemon=True).start()

    def answer(self, apply: Callable[[ParkedTask, Json], None]) -> Callable[[Json], Any]:
        """Return a ``SendTask*`` operation."""
        service = self._service

        def run(request: Json) -> object:
            refusal = self._refusal(request)
            if refusal is not None:
                return service.error_response_json(*refusal, 400)
            task = self._book.find(request["taskToken"])
            if task is not None:
                apply(task, request)
            return service.json_response({})

        return run

    def _refusal(self, request: Json) -> tuple[str, str] | None:
        """Return the error code and message for an answer that cannot be taken."""
        task = self._book.find(request.get("taskToken", ""))
        if task is None:
            return self._book.refusal(request.get("taskToken", ""))
        if task.done.is_set():
            return _ENDED
        try:
            json.loads(request.get("output", "{}"))
        except ValueError:
            return "InvalidOutput", "Invalid Output: 'Invalid JSON format'"
        return None

    def stop(self, stop: Callable[..., Any]) -> Callable[..., Any]:
        def run(request: Json) -> object:
            response = stop(request)
            self._book.end_execution(request.get("executionArn", ""))
            return response

        return run

    def add_event(self, add: Callable[..., Any]) -> Callable[..., Any]:
        """Record a task that ran out of time as ``TaskTimedOut``."""

        def run(execution: Json, kind: str, details: Json | None = None) -> object:
            failed = (details or {}).get("taskFailedEventDetails", {})
            if kind == "TaskFailed" and failed.get("error") == _TIMEOUT:
                return add(execution, "TaskTimedOut", {"taskTimedOutEventDetails": failed})
            return add(execution, kind, details)

        return run


def _succeed(task: ParkedTask, request: Json) -> None:
    task.succeed(request.get("output", "{}"))


def _fail(task: ParkedTask, request: Json) -> None:
    task.fail(request.get("error", ""), request.get("cause", ""))


def _beat(task: ParkedTask, _request: Json) -> None:
    task.beat = time.monotonic()


def _both_names(find: Callable[..., Any]) -> Callable[..., Any]:
    def run(rules: list[Json], error: str, *rest: object) -> object:
        return find(matching_rules(rules, error), error, *rest)

    return run


def install() -> None:
    """Make waits for a task token behave as on AWS."""
    service = pins.module("services.stepfunctions")
    callbacks = _Callbacks(service)
    pins.replace(service, "_execute_task", "53c818d247db", callbacks.remember_task)
    pins.replace(service, "_apply_parameters", "a90d58220630", callbacks.fresh_token)
    pins.replace(service, "_apply_jsonata_arguments", "c74f8b18dccd", callbacks.fresh_token)
    pins.replace(service, "_invoke_with_callback", "bbb38423156a", callbacks.invoke_with_callback)
    pins.replace(
        service, "_send_task_success", "12eff48bce57", lambda _: callbacks.answer(_succeed)
    )
    pins.replace(service, "_send_task_failure", "c2a489b4ed33", lambda _: callbacks.answer(_fail))
    pins.replace(service, "_send_task_heartbeat", "56879a4655d1", lambda _: callbacks.answer(_beat))
    pins.replace(service, "_stop_execution", "44d2d84ccd5c", callbacks.stop)
    pins.replace(service, "_add_event", "b1db143ccd21", callbacks.add_event)
    pins.replace(service, "_find_matching_retrier", "cb494ae8503c", _both_names)
    pins.replace(service, "_find_matching_catcher", "7fcca16317a4", _both_names)
