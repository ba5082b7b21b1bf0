"""Rules of `domain/confirmation.py`."""

from __future__ import annotations

from itertools import combinations

import pytest

from no_undo.domain.confirmation import WORDS, matches, words_for

DIGEST = "5f" * 32
APPROVER = "dora@example.com"


def _distance(one: str, other: str) -> int:
    """Levenshtein distance."""
    row: list[int] = [*range(len(other) + 1)]
    for i, a in enumerate(one, 1):
        previous, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(previous[j] + 1, row[-1] + 1, previous[j - 1] + (a != b)))
    return row[-1]


def test_the_list_is_256_short_words_of_plain_letters() -> None:
    assert len(set(WORDS)) == len(WORDS) == 256
    assert all(word.isascii() and word.isalpha() and word.islower() for word in WORDS)
    assert {len(word) for word in WORDS} <= {4, 5, 6, 7, 8}


def test_a_slip_of_the_finger_is_never_another_word() -> None:
    too_close = [pair for pair in combinations(WORDS, 2) if _distance(*pair) < 3]

    assert too_close == []


def test_the_words_stay_what_cards_already_out_show() -> None:
    assert words_for(DIGEST, APPROVER) == ("award", "blossom")


def test_another_plan_or_another_approver_has_other_words() -> None:
    shown = words_for(DIGEST, APPROVER)

    assert words_for("60" + DIGEST[2:], APPROVER) != shown
    assert words_for(DIGEST, "erik@example.com") != shown


@pytest.mark.parametrize("spelled", ["{0} {1}", "  {0}\t{1}\n", "{0}, {1}.", '"{0}" {1}'])
def test_case_white_space_and_punctuation_do_not_matter(spelled: str) -> None:
    first, second = words_for(DIGEST, APPROVER)

    assert matches(spelled.format(first.upper(), second.title()), DIGEST, APPROVER.upper())


def test_anything_else_does_not_match() -> None:
    first, second = words_for(DIGEST, APPROVER)
    wrong = [
        "",
        " ",
        first,
        f"{second} {first}",
        f"{first}{second}",
        f"{first} {second} {second}",
        f"{first[:-1]} {second}",
        " ".join(WORDS),
        f"{first} {second}" + " " * 200,
        "é" * 10,
        "\ud800",
    ]

    assert [typed for typed in wrong if matches(typed, DIGEST, APPROVER)] == []
    assert not matches(f"{first} {second}", DIGEST, "erik@example.com")
