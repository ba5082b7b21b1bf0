"""Reads typed members out of decoded JSON that somebody outside wrote.

Rules:
1. An unknown key is refused: a misspelt key must not silently mean "absent".
2. Absent and null are the same.
3. A refusal names the path of the member and what it must be, never what it was (P10).
4. Numbers are decimal: text (`"14.50"`, exact) or a JSON number, at most 12 digits before the
   point and 6 after it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import cast

from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.plain_text import plain_line

_DECIMAL_TEXT = re.compile(r"-?\d{1,12}(\.\d{1,6})?", re.ASCII)
_NUMBER_LIMIT = 10**12
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class JsonObject:
    """One JSON object and where it stood; reads typed members or refuses with their path.

    Attributes:
        values: The members, decoded.
        path: Where the object stood, for example `document.invoice.lines[2]`.

    Every reader raises InvalidRequestError with the member's path as `field`.
    """

    values: Mapping[str, object]
    path: str

    @classmethod
    def of(cls, value: object, path: str, keys: frozenset[str]) -> JsonObject:
        """Take a decoded value that must be an object with no other keys than these."""
        if not isinstance(value, Mapping):
            raise InvalidRequestError(f"{path} must be an object.", field=path)
        members = cast("Mapping[str, object]", value)
        if not keys.issuperset(members):
            # The odd key is the caller's text; only its parent is named.
            raise InvalidRequestError(
                f"{path} has a key that is not one of: {', '.join(sorted(keys))}.", field=path
            )
        return cls(members, path)

    def at(self, key: str) -> str:
        """Return the path of a member; an object without a path is the whole input."""
        return f"{self.path}.{key}" if self.path else key

    def text(self, key: str) -> str:
        """Return one plain line of 1 to 200 characters."""
        return plain_line(self.values.get(key), field=self.at(key))

    def optional_text(self, key: str) -> str:
        """Return one plain line, or empty text when the member is absent."""
        return "" if self.values.get(key) is None else self.text(key)

    def items(self, key: str, *, most: int) -> Sequence[object]:
        """Return a list's entries, none when it is absent, refusing more than `most`."""
        value = self.values.get(key)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise InvalidRequestError(f"{self.at(key)} must be a list.", field=self.at(key))
        entries = cast("Sequence[object]", value)
        if len(entries) > most:
            raise InvalidRequestError(
                f"{self.at(key)} must have at most {most} entries.", field=self.at(key)
            )
        return entries

    def table(self, key: str) -> Mapping[str, object]:
        """Return an object whose keys are the outside's own names, empty when it is absent."""
        value = self.values.get(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise InvalidRequestError(f"{self.at(key)} must be an object.", field=self.at(key))
        return cast("Mapping[str, object]", value)

    def calendar_date(self, key: str) -> date | None:
        """Return a date written YYYY-MM-DD (ISO 8601), or None when the member is absent."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, str) and _ISO_DATE.fullmatch(value):
            try:
                return date.fromisoformat(value)
            except ValueError:
                pass
        raise InvalidRequestError(
            f"{self.at(key)} must be a calendar date written YYYY-MM-DD.", field=self.at(key)
        )

    def number(self, key: str, *, decimals: int) -> Decimal:
        """Return a number carried to exactly `decimals` places; more places are refused."""
        number = _decimal(self.values.get(key))
        if number is None:
            raise InvalidRequestError(
                f"{self.at(key)} must be a number such as 14.50, with at most 12 digits before "
                "the point.",
                field=self.at(key),
            )
        if number != round(number, decimals):
            raise InvalidRequestError(
                f"{self.at(key)} must have at most {decimals} decimals.", field=self.at(key)
            )
        return round(number, decimals)

    def optional_number(self, key: str, *, decimals: int) -> Decimal | None:
        """Return a number as `number` does, or None when the member is absent."""
        return None if self.values.get(key) is None else self.number(key, decimals=decimals)

    def integer(self, key: str, *, least: int, most: int, default: int) -> int:
        """Return a whole number within bounds (inclusive), or the default when it is absent."""
        value = self.values.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise InvalidRequestError(
                f"{self.at(key)} must be a whole number from {least} to {most}.",
                field=self.at(key),
            )
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """Return true or false, or the default when the member is absent."""
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise InvalidRequestError(f"{self.at(key)} must be true or false.", field=self.at(key))
        return value


def _decimal(value: object) -> Decimal | None:
    """Read decimal text or a JSON number; None when it is neither."""
    match value:
        case bool():  # an int in Python, not a number in JSON
            return None
        case str():
            text = value
        case int() if abs(value) < _NUMBER_LIMIT:
            text = str(value)
        case float():
            # The shortest text that reads back as this float is what the caller wrote.
            text = repr(value)
        case _:
            return None
    return Decimal(text) if _DECIMAL_TEXT.fullmatch(text) else None
