"""What holds for the words of every plan and approver."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from no_undo.domain.confirmation import WORDS, matches, words_for

# A busy machine is no finding.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
digests = st.binary(min_size=32, max_size=32).map(bytes.hex)


@unhurried
@given(digests, st.emails())
def test_the_two_words_differ_come_from_the_list_and_match_themselves(
    digest: str, approver: str
) -> None:
    first, second = words_for(digest, approver)

    assert first != second
    assert {first, second} <= set(WORDS)
    assert matches(f"{first} {second}", digest, approver)


@unhurried
@given(digests, st.emails(), st.text(max_size=40))
def test_arbitrary_text_never_matches(digest: str, approver: str, typed: str) -> None:
    assert not matches(f"x{typed}", digest, approver)
