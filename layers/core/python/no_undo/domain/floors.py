"""Floors of the walk by document type, with where they come from, as data that can be deployed.

The thresholds document is written at deployment (`no-undo calibrate` writes it)::

    {"thresholds": [{
        "document_type": "invoice",
        "confidence": 0.85, "grounding": 0.7, "recognition": 0.95, "own_words": 0.7,   0 to 1 each
        "recognition_required": true,
        "error_limit": 0.05,              over 0, at most 0.1
        "provenance": "Labelled by ...",
        "calibration": {                  or absent: nothing becomes automatic then
            "fingerprint": "mode=understand ...", "on": "2026-09-30",
            "documents": 60, "wrong_documents": 0, "evidence": SHA-256 over the labelled files
    }}]}

Rules:
1. A document type that the document does not list has the built-in row, which has no evidence.
2. No key says that floors are calibrated; a document with such a key is refused. It is worked out
   from the counts, for the engine that answers (`calibration`).
3. One document type has one row. The error limit has a ceiling: nobody can declare every error
   rate acceptable.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from no_undo.domain.calibration import Calibration
from no_undo.domain.errors import InvalidRequestError, RefusedError
from no_undo.domain.json_object import JsonObject

LARGEST_ERROR_LIMIT: Final = 0.1
MAX_ROWS: Final = 50
_LONGEST_FINGERPRINT: Final = 2000
_FINGERPRINT: Final = re.compile(r"[!-~]+(?: [!-~]+)*")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_MOST_DOCUMENTS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Floors:
    """Limits of the walk for one document type; a score equal to its limit passes.

    Attributes:
        document_type: Row name.
        confidence: Smallest composite confidence, 0 to 1.
        grounding: Smallest grounding, 0 to 1; an absent score passes.
        recognition: Smallest recognition, 0 to 1.
        recognition_required: Whether an unmeasured recognition goes to a person.
        provenance: Where the numbers come from, for the card and for auditors.
        own_words: Smallest confidence of a value's own words that is not doubted, 0 to 1.
        error_limit: Largest true rate of documents with a wrong automatic value that is accepted.
        calibration: The evidence, None while there is none.
    """

    document_type: str
    confidence: float
    grounding: float
    recognition: float
    recognition_required: bool
    provenance: str
    own_words: float = 0.7
    error_limit: float = 0.05
    calibration: Calibration | None = None

    @property
    def evidence(self) -> str:
        """Digest of the evidence, empty while there is none."""
        return self.calibration.evidence if self.calibration else ""

    def calibrated(self, fingerprint: str) -> bool:
        """Return True when evidence about this very engine supports the error limit (rule 2)."""
        evidence = self.calibration
        return (
            evidence is not None
            and evidence.covers(fingerprint)
            and evidence.supports(self.error_limit)
        )

    def sentence(self, fingerprint: str) -> str:
        """Say in one sentence, for the card, what automatic acceptance rests on."""
        evidence = self.calibration
        if evidence is None or not evidence.documents:
            return (
                "No documents were compared with the truth, so no field is accepted automatically."
            )
        if not evidence.covers(fingerprint):
            return (
                "The extraction engine is not the one that was compared with the truth on "
                f"{evidence.on.isoformat()}, so no field is accepted automatically."
            )
        claim = f"Compared with the truth on {evidence.on.isoformat()}: {evidence.sentence()}"
        if evidence.supports(self.error_limit):
            return f"{claim}; up to {_percent(self.error_limit)} % is accepted."
        return (
            f"{claim}, more than the {_percent(self.error_limit)} % that is accepted, so no field "
            "is accepted automatically."
        )

    def as_json(self) -> dict[str, object]:
        """Return the row as the thresholds document has it."""
        row: dict[str, object] = {
            "document_type": self.document_type,
            "confidence": self.confidence,
            "grounding": self.grounding,
            "recognition": self.recognition,
            "recognition_required": self.recognition_required,
            "own_words": self.own_words,
            "error_limit": self.error_limit,
            "provenance": self.provenance,
        }
        evidence = self.calibration
        if evidence is not None:
            row["calibration"] = {
                "fingerprint": evidence.fingerprint,
                "on": evidence.on.isoformat(),
                "documents": evidence.documents,
                "wrong_documents": evidence.wrong_documents,
                "evidence": evidence.evidence,
            }
        return row


def _percent(share: float) -> str:
    return f"{share * 100:g}"


_ONE_PAGE = (
    "One generated page, read ten times in three modes between 20 August and 3 September 2026. The "
    "best recognition of a wrong value was 0.842, of a right one 0.859; the same wrong value moved "
    "by 0.273 in between. No error rate follows from one page."
)
FLOORS: Final[Mapping[str, Floors]] = {
    row.document_type: row
    for row in (
        #      type            conf.  ground. recog. required
        Floors("default", 0.90, 0.70, 0.92, recognition_required=True, provenance=_ONE_PAGE),
        Floors("invoice", 0.85, 0.70, 0.90, recognition_required=True, provenance=_ONE_PAGE),
        Floors("born_digital", 0.90, 0.70, 0.80, recognition_required=False, provenance=_ONE_PAGE),
    )
}


def floors_for(document_type: str, deployed: Mapping[str, Floors] | None = None) -> Floors:
    """Return the floors of a document type (rule 1); an unknown one gets the default row.

    Args:
        document_type: Row name.
        deployed: Rows of the thresholds document.
    """
    rows = {**FLOORS, **(deployed or {})}
    return rows.get(document_type, rows["default"])


_DOCUMENT_KEYS: Final = frozenset({"thresholds"})
_SCORES: Final = ("confidence", "grounding", "recognition", "own_words")
_ROW_KEYS: Final = frozenset(
    {
        *_SCORES,
        "document_type",
        "recognition_required",
        "error_limit",
        "provenance",
        "calibration",
    }
)
_EVIDENCE_KEYS: Final = frozenset({"fingerprint", "on", "documents", "wrong_documents", "evidence"})


NONE_DEPLOYED: Final[Mapping[str, object]] = {"thresholds": []}
"""The thresholds document of a deployment without calibrated floors."""


def parse_thresholds(document: object) -> Mapping[str, Floors]:
    """Read a thresholds document: floors by document type.

    Args:
        document: Decoded JSON in the shape of the module docstring.

    Raises:
        RefusedError: It cannot be used; names the path at fault, for the operator.
    """
    try:
        rows = JsonObject.of(document, "", _DOCUMENT_KEYS).items("thresholds", most=MAX_ROWS)
        parsed = [_row(row, f"thresholds[{index}]") for index, row in enumerate(rows)]
    except InvalidRequestError as error:
        raise RefusedError(f"The thresholds document cannot be used. {error}") from error
    by_type = {row.document_type: row for row in parsed}
    if len(by_type) < len(parsed):
        raise RefusedError(
            "The thresholds document cannot be used. It lists a document type twice."
        )
    return by_type


def as_document(rows: Mapping[str, Floors]) -> str:
    """Return a thresholds document as JSON text."""
    return json.dumps({"thresholds": [row.as_json() for row in rows.values()]}, indent=2) + "\n"


def _row(value: object, path: str) -> Floors:
    row = JsonObject.of(value, path, _ROW_KEYS)
    scores = {name: _share(row, name, most=1.0) for name in _SCORES}
    error_limit = _share(row, "error_limit", most=LARGEST_ERROR_LIMIT)
    if error_limit == 0:
        raise InvalidRequestError(f"{path}.error_limit must be over 0.", field="error_limit")
    evidence = row.values.get("calibration")
    return Floors(
        document_type=row.text("document_type"),
        confidence=scores["confidence"],
        grounding=scores["grounding"],
        recognition=scores["recognition"],
        recognition_required=row.flag("recognition_required", default=True),
        provenance=_long_text(row, "provenance"),
        own_words=scores["own_words"],
        error_limit=error_limit,
        calibration=None if evidence is None else _evidence(evidence, f"{path}.calibration"),
    )


def _evidence(value: object, path: str) -> Calibration:
    evidence = JsonObject.of(value, path, _EVIDENCE_KEYS)
    on = evidence.calendar_date("on")
    documents = evidence.integer("documents", least=0, most=_MOST_DOCUMENTS, default=0)
    fingerprint = evidence.values.get("fingerprint")
    digest = evidence.values.get("evidence")
    if on is None:
        raise InvalidRequestError(f"{path}.on must be a calendar date.", field=path)
    if not (
        isinstance(fingerprint, str)
        and len(fingerprint) <= _LONGEST_FINGERPRINT
        and _FINGERPRINT.fullmatch(fingerprint)
    ):
        raise InvalidRequestError(f"{path}.fingerprint must be a fingerprint.", field=path)
    if not (isinstance(digest, str) and _SHA256.fullmatch(digest)):
        raise InvalidRequestError(f"{path}.evidence must be 64 hex digits.", field=path)
    return Calibration(
        fingerprint=fingerprint,
        on=on,
        documents=documents,
        wrong_documents=evidence.integer(
            "wrong_documents", least=0, most=documents, default=documents
        ),
        evidence=digest,
    )


def _share(row: JsonObject, name: str, *, most: float) -> float:
    value = row.values.get(name)
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
        or not 0 <= value <= most
    ):
        raise InvalidRequestError(
            f"{row.at(name)} must be a number from 0 to {most:g}.", field=row.at(name)
        )
    return float(value)


def _long_text(row: JsonObject, name: str) -> str:
    value = row.values.get(name)
    if not isinstance(value, str) or not 1 <= len(value) <= _LONGEST_FINGERPRINT:
        raise InvalidRequestError(
            f"{row.at(name)} must be text of 1 to {_LONGEST_FINGERPRINT} characters.",
            field=row.at(name),
        )
    return value
