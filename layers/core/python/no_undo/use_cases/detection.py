"""What our own detector sees in a document, over every reader of its text.

Shared by the stage that removes, the stage that proves, and the command line. The same value seen
by several readers counts once a page: letters and digits are compared, with those that OCR confuses
folded, and a value inside a longer one of its kind is the longer one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from no_undo.domain.pii import REPORT_FLOOR, Finding
from no_undo.domain.redaction import alike
from no_undo.domain.regions import region_hints
from no_undo.ports import PiiDetector, TextReaders, TextReading


@dataclass(frozen=True, slots=True)
class Detection:
    """What reads pages, and what recognises personal data in what they say."""

    readers: TextReaders
    detector: PiiDetector

    def sights(self, document: bytes) -> tuple[Sight, ...]:
        """Return what all readers show of a document; see `detected`."""
        return detected(self.readers.read(document), self.detector)


@dataclass(frozen=True, slots=True)
class Sight:
    """A finding on one page, as the first reader that saw it gave it."""

    finding: Finding
    page_index: int
    reader: str

    @property
    def kind(self) -> str:
        """The kind of personal data."""
        return self.finding.kind

    @property
    def value(self) -> str:
        """The value itself; never logged."""
        return self.finding.value

    @property
    def is_sure(self) -> bool:
        """False for a hint that only a person can judge."""
        return self.finding.confidence >= REPORT_FLOOR


def detected(readings: Sequence[TextReading], detector: PiiDetector) -> tuple[Sight, ...]:
    """Return what all readings show, hints included, each value once a page."""
    seen: dict[tuple[int, str], list[str]] = {}
    sights: list[Sight] = []
    for sight in _all_sights(readings, detector):
        letters = alike(sight.value)
        known = seen.setdefault((sight.page_index, sight.kind), [])
        if letters and not any(letters in other for other in known):
            known.append(letters)
            sights.append(sight)
    return tuple(sights)


def _all_sights(readings: Sequence[TextReading], detector: PiiDetector) -> Iterator[Sight]:
    regions = region_hints(page.text for reading in readings for page in reading.pages)
    for reading in readings:
        for page in reading.pages:
            for finding in detector.findings(page.text, regions=regions):
                yield Sight(finding, page.page_index, reading.reader)
