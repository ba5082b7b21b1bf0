"""Personal data that can be recognised by its form.

Rules:
1. A kind is one entry of `RULES`: a pattern for candidates, and a judge that says how sure it is.
2. Where a kind has a check digit, a candidate that fails it is no finding, except a VIN that stands
   near a word for it: vehicles made outside North America carry no check digit (ISO 3779).
3. A number without a check digit is a finding only in an unmistakable form or near a context word.
4. Where findings overlap, the surer one stays; of equal ones the longer.
5. Text is read after NFKC, without invisible characters; spans refer to the text as given.
6. Names and postal addresses are not recognised: that takes a model.
7. A finding below `REPORT_FLOOR` is a hint for a person, never a target.

Validators that need a library's tables (telephone numbering plans) are passed in.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

REPORT_FLOOR: Final = 0.5

_CONTEXT_BEFORE: Final = 40
_CONTEXT_NEAR: Final = 24


class PhoneValidator(Protocol):
    """Knows the world's numbering plans."""

    def __call__(self, number: str, regions: Sequence[str]) -> bool:
        """Say whether a number is valid as written: with `+`, or in one of the regions."""
        ...


@dataclass(frozen=True, slots=True)
class Finding:
    """Personal data found in a text.

    Attributes:
        kind: A kind of `RULES`, for example `email`.
        start: Index of its first character in the text as given.
        end: Index after its last character.
        value: The text between, as given; never logged.
        confidence: 0.0 to 1.0, ordinal and uncalibrated.
        reason: Why, in words that carry no value.
    """

    kind: str
    start: int
    end: int
    value: str
    confidence: float
    reason: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A match of a kind's pattern, with what stands around it.

    Attributes:
        text: The match, normalised.
        before: Up to 40 characters before it, folded, line breaks included.
        regions: ISO 3166 country hints from the parties, upper case.
        phone: Validator of telephone numbers.
    """

    text: str
    before: str
    regions: tuple[str, ...]
    phone: PhoneValidator

    def follows(self, words: re.Pattern[str], *, within: int = _CONTEXT_BEFORE) -> bool:
        """Say whether one of the words stands shortly before the match."""
        return words.search(self.before[-within:]) is not None


@dataclass(frozen=True, slots=True)
class Judgement:
    """How sure a judge is, why, and how much of the candidate belongs to the finding.

    Attributes:
        confidence: 0.0 to 1.0.
        reason: In words that carry no value.
        length: Characters of the candidate that count, or None for all.
    """

    confidence: float
    reason: str
    length: int | None = None


@dataclass(frozen=True, slots=True)
class KindRule:
    """How one kind is recognised.

    Attributes:
        kind: Name of the kind.
        pattern: Finds candidates.
        judge: Decides about one candidate; None when it is not of this kind.
        overlapping: True where a rejected candidate may have swallowed the start of a true one.
    """

    kind: str
    pattern: re.Pattern[str]
    judge: Callable[[Candidate], Judgement | None]
    overlapping: bool = False


def find_pii(
    text: str, *, phone: PhoneValidator, regions: Sequence[str] = ()
) -> tuple[Finding, ...]:
    """Return the personal data in a text, in reading order.

    Args:
        text: One page, as a reader gave it.
        phone: Validator of telephone numbers.
        regions: ISO 3166 country hints, for numbers written without a country code.

    Returns:
        Findings of every confidence, without overlaps; see `REPORT_FLOOR`.
    """
    folded, offsets = _folded(text)
    hints = tuple(region.upper() for region in regions)
    found = [
        Finding(
            kind=rule.kind,
            start=offsets[start],
            end=offsets[end - 1] + 1,
            value=text[offsets[start] : offsets[end - 1] + 1],
            confidence=judgement.confidence,
            reason=judgement.reason,
        )
        for rule in RULES
        for start, end, judgement in _judged(rule, folded, hints, phone)
    ]
    return _without_overlaps(found)


def _judged(
    rule: KindRule, text: str, regions: tuple[str, ...], phone: PhoneValidator
) -> Iterator[tuple[int, int, Judgement]]:
    at = 0
    while match := rule.pattern.search(text, at):
        start = match.start()
        at = max(match.end(), start + 1)
        before = text[max(0, start - _CONTEXT_BEFORE) : start].casefold()
        judgement = rule.judge(Candidate(match[0], before, regions, phone))
        if judgement is not None:
            length = len(match[0]) if judgement.length is None else judgement.length
            yield start, start + length, judgement
        elif rule.overlapping:
            at = start + 1


def _without_overlaps(found: Sequence[Finding]) -> tuple[Finding, ...]:
    """Keep the surest finding of each overlapping group (rule 4)."""
    kept: list[Finding] = []
    for finding in sorted(found, key=lambda f: (-f.confidence, f.start - f.end, f.start)):
        if all(finding.end <= other.start or other.end <= finding.start for other in kept):
            kept.append(finding)
    return tuple(sorted(kept, key=lambda finding: finding.start))


def _folded(text: str) -> tuple[str, list[int]]:
    """Fold a text (rule 5); return it with the original index of each of its characters."""
    if text.isascii():
        return text, list(range(len(text)))
    chars: list[str] = []
    offsets: list[int] = []
    for index, original in enumerate(text):
        if unicodedata.category(original) == "Cf":
            continue
        for char in unicodedata.normalize("NFKC", original):
            chars.append(_PLAIN.get(char, char))
            offsets.append(index)
    return "".join(chars), offsets


_PLAIN: Final = dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-") | {"\u2019": "'"}


def _words(*words: str) -> re.Pattern[str]:
    """Compile context words; they must not be part of a longer word."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)")


