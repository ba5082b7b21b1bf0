"""Rules of `domain/calibration.py`: exact bounds, one engine, a fixed sequence."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from scipy.stats import beta

from no_undo.domain.calibration import (
    SEQUENCE,
    Calibration,
    Trial,
    joined,
    same_engine,
    tried,
    upper_bound,
)

AUGUST = "mode=understand api=2026-05-25 id=token20 labels=known traits=none"
NULLS = "mode=understand api=2026-05-25 id=token20 labels=known traits=null-for-not-found"
BOTH = AUGUST.replace("none", "null-for-not-found+whole-numbers-as-fractions")


@pytest.mark.parametrize("documents", [0, 1, 2, 16, 58, 59, 60, 300])
def test_the_bound_is_the_one_sided_clopper_pearson_bound(documents: int) -> None:
    for wrong in range(0, documents + 1, max(1, documents // 7)):
        exact = 1.0 if wrong == documents else beta.ppf(0.95, wrong + 1, documents - wrong)
        assert upper_bound(wrong, documents) == pytest.approx(exact, abs=1e-9)


def test_sixteen_documents_without_an_error_leave_seventeen_percent_open() -> None:
    evidence = Calibration(AUGUST, date(2026, 9, 30), 16, 0)

    assert evidence.sentence() == "0 wrong of 16: true error rate could be up to 17 %"
    assert not evidence.supports(0.05)
    assert replace(evidence, documents=59).supports(0.05)
    assert not replace(evidence, documents=58).supports(0.05)


@pytest.mark.parametrize(("wrong", "documents"), [(2, 1), (-1, 5), (1, 0)])
def test_counts_that_cannot_be_support_nothing(wrong: int, documents: int) -> None:
    evidence = Calibration(AUGUST, date(2026, 9, 30), documents, wrong)

    assert evidence.bound == 1.0
    assert not evidence.supports(0.1)
    with pytest.raises(ValueError, match="counted"):
        upper_bound(wrong, documents)


@pytest.mark.parametrize("limit", [0.0, 1.0, -1.0, 2.0])
def test_a_limit_that_limits_nothing_is_never_supported(limit: float) -> None:
    assert not Calibration(AUGUST, date(2026, 9, 30), 10_000, 0).supports(limit)


@pytest.mark.parametrize(
    ("known", "seen", "same"),
    [
        (AUGUST, AUGUST, True),
        (BOTH, NULLS, True),
        (BOTH, AUGUST, True),
        (AUGUST, NULLS, False),
        (NULLS, BOTH, False),
        (AUGUST, AUGUST.replace("token20", "uuid"), False),
        (AUGUST, AUGUST.replace("understand", "agentic"), False),
        (AUGUST, AUGUST.replace("labels=known", "labels=fuzzy"), False),
        (AUGUST, AUGUST + " new=part", False),
        (AUGUST, "", False),
        ("", "", False),
        ("nonsense", "nonsense", False),
    ],
)
def test_an_answer_of_another_engine_voids_the_evidence(
    known: str,
    seen: str,
    same: bool,  # noqa: FBT001 - a row of the table
) -> None:
    assert same_engine(known, seen) is same
    assert Calibration(known, date(2026, 9, 30), 60, 0).covers(seen) is same


def test_answers_of_one_engine_are_joined_and_cover_each() -> None:
    whole = joined([AUGUST, NULLS, BOTH])

    assert whole == BOTH
    assert whole is not None
    assert all(same_engine(whole, one) for one in (AUGUST, NULLS, BOTH))
    assert joined([AUGUST, AUGUST]) == AUGUST
    assert joined([AUGUST, AUGUST.replace("token20", "uuid")]) is None
    assert joined([AUGUST, "other=shape"]) is None
    assert joined([]) is None
    assert joined(["", ""]) is None


def trials(*wrong: int, documents: int = 100) -> list[Trial]:
    return [Trial(1 - index / 10, 50, errors, documents) for index, errors in enumerate(wrong)]


def test_the_sequence_stops_at_the_first_floor_that_is_not_supported() -> None:
    """A looser floor behind a failure is not looked at, however good its numbers are."""
    looked, supported = tried(trials(0, 1, 9, 0), 0.05)

    assert [trial.wrong_documents for trial in looked] == [0, 1, 9]
    assert supported is not None
    assert supported.wrong_documents == 1


def test_without_support_for_the_strictest_floor_nothing_is_supported() -> None:
    looked, supported = tried(trials(9, 0, 0), 0.05)

    assert (len(looked), supported) == (1, None)


def test_the_sequence_goes_from_strict_to_loose() -> None:
    assert list(SEQUENCE) == sorted(SEQUENCE, reverse=True)
    assert len(set(SEQUENCE)) == len(SEQUENCE)
