"""Which countries a document's parties are likely to be in, for reading its telephone numbers.

Rules:
1. A country's name, an international dialling form, or a currency of one country is a hint.
2. The euro and the dollar sign belong to many countries and are none; `USD` is one.
3. Hints only widen what is recognised: a number must still be valid in one of the countries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

# ISO 4217 codes of one country, ISO 3166 country names in English and in their own language.
_WORDS: Final = {
    "US": ("USD", "United States", "USA"),
    "CA": ("CAD", "Canada"),
    "GB": ("GBP", "£", "United Kingdom", "England", "Scotland", "Great Britain"),
    "IE": ("Ireland", "Éire"),
    "DE": ("Germany", "Deutschland"),
    "AT": ("Austria", "Österreich"),
    "CH": ("CHF", "Switzerland", "Schweiz", "Suisse", "Svizzera"),
    "FR": ("France",),
    "BE": ("Belgium", "België", "Belgique"),
    "NL": ("Netherlands", "Nederland"),
    "IT": ("Italy", "Italia"),
    "ES": ("Spain", "España"),
    "PT": ("Portugal",),
    "SE": ("SEK", "Sweden", "Sverige"),
    "NO": ("NOK", "Norway", "Norge"),
    "DK": ("DKK", "Denmark", "Danmark"),
    "FI": ("Finland", "Suomi"),
    "PL": ("PLN", "Poland", "Polska"),
    "CZ": ("CZK", "Czech Republic", "Czechia", "Česko"),
    "JP": ("JPY", "Japan"),
    "IN": ("INR", "₹", "India"),
    "AU": ("AUD", "Australia"),
    "MX": ("MXN", "Mexico", "México"),
}


def _whole_word(word: str) -> str:
    """Return the pattern of a word that is part of no longer one; a sign may touch a figure."""
    return rf"(?<!\w){re.escape(word)}(?!\w)" if word.isascii() or word.isalpha() else word


_PATTERNS: Final = {
    region: re.compile("|".join(_whole_word(word) for word in words))
    for region, words in _WORDS.items()
}
_US_PLACE: Final = re.compile(
    r"\b(?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]"
    r"|T[NX]|UT|V[AT]|W[AIVY]) [0-9]{5}(?:-[0-9]{4})?\b"
)


def region_hints(texts: Iterable[str]) -> tuple[str, ...]:
    """Return ISO 3166 codes of the countries that the pages speak of, in the order of the table."""
    whole = "\n".join(texts)
    hints = {region for region, pattern in _PATTERNS.items() if pattern.search(whole)}
    if _US_PLACE.search(whole):
        hints.add("US")
    return tuple(region for region in _PATTERNS if region in hints)