def _compact(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z]", "", text).upper()


# --- email ------------------------------------------------------------------------------------

_EMAIL: Final = re.compile(
    r"(?<![\w.%+'@-])[\w%+'-]+(?:\.[\w%+'-]+)* ?@ ?"
    r"(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+[^\W\d_]{2,24}(?![\w@-])"
)


def _judge_email(candidate: Candidate) -> Judgement:
    if " " in candidate.text:  # OCR sees gaps beside the sign that are none
        return Judgement(0.8, "form of an e-mail address with a gap at its sign")
    return Judgement(0.99, "has the form of an e-mail address")


# --- IBAN: ISO 13616, lengths by country from the SWIFT registry ------------------------------

IBAN_LENGTHS: Final = {
    country: int(length)
    for country, length in re.findall(
        r"([A-Z]{2})(\d{2})",
        "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 "
        "DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 "
        "HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 "
        "MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 "
        "RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 "
        "VA22 VG24 XK20 YE30",
    )
}
_IBAN: Final = re.compile(
    r"(?<![0-9A-Za-z])[A-Z]{2}[ -]?[0-9]{2}(?:\s{0,2}-?[0-9A-Z]){11,30}",
    re.IGNORECASE | re.ASCII,
)


def iban_is_valid(compact: str) -> bool:
    """Check country, length and the mod-97 check digits of an IBAN without separators."""
    if IBAN_LENGTHS.get(compact[:2]) != len(compact) or not compact.isascii():
        return False
    moved = compact[4:] + compact[:4]
    return moved.isalnum() and int("".join(str(int(char, 36)) for char in moved)) % 97 == 1


def _judge_iban(candidate: Candidate) -> Judgement | None:
    compact = _compact(candidate.text)
    length = IBAN_LENGTHS.get(compact[:2], 0)
    if not length or not iban_is_valid(compact[:length]):
        return None
    end = _end_of(candidate.text, length)
    if candidate.text[end : end + 1].isalnum():
        return None
    return Judgement(0.99, "country, length and check digits of an IBAN", end)


def _end_of(text: str, letters: int) -> int:
    """Return the index after the n-th letter or digit of a text."""
    places = [index for index, char in enumerate(text) if char.isalnum()]
    return places[letters - 1] + 1


