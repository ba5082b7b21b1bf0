"""Reads the `instructions` of `POST /build`: which document, what to redact, whether to apply."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from local.sandbox.nutrient.errors import BadRequestError
from local.sandbox.nutrient.matching import Target
from local.sandbox.nutrient.presets import pattern_of

_MAX_ACTIONS = 200
_MAX_PATTERN = 4096


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """One build.

    Attributes:
        file: Name of the multipart part that holds the document.
        targets: What `createRedactions` actions mark, in order.
        apply: True when an `applyRedactions` action is there.
    """

    file: str
    targets: tuple[Target, ...]
    apply: bool

    @property
    def cost(self) -> float:
        """Credits: about one for each redaction action, at least one for a build."""
        return float(max(1, len(self.targets)))


def read_request(instructions: object) -> BuildRequest:
    """Parse the `instructions` part.

    Raises:
        BadRequestError: Wrong shape, unknown action, strategy or preset, or a broken pattern.
    """
    if not isinstance(instructions, dict):
        raise BadRequestError("instructions must be a JSON object", path="instructions")
    actions = instructions.get("actions", [])
    if not isinstance(actions, list) or len(actions) > _MAX_ACTIONS:
        raise BadRequestError(f"must be a list of at most {_MAX_ACTIONS}", path="actions")
    targets: list[Target] = []
    apply = False
    for number, action in enumerate(actions):
        kind = action.get("type") if isinstance(action, dict) else None
        if kind == "createRedactions":
            targets.append(_target(action, f"actions[{number}]"))
        elif kind == "applyRedactions":
            apply = True
        else:
            raise BadRequestError("unknown action type", path=f"actions[{number}].type")
    return BuildRequest(_file(instructions.get("parts")), tuple(targets), apply)


def _file(parts: object) -> str:
    if not isinstance(parts, list) or len(parts) != 1 or not isinstance(parts[0], dict):
        raise BadRequestError("must be a list of one part here", path="parts")
    name = parts[0].get("file")
    if not isinstance(name, str):
        raise BadRequestError("must name an uploaded part", path="parts[0].file")
    return name


def _target(action: Mapping[str, Any], path: str) -> Target:
    strategy, options = action.get("strategy"), action.get("strategyOptions")
    if strategy not in ("text", "regex", "preset"):
        raise BadRequestError("unknown strategy", path=f"{path}.strategy")
    if not isinstance(options, dict):
        raise BadRequestError("must be an object", path=f"{path}.strategyOptions")
    value = options.get(strategy)
    if strategy == "preset":
        value = pattern_of(value)
    elif not isinstance(value, str) or not value or len(value) > _MAX_PATTERN:
        raise BadRequestError("must be non-empty text", path=f"{path}.strategyOptions.{strategy}")
    elif strategy == "regex":
        _check_pattern(value, path)
    return Target(
        strategy,
        value,
        case_sensitive=_case_sensitive(strategy, options),
        include_annotations=bool(options.get("includeAnnotations", True)),
        start=_whole(options, "start", path) or 0,
        limit=_whole(options, "limit", path),
    )


def _case_sensitive(strategy: str, options: Mapping[str, Any]) -> bool:
    """Return whether case counts: by default for patterns, not for text and presets."""
    return bool(options.get("caseSensitive", strategy == "regex"))


def _check_pattern(pattern: str, path: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise BadRequestError(
            "not a regular expression", path=f"{path}.strategyOptions.regex"
        ) from error


def _whole(options: Mapping[str, Any], name: str, path: str) -> int | None:
    value = options.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadRequestError("must be a whole number", path=f"{path}.strategyOptions.{name}")
    return value
