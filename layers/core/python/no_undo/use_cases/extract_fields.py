"""Extract Fields: read typed fields from an uploaded document and route every one of them.

Every vendor answer is stored with its response fingerprint before anything is made of it, so a
repeated run pays for no answer twice. The second readings (the words of the first, and the fields
once more by another reader) are bought only where the document's own text and arithmetic leave a
value open.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from no_undo.domain.canary import Withdrawal
from no_undo.domain.errors import TransientError, VendorContractError
from no_undo.domain.extraction_schema import FREIGHT_INVOICE, FREIGHT_INVOICE_VERSION
from no_undo.domain.field_routing import (
    ExtractedField,
    Place,
    RoutedField,
    Routing,
    Witness,
    extracted_fields,
    leaves_open,
    route_fields,
    withdraw_auto,
)
from no_undo.domain.field_witnesses import (
    DateWitness,
    PrintedArithmeticWitness,
    SecondReadingWitness,
    TextLayerWitness,
)
from no_undo.domain.floors import Floors
from no_undo.domain.form_witness import FormWitness
from no_undo.domain.request import Request, Stage
from no_undo.domain.word_witness import ParseWordsWitness
from no_undo.domain.words import Word, page_texts
from no_undo.ports import (
    CanaryStore,
    DocumentInspector,
    ExtractionAnswer,
    ExtractionService,
    FloorsSource,
    VisibleText,
)
from no_undo.use_cases.stage import (
    Stages,
    commit,
    get_json,
    key_of,
    load,
    put_json,
    with_artefact,
)

logger = logging.getLogger(__name__)

ACTOR = "extract_fields"
MODE = "understand"
SECOND_MODE = "agentic"
"""Another reader than the one of `MODE` (`field_witnesses.independent`)."""
DOCUMENT_TYPE = "invoice"
NOT_CALIBRATED = (
    "The checks agree, but too few documents were ever compared with the truth to let that decide "
    "alone; please confirm."
)
DRIFTED = (
    "The checks agree, but the extraction engine has changed since it was compared with the truth; "
    "please confirm."
)
HIDDEN_TEXT = (
    "The document holds text that does not show on its pages. It was not used to confirm anything."
)
NO_SECOND_READING = (
    "The extraction service gave no second reading of this document; fewer values are confirmed."
)


@dataclass(frozen=True, slots=True)
class Extraction:
    """What reads fields.

    Attributes:
        service: The vendor, None without an account.
        inspector: Our own reader.
        floors: The floors with their evidence.
        canaries: What was withdrawn because the engine has changed.
        second_readings: False never buys them; more fields stay unconfirmed then.
    """

    service: ExtractionService | None
    inspector: DocumentInspector
    floors: FloorsSource
    canaries: CanaryStore
    second_readings: bool = True


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
        commit(request_id, stages, _next, ACTOR, "extraction.not_asked", {}, expected=Stage.EXTRACT)
        return
    floors = extraction.floors.floors(DOCUMENT_TYPE)
    drift = _drift(extraction, floors)
    document = stages.documents.get(request.source_document)
    reading = _Reading(request_id, document, stages, extraction.service)
    seen = extraction.inspector.visible_text(document)
    answer = reading.fields(MODE)
    evidence = _own_evidence(seen)
    notes = [HIDDEN_TEXT] if seen.hidden_words else []
    if extraction.second_readings and leaves_open(_fields_of(answer), evidence):
        second = _second_evidence(answer, reading, floors)
        evidence = [*evidence, *second]
        read_twice = any(isinstance(one, SecondReadingWitness) for one in second)
        notes += [] if read_twice else [NO_SECOND_READING]
    routing = _routed(answer, evidence, floors, drift)
    notes.append(drift.sentence() if drift else floors.sentence(answer.fingerprint))
    body = _body(routing, answer, floors) | {"drift": drift.as_json() if drift else None}
    ref = put_json(stages.documents, key_of(request, "fields.json"), body)
    routes = Counter(one.route.value for one in routing.fields)
    commit(
        request_id,
        stages,
        lambda now: _with_notes(_next(with_artefact(now, "fields", ref)), notes),
        ACTOR,
        "fields.routed",
        {
            "fieldsSha256": ref.sha256,
            "routes": dict(routes),
            "disputed": sum(one.disputed for one in routing.fields),
            "calibrated": routing.calibrated,
            "drifted": drift is not None,
            "fingerprint": answer.fingerprint,
        },
        expected=Stage.EXTRACT,
    )


def _next(request: Request) -> Request:
    return replace(request, stage=Stage.ASSEMBLE)


def _with_notes(request: Request, notes: list[str]) -> Request:
    return replace(request, notes=tuple(dict.fromkeys((*request.notes, *notes))))


@dataclass(frozen=True, slots=True)
class _Reading:
    """Asks the vendor about one document, each question once."""

    request_id: str
    document: bytes
    stages: Stages
    service: ExtractionService

    def fields(self, mode: str) -> ExtractionAnswer:
        """Return the fields as one mode reads them."""
        stored = self._kept(
            f"extraction-{mode}",
            lambda: asdict(self.service.extract(self.document, FREIGHT_INVOICE, mode=mode)),
        )
        return ExtractionAnswer(**stored)

    def words(self, mode: str) -> tuple[Word, ...]:
        """Return the words as one mode reads them."""

        def read() -> dict[str, Any]:
            words = self.service.parse_words(self.document, mode=mode)
            return {"mode": mode, "words": [asdict(word) for word in words]}

        return tuple(Word(**word) for word in self._kept(f"words-{mode}", read)["words"])

    def _kept(self, name: str, ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return an answer that an earlier run stored, or ask and store it."""
        request = load(self.request_id, self.stages.store)
        kept = request.artefacts.get(name)
        if kept is not None:
            return get_json(self.stages.documents, kept)
        answer = ask()
        ref = put_json(self.stages.documents, key_of(request, f"{name}.json"), answer)
        commit(
            self.request_id,
            self.stages,
            lambda now: with_artefact(now, name, ref),
            ACTOR,
            "extraction.answered",
            {
                "reading": name,
                "answerSha256": ref.sha256,
                "fingerprint": str(answer.get("fingerprint", "")),
            },
            expected=Stage.EXTRACT,
        )
        return answer


