"""The proof of one redaction: all readers' rows, our own detector on the output, the evidence.

The stage that proves and the command line both come here, so that a laptop gives the same verdict
for the same two files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from no_undo.domain.redaction import (
    EVALUATION_NOTICE,
    ChannelResult,
    ChannelVerdict,
    OnResidual,
    RedactionVerdict,
    alike,
    residual_blocks,
)
from no_undo.ports import RedactionVerifier, TextReading
from no_undo.use_cases.detection import Detection, Sight, detected

BOX_WIDTH = "The width of a black box still hints at the length of what was removed."
ONLY_OCR = "A page is a picture: what OCR could not read there was neither removed nor looked for."
OWN_VIN_RULE = (
    "Vehicle numbers were removed by their values: the redaction service's own rule for them is "
    "known to remove nothing, and is not used."
)
NOTICE_ACCEPTED = (
    "The redaction service stamped its evaluation notice on the pages: the recipients will see it."
)


@dataclass(frozen=True, slots=True)
class Proving:
    """What proves.

    Attributes:
        verifier: The independent readers.
        detection: Looks for what nobody listed.
        evaluation_accepted: True where a trial's notice on the output is only shown.
    """

    verifier: RedactionVerifier
    detection: Detection
    evaluation_accepted: bool = False


@dataclass(frozen=True, slots=True)
class Removal:
    """What was to be removed.

    Attributes:
        values: Value to its kind.
        asked: The kinds that the request named.
        kept: What stays, in the form of `alike`.
        signature_fields: How many parties must keep their tag.
        on_residual: What becomes of what is left; None for the default.
    """

    values: Mapping[str, str]
    asked: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    signature_fields: int = 0
    on_residual: OnResidual | None = None


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found.

    Attributes:
        verdict: Every row.
        left: Personal data nobody listed, as (kind, page from 1) to how often.
        kept: What stays on purpose, as kind to how often.
        warnings: Sentences for the approvers.
    """

    verdict: RedactionVerdict
    left: Mapping[tuple[str, int], int]
    kept: Mapping[str, int]
    warnings: tuple[str, ...]


def prove(before: bytes, after: bytes, removal: Removal, proving: Proving) -> Proof:
    """Look for every value in every channel, and for what nobody listed."""
    rows = proving.verifier.verify(
        before, after, removal.values, signature_fields=removal.signature_fields
    )
    readings = proving.detection.readers.read(after)
    detector = proving.detection.detector
    sights = [one for one in detected(readings, detector) if one.is_sure]
    kept = [one for one in sights if alike(one.value) in removal.kept]
    left = [one for one in sights if alike(one.value) not in removal.kept]
    detector_rows = (
        _detector_row(reading, detected((reading,), detector), removal) for reading in readings
    )
    judged = (*(_judged(row, proving) for row in rows), *detector_rows)
    return Proof(
        verdict=RedactionVerdict(judged),
        left=Counter((one.kind, one.page_index + 1) for one in left),
        kept=Counter(one.kind for one in kept),
        warnings=_warnings(judged, readings, removal),
    )


def verdict_document(proof: Proof, removal: Removal) -> dict[str, Any]:
    """Return the evidence: what was checked, by which reader, with what result; no values."""
    return {
        "proven": proof.verdict.proven,
        "channels": [_row(one) for one in proof.verdict.channels],
        "removed": dict(Counter(removal.values.values())),
        "kept": dict(proof.kept),
        "unlisted": [
            {"kind": kind, "page": page, "count": count}
            for (kind, page), count in sorted(proof.left.items())
        ],
        "warnings": list(proof.warnings),
    }


def _row(one: ChannelVerdict) -> dict[str, Any]:
    return asdict(one) | {"result": one.result.value, "pages": list(one.pages)}


def _judged(row: ChannelVerdict, proving: Proving) -> ChannelVerdict:
    """Let a trial's notice pass where the deployment says so."""
    notice = row.channel == EVALUATION_NOTICE and row.result is ChannelResult.FOUND
    if not notice or not proving.evaluation_accepted:
        return row
    return replace(row, result=ChannelResult.GONE, warning=NOTICE_ACCEPTED)


def _detector_row(
    reading: TextReading, sights: Sequence[Sight], removal: Removal
) -> ChannelVerdict:
    """Judge what the detector sees in one reading; a reader that did not read proves nothing."""
    blocking = [
        one
        for one in sights
        if one.is_sure
        and alike(one.value) not in removal.kept
        and residual_blocks(one.kind, removal.asked, removal.on_residual)
    ]
    result, pages = ChannelResult.GONE, set[int]()
    if blocking:
        result, pages = ChannelResult.FOUND, {one.page_index for one in blocking}
        detail = f"still found: {', '.join(sorted({one.kind for one in blocking}))}"
    elif reading.failure:
        result, detail = ChannelResult.NOT_PROVEN, reading.failure
    elif reading.unread:
        result, pages = ChannelResult.NOT_PROVEN, set(reading.unread)
        detail = "pages show pictures that nobody has read"
    else:
        detail = "nothing that blocks"
    numbers = tuple(sorted(index + 1 for index in pages))
    return ChannelVerdict("detector", reading.reader, result, detail, numbers)


def _warnings(
    rows: Sequence[ChannelVerdict], readings: Sequence[TextReading], removal: Removal
) -> tuple[str, ...]:
    by_ocr = any(reading.by_ocr and reading.pages for reading in readings)
    sentences = [
        BOX_WIDTH if removal.values else "",
        ONLY_OCR if by_ocr else "",
        OWN_VIN_RULE if "vin" in removal.values.values() else "",
        *(row.warning for row in rows),
    ]
    return tuple(dict.fromkeys(filter(None, sentences)))
