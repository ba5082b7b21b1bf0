"""Reads the `instructions` of `POST /build`: which document, what to redact, whether to apply."""

from __future__ import annotations

import re
from dataclasses import dataclass

from local.sandbox.nutrient import instructions as shapes
from local.sandbox.nutrient.errors import BadRequestError
from local.sandbox.nutrient.matching import Target
from local.sandbox.nutrient.presets import pattern_of


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
    asked = shapes.read(shapes.BuildInstructions, instructions)
    targets: list[Target] = []
    for number, action in enumerate(asked.actions):
        if isinstance(action, shapes.CreateRedactions):
            targets.append(_target(action, f"actions[{number}].strategyOptions"))
    apply = any(isinstance(action, shapes.ApplyRedactions) for action in asked.actions)
    return BuildRequest(asked.parts[0].file, tuple(targets), apply)


def _target(action: shapes.CreateRedactions, path: str) -> Target:
    options = action.strategy_options
    given = {"text": options.text, "regex": options.regex, "preset": options.preset}
    value = given[action.strategy]
    if value is None:
        raise BadRequestError("is missing", path=f"{path}.{action.strategy}")
    # Patterns heed case unless told otherwise; text and presets do not.
    sensitive = options.case_sensitive
    return Target(
        action.strategy,
        _pattern(action.strategy, value, f"{path}.{action.strategy}"),
        case_sensitive=action.strategy == "regex" if sensitive is None else sensitive,
        include_annotations=options.include_annotations,
        start=options.start,
        limit=options.limit,
    )


def _pattern(strategy: str, value: str, path: str) -> str | None:
    """Return the text or regular expression a target is found by."""
    if strategy == "preset":
        return pattern_of(value, path)
    if strategy == "regex":
        try:
            re.compile(value)
        except re.error as error:
            raise BadRequestError("not a regular expression", path=path) from error
    return value
