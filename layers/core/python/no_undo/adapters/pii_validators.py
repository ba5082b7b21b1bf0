"""Validators for personal data that need a library's tables, and the detector that uses them."""

from __future__ import annotations

from collections.abc import Sequence

import phonenumbers

from no_undo.domain.pii import Finding, find_pii


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


class PatternPiiDetector:
    """`ports.PiiDetector` by patterns, check digits and context words."""

    def findings(self, text: str, *, regions: Sequence[str] = ()) -> tuple[Finding, ...]:
        """Return every finding with its place, confidence and reason, in reading order."""
        return find_pii(text, phone=phone_is_valid, regions=regions)