def _own_evidence(seen: VisibleText) -> list[Witness]:
    """Return the witnesses that cost nothing: they look at the document itself."""
    return [
        TextLayerWitness(seen.page_texts, complete=seen.complete),
        PrintedArithmeticWitness(seen.page_texts),
        DateWitness(),
        FormWitness(seen.page_texts),
    ]


def _second_evidence(answer: ExtractionAnswer, reading: _Reading, floors: Floors) -> list[Witness]:
    """Return the witnesses that the vendor is paid for, those of them that it has an answer for.

    A reading that cannot be had takes confirmations away and adds none, so the run goes on.
    """
    evidence: list[Witness] = []
    with _optional():
        words = reading.words(MODE)
        units = answer.points_per_unit
        evidence += [
            ParseWordsWitness(words, MODE, answer.mode, units, floors.own_words),
            FormWitness(page_texts(words), name="currency as read"),
        ]
    with _optional():
        other = reading.fields(SECOND_MODE)
        evidence.append(SecondReadingWitness(answer.mode, other.mode, other.data))
    return evidence


@contextmanager
def _optional() -> Generator[None]:
    try:
        yield
    except (TransientError, VendorContractError) as error:
        logger.warning("no second reading", extra={"code": error.code})


def _fields_of(answer: ExtractionAnswer) -> tuple[ExtractedField, ...]:
    return extracted_fields(answer.data, answer.metadata, FREIGHT_INVOICE)


def _drift(extraction: Extraction, floors: Floors) -> Withdrawal | None:
    """Return the withdrawal of the very evidence that the floors have; a newer one ends it."""
    found = extraction.canaries.withdrawal(DOCUMENT_TYPE)
    return found if found is not None and found.evidence == floors.evidence else None


def _routed(
    answer: ExtractionAnswer, evidence: list[Witness], floors: Floors, drift: Withdrawal | None
) -> Routing:
    routing = route_fields(
        answer.data,
        answer.metadata,
        FREIGHT_INVOICE,
        floors=floors,
        witnesses=evidence,
        fingerprint=answer.fingerprint,
    )
    if drift is not None:
        return replace(withdraw_auto(routing, DRIFTED), calibrated=False)
    return routing if routing.calibrated else withdraw_auto(routing, NOT_CALIBRATED)


def _body(routing: Routing, answer: ExtractionAnswer, floors: Floors) -> dict[str, Any]:
    return {
        "schema": FREIGHT_INVOICE_VERSION,
        "mode": answer.mode,
        "fingerprint": answer.fingerprint,
        "calibrated": routing.calibrated,
        "floors": floors.as_json(),
        "fields": [_field(one, answer.points_per_unit) for one in routing.fields],
    }


def _field(one: RoutedField, points_per_unit: float) -> dict[str, Any]:
    place = one.place.scaled(points_per_unit) if one.place else None
    return {
        "path": one.path,
        "label": label_of(one.path),
        "value": None if one.value is None else str(one.value),
        "typed": one.value,
        "route": one.route.value,
        "disputed": one.disputed,
        "step": one.step,
        "reason": one.reason,
        "witnesses": [
            {"name": witness.name, "says": witness.says.value} for witness in one.witnesses
        ],
        "page": place.page_index + 1 if place else None,
        "place": _points(place) if place else None,
    }


def _points(place: Place) -> dict[str, float]:
    """Return a box in PDF points from the top left of its page."""
    return {"x": place.x, "y": place.y, "width": place.width, "height": place.height}


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
