"""The vendor's named patterns, as far as it is known what they accept and do.

Source: preset probe of 20 August 2026 and the redaction runs of 1 September 2026. `vin` is
accepted and matches nothing; that was measured, not assumed.
"""

from __future__ import annotations

from local.sandbox.nutrient.errors import BadRequestError

_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"

PRESETS: dict[str, str | None] = {
    "email-address": r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}",
    "north-american-phone-number": (
        r"(?<![\w])(?:\+?1[ .-]?)?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[ .-])[2-9]\d{2}[ .-]\d{4}(?!\d)"
    ),
    "international-phone-number": r"(?<![\w])\+(?:[ .-]?\(?\d\)?){8,15}(?!\d)",
    "social-security-number": r"(?<![\d-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])",
    "credit-card-number": (
        r"(?<!\d)(?:\d{4}[ -]?){3}\d{4}(?!\d)|(?<!\d)3[47]\d{2}[ -]?\d{6}[ -]?\d{5}(?!\d)"
    ),
    "date": (
        r"\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b|"
        r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.? \d{1,2},? \d{4}\b"
    ),
    "time": r"\b(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?: ?[AaPp][Mm])?\b",
    "url": r"\b(?:https?://|www\.)[^\s<>()]+",
    "us-zip-code": r"(?<![\d-])\d{5}(?:-\d{4})?(?![\d-])",
    "ipv4": rf"(?<![\d.]){_OCTET}(?:\.{_OCTET}){{3}}(?![\d.])",
    "ipv6": r"(?<![\w:])(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}(?![\w:])",
    "mac-address": r"(?<![\w:-])(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![\w:-])",
    "vin": None,
}


def pattern_of(preset: str, path: str) -> str | None:
    """Return a preset's regular expression, None for one that matches nothing.

    Raises:
        BadRequestError: The vendor has no preset of this name; `path` says where it stood.
    """
    if preset not in PRESETS:
        raise BadRequestError("unknown preset", path=path)
    return PRESETS[preset]