# --- payment card: ISO/IEC 7812, Luhn ---------------------------------------------------------

_CARD: Final = re.compile(
    r"(?<![\w.,-])(?:[0-9]{12,19}|[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}(?:\1[0-9]{1,4}){1,2}"
    r"|[0-9]{4}([ -])[0-9]{6}\2[0-9]{4,5})(?![\w-])(?![.,][0-9])"
)
_CARD_RANGES: Final = (
    # first and last prefix, lengths; the ranges that schemes have published
    (4, 4, (13, 16, 19)),
    (51, 55, (16,)),
    (2221, 2720, (16,)),
    (34, 34, (15,)),
    (37, 37, (15,)),
    (6011, 6011, (16, 19)),
    (644, 659, (16, 19)),
    (622126, 622925, (16, 17, 18, 19)),
    (300, 305, (14, 16)),
    (36, 36, (14, 16)),
    (38, 39, (14, 16)),
    (3528, 3589, (16, 19)),
)
_CARD_WORDS: Final = _words(
    "card", "credit card", "debit card", "visa", "mastercard", "amex", "american express",
    "maestro", "discover", "diners", "jcb", "unionpay", "pan", "cc", "kreditkarte", "karte",
    "carte", "tarjeta", "carta",
)  # fmt: skip
_OTHER_NUMBERS: Final = re.compile(
    r"(?:tracking|shipment|parcel|waybill|awb|order|po|invoice|inv|ref(?:erence)?|ean|isbn|gtin|sku"
    r"|serial|batch|lot|container|seal|item|article|booking|ticket|bestell\w*|rechnung\w*|sendung\w*)"
    r"[\s.:#-]*(?:no|nr|num|number|id|code)?[\s.:#-]*$"
)


def luhn_is_valid(digits: str) -> bool:
    """Check the Luhn digit, ISO/IEC 7812-1 annex B."""
    doubled = (int(digit) * (2 if place % 2 else 1) for place, digit in enumerate(digits[::-1]))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0  # noqa: PLR2004


def _judge_card(candidate: Candidate) -> Judgement | None:
    digits = _compact(candidate.text)
    if not luhn_is_valid(digits) or len(set(digits)) == 1:
        return None
    if candidate.follows(_CARD_WORDS):
        return Judgement(0.95, "check digit, and a word for a card before it")
    if not any(
        len(digits) in lengths and first <= int(digits[: len(str(first))]) <= last
        for first, last, lengths in _CARD_RANGES
    ):
        return None
    if candidate.follows(_OTHER_NUMBERS):
        return Judgement(0.4, "check digit and issuer range, but named as another number")
    return Judgement(0.85, "check digit and issuer range of a payment card")


# --- US social security number and employer identification number -----------------------------

_SSN: Final = re.compile(r"(?<![\w-])[0-9]{3}([- ]?)[0-9]{2}\1[0-9]{4}(?![\w-])(?!\.[0-9])")
_SSN_WORDS: Final = _words(
    "ssn", "ss#", "social security", "social security number", "social security no", "soc sec"
)
_UNASSIGNED_AREAS: Final = ("000", "666")


def ssn_is_valid(digits: str) -> bool:
    """Check the parts that were never assigned: areas 000, 666 and 9xx, group 00, serial 0000."""
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in _UNASSIGNED_AREAS and area[0] != "9" and group != "00" and serial != "0000"


def _judge_ssn(candidate: Candidate) -> Judgement | None:
    if not ssn_is_valid(_compact(candidate.text)):
        return None
    if candidate.follows(_SSN_WORDS):
        return Judgement(0.97, "form of a social security number after a word for it")
    if "-" in candidate.text:
        return Judgement(0.85, "form of a social security number")
    return None


