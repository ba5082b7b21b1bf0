"""Personal data by its form: each rule of `domain/pii.py`, and how well they hold on texts made up."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from no_undo.adapters.pii_validators import PatternPiiDetector
from no_undo.domain.pii import KINDS, REPORT_FLOOR, Finding
from tests.unit.domain.pii_samples import NEGATIVES, POSITIVES, Sample

DETECTOR = PatternPiiDetector()
SEED = 20260418
PER_KIND = 300


def kinds(text: str, *regions: str) -> list[str]:
    return [kind for kind, _ in DETECTOR.detect(text, regions=regions)]


def values(text: str) -> list[str]:
    return [value for _, value in DETECTOR.detect(text)]


def finds(kind: str, sample: Sample) -> bool:
    return (kind, sample.value) in DETECTOR.detect(sample.text, regions=sample.regions)


@pytest.mark.parametrize("kind", POSITIVES)
def test_at_least_98_percent_of_a_kind_are_found(kind: str) -> None:
    random = Random(SEED)
    samples = [POSITIVES[kind](random) for _ in range(PER_KIND)]

    missed = [sample.text for sample in samples if not finds(kind, sample)]

    assert len(missed) <= 0.02 * PER_KIND, missed[:10]


@pytest.mark.parametrize("kind", KINDS)
def test_under_1_percent_of_texts_without_personal_data_raise_an_alarm_of_a_kind(kind: str) -> None:
    random = Random(SEED)
    texts = [make(random) for make in NEGATIVES.values() for _ in range(100)]

    alarms = [text for text in texts if kind in kinds(text)]

    assert len(alarms) < 0.01 * len(texts), alarms[:10]


def test_no_kind_of_harmless_number_is_mistaken_often() -> None:
    random = Random(SEED)
    rates = {
        name: sum(bool(kinds(make(random))) for _ in range(200)) / 200
        for name, make in NEGATIVES.items()
    }

    # one in eleven random strings passes the check digit of a VIN
    assert {name: rate for name, rate in rates.items() if rate > 0.02}.keys() <= {
        "random letters and digits"
    }
