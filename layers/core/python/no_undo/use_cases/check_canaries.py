"""Check Canaries: read known documents again; a changed answer withdraws automatic acceptance.

A canary that gave no answer this time proves nothing either way: it is counted, and tried again at
the next run.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, replace

from no_undo.domain.audit_chain import AuditEvent
from no_undo.domain.canary import NO_ANSWER, Canary, Expectation, Withdrawal, changes_of
from no_undo.domain.errors import (
    InvalidRequestError,
    TransientError,
    VendorContractError,
    VendorRefusedError,
)
from no_undo.domain.extraction_schema import SCHEMAS
from no_undo.domain.field_routing import extracted_fields
from no_undo.ports import CanaryStore, Change, Clock, ExtractionService, FloorsSource, StateStore
from no_undo.use_cases.settle_plan import OPERATIONS_CHAIN

logger = logging.getLogger(__name__)

ACTOR = "check_canaries"


@dataclass(frozen=True, slots=True)
class CanaryCheck:
    """What checks canaries.

    Attributes:
        service: The vendor, None without an account.
        canaries: The canaries, and what was withdrawn.
        floors: The floors with their evidence.
        store: For the audit.
        clock: Says when.
    """

    service: ExtractionService | None
    canaries: CanaryStore
    floors: FloorsSource
    store: StateStore
    clock: Clock


def check_canaries(check: CanaryCheck) -> dict[str, int]:
    """Read every canary again.

    Returns:
        Counts for metrics: `checked`, `drifted` and `failed` canaries.

    Raises:
        RefusedError: The thresholds document cannot be used.
        TransientError: The canaries could not be read, or a withdrawal not be stored.
    """
    counts = Counter({"checked": 0, "drifted": 0, "failed": 0})
    if check.service is None:
        return dict(counts)
    for canary in check.canaries.canaries():
        try:
            changes = _changes(canary, check.service)
        except (TransientError, VendorRefusedError, InvalidRequestError) as error:
            logger.warning("a canary gave no answer", extra={"id": canary.name, "code": error.code})
            counts["failed"] += 1
            continue
        counts["checked"] += 1
        if changes:
            counts["drifted"] += 1
            _withdraw(canary, changes, check)
    return dict(counts)


def _changes(canary: Canary, service: ExtractionService) -> tuple[str, ...]:
    schema = SCHEMAS.get(canary.document_type)
    if schema is None:
        raise InvalidRequestError("there is no schema for this document type", field=canary.name)
    try:
        answer = service.extract(canary.document, schema, mode=canary.expected.mode)
    except VendorRefusedError:
        raise
    except VendorContractError:
        return (f"{canary.name}: {NO_ANSWER}",)
    seen = Expectation.of(
        extracted_fields(answer.data, answer.metadata, schema),
        mode=answer.mode,
        fingerprint=answer.fingerprint,
    )
    return changes_of(canary, seen)


def _withdraw(canary: Canary, changes: tuple[str, ...], check: CanaryCheck) -> None:
    """Store the withdrawal first, then record it: what is off stays off if the record fails."""
    evidence = check.floors.floors(canary.document_type).evidence
    found = Withdrawal(canary.document_type, evidence, check.clock.now(), changes)
    known = check.canaries.withdrawal(canary.document_type)
    if known is not None and known.evidence == evidence:
        joined = tuple(dict.fromkeys((*known.changes, *changes)))
        found = replace(known, changes=joined)
        if joined == known.changes:
            return
    check.canaries.withdraw(found)
    event = AuditEvent(
        kind="extraction.drifted",
        actor=ACTOR,
        at=check.clock.now(),
        details={
            "documentType": canary.document_type,
            "evidence": evidence,
            "changes": list(changes),
        },
    )
    check.store.commit(Change(OPERATIONS_CHAIN, event, ()))
