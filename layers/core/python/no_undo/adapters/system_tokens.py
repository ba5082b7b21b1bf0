"""Randomness from the operating system."""

from __future__ import annotations

import secrets
from typing import Final

from no_undo.ports import Clock

_CROCKFORD: Final = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32, lower case: no i, l, o or u; sorts like the number it stands for."""

_RANDOM_BITS: Final = 80
_UID_LENGTH: Final = 26
_BITS_PER_CHARACTER: Final = 5


class SystemTokens:
    """Implements `ports.TokenSource`."""

    def __init__(self, clock: Clock) -> None:
        """Take the clock whose milliseconds begin every uid."""
        self._clock = clock

    def token(self) -> str:
        """Return 256 random bits as 43 URL-safe characters."""
        return secrets.token_urlsafe(32)

    def uid(self) -> str:
        """Return a ULID in lower case: 48 bits of milliseconds, then 80 random bits."""
        milliseconds = int(self._clock.now().timestamp() * 1000)
        number = (milliseconds << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS)
        places = range(_BITS_PER_CHARACTER * (_UID_LENGTH - 1), -1, -_BITS_PER_CHARACTER)
        return "".join(_CROCKFORD[(number >> place) & 31] for place in places)
