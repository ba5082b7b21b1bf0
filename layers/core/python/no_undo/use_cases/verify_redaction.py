"""Verify Redaction: independent proof before a draft exists, and the page pictures (P8)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from no_undo.domain.errors import RedactionUnprovenError
from no_undo.domain.redaction import ChannelResult, RedactionVerdict, TargetType
from no_undo.domain.request import Request, Stage
from no_undo.ports import DocumentInspector, KeyedHasher
from no_undo.use_cases.redact_document import kept_values
from no_undo.use_cases.redaction_proof import Proving, Removal, prove, verdict_document
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

    proving: Proving
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
        round_number=request.round,
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
    removal = Removal(
        values=values,
        asked=frozenset(one.value for one in request.redaction if one.type is TargetType.KIND),
        kept=kept_values(request),
        signature_fields=len(request.recipients),
        on_residual=request.on_residual,
    )
    proof = prove(before, after, removal, verification.proving)
    hashes = [
        {"kind": kind, "hmac": verification.hasher.digest(request.request_id, value)}
        for value, kind in values.items()
    ]
    return proof.verdict, verdict_document(proof, removal) | {"values": hashes}


def _refuse_unproven(
    request: Request, stages: Stages, verdict: RedactionVerdict, details: dict[str, Any]
) -> None:
    if verdict.proven:
        return
    open_rows = [one for one in verdict.channels if one.result is not ChannelResult.GONE]
    channels = ", ".join(sorted({one.channel for one in open_rows})) or "nothing was checked"
    commit(request.request_id, stages, lambda now: now, ACTOR, "redaction.unproven", details)
    raise RedactionUnprovenError(f"removal is not proven in: {channels}; nothing was drafted")
