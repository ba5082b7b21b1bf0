"""How much labelled documents say about the error rate of automatic acceptance.

Rules:
1. Documents are counted, not fields: the fields of one page fail together. A document is wrong when
   at least one of its values would have been accepted automatically and differs from the truth.
2. What is claimed is the one-sided 95 % Clopper-Pearson upper bound of the rate of wrong documents,
   the exact bound for a binomial count. 0 wrong of 16 is a rate of up to 17 %.
3. Evidence belongs to the engine whose answers were labelled. Another response fingerprint voids it
   (`same_engine`).
4. Nothing here can be told that it is calibrated; it works it out from counts.
5. Floors are tried in a fixed sequence, the strictest first, and the first that the evidence does
   not support ends it. So the chance that any supported floor is above the limit stays 5 %,
   however many are tried (fixed-sequence testing).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

_ALPHA: Final = 0.05
_BISECTIONS: Final = 60

# Parts of a fingerprint that name what an answer happened to show; one document may show less.
_MAY_SHOW_LESS: Final = frozenset({"labels", "keys", "components", "source", "traits"})
_NOTHING_NEW: Final = frozenset({"known", "none"})


def upper_bound(wrong: int, documents: int) -> float:
    """Return the one-sided 95 % Clopper-Pearson upper bound of a rate.

    Args:
        wrong: Wrong documents, 0 to `documents`.
        documents: At least 0; without any, nothing is known and the bound is 1.

    Raises:
        ValueError: The counts are no such counts.
    """
    if not 0 <= wrong <= documents:
        raise ValueError("wrong documents are counted among the documents")
    if wrong == documents:
        return 1.0
    low, high = wrong / documents, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if _binomial_at_most(wrong, documents, middle) > _ALPHA:
            low = middle
        else:
            high = middle
    return high


def _binomial_at_most(most: int, trials: int, rate: float) -> float:
    return sum(
        math.comb(trials, count) * rate**count * (1 - rate) ** (trials - count)
        for count in range(most + 1)
    )


@dataclass(frozen=True, slots=True)
class Calibration:
    """Evidence for a set of floors: labelled documents read with them.

    Attributes:
        fingerprint: Response fingerprint of the engine that read them (rule 3).
        on: Day of the evaluation.
        documents: How many documents.
        wrong_documents: How many of them were wrong (rule 1).
        evidence: SHA-256 over the labelled files, so that the counts can be worked out again.
    """

    fingerprint: str
    on: date
    documents: int
    wrong_documents: int
    evidence: str = ""

    @property
    def bound(self) -> float:
        """The largest rate of wrong documents that the counts leave open (rule 2)."""
        if not 0 <= self.wrong_documents <= self.documents:
            return 1.0
        return upper_bound(self.wrong_documents, self.documents)

    def supports(self, error_limit: float) -> bool:
        """Return True when the rate is below the limit with 95 % confidence."""
        return 0 < error_limit < 1 and self.bound <= error_limit

    def covers(self, fingerprint: str) -> bool:
        """Return True for an answer of the engine that the evidence is about (rule 3)."""
        return same_engine(self.fingerprint, fingerprint)

    def sentence(self) -> str:
        """Say what the counts carry, for a card: no more than that."""
        return (
            f"{self.wrong_documents} wrong of {self.documents}: "
            f"true error rate could be up to {self.bound * 100:.0f} %"
        )


def same_engine(known: str, seen: str) -> bool:
    """Say whether an answer looks like the engine that is known.

    Every part of the fingerprints must be the same, but an answer may show fewer peculiarities than
    were ever seen: a document without a missing field shows none of how those are answered.

    Args:
        known: Fingerprint of the evidence, all its documents joined (`joined`).
        seen: Fingerprint of one answer.
    """
    ours, theirs = _parts(known), _parts(seen)
    if not ours or ours.keys() != theirs.keys():
        return False
    return all(
        _names(theirs[name]) <= _names(ours[name])
        if name in _MAY_SHOW_LESS
        else theirs[name] == ours[name]
        for name in ours
    )


def joined(fingerprints: Sequence[str]) -> str | None:
    """Return one fingerprint that covers answers of one engine; None when they are of several."""
    parts = [_parts(one) for one in fingerprints]
    if not parts or any(one.keys() != parts[0].keys() or not one for one in parts):
        return None
    values: dict[str, str] = {}
    for name in parts[0]:
        found = {one[name] for one in parts}
        if name not in _MAY_SHOW_LESS and len(found) > 1:
            return None
        seen = sorted(frozenset[str]().union(*(_names(value) for value in found)))
        values[name] = "+".join(seen) if name in _MAY_SHOW_LESS and seen else min(found)
    return " ".join(f"{name}={value}" for name, value in values.items())


def _parts(fingerprint: str) -> Mapping[str, str]:
    pairs = [part.partition("=") for part in fingerprint.split(" ")]
    return {name: value for name, equals, value in pairs if name and equals}


def _names(value: str) -> frozenset[str]:
    return frozenset(value.split("+")) - _NOTHING_NEW


@dataclass(frozen=True, slots=True)
class Trial:
    """What the labelled documents say about one candidate of the sequence.

    Attributes:
        recognition: The candidate floor, 0 to 1.
        automatic_documents: Documents with at least one automatic value.
        wrong_documents: Documents with at least one wrong automatic value.
        documents: All labelled documents.
    """

    recognition: float
    automatic_documents: int
    wrong_documents: int
    documents: int

    @property
    def bound(self) -> float:
        """The largest rate of wrong documents that the counts leave open."""
        return upper_bound(self.wrong_documents, self.documents)


SEQUENCE: Final = (0.99, 0.97, 0.95, 0.92, 0.9, 0.87, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5, 0.0)
"""Recognition floors in the order they are tried. Written down before anybody saw the labels."""


def tried(trials: Sequence[Trial], error_limit: float) -> tuple[tuple[Trial, ...], Trial | None]:
    """Walk the sequence (rule 5).

    Args:
        trials: In the order of `SEQUENCE`.
        error_limit: Largest accepted rate of wrong documents.

    Returns:
        The trials that were looked at, and the last one that is supported, or None.
    """
    looked: list[Trial] = []
    supported: Trial | None = None
    for trial in trials:
        looked.append(trial)
        if trial.bound > error_limit:
            break
        supported = trial
    return tuple(looked), supported
