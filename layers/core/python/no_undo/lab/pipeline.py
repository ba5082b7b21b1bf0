"""A small driver for the state machine: walks the real definition with the real use cases.

It knows the part of the Amazon States Language that the definition uses: Task (a function, a wait
for a task token, one consistent read of the requests table), Choice by equal text, Pass, Succeed,
Fail, Retry as configured, Catch. Anything else is an error, so that the definition cannot outgrow
the driver unnoticed. An execution moves one state at a time, when it is told to.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, cast

from no_undo.ports import Clock, StateStore

DEFINITION: Final = Path("statemachine", "signing_pipeline.asl.json")
"""Where the definition lies in a checkout; an installed package does not carry it."""

JsonMap = dict[str, Any]
Handler = Callable[[JsonMap], JsonMap]

_CALLBACK = ".waitForTaskToken"
_GET_ITEM = "arn:aws:states:::dynamodb:getItem"
_FUNCTION_DIED = "Runtime.ExitError"
_TIMED_OUT = "States.Timeout"


class ProcessDiedError(BaseException):
    """The process that runs a port call is gone; no product code can catch this."""


class ExecutionStatus(StrEnum):
    """As Step Functions names them."""

    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    STOPPED = "STOPPED"


@dataclass
class Execution:
    """One execution.

    Attributes:
        name: Unique, as given to `start`.
        state: Name of the state it is in.
        data: Its current JSON.
        status: Whether it still runs.
        token: The task token on which it is parked or whose function runs, or empty.
        parked: True while it waits for the answer to its token.
        ready_at: When it may go on, for waits of a retry and timeouts of a parked state.
        history: Names of the states entered, in order.
        retries: How often each retrier of the current state was used.
    """

    name: str
    state: str
    data: JsonMap
    ready_at: datetime
    status: ExecutionStatus = ExecutionStatus.RUNNING
    token: str = ""
    parked: bool = False
    history: list[str] = field(default_factory=list[str])
    retries: Counter[int] = field(default_factory=Counter[int])


def load_definition(start: Path | None = None) -> JsonMap:
    """Read the state machine's definition from the checkout that this package lies in.

    Args:
        start: A path inside the checkout, or None for this module's.

    Raises:
        FileNotFoundError: The package does not lie in a checkout.
    """
    here = (start or Path(__file__)).resolve()
    for folder in here.parents:
        if (folder / DEFINITION).is_file():
            return cast("JsonMap", json.loads((folder / DEFINITION).read_text(encoding="utf-8")))
    raise FileNotFoundError(f"{DEFINITION} is not above {here.name}; run this from a checkout")


class Pipeline:
    """Implements `ports.Executions` over the real definition.

    Attributes:
        executions: Every execution ever started, by name, in order.
        death_stops: True: a function that dies takes its execution with it, as if it were stopped.
    """

    def __init__(
        self,
        definition: Mapping[str, Any],
        handlers: Mapping[str, Handler],
        store: StateStore,
        clock: Clock,
    ) -> None:
        """Take the definition and what its placeholders stand for.

        Args:
            definition: The parsed `.asl.json`.
            handlers: Function placeholder, for example `SendEnvelopeFunctionArn`, to its handler.
            store: Where the requests table's read looks.
            clock: For waits of a retry and for timeouts.
        """
        self.executions: dict[str, Execution] = {}
        self.death_stops = False
        self._states = cast("dict[str, JsonMap]", definition["States"])
        self._start_at = str(definition["StartAt"])
        self._handlers = handlers
        self._store = store
        self._clock = clock
        self._tokens = 0

    def start(self, name: str, request_id: str) -> None:
        """Start an execution; the same name again is no error."""
        if name not in self.executions:
            data = {"requestId": request_id}
            self.executions[name] = Execution(name, self._start_at, data, self._clock.now())

    def is_running(self, name: str) -> bool:
        """Return whether the execution of this name is running."""
        found = self.executions.get(name)
        return found is not None and found.status is ExecutionStatus.RUNNING

    def answer(self, task_token: str, outcome: str) -> bool:
        """Answer a token; False when nobody waits on it any more."""
        for one in self.executions.values():
            if task_token and one.token == task_token and self.is_running(one.name):
                self._leave(one, {"outcome": outcome})
                return True
        return False

    def stop(self, name: str) -> None:
        """End an execution from outside, as an operator's StopExecution does."""
        found = self.executions[name]
        found.status, found.token, found.parked = ExecutionStatus.STOPPED, "", False

    def ready(self) -> tuple[str, ...]:
        """Return the executions that can take a step now, oldest first."""
        now = self._clock.now()
        return tuple(
            one.name
            for one in self.executions.values()
            if one.status is ExecutionStatus.RUNNING and one.ready_at <= now
        )

    def next_ready(self) -> datetime | None:
        """Return when a waiting execution can take its next step, or None."""
        times = [
            one.ready_at
            for one in self.executions.values()
            if one.status is ExecutionStatus.RUNNING and not one.parked
        ]
        return min(times, default=None)

    def step(self, name: str) -> None:
        """Run the state that an execution is in."""
        one = self.executions[name]
        state = self._states[one.state]
        one.history.append(one.state)
        if one.parked:  # it is ready although it waits: its timeout is over
            one.token, one.parked = "", False
            self._fail(one, _TIMED_OUT, "")
            return
        match state["Type"]:
            case "Task":
                self._task(one, state)
            case "Choice":
                self._go(one, self._choose(one, state))
            case "Pass":
                self._leave(one, self._resolved(state["Parameters"], one.data, ""))
            case "Succeed":
                one.status = ExecutionStatus.SUCCEEDED
            case "Fail":
                one.status = ExecutionStatus.FAILED
            case other:
                raise NotImplementedError(f"the driver knows no state of type {other}")

    def _task(self, one: Execution, state: JsonMap) -> None:
        resource = str(state["Resource"])
        if resource.endswith(_CALLBACK):
            self._park(one, state)
        elif resource == _GET_ITEM:
            self._read_stage(one, state)
        else:
            event = self._resolved(state.get("Parameters", one.data), one.data, "")
            result = self._invoke(one, resource, event)
            if result is not None:
                self._leave(one, result)

    def _park(self, one: Execution, state: JsonMap) -> None:
        self._tokens += 1
        token = f"{one.name}/{one.state}/{self._tokens}"
        one.token = token
        parameters = state["Parameters"]
        event = self._resolved(parameters["Payload"], one.data, token)
        result = self._invoke(one, str(parameters["FunctionName"]), event)
        if result is None or one.token != token:
            return  # failed, or answered while its function still ran
        one.parked = True
        one.ready_at = self._clock.now() + timedelta(seconds=state["TimeoutSeconds"])

    def _read_stage(self, one: Execution, state: JsonMap) -> None:
        request = self._store.request(one.data["requestId"])
        item = {} if request is None else {"Item": {"stage": {"S": request.stage.value}}}
        try:
            self._leave(one, self._resolved(state["ResultSelector"], item, ""))
        except KeyError:
            self._fail(one, "States.Runtime", "")

    def _invoke(self, one: Execution, resource: str, event: JsonMap) -> JsonMap | None:
        """Run a function; None when it failed and the failure was handled, or overtaken."""
        token = one.token
        try:
            return self._handlers[resource.strip("${}")](event)
        except ProcessDiedError:
            if self.death_stops:
                self.stop(one.name)
            name, message = _FUNCTION_DIED, ""
        except Exception as error:  # noqa: BLE001 - whatever a function raises, the machine sees
            name, message = type(error).__name__, str(error)
        if one.token == token and one.status is ExecutionStatus.RUNNING:
            one.token = ""
            self._fail(one, name, message)
        return None

    def _fail(self, one: Execution, name: str, message: str) -> None:
        state = self._states[one.state]
        for index, retrier in enumerate(state.get("Retry", ())):
            if _matches(retrier["ErrorEquals"], name):
                if one.retries[index] < retrier["MaxAttempts"]:
                    self._again(one, index, retrier)
                    return
                break
        for catcher in state.get("Catch", ()):
            if _matches(catcher["ErrorEquals"], name):
                cause = json.dumps({"errorType": name, "errorMessage": message})
                _put(one.data, catcher["ResultPath"], {"Error": name, "Cause": cause})
                self._go(one, catcher["Next"])
                return
        one.status = ExecutionStatus.FAILED

    def _again(self, one: Execution, index: int, retrier: JsonMap) -> None:
        """Wait as long as the retrier says at most (its jitter only ever waits shorter)."""
        pause = retrier["IntervalSeconds"] * retrier["BackoffRate"] ** one.retries[index]
        one.retries[index] += 1
        bound = min(pause, retrier["MaxDelaySeconds"])
        one.ready_at = self._clock.now() + timedelta(seconds=bound)

    def _leave(self, one: Execution, result: JsonMap) -> None:
        state = self._states[one.state]
        _put(one.data, state["ResultPath"], result)
        self._go(one, state["Next"])

    def _go(self, one: Execution, state: str) -> None:
        one.state, one.token, one.parked = state, "", False
        one.ready_at = self._clock.now()
        one.retries.clear()

    def _choose(self, one: Execution, state: JsonMap) -> str:
        for choice in state["Choices"]:
            if _at(one.data, choice["Variable"]) == choice["StringEquals"]:
                return str(choice["Next"])
        return str(state["Default"])

    def _resolved(self, template: JsonMap, data: JsonMap, token: str) -> JsonMap:
        """Fill a parameter template in: keys that end in `.$` are paths."""
        filled: JsonMap = {}
        for key, value in template.items():
            if not key.endswith(".$"):
                filled[key] = value
            elif value == "$$.Task.Token":
                filled[key[:-2]] = token
            else:
                filled[key[:-2]] = _at(data, value)
        return filled


def _matches(listed: list[str], name: str) -> bool:
    if "States.ALL" in listed or name in listed:
        return True
    return "States.TaskFailed" in listed and name != _TIMED_OUT


def _at(data: JsonMap, path: str) -> Any:  # noqa: ANN401 - JSON
    value: Any = data
    for key in path.removeprefix("$").strip(".").split("."):
        value = value[key]
    return value


def _put(data: JsonMap, path: str, value: JsonMap) -> None:
    key = path.removeprefix("$.")
    data[key] = value
