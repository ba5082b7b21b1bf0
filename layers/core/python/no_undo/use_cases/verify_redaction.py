"""Verify Redaction: independent proof before a draft exists, and the page pictures (P8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from no_undo.domain.errors import RedactionUnprovenError
from no_undo.domain.redaction import ChannelResult, ChannelVerdict, RedactionVerdict, TargetType
from no_undo.domain.request import Request, Stage
from no_undo.ports import DocumentInspector, KeyedHasher, RedactionVerifier, TextReading
from no_undo.use_cases.detection import Detection, Sight, detected
from no_undo.use_cases.stage import (
    PNG,
    Stages,
    artefact,
    commit,
    final_document,
    get_json,
    key_of,
    load,
    put_json,
    with_artefact,
)

ACTOR = "verify_redaction"
PICTURE_DPI = 100


@dataclass(frozen=True, slots=True)
class Verification:
    """What proves a redaction and pictures the result."""

    verifier: RedactionVerifier
    detection: Detection
    inspector: DocumentInspector
    hasher: KeyedHasher


def verify_redaction(request_id: str, stages: Stages, verification: Verification) -> None:
    """Prove that every target is gone and picture every page of the final document.

    Raises:
        RedactionUnprovenError: A value survived, or could not be measured; names channels only.
    """
    request = load(request_id, stages.store)
    if request.stage is not Stage.VERIFY:
        return
    changed = request
    details: dict[str, Any] = {"asked": bool(request.redaction)}
    if request.redaction:
        verdict, body = _verdict(request, stages, verification)
        ref = put_json(stages.documents, key_of(request, "verdict.json"), body)
        changed = with_artefact(request, "verdict", ref)
        details |= {
            "proven": verdict.proven,
            "verdictSha256": ref.sha256,
            "checks": len(verdict.channels),
        }
        _refuse_unproven(request, stages, verdict, details)
    final = stages.documents.get(final_document(request))
    pictures = verification.inspector.page_pictures(final, dpi=PICTURE_DPI)
    pages = tuple(
        stages.documents.put(key_of(request, f"page-{number}.png"), picture, PNG)
        for number, picture in enumerate(pictures, start=1)
    )
    commit(
        request_id,
        stages,
        lambda now: replace(
            now,
            artefacts=changed.artefacts,
            pages=pages,
            page_sizes=tuple(png_size(one) for one in pictures),
            stage=Stage.DRAFT,
        ),
        ACTOR,
        "redaction.verified",
        {**details, "pages": len(pages)},
        expected=Stage.VERIFY,
    )


def png_size(picture: bytes) -> tuple[int, int]:
    """Return width and height of a PNG in pixels, from its IHDR chunk (RFC 2083 4.1.1)."""
    return int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big")


def _verdict(
    request: Request, stages: Stages, verification: Verification
) -> tuple[RedactionVerdict, dict[str, Any]]:
    before = stages.documents.get(artefact(request, "assembled"))
    after = stages.documents.get(artefact(request, "redacted"))
    values: dict[str, str] = get_json(stages.documents, artefact(request, "targets"))["values"]
    rows = verification.verifier.verify(
        before, after, values, signature_fields=len(request.recipients)
    )
    found, others = _residual(request, after, verification)
    verdict = RedactionVerdict((*rows, *found))
    body = {
        "proven": verdict.proven,
        "channels": [
            {
                "channel": one.channel,
                "reader": one.reader,
                "result": one.result.value,
                "detail": one.detail,
            }
            for one in verdict.channels
        ],
        "removed": dict(Counter(values.values())),
        "values": [
            {"kind": kind, "hmac": verification.hasher.digest(request.request_id, value)}
            for value, kind in values.items()
        ],
        "unlisted": [
            {"kind": kind, "page": page, "count": count}
            for (kind, page), count in sorted(others.items())
        ],
    }
    return verdict, body


def _residual(
    request: Request, after: bytes, verification: Verification
) -> tuple[tuple[ChannelVerdict, ...], Counter[tuple[str, int]]]:
    """What our own detector still sees: of the kinds asked for it blocks, of others it is shown."""
    asked = {one.value for one in request.redaction if one.type is TargetType.KIND}
    readings = verification.detection.readers.read(after)
    detector = verification.detection.detector
    rows = tuple(
        _detector_row(reading, _kinds(detected((reading,), detector)) & asked)
        for reading in readings
    )
    others = Counter(
        (sight.kind, sight.page_index + 1)
        for sight in detected(readings, detector)
        if sight.is_sure and sight.kind not in asked
    )
    return rows, others


def _kinds(sights: Sequence[Sight]) -> set[str]:
    return {sight.kind for sight in sights if sight.is_sure}


def _detector_row(reading: TextReading, left: AbstractSet[str]) -> ChannelVerdict:
    """Judge what the detector sees in one reading; a reader that did not read proves nothing."""
    pages = ", ".join(str(index + 1) for index in reading.unread)
    if left:
        result, detail = ChannelResult.FOUND, f"kinds still found: {', '.join(sorted(left))}"
    elif reading.failure:
        result, detail = ChannelResult.NOT_PROVEN, reading.failure
    elif reading.unread:
        result, detail = ChannelResult.NOT_PROVEN, f"page {pages} shows pictures nobody has read"
    else:
        result, detail = ChannelResult.GONE, "no value of the asked kinds"
    return ChannelVerdict("detector", reading.reader, result, detail)


def _refuse_unproven(
    request: Request, stages: Stages, verdict: RedactionVerdict, details: dict[str, Any]
) -> None:
    if verdict.proven:
        return
    open_rows = [one for one in verdict.channels if one.result is not ChannelResult.GONE]
    channels = ", ".join(sorted({one.channel for one in open_rows})) or "nothing was checked"
    commit(request.request_id, stages, lambda now: now, ACTOR, "redaction.unproven", details)
    raise RedactionUnprovenError(f"removal is not proven in: {channels}; nothing was drafted")
