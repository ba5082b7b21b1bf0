"""Puts the shape of an extraction answer into one line of text, to notice when the vendor drifts.

On 3 September 2026 the service changed scores, request ids, the treatment of missing fields and
number formats at once, under the same API version and engine name. No ground truth is needed to see
that: the shape alone tells (vendors/nutrient-dws.md 3, point 4).

The line must change with the service and not with the document. So it compares an answer with the
shape of 20 and 29 August 2026 and lists only what differs: a document that cannot show a difference
(no missing field, no whole number) shows none. Two answers of one service state can therefore still
differ in `traits`, but an answer of the August service never has any.
"""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from no_undo.adapters.json_answers import as_list, as_number, as_object, as_text

_LABELS: Final = frozenset(
    {"id_match", "id_match_multiblock", "id_match_partial", "fuzzy_match", "not_found"}
)
_CITATION_KEYS: Final = frozenset(
    {
        "match",
        "confidence",
        "confidenceComponents",
        "recognitionScore",
        "bbox",
        "pageIndex",
        "pageNumber",
        "source_bboxes",
    }
)
_CITATION_MARKS: Final = (
    "match",
    "confidence",
    "bbox",
    "confidenceComponents",
    "source_bboxes",
)
_COMPONENT_KEYS: Final = frozenset({"groundingScore", "formatScore", "source"})
_SOURCES: Final = frozenset({"no-logprobs"})
_GROUNDING_LEVELS: Final = frozenset({0.95, 0.4})
_ANSWER_KEYS: Final = frozenset(
    {"configuration", "metrics", "output", "requestId", "status", "usage"}
)
_OUTPUT_KEYS: Final = frozenset({"data", "metadata", "pages"})

# The composite of every recording: grounding to the 0.6 times format to the 0.4, and a missing
# format score counts as 1 without the exponent (vendors/nutrient-dws.md 2.4, exact).
_GROUNDING_WEIGHT: Final = 0.6
_FORMAT_WEIGHT: Final = 0.4
_COMPOSITE_TOLERANCE: Final = 1e-9

_COARSE_DECIMALS: Final = 2
_TOKEN_ID: Final = re.compile(r"[A-Za-z0-9_-]{20}")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,40}")
_MAX_NAMES: Final = 12

_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class _Citation:
    """One citation of the answer, beside the value it is about (`_ABSENT` when data has none)."""

    keys: Mapping[str, object]
    value: object

    @property
    def label(self) -> str | None:
        return as_text(self.keys.get("match"))

    @property
    def components(self) -> Mapping[str, object]:
        return as_object(self.keys.get("confidenceComponents")) or {}

    @property
    def grounding(self) -> float | None:
        return as_number(self.components.get("groundingScore"))

    @property
    def recognition(self) -> float | None:
        return as_number(self.keys.get("recognitionScore"))


def response_fingerprint(body: Mapping[str, object], *, mode: str) -> str:
    """Return the fingerprint of one extraction answer.

    Args:
        body: The whole parsed answer; whole numbers are ints, fractions floats.
        mode: The mode that was asked for.

    Returns:
        `name=value` pairs in a fixed order, separated by one space. Values are ASCII without
        spaces; nothing of the document is in them.
    """
    configuration = as_object(body.get("configuration")) or {}
    engine = as_object(configuration.get("engine")) or {}
    output = as_object(body.get("output")) or {}
    data = as_object(output.get("data")) or {}
    citations = list(_citations(as_object(output.get("metadata")) or {}, data))
    parts = {
        "mode": mode,
        "echo": _plain(configuration.get("mode")),
        "api": _plain(configuration.get("apiVersion")),
        "engine": _plain(engine.get("requestedEngineVersion")),
        "id": _id_format(body.get("requestId")),
        "answer": _difference(body, _ANSWER_KEYS),
        "output": _difference(output, _OUTPUT_KEYS),
        "labels": _news((c.label for c in citations if c.label), _LABELS),
        "keys": _news((key for c in citations for key in c.keys), _CITATION_KEYS),
        "components": _news((key for c in citations for key in c.components), _COMPONENT_KEYS),
        "source": _news((s for c in citations if (s := _source(c))), _SOURCES),
        "traits": "+".join(_traits(citations, data, mode)) or "none",
    }
    return " ".join(f"{name}={value}" for name, value in parts.items())


