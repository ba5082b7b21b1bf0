"""Validators for personal data that need a library's tables, and the detector that uses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import phonenumbers

from no_undo.domain.pii import REPORT_FLOOR, Finding, find_pii


def phone_is_valid(number: str, regions: Sequence[str]) -> bool:
    """Say whether a number is valid as written, by libphonenumber's numbering plans.

    Args:
        number: As in the document; with `+` the regions do not matter.
        regions: ISO 3166 codes to try for a number without a country code.
    """
    return any(_is_valid_in(number, region) for region in regions or (None,))


def _is_valid_in(number: str, region: str | None) -> bool:
    try:
        parsed = phonenumbers.parse(number, region)
    except phonenumbers.NumberParseException:
        return False
    return phonenumbers.is_valid_number(parsed)


@dataclass(frozen=True, slots=True)
class PatternPiiDetector:
    """`ports.PiiDetector` by patterns, check digits and context words.

    Attributes:
        floor: Least confidence of what `detect` returns, 0.0 to 1.0.
    """

    floor: float = REPORT_FLOOR

    def detect(self, text: str, *, regions: Sequence[str] = ()) -> tuple[tuple[str, str], ...]:
        """Return (kind, value) pairs found in one page's text, in reading order."""
        return tuple(
            (finding.kind, finding.value)
            for finding in self.findings(text, regions=regions)
            if finding.confidence >= self.floor
        )

    def findings(self, text: str, *, regions: Sequence[str] = ()) -> tuple[Finding, ...]:
        """Return every finding with its place, confidence and reason, in reading order."""
        return find_pii(text, phone=phone_is_valid, regions=regions)
