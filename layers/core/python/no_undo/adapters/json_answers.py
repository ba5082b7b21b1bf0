"""Reads untrusted JSON: each function returns what it was asked for, or None.

Vendor answers are mapped by hand from here. A validation library's complaint would quote the value
that is wrong, and values must not reach an error text.
"""

from __future__ import annotations

import json
import math
from typing import Final, NoReturn, cast

MAX_DEPTH: Final = 64


def json_object(body: bytes) -> dict[str, object] | None:
    """Return the JSON object a body holds, or None when it is anything else.

    Whole and fractional numbers stay apart as the vendor wrote them: `4` is an int,
    `4.0` a float. Nesting deeper than `MAX_DEPTH` is refused, so readers may recurse.
    """
    try:
        value = as_object(json.loads(body, parse_constant=_refuse_constant, parse_float=_finite))
    except (ValueError, RecursionError):
        return None
    return value if _is_shallow(value) else None


def _is_shallow(value: object) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        children = [list((as_object(v) or {}).values()) + (as_list(v) or []) for v in level]
        level = [child for siblings in children for child in siblings]
        if not level:
            return True
    return False


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON (RFC 8259 6)")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse_constant("an infinite number")


def as_object(value: object) -> dict[str, object] | None:
    """Return a parsed JSON value if it is an object."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def as_list(value: object) -> list[object] | None:
    """Return a parsed JSON value if it is an array."""
    return cast("list[object]", value) if isinstance(value, list) else None


def as_number(value: object) -> float | None:
    """Return a parsed JSON value if it is a finite number; `true` is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def as_text(value: object) -> str | None:
    """Return a parsed JSON value if it is a string with something in it."""
    return value if isinstance(value, str) and value else None
