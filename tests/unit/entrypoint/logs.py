"""What the functions log, caught as text."""

from __future__ import annotations

import io
import logging
from collections.abc import Generator
from contextlib import contextmanager

from no_undo.entrypoint.observability import logger


@contextmanager
def logged() -> Generator[io.StringIO]:
    """Collect every line that is logged meanwhile, formatted as in a function's log."""
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    handler.setFormatter(logger.registered_formatter)
    python_logger = logging.getLogger(logger.name)
    python_logger.addHandler(handler)
    try:
        yield lines
    finally:
        python_logger.removeHandler(handler)
