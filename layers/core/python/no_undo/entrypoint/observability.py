"""Logs and metrics of every function: ids, codes and places in the code, never values (P10)."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping
from datetime import timedelta

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.logging.utils import copy_config_to_registered_loggers
from aws_lambda_powertools.metrics import MetricUnit

logger = Logger()
copy_config_to_registered_loggers(source_logger=logger, include={"no_undo"})
logging.getLogger("no_undo").setLevel(logging.INFO)


def log_unexpected(error: BaseException) -> None:
    """Log an error nobody planned for: its class and where it came from, not what it says.

    The text of a foreign error may quote its input, and the input may be a document or a token.
    """
    frames = traceback.extract_tb(error.__traceback__)
    places = [
        f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno} {frame.name}" for frame in frames
    ]
    logger.error("unexpected error", error=type(error).__name__, places=places[-12:])


def publish_sweep(counts: Mapping[str, int], oldest_doubt: timedelta) -> None:
    """Publish what a sweep did, one metric per kind of deed, and what it could not end.

    Args:
        counts: Number by kind of deed.
        oldest_doubt: Age of the oldest attempt in doubt; the age alarm looks at it (design 8.6).
    """
    metrics = Metrics()
    for name, count in counts.items():
        metric = f"Sweep{name.title().replace('_', '')}"
        metrics.add_metric(name=metric, unit=MetricUnit.Count, value=count)
    seconds = oldest_doubt.total_seconds()
    metrics.add_metric(name="OldestInDoubtSeconds", unit=MetricUnit.Seconds, value=seconds)
    metrics.flush_metrics()
