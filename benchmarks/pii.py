"""How many values of each kind the detector misses, and how often it cries wolf."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Final

from benchmarks.held_out_pii import POSITIVES, block_with, harmless_block
from benchmarks.rows import Row
from no_undo.adapters.pii_validators import PatternPiiDetector
from no_undo.domain.pii import REPORT_FLOOR
from no_undo.domain.regions import region_hints

SEED: Final = 20261202
PER_KIND, PER_KIND_FULL = 1_000, 10_000
MISSED_AIM, ALARM_AIM = 2.0, 1.0  # percent


def measure(*, full: bool) -> Iterator[Row]:
    """Measure recall and false alarms per kind on texts that the rules were not written on."""
    count = PER_KIND_FULL if full else PER_KIND
    note = f"{count} generated blocks with the value between harmless lines; seed {SEED}"
    for kind in POSITIVES:
        missed = 100 * missed_of(kind, count) / count
        yield Row(f"pii {kind}: missed", missed, None, "%", aim=MISSED_AIM, note=note)
    alarms = alarms_in(count)
    note = f"{count} generated blocks of IPv4 addresses, UUIDs, tracking and invoice numbers, ..."
    for kind in POSITIVES:
        share = 100 * alarms[kind] / count
        yield Row(f"pii {kind}: false alarms", share, None, "%", aim=ALARM_AIM, note=note)


def missed_of(kind: str, count: int) -> int:
    """Return how many of so many values of a kind are not found whole."""
    random = Random(f"{SEED} {kind}")  # noqa: S311 - made-up texts
    blocks = (block_with(kind, random) for _ in range(count))
    return sum((kind, block.value) not in _found(block.text) for block in blocks)


def alarms_in(count: int) -> Counter[str]:
    """Return kind to how many of so many harmless blocks are taken to hold it."""
    random = Random(SEED)  # noqa: S311 - made-up texts
    texts = (harmless_block(random) for _ in range(count))
    return Counter(kind for text in texts for kind in {kind for kind, _ in _found(text)})


def _found(text: str) -> set[tuple[str, str]]:
    findings = PatternPiiDetector().findings(text, regions=region_hints([text]))
    return {(one.kind, one.value) for one in findings if one.confidence >= REPORT_FLOOR}
