"""What holds for the search for values on any text."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from no_undo.domain.redaction import (
    FRAGMENT_LENGTH,
    SHORTEST_SQUASHED,
    Passage,
    ValueSearch,
    is_one_word,
    squash,
)

texts = st.text(max_size=80)
values = st.text(min_size=1, max_size=30)
ascii_values = st.text(alphabet="abcXYZ0189@.-+ ", min_size=1, max_size=30)
separators = st.sampled_from(["", " ", "\n", "-", ".", "\u00ad", "\u200b", "\u00a0", "_"])


def whole(value: str, *passages: Passage) -> bool:
    return bool(ValueSearch([value]).whole(passages))


@given(values, texts, texts)
def test_a_value_in_a_text_is_seen(value: str, before: str, after: str) -> None:
    assume(squash(value))

    assert whole(value, Passage("page_text", f"{before} {value} {after}"))


@given(st.text(alphabet="abcXYZ0189", min_size=SHORTEST_SQUASHED, max_size=30), separators)
def test_separators_between_its_characters_do_not_hide_a_value(value: str, separator: str) -> None:
    assert whole(value, Passage("page_text", separator.join(value)))


@given(ascii_values, texts)
def test_case_does_not_hide_a_value(value: str, around: str) -> None:
    assume(squash(value))

    assert whole(value, Passage("page_text", f"{around} {value.swapcase()} "))


@given(ascii_values)
def test_a_text_without_letters_and_digits_shows_nothing(value: str) -> None:
    assert not whole(value, Passage("page_text", " -- .. @@ \u00ad\u200b "))


@given(st.text(alphabet="abcxyz0189", min_size=SHORTEST_SQUASHED, max_size=30), st.data())
def test_five_or_more_of_a_long_values_characters_remain(value: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(value) - FRAGMENT_LENGTH))
    before = [Passage("page_text", value, 0)]

    after = [Passage("page_text", value[start : start + FRAGMENT_LENGTH], 0)]

    assert ValueSearch([value]).remains(before, after)


@given(texts)
def test_an_unchanged_text_leaves_no_remains_of_values_it_never_showed(text: str) -> None:
    passages = [Passage("page_text", text, 0)]

    assert not ValueSearch(["alice@example.com"]).remains(passages, passages)


@given(values)
def test_squashing_twice_changes_nothing(value: str) -> None:
    assert squash(squash(value)) == squash(value)


@given(values)
def test_a_single_word_has_only_letters(value: str) -> None:
    assert not is_one_word(value) or squash(value).isalpha()