_EIN: Final = re.compile(r"(?<![\w-])[0-9]{2}-?[0-9]{7}(?![\w-])(?!\.[0-9])")
_EIN_WORDS: Final = _words(
    "ein", "fein", "employer identification", "employer identification number", "employer id",
    "federal tax id", "tax id", "taxpayer id", "tax identification", "tin", "irs",
)  # fmt: skip
# The IRS assigns these prefixes to no campus.
_NO_EIN_PREFIX: Final = re.compile(r"0[0789]|1[789]|2[89]|49|69|7[089]|89|9[67]")


def _judge_ein(candidate: Candidate) -> Judgement | None:
    if not candidate.follows(_EIN_WORDS) or _NO_EIN_PREFIX.match(candidate.text):
        return None
    return Judgement(0.9, "form of an employer identification number after a word for it")


# --- vehicle identification number: ISO 3779, check digit 49 CFR 565 --------------------------

_VIN: Final = re.compile(r"(?<![\w-])[A-HJ-NPR-Z0-9]{17}(?![\w-])", re.IGNORECASE)
_VIN_WORDS: Final = _words(
    "vin", "vin no", "vin number", "vehicle", "vehicle identification", "chassis", "frame no",
    "fahrgestell\\w*", "fin", "fahrzeug\\w*", "bastidor", "telaio", "châssis",
)  # fmt: skip
_VIN_VALUES: Final = dict(
    zip(
        "ABCDEFGHJKLMNPRSTUVWXYZ0123456789",
        (1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, 2, 3, 4, 5, 6, 7, 8, 9, *range(10)),
        strict=True,
    )
)
_VIN_WEIGHTS: Final = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def vin_is_valid(vin: str) -> bool:
    """Check the check digit of a VIN of 17 capitals and digits."""
    total = sum(_VIN_VALUES[char] * weight for char, weight in zip(vin, _VIN_WEIGHTS, strict=True))
    return vin[8] == "0123456789X"[total % 11]


def _judge_vin(candidate: Candidate) -> Judgement | None:
    vin = candidate.text.upper()
    if vin.isalpha() or vin.isdigit():
        return None
    named = candidate.follows(_VIN_WORDS)
    if vin_is_valid(vin) and (named or candidate.text == vin):
        return Judgement(0.97 if named else 0.75, "check digit of a vehicle number")
    if named:
        return Judgement(0.8, "form of a vehicle number after a word for it")
    return None


# --- passport: ICAO 9303 part 4 (two lines of 44), or a number after a word for it -------------

_MRZ: Final = re.compile(
    r"(?<![A-Z0-9<])(?:P[A-Z<][A-Z<]{42}\s{1,3})?[A-Z0-9<]{9}[0-9][A-Z<]{3}[0-9]{7}[MFX<][0-9]{7}"
    r"[A-Z0-9<]{14}[0-9<][0-9](?![A-Z0-9<])"
)
_MRZ_LINE: Final = 44
_PASSPORT: Final = re.compile(
    r"(?<![\w-])(?:[A-Z]{1,2} [0-9]{6,8}|(?=(?:[A-Z]*[0-9]){5})[A-Z0-9]{6,10})"
    r"(?![\w-])(?![.,/][0-9])"
)
_PASSPORT_WORDS: Final = _words(
    "passport", "passport no", "passport number", "reisepass\\w*", "passnummer", "passeport",
    "pasaporte", "passaporto", "paspoort\\w*", "passaporte",
)  # fmt: skip
_DATE_DIGITS: Final = re.compile(
    r"(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])|(?:[0-2]\d|3[01])(?:0[1-9]|1[0-2])(?:19|20)\d{2}"
)


def mrz_check_digit(field: str) -> str:
    """Return the check digit of a machine-readable field, ICAO 9303 part 3, 4.9."""
    values = (0 if char == "<" else int(char, 36) for char in field)
    return str(sum(value * (7, 3, 1)[place % 3] for place, value in enumerate(values)) % 10)


