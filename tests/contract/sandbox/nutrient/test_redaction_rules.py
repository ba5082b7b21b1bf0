"""Rules of redaction that hold for every text, and for every broken file."""

from __future__ import annotations

import io
import itertools
import random
import warnings
from functools import cache

import pikepdf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fixtures.redaction.traps import TRAPS, VALUE, Draft, shown
from local.sandbox.nutrient.errors import SandboxError
from local.sandbox.nutrient.matching import Target
from local.sandbox.nutrient.redact import redact
from tests.contract.sandbox.nutrient.reading_back import pdfium_text

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
WORDS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=9)
SWAPS = (
    b"null",
    b"-1",
    b"99999999999",
    b"[]",
    b"<<>>",
    b"/X",
    b"(a)",
    b"true",
    b"q",
    b"Do",
    b"0 0 R",
)


@given(words=st.lists(WORDS, min_size=2, max_size=8, unique=True), at=st.integers(min_value=0))
@QUICK
def test_the_target_goes_and_every_other_word_stays(words: list[str], at: int) -> None:
    target = words[at % len(words)] + "7"
    texts = [target if word + "7" == target else word for word in words]
    pdf = Draft().finish(shown(" ".join(texts)))

    after = pdfium_text(redact(pdf, [Target("text", target)]))

    assert target not in after
    assert all(word in after.split() for word in texts if word != target)


@given(cuts=st.lists(st.integers(1, len(VALUE) - 1), max_size=6, unique=True))
@QUICK
def test_the_value_goes_however_its_string_is_split(cuts: list[int]) -> None:
    bounds = [0, *sorted(cuts), len(VALUE)]
    parts = [VALUE[a:b] for a, b in itertools.pairwise(bounds)]
    drawn = "".join(f"({part}) Tj " for part in parts)

    after = redact(Draft().finish(f"BT /F1 12 Tf 72 400 Td {drawn}ET"), [Target("text", VALUE)])

    assert "webb" not in pdfium_text(after)
    assert "example" not in pdfium_text(after)


@given(name=st.sampled_from(sorted(TRAPS)), seed=st.integers(0, 2**32))
@QUICK
def test_a_broken_file_is_redacted_or_refused(name: str, seed: int) -> None:
    broken = spoilt(uncompressed(name), random.Random(seed))  # noqa: S311 - not a secret

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the libraries comment on what is broken
        try:
            result = redact(broken, [Target("text", VALUE)])
        except SandboxError as refusal:
            result = str(refusal.status).encode()

    assert result.startswith((b"%PDF", b"400", b"422"))


@cache
def uncompressed(name: str) -> bytes:
    """Return a trap with plain streams, so that a changed byte changes the drawing."""
    target = io.BytesIO()
    with pikepdf.open(io.BytesIO(TRAPS[name]())) as document:
        document.save(
            target,
            encryption=False,
            compress_streams=False,
            object_stream_mode=pikepdf.ObjectStreamMode.disable,
            stream_decode_level=pikepdf.StreamDecodeLevel.generalized,
        )
    return target.getvalue()


def spoilt(pdf: bytes, generator: random.Random) -> bytes:
    """Return the file with a few bytes changed, removed or replaced by other PDF words."""
    content = bytearray(pdf)
    for _ in range(generator.choice((1, 2, 4, 10))):
        at = generator.randrange(len(content))
        match generator.randrange(3):
            case 0:
                content[at] = generator.randrange(256)
            case 1:
                del content[at : at + generator.randrange(1, 20)]
            case _:
                word = generator.choice(SWAPS)
                content[at : at + len(word)] = word
    return bytes(content)
