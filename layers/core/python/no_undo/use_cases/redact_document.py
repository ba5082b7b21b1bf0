"""Redact Document: remove the targets from a copy; the original stays."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from no_undo.domain.canonical_json import sha256_hex
from no_undo.domain.documents import DocumentRef
from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.redaction import RedactionTarget, TargetType, alike
from no_undo.domain.request import Request, Stage
from no_undo.ports import RedactionService
from no_undo.use_cases.detection import Detection
from no_undo.use_cases.stage import (
    PDF,
    Stages,
    artefact,
    commit,
    key_of,
    load,
    put_json,
    with_artefact,
)

ACTOR = "redact_document"


@dataclass(frozen=True, slots=True)
class Redaction:
    """What finds and removes values.

    Attributes:
        service: The vendor, or None without an account (such requests are refused at the door).
        detection: Finds values of kinds, in the text layer and by OCR.
    """

    service: RedactionService | None
    detection: Detection


def redact_document(request_id: str, stages: Stages, redaction: Redaction) -> None:
    """Make a redacted copy of the assembled document, or go on when nothing was asked for.

    Targets are what the request named plus every value of the named kinds that our own detector
    finds. The values are kept for the proof, beside the document and nowhere else.

    Raises:
        InvalidRequestError: There is no redaction account.
        TransientError, VendorRefusedError: The vendor gave no redacted copy.
    """
    request = load(request_id, stages.store)
    if request.stage is not Stage.REDACT:
        return
    if not request.redaction:
        _advance(request, stages)
        return
    if redaction.service is None:
        raise InvalidRequestError("redaction needs a redaction account", field="redact")
    assembled = artefact(request, "assembled")
    document = stages.documents.get(assembled)
    values = values_to_remove(request, document, redaction)
    targets = tuple(
        RedactionTarget(TargetType.LITERAL, value, kind) for value, kind in values.items()
    )
    kept = put_json(stages.documents, key_of(request, "targets.json"), {"values": values})
    copy = document
    if targets:
        copy = redaction.service.redact(
            document, targets, operation_id=_operation_id(document, targets)
        )
    ref = stages.documents.put(key_of(request, "redacted.pdf"), copy, PDF)
    _store(request, stages, ref, kept, values)


def values_to_remove(request: Request, document: bytes, redaction: Redaction) -> dict[str, str]:
    """Return each value to remove with its kind, longest first, without the recipients' names."""
    kinds = {one.value for one in request.redaction if one.type is TargetType.KIND}
    values = {one.value: one.kind for one in request.redaction if one.type is TargetType.LITERAL}
    for sight in redaction.detection.sights(document):
        if sight.is_sure and sight.kind in kinds:
            values.setdefault(sight.value, sight.kind)
    kept = kept_values(request)
    chosen = {value: kind for value, kind in values.items() if alike(value) not in kept}
    return dict(sorted(chosen.items(), key=lambda pair: (-len(pair[0]), pair[0])))


def kept_values(request: Request) -> frozenset[str]:
    """Return what stays, in comparable form: the recipients' own names, and the request's list."""
    names = (one.name for one in request.recipients)
    return frozenset(alike(one) for one in (*names, *request.redact_keep))


def _operation_id(document: bytes, targets: Sequence[RedactionTarget]) -> str:
    return sha256_hex(
        {
            "document": hashlib.sha256(document).hexdigest(),
            "targets": [[one.type.value, one.value] for one in targets],
        }
    )


def _store(
    request: Request,
    stages: Stages,
    ref: DocumentRef,
    kept: DocumentRef,
    values: dict[str, str],
) -> None:
    kinds = sorted(set(values.values()))
    commit(
        request.request_id,
        stages,
        lambda now: replace(
            with_artefact(with_artefact(now, "redacted", ref), "targets", kept),
            stage=Stage.VERIFY,
        ),
        ACTOR,
        "document.redacted",
        {
            "sha256": ref.sha256,
            "counts": {kind: list(values.values()).count(kind) for kind in kinds},
        },
        expected=Stage.REDACT,
        round_number=request.round,
    )


def _advance(request: Request, stages: Stages) -> None:
    commit(
        request.request_id,
        stages,
        lambda now: replace(now, stage=Stage.VERIFY),
        ACTOR,
        "redaction.not_asked",
        {},
        expected=Stage.REDACT,
        round_number=request.round,
    )
