"""What holds for the detector on any text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from no_undo.adapters.pii_validators import PatternPiiDetector
from tests.unit.domain.pii_samples import POSITIVES, Sample, seeded

DETECTOR = PatternPiiDetector()

noisy_text = st.text(
    alphabet=st.sampled_from("0123456789ABCXYZabc@.+-()/ <\n\u00ad\u200b\u00a0\u2011\uff11ß'"),
    max_size=120,
)


def sample_of(kind: str, seed: int) -> tuple[str, Sample]:
    return kind, POSITIVES[kind](seeded(seed))


samples = st.builds(
    sample_of,
    # one VIN in a thousand is all letters, and that is no finding
    st.sampled_from(sorted(POSITIVES.keys() - {"vin"})),
    st.integers(0, 2**32),
)
harmless = st.text(alphabet="abcdefghij ,;\n", max_size=60)


@given(st.text(max_size=200) | noisy_text)
def test_findings_are_ordered_apart_and_quote_the_text(text: str) -> None:
    findings = DETECTOR.findings(text)

    assert all(text[found.start : found.end] == found.value for found in findings)
    assert all(found.value and 0.0 < found.confidence <= 1.0 for found in findings)
    ends = [0, *(found.end for found in findings)]
    assert all(end <= found.start for end, found in zip(ends, findings, strict=False))


@given(noisy_text)
def test_detecting_twice_gives_the_same(text: str) -> None:
    assert DETECTOR.findings(text) == DETECTOR.findings(text)


@given(samples, harmless, harmless)
def test_harmless_words_around_a_value_do_not_hide_it(
    sample: tuple[str, Sample], before: str, after: str
) -> None:
    kind, made = sample
    text = f"{before}\n{made.text}\n{after}"

    found = DETECTOR.findings(text, regions=made.regions)

    assert (kind, made.value) in {(one.kind, one.value) for one in found}
