"""Extract Fields: read typed fields from an uploaded document and route every one of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from no_undo.domain.extraction_schema import FREIGHT_INVOICE, FREIGHT_INVOICE_VERSION
from no_undo.domain.field_routing import (
    RoutedField,
    Routing,
    floors_for,
    route_fields,
    withdraw_auto,
)
from no_undo.domain.field_witnesses import (
    DateWitness,
    PrintedArithmeticWitness,
    TextLayerWitness,
)
from no_undo.domain.request import Request, Stage
from no_undo.ports import DocumentInspector, ExtractionAnswer, ExtractionService
from no_undo.use_cases.stage import Stages, commit, key_of, load, put_json, with_artefact

ACTOR = "extract_fields"
MODE = "understand"
DOCUMENT_TYPE = "invoice"
NOT_CALIBRATED = (
    "The checks agree, but too few documents were ever compared with the truth to let that decide "
    "alone; please confirm."
)


@dataclass(frozen=True, slots=True)
class Extraction:
    """What reads fields: the vendor, None without an account, and our own reader."""

    service: ExtractionService | None
    inspector: DocumentInspector


def extract_fields(request_id: str, stages: Stages, extraction: Extraction) -> None:
    """Route every field of an uploaded document, or go on where nothing is to be read.

    Structured data needs no reading, and a caller may go without; the card says which it was.

    Raises:
        TransientError: The vendor gave no usable answer this time.
        VendorRefusedError, VendorContractError: It will not give one.
    """
    request = load(request_id, stages.store)
    if request.stage is not Stage.EXTRACT:
        return
    if not request.extraction or extraction.service is None:
        commit(request_id, stages, _next, ACTOR, "extraction.not_asked", {})
        return
    document = stages.documents.get(request.source_document)
    answer = extraction.service.extract(document, FREIGHT_INVOICE, mode=MODE)
    routing = _routed(document, answer, extraction)
    ref = put_json(stages.documents, key_of(request, "fields.json"), _body(routing, answer))
    routes = Counter(one.route.value for one in routing.fields)
    commit(
        request_id,
        stages,
        lambda now: _next(with_artefact(now, "fields", ref)),
        ACTOR,
        "fields.routed",
        {
            "fieldsSha256": ref.sha256,
            "routes": dict(routes),
            "calibrated": routing.calibrated,
            "fingerprint": answer.fingerprint,
        },
    )


def _next(request: Request) -> Request:
    return replace(request, stage=Stage.ASSEMBLE)


def _routed(document: bytes, answer: ExtractionAnswer, extraction: Extraction) -> Routing:
    """Walk the answer and let the witnesses speak that need no further vendor call."""
    facts = extraction.inspector.inspect(document)
    texts = tuple(page.text for page in extraction.inspector.page_texts(document))
    witnesses = (
        TextLayerWitness(texts, complete=facts.has_text),
        PrintedArithmeticWitness(texts),
        DateWitness(),
    )
    routing = route_fields(
        answer.data,
        answer.metadata,
        FREIGHT_INVOICE,
        floors=floors_for(DOCUMENT_TYPE),
        witnesses=witnesses,
        fingerprint=answer.fingerprint,
    )
    return routing if routing.calibrated else withdraw_auto(routing, NOT_CALIBRATED)


def _body(routing: Routing, answer: ExtractionAnswer) -> dict[str, Any]:
    return {
        "schema": FREIGHT_INVOICE_VERSION,
        "mode": answer.mode,
        "fingerprint": answer.fingerprint,
        "calibrated": routing.calibrated,
        "fields": [_field(one) for one in routing.fields],
    }


def _field(one: RoutedField) -> dict[str, Any]:
    return {
        "path": one.path,
        "label": label_of(one.path),
        "value": None if one.value is None else str(one.value),
        "route": one.route.value,
        "step": one.step,
        "reason": one.reason,
        "witnesses": [
            {"name": witness.name, "says": witness.says.value} for witness in one.witnesses
        ],
        "page": None,
    }


def label_of(path: str) -> str:
    """Return a path for a reader: `line_items[0].unit_price` is `Line items 1, unit price`."""
    parts = path.replace("[", ".[").split(".")
    words = [
        str(int(part[1:-1]) + 1) if part.startswith("[") else part.replace("_", " ")
        for part in parts
    ]
    text = " ".join(words[:2]) if len(words) > 1 else words[0]
    rest = ", ".join(words[2:])
    return (text + (f", {rest}" if rest else "")).capitalize()
