"""Corrections of extracted fields: what may be corrected, and into what.

Rules:
1. Only a field that the schema asks for can be corrected: it has a place in the document that is
   made again.
2. A correction is one line in the shape that the schema asks for. Nothing is guessed: a number is
   digits with a point before its decimals, a date is written year-month-day.
3. A single `-` says that the document does not give the field.
4. Every correction is kept; the newest one of a field stands.
5. A document is made again at most so often; after that a person rejects and submits anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Final

from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.extraction_schema import FREIGHT_INVOICE, Schema
from no_undo.domain.plain_text import plain_line

MAX_VALUE: Final = 500
LAST_ROUND: Final = 10
"""The last round (1-based); its card offers no correction (rule 5)."""
NOT_GIVEN: Final = "-"

_PART = re.compile(r"([a-z_]{1,50})(\[[0-9]{1,5}\])?", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,4})?", re.ASCII)
_WHOLE = re.compile(r"-?[0-9]{1,15}", re.ASCII)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


class FieldShape(StrEnum):
    """What a value has to look like (rule 2)."""

    TEXT = "text"
    NUMBER = "number"
    WHOLE = "whole number"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class Correction:
    """One corrected field.

    Attributes:
        path: Which field, for example `line_items[0].quantity`.
        by: Normalised address of the approver.
        at: UTC.
        old: The value that their card showed, None when it showed none.
        new: The value that stands now, None when the document does not give it.
    """

    path: str
    by: str
    at: datetime
    old: str | None = None
    new: str | None = None


def standing(corrections: Iterable[Correction]) -> Mapping[str, Correction]:
    """Return the correction that stands for each path (rule 4)."""
    return {one.path: one for one in corrections}


def shape_at(path: str, schema: Schema = FREIGHT_INVOICE) -> FieldShape | None:
    """Return the shape of the field at a path; None where the schema asks for no value (rule 1)."""
    node: Schema | None = schema
    for step in path.split("."):
        part = _PART.fullmatch(step)
        node = None if part is None or node is None else node.get("properties", {}).get(part[1])
        if node is not None and part is not None and part[2]:
            node = node.get("items")
    return None if node is None else _shape(node)


def _shape(node: Schema) -> FieldShape | None:
    match node["type"]:
        case "string":
            return FieldShape.DATE if node.get("format") == "date" else FieldShape.TEXT
        case "number":
            return FieldShape.NUMBER
        case "integer":
            return FieldShape.WHOLE
        case _:
            return None


def corrected_value(typed: str, shape: FieldShape) -> str | None:
    """Return a correction as it will be printed.

    Returns:
        The value, or None for a field that the document does not give (rule 3).

    Raises:
        InvalidRequestError: It does not have the shape; the message says how to write it.
    """
    value = typed.strip()
    if not value:
        raise InvalidRequestError("Write the right value, or a single - when there is none.")
    if value == NOT_GIVEN:
        return None
    match shape:
        case FieldShape.NUMBER if not _NUMBER.fullmatch(value):
            raise InvalidRequestError(
                "Write a number such as 1234.50: digits, and a point before the decimals."
            )
        case FieldShape.WHOLE if not _WHOLE.fullmatch(value):
            raise InvalidRequestError("Write a whole number such as 12, in digits.")
        case FieldShape.DATE if not _is_date(value):
            raise InvalidRequestError("Write the date as year-month-day, such as 2026-09-30.")
        case _:
            return _line(value)


def _is_date(value: str) -> bool:
    if not _DATE.fullmatch(value):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _line(value: str) -> str:
    if "${" in value:
        raise InvalidRequestError("Leave out `${`: the e-sign service would read it as a field.")
    try:
        return plain_line(value, field="value", max_length=MAX_VALUE)
    except InvalidRequestError:
        raise InvalidRequestError(
            f"Write one line of at most {MAX_VALUE} characters, without control characters."
        ) from None
