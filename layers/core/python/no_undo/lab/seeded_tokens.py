"""Tokens that are the same in every run; never for production."""

from __future__ import annotations

import base64
import random
from threading import Lock
from typing import Final

_CROCKFORD: Final = "0123456789abcdefghjkmnpqrstvwxyz"


class SeededTokens:
    """Implements `ports.TokenSource` from a seed, so that a run can be repeated exactly."""

    def __init__(self, seed: int = 0) -> None:
        """Start a sequence.

        Args:
            seed: The same seed yields the same tokens in the same order.
        """
        self._random = random.Random(seed)  # noqa: S311 - repeatable on purpose
        self._count = 0
        self._lock = Lock()

    def token(self) -> str:
        """Return 43 URL-safe characters."""
        with self._lock:
            raw = self._random.randbytes(32)
        return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")

    def uid(self) -> str:
        """Return 26 characters that sort in the order in which they were asked for."""
        with self._lock:
            self._count += 1
            tail = "".join(self._random.choices(_CROCKFORD, k=16))
            return f"{self._count:010d}{tail}"
