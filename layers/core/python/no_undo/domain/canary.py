"""Canaries: documents with a known answer, read again to notice that the engine has changed.

On 3 September 2026 one page came back with other scores, another wrong total and another shape than
five days before, under the same API version and engine name. Whoever reads a known page again sees
that without knowing what is true.

Rules:
1. A canary is a document, the truth about it, and what the engine answered when its floors were
   calibrated. Any difference of fingerprint, value or score is drift; there is no tolerance:
   `understand` answered the same to the last digit on 20 August, twice, and on 29 August 2026.
2. Drift withdraws automatic acceptance for the document type. The withdrawal names the evidence
   that it withdraws, so that a new calibration, and nothing else, ends it.
3. What changed is said by name, never by value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

from no_undo.domain.calibration import same_engine
from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.field_routing import ExtractedField, Scalar
from no_undo.domain.json_object import JsonObject

MAX_FIELDS: Final = 2000
MOST_NAMED: Final = 20
"""How many changes are named; the rest is counted."""
NO_ANSWER: Final = "shape of the answer"


@dataclass(frozen=True, slots=True)
class ReadField:
    """One field as an engine read it.

    Attributes:
        value: As answered.
        label: Match label, None when there is none.
        scores: Confidence, grounding and recognition, None where absent.
    """

    value: Scalar
    label: str | None
    scores: tuple[float | None, float | None, float | None]

    @classmethod
    def of(cls, field: ExtractedField) -> ReadField:
        """Return what a field of an answer shows."""
        return cls(field.value, field.label, (field.confidence, field.grounding, field.recognition))


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the engine answered about one canary when its floors were calibrated.

    Attributes:
        mode: Mode that read it.
        fingerprint: Of that answer.
        fields: By path.
    """

    mode: str
    fingerprint: str
    fields: Mapping[str, ReadField]

    @classmethod
    def of(cls, fields: Sequence[ExtractedField], *, mode: str, fingerprint: str) -> Expectation:
        """Expect the same answer again."""
        return cls(mode, fingerprint, {field.path: ReadField.of(field) for field in fields})

    def as_json(self) -> dict[str, object]:
        """Return the expectation as `parse_expectation` reads it."""
        return {
            "mode": self.mode,
            "fingerprint": self.fingerprint,
            "fields": {
                path: {"value": one.value, "label": one.label, "scores": list(one.scores)}
                for path, one in self.fields.items()
            },
        }


@dataclass(frozen=True, slots=True)
class Canary:
    """One canary.

    Attributes:
        document_type: Which floors it guards.
        name: Of its files.
        document: PDF bytes.
        expected: Rule 1.
    """

    document_type: str
    name: str
    document: bytes
    expected: Expectation


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """Automatic acceptance withdrawn for one document type (rule 2).

    Attributes:
        document_type: Which floors.
        evidence: Digest of the evidence that is withdrawn, empty where there was none.
        found_at: When drift was found first, aware.
        changes: What changed, by name.
    """

    document_type: str
    evidence: str
    found_at: datetime
    changes: tuple[str, ...]

    def sentence(self) -> str:
        """Say it on a card."""
        return (
            "The extraction engine answers differently than when it was compared with the truth "
            f"(found on {self.found_at.date().isoformat()}), so no field is accepted automatically."
        )

    def as_json(self) -> dict[str, object]:
        """Return the withdrawal as `parse_withdrawal` reads it."""
        return {
            "document_type": self.document_type,
            "evidence": self.evidence or None,
            "found_at": self.found_at.isoformat(),
            "changes": list(self.changes),
        }


def changes_of(canary: Canary, seen: Expectation) -> tuple[str, ...]:
    """Return what differs from the expected answer, by name; empty when nothing does (rule 1)."""
    expected = canary.expected
    changes = [] if _one_engine(expected, seen) else ["fingerprint"]
    for path in sorted({*expected.fields, *seen.fields}):
        before, now = expected.fields.get(path), seen.fields.get(path)
        if before is None or now is None:
            changes.append(f"presence of {path}")
            continue
        if type(before.value) is not type(now.value) or before.value != now.value:
            changes.append(f"value of {path}")
        if before.label != now.label:
            changes.append(f"label of {path}")
        if before.scores != now.scores:
            changes.append(f"score of {path}")
    named = changes[:MOST_NAMED]
    more = len(changes) - len(named)
    return tuple(f"{canary.name}: {one}" for one in named) + (
        (f"{canary.name}: {more} more",) if more else ()
    )


def _one_engine(expected: Expectation, seen: Expectation) -> bool:
    # One document shows all of its peculiarities each time, so here both must cover each other.
    return same_engine(expected.fingerprint, seen.fingerprint) and same_engine(
        seen.fingerprint, expected.fingerprint
    )


_KEYS: Final = frozenset({"mode", "fingerprint", "fields"})
_FIELD_KEYS: Final = frozenset({"value", "label", "scores"})
_SCORES: Final = 3


def parse_expectation(value: object) -> Expectation:
    """Read an expectation that `no-undo canary` wrote.

    Raises:
        InvalidRequestError: Another shape; names the path.
    """
    whole = JsonObject.of(value, "canary", _KEYS)
    fingerprint = whole.values.get("fingerprint")
    if not isinstance(fingerprint, str):
        raise InvalidRequestError("canary.fingerprint must be text.", field="canary.fingerprint")
    fields = whole.table("fields")
    if not 0 < len(fields) <= MAX_FIELDS:
        raise InvalidRequestError(
            f"canary.fields must have 1 to {MAX_FIELDS} members.", field="canary.fields"
        )
    return Expectation(
        mode=whole.text("mode"),
        fingerprint=fingerprint,
        fields={path: _field(one) for path, one in fields.items()},
    )


def _field(value: object) -> ReadField:
    one = JsonObject.of(value, "canary.fields.*", _FIELD_KEYS)
    scores = one.items("scores", most=_SCORES)
    label = one.values.get("label")
    scalar = one.values.get("value")
    if (
        len(scores) != _SCORES
        or not all(score is None or _is_number(score) for score in scores)
        or not isinstance(label, str | None)
        or not isinstance(scalar, str | int | float | bool | None)
    ):
        raise InvalidRequestError(
            "canary.fields.* must have a value, a label and three scores.", field="canary.fields"
        )
    first, second, third = (
        None if score is None else float(cast("float", score)) for score in scores
    )
    return ReadField(scalar, label, (first, second, third))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


_WITHDRAWAL_KEYS: Final = frozenset({"document_type", "evidence", "found_at", "changes"})


def parse_withdrawal(value: object) -> Withdrawal:
    """Read a stored withdrawal.

    Raises:
        InvalidRequestError: Another shape; names the path.
    """
    stored = JsonObject.of(value, "withdrawal", _WITHDRAWAL_KEYS)
    try:
        found_at = datetime.fromisoformat(stored.text("found_at"))
    except ValueError:
        raise InvalidRequestError("withdrawal.found_at must be a moment.", field="") from None
    return Withdrawal(
        document_type=stored.text("document_type"),
        evidence=stored.optional_text("evidence"),
        found_at=found_at,
        changes=tuple(str(one) for one in stored.items("changes", most=MAX_FIELDS)),
    )
