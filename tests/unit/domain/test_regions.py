"""Hints at the parties' countries: the rules of `domain/regions.py`."""

from __future__ import annotations

import pytest

from no_undo.adapters.pii_validators import PatternPiiDetector
from no_undo.domain.regions import region_hints


@pytest.mark.parametrize(
    ("text", "regions"),
    [
        ("Total due 86.86 USD", ("US",)),
        ("Total £100", ("GB",)),
        ("Spedition GmbH, 20457 Hamburg, Deutschland", ("DE",)),
        ("4th Ave, Brooklyn NY 11217", ("US",)),
        ("CHF 12.00, Bern, Schweiz, nach Österreich", ("AT", "CH")),
        ("Total 12.00 EUR, $5", ()),
        ("USDA approved", ()),
    ],
)
def test_names_of_countries_and_their_own_currencies_are_hints(
    text: str, regions: tuple[str, ...]
) -> None:
    assert region_hints([text]) == regions


def test_a_national_number_is_recognised_by_the_country_that_the_page_names() -> None:
    text = "Disposition 030 901 820 00"
    detector = PatternPiiDetector()

    assert detector.findings(text) == ()
    hints = region_hints(["Beispiel GmbH, Berlin, Deutschland"])
    assert [one.kind for one in detector.findings(text, regions=hints)] == ["phone"]
