"""Logs and metrics of every function: ids, codes and places in the code, never values (P10)."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping
from enum import StrEnum

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.logging.utils import copy_config_to_registered_loggers
from aws_lambda_powertools.metrics import MetricUnit

from no_undo.use_cases.export_audit import ExportReport
from no_undo.use_cases.list_in_doubt import Waiting

SERVICE = "no-undo"
NAMESPACE = "NoUndo"
"""Dimension and namespace of every metric; the alarms of the template name both."""

logger = Logger(service=SERVICE)
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
    publish_incident(Incident.UNEXPECTED)


class Incident(StrEnum):
    """What a person has to look at; the values are metric names, each with an alarm."""

    SEND = "SendIncident"
    SIGNED_NOT_ARCHIVED = "SignedNotArchived"
    UNEXPECTED = "UnexpectedError"


def publish_waiting(waiting: Waiting) -> None:
    """Publish what is in doubt or waits for an operator; alarms look at it (design 8.6)."""
    _publish(
        {
            "OldestInDoubtSeconds": waiting.oldest_doubt.total_seconds(),
            "WaitingForOperator": waiting.on_operator,
            "BeginsPaused": int(waiting.paused),
        }
    )


def publish_sweep(counts: Mapping[str, int]) -> None:
    """Publish what a sweep did: one metric per kind of deed."""
    _publish({f"Sweep{name.title().replace('_', '')}": count for name, count in counts.items()})


def publish_canaries(counts: Mapping[str, int]) -> None:
    """Publish what a check of the canaries found; alarms look at what drifted and what failed."""
    _publish({f"Canaries{name.title()}": count for name, count in counts.items()})


def publish_incident(incident: Incident, *, happened: bool = True) -> None:
    """Publish whether something happened that a person has to look at."""
    _publish({incident.value: int(happened)})


def _publish(values: Mapping[str, float]) -> None:
    if not values:
        return
    metrics = Metrics(namespace=NAMESPACE, service=SERVICE)
    for name, value in values.items():
        unit = MetricUnit.Seconds if name.endswith("Seconds") else MetricUnit.Count
        metrics.add_metric(name=name, unit=unit, value=value)
    metrics.flush_metrics()


def publish_export(report: ExportReport) -> None:
    """Publish what a run of the export did, and how old the oldest record is that is left.

    The lag alarm looks at the age, and at its absence: a run that fails publishes nothing.
    """
    _publish(
        {
            "AuditCheckpoints": report.checkpoints,
            "AuditRecordsExported": report.records,
            "AuditExportLagSeconds": report.lag.total_seconds(),
        }
    )
