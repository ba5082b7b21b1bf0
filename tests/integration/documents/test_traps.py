"""Every trap and every lie of the sandbox against the product's verifier (P8)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fixtures.redaction.traps import TRAPS, VALUE
from local.sandbox.nutrient.matching import Target
from local.sandbox.nutrient.redact import redact
from local.sandbox.nutrient.switches import Switches
from no_undo.domain.redaction import ChannelResult, RedactionVerdict
from tests.integration.documents.in_process import VERIFIER

#: The door refuses encrypted files; nobody verifies them.
ENCRYPTED = "owner_password"
#: Only one reader sees the value before it is removed, and one witness proves nothing (rule 7).
ONE_WITNESS = frozenset({"bytes_after_the_end", "drawn_twice", "orphan_object", "vector_outlines"})
LIES: Mapping[str, tuple[str, Switches]] = {
    "marks are staged and not applied": ("plain_string", Switches(staged_only=True)),
    "boxes over live text": ("plain_string", Switches(boxes_only=True)),
    "one page is missed": ("plain_string", Switches(miss_page=1)),
    "a split value is missed": ("split_over_strings", Switches(miss_split_values=True)),
    "metadata is missed": ("metadata", Switches(miss_metadata=True)),
    "annotations are missed": ("annotation_texts", Switches(miss_metadata=True)),
    "an OCR layer is left": ("invisible_layer_over_picture", Switches(ocr_layer_left=True)),
    "the old revision is kept": ("plain_string", Switches(keep_old_revision=True)),
}


def verdict(before: bytes, after: bytes) -> RedactionVerdict:
    return RedactionVerdict(VERIFIER.verify(before, after, {VALUE: "email"}, signature_fields=1))


def open_rows(judged: RedactionVerdict) -> list[str]:
    rows = [row for row in judged.channels if row.result is not ChannelResult.GONE]
    return [f"{row.channel}/{row.reader}: {row.result} {row.detail}" for row in rows]


@pytest.mark.parametrize("name", sorted(TRAPS))
def test_an_unredacted_trap_is_refused(name: str) -> None:
    trap = TRAPS[name]()

    assert not verdict(trap, trap).proven


@pytest.mark.parametrize("name", sorted(TRAPS.keys() - {ENCRYPTED} - ONE_WITNESS))
def test_a_redacted_trap_is_confirmed(name: str) -> None:
    trap = TRAPS[name]()

    assert open_rows(verdict(trap, redact(trap, [Target("text", VALUE)]))) == []


def test_at_least_thirty_traps_are_confirmed() -> None:
    assert len(TRAPS.keys() - {ENCRYPTED} - ONE_WITNESS) >= 30


@pytest.mark.parametrize("name", sorted(ONE_WITNESS))
def test_one_witness_is_not_enough_even_where_the_value_is_gone(name: str) -> None:
    trap = TRAPS[name]()

    (row,) = open_rows(verdict(trap, redact(trap, [Target("text", VALUE)])))

    assert row.startswith("positive_control/")


@pytest.mark.parametrize("lie", LIES)
def test_every_lie_of_the_sandbox_is_caught(lie: str) -> None:
    name, switches = LIES[lie]
    trap = TRAPS[name]()

    judged = verdict(trap, redact(trap, [Target("text", VALUE)], switches))

    assert not judged.proven, judged.channels


def test_a_preset_that_matches_nothing_is_caught() -> None:
    trap = TRAPS["plain_string"]()

    judged = verdict(trap, redact(trap, [Target("preset", "@")], Switches(preset_noop=True)))

    assert not judged.proven
