"""The state machine's definition as the tests read it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

Json = dict[str, Any]

PATH: Final = Path(__file__).parents[2] / "statemachine" / "signing_pipeline.asl.json"


@cache
def text() -> str:
    """Return the definition as it is written."""
    return PATH.read_text(encoding="utf-8")


@cache
def definition() -> Json:
    """Return the parsed definition."""
    found: Json = json.loads(text())
    return found


def states() -> dict[str, Json]:
    """Return the states by name."""
    found: dict[str, Json] = definition()["States"]
    return found


def tasks() -> dict[str, Json]:
    """Return the Task states by name."""
    return {name: one for name, one in states().items() if one["Type"] == "Task"}


def next_states(state: Json) -> Iterator[str]:
    """Yield every state that can follow."""
    if "Next" in state:
        yield state["Next"]
    if "Default" in state:
        yield state["Default"]
    for rule in (*state.get("Choices", ()), *state.get("Catch", ())):
        yield rule["Next"]


def function_of(state: Json) -> str:
    """Return the placeholder of the function that a Task calls, or empty text."""
    resource = str(state.get("Resource", ""))
    called = state["Parameters"]["FunctionName"] if resource.endswith("Token") else resource
    return called.strip("${}") if called.startswith("${") else ""


def errors_named(state: Json, field: str) -> list[str]:
    """Return every error name in a state's `Retry` or `Catch`, in order."""
    return [name for rule in state.get(field, ()) for name in rule["ErrorEquals"]]