def _citations(node: object, value: object) -> Iterator[_Citation]:
    """Walk metadata and data side by side and yield every citation."""
    mapping = as_object(node)
    if mapping is not None and any(mark in mapping for mark in _CITATION_MARKS):
        yield _Citation(mapping, value)
    elif mapping is not None:
        values = as_object(value) or {}
        for key, child in mapping.items():
            yield from _citations(child, values.get(key, _ABSENT))
    for index, child in enumerate(as_list(node) or []):
        values_list = as_list(value) or []
        yield from _citations(child, values_list[index] if index < len(values_list) else _ABSENT)


def _traits(citations: list[_Citation], data: Mapping[str, object], mode: str) -> Iterator[str]:
    """Yield, in a fixed order, the name of everything the August service did not do."""
    missing = [c for c in citations if c.label == "not_found"]
    groundings = [g for c in citations if (g := c.grounding) is not None]
    recognitions = [r for c in citations if (r := c.recognition) is not None]
    if any(c.value is None for c in missing):
        yield "null-for-not-found"
    if any(c.value in (None, _ABSENT) and "confidence" in c.keys for c in missing):
        yield "scored-not-found"
    if any(number.is_integer() for number in _floats(data)):
        yield "whole-numbers-as-fractions"
    if any(grounding not in _GROUNDING_LEVELS for grounding in groundings):
        yield "other-grounding-levels"
    if any(not _is_known_composite(c) for c in citations):
        yield "other-composite"
    if recognitions and all(score == round(score, _COARSE_DECIMALS) for score in recognitions):
        yield "coarse-recognition"
    if recognitions and mode == "agentic":
        yield "recognition-in-agentic"


def _floats(node: object) -> Iterator[float]:
    """Yield every number that was written with a fraction or an exponent."""
    if isinstance(node, float):
        yield node
    for child in (as_object(node) or {}).values():
        yield from _floats(child)
    for child in as_list(node) or []:
        yield from _floats(child)


def _is_known_composite(citation: _Citation) -> bool:
    confidence = as_number(citation.keys.get("confidence"))
    grounding = citation.grounding
    if confidence is None or grounding is None or grounding < 0:
        return True
    form = as_number(citation.components.get("formatScore"))
    expected = grounding
    if form is not None and form >= 0:
        expected = grounding**_GROUNDING_WEIGHT * form**_FORMAT_WEIGHT
    return math.isclose(confidence, expected, abs_tol=_COMPOSITE_TOLERANCE)


def _source(citation: _Citation) -> str | None:
    return as_text(citation.components.get("source"))


def _id_format(value: object) -> str:
    text = as_text(value)
    if text is None:
        return "absent"
    try:
        return "uuid" if str(uuid.UUID(text)) == text.casefold() else "other"
    except ValueError:
        return "token20" if _TOKEN_ID.fullmatch(text) else "other"


def _difference(mapping: Mapping[str, object], known: frozenset[str]) -> str:
    """Return which keys are new (`+`) and which are gone (`-`), or `known`."""
    new = [f"+{name}" for name in _plain_names(mapping.keys() - known)]
    gone = [f"-{name}" for name in _plain_names(known - mapping.keys())]
    return "".join(new + gone) or "known"


def _news(names: Iterable[str], known: frozenset[str]) -> str:
    """Return the names that the recordings do not have, or `known`."""
    return "+".join(_plain_names(set(names) - known)) or "known"


def _plain_names(names: Iterable[str]) -> list[str]:
    return sorted({_plain(name) for name in names})[:_MAX_NAMES]


def _plain(value: object) -> str:
    text = as_text(value)
    if text is None:
        return "absent"
    return text if _PLAIN_NAME.fullmatch(text) else "other"