def _judge_mrz(candidate: Candidate) -> Judgement | None:
    line = candidate.text[-_MRZ_LINE:]
    whole = line[:10] + line[13:20] + line[21:43]
    checked = ((line[:9], line[9]), (line[13:19], line[19]), (line[21:27], line[27]))
    if any(mrz_check_digit(field) != digit for field, digit in (*checked, (whole, line[43]))):
        return None
    return Judgement(0.99, "check digits of a passport's machine-readable zone")


def _judge_passport(candidate: Candidate) -> Judgement | None:
    if not candidate.follows(_PASSPORT_WORDS) or _DATE_DIGITS.fullmatch(candidate.text):
        return None
    return Judgement(0.8, "form of a passport number after a word for it")


# --- telephone ---------------------------------------------------------------------------------

_PHONE: Final = re.compile(
    r"(?<![\w.,/+-])(?:\+|00)?\(?[0-9](?:(?:[ ./-]|\) ?| ?\()?[0-9]){6,16}"
    r"(?![\w])(?![-./,][0-9A-Za-z])"
)
_PHONE_WORDS: Final = _words(
    "phone", "telephone", "tel", "tél", "telefon\\w*", "téléphone", "teléfono", "telefono", "ph",
    "mobile", "mob", "cell", "cellular", "handy", "móvil", "fax", "telefax", "call", "hotline",
    "whatsapp", "sms", "contact number",
)  # fmt: skip
_PHONE_LETTER: Final = re.compile(r"(?<![\w.])[tmf][.:] ?$")  # T: 030 ..., as letterheads write it
_DOTTED_QUAD: Final = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_DATE: Final = re.compile(
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2}))(?: \d{1,2})?$"
)
_NANP: Final = re.compile(r"(?:1[ .-])?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[ .-])[2-9]\d{2}[ .-]\d{4}")
_TRUNK: Final = re.compile(r"\(?0[1-9]")
_SEPARATORS: Final = re.compile(r"[ ./()-]+")


def _judge_phone(candidate: Candidate) -> Judgement | None:
    text = candidate.text
    if _DOTTED_QUAD.fullmatch(text) or _DATE.match(text):
        return None
    if text.startswith(("+", "00")) and candidate.phone(re.sub(r"^00", "+", text), ()):
        return Judgement(0.95, "valid international telephone number")
    if candidate.follows(_PHONE_WORDS, within=_CONTEXT_NEAR) or candidate.follows(_PHONE_LETTER):
        valid = candidate.phone(text, candidate.regions or ("US",))
        return Judgement(0.9 if valid else 0.7, "form of a telephone number after a word for it")
    if candidate.follows(_OTHER_NUMBERS):
        return None
    return _judge_national(candidate)


def _judge_national(candidate: Candidate) -> Judgement | None:
    """Judge a number that nothing announces: only in a form that is written for telephones."""
    text = candidate.text
    if _NANP.fullmatch(text) and candidate.phone(text, ("US",)):
        return Judgement(0.8, "form of a North American telephone number")
    groups = len(_SEPARATORS.findall(text))
    written_so = groups >= 1 if _TRUNK.match(text) else groups >= 2  # noqa: PLR2004
    if written_so and candidate.regions and candidate.phone(text, candidate.regions):
        return Judgement(0.7, "valid telephone number of a party's country")
    return None


RULES: Final[tuple[KindRule, ...]] = (
    KindRule("email", _EMAIL, _judge_email),
    KindRule("iban", _IBAN, _judge_iban, overlapping=True),
    KindRule("payment_card", _CARD, _judge_card),
    KindRule("ssn", _SSN, _judge_ssn),
    KindRule("ein", _EIN, _judge_ein),
    KindRule("vin", _VIN, _judge_vin),
    KindRule("passport", _MRZ, _judge_mrz),
    KindRule("passport", _PASSPORT, _judge_passport),
    KindRule("phone", _PHONE, _judge_phone),
)

KINDS: Final = tuple(dict.fromkeys(rule.kind for rule in RULES))
"""Every kind that can be detected, in the order of `RULES`."""
