"""Texts on which the detector's rules were not written: other frames, countries and issuers.

Every text is a block as it stands on a freight document: a line with the value among lines with
numbers that are none. Seeded; no value belongs to anybody.
"""

from __future__ import annotations

import string
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

import phonenumbers

_CAPITALS: Final = string.ascii_uppercase
_DIGITS: Final = string.digits
_VIN_CHARS: Final = "".join(c for c in _CAPITALS + _DIGITS if c not in "IOQ")
_IBANS: Final = {
    "BG": 22, "HR": 21, "EE": 20, "FI": 18, "GR": 27, "HU": 28, "IE": 22, "LU": 20, "LV": 21,
    "PT": 25, "RO": 24, "SI": 19, "SK": 24, "TR": 26, "CZ": 24, "DK": 18, "CY": 28, "IS": 26,
}  # fmt: skip
_CARDS: Final = (
    ("52", 16),
    ("53", 16),
    ("54", 16),
    ("4", 19),
    ("6445", 16),
    ("38", 14),
    ("2400", 16),
)
_PHONE_COUNTRIES: Final = {
    "IE": "Ireland", "AU": "Australia", "DK": "Danmark", "FI": "Finland", "PT": "Portugal",
    "CZ": "Czech Republic", "MX": "Mexico", "NO": "Norway", "IN": "India",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Block:
    """A text, and the value that stands in it."""

    text: str
    value: str


def _pick(random: Random, alphabet: str, count: int) -> str:
    return "".join(random.choices(alphabet, k=count))


def _spaced(text: str, size: int) -> str:
    return " ".join(text[at : at + size] for at in range(0, len(text), size))


def _email(random: Random) -> tuple[str, str]:
    joint = random.choice((".", "_", "-", ""))
    name = f"{_pick(random, 'abcdeinorst', 5)}{joint}{random.randrange(99)}"
    value = f"{name}@{_pick(random, 'abcdeinorst', 7)}.{random.choice(('example', 'example.net'))}"
    return random.choice(("E-Mail {}", "send the POD to {};", "{} | dock 4", "cc:{}")), value


def _iban(random: Random) -> tuple[str, str]:
    country = random.choice(tuple(_IBANS))
    account = _pick(random, _DIGITS, _IBANS[country] - 4)
    number = int("".join(str(int(char, 36)) for char in f"{account}{country}00"))
    compact = f"{country}{98 - number % 97:02d}{account}"
    value = random.choice((compact, _spaced(compact, 4)))
    return random.choice(("Bankverbindung {}", "account {} (EUR)", "remit: {}")), value


def _card(random: Random) -> tuple[str, str]:
    prefix, length = random.choice(_CARDS)
    body = prefix + _pick(random, _DIGITS, length - len(prefix) - 1)
    doubled = (int(d) * (2 if place % 2 == 0 else 1) for place, d in enumerate(body[::-1]))
    compact = body + str(-sum(sum(divmod(n, 10)) for n in doubled) % 10)
    value = _spaced(compact, 4) if length == 16 else compact  # noqa: PLR2004 - four groups of four
    return random.choice(("charge card {}", "Kreditkarte {}", "CC {} exp 09/31")), value


def _ssn(random: Random) -> tuple[str, str]:
    area = random.choice([n for n in range(1, 900) if n != 666])  # noqa: PLR2004 - never assigned
    value = f"{area:03d}-{random.randrange(1, 100):02d}-{random.randrange(1, 10_000):04d}"
    return random.choice(("SS# {}", "Social Security {} on file", "driver SSN {}")), value


def _ein(random: Random) -> tuple[str, str]:
    value = f"{random.choice((13, 22, 45, 61, 74, 83, 92))}-{_pick(random, _DIGITS, 7)}"
    return random.choice(("Federal Tax ID {}", "carrier EIN: {}", "TIN {}", "IRS no. {}")), value


def _vin(random: Random) -> tuple[str, str]:
    body = list(_pick(random, _VIN_CHARS, 17))
    body[0], body[3] = random.choice("145JKW"), random.choice("ABCDEFGH")
    table = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", map(int, "12345678123457923456789"), strict=True))
    weights = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
    total = sum(
        (table[char] if char in table else int(char)) * weight
        for char, weight in zip(body, weights, strict=True)
    )
    body[8] = "0123456789X"[total % 11]
    return random.choice(("Chassis no {}", "tractor {}", "VIN {} / trailer 12")), "".join(body)


def _passport(random: Random) -> tuple[str, str]:
    value = _pick(random, _CAPITALS, 2) + _pick(random, _DIGITS, 7)
    return random.choice(("Passport number: {}", "driver's passport {}", "passeport n° {}")), value


def _phone(random: Random) -> tuple[str, str]:
    region = random.choice(tuple(_PHONE_COUNTRIES))
    while True:
        example = phonenumbers.example_number(region)
        national = "" if example is None else str(example.national_number)
        number = phonenumbers.PhoneNumber(
            country_code=phonenumbers.country_code_for_region(region),
            national_number=int((national[:-4] or "0") + _pick(random, _DIGITS, 4)),
        )
        if phonenumbers.is_valid_number(number):
            break
    if random.random() < 0.5:  # noqa: PLR2004 - half and half
        form = phonenumbers.PhoneNumberFormat.INTERNATIONAL
        return random.choice(("ring {}", "24 h: {}")), phonenumbers.format_number(number, form)
    form = phonenumbers.PhoneNumberFormat.NATIONAL
    frame = random.choice(("Tel {}", "mobile: {}", "call {} on arrival"))
    return f"{_PHONE_COUNTRIES[region]}, {frame}", phonenumbers.format_number(number, form)


POSITIVES: Final[Mapping[str, Callable[[Random], tuple[str, str]]]] = {
    "email": _email,
    "iban": _iban,
    "payment_card": _card,
    "ssn": _ssn,
    "ein": _ein,
    "vin": _vin,
    "passport": _passport,
    "phone": _phone,
}

HARMLESS: Final[Mapping[str, Callable[[Random], str]]] = {
    "IPv4 address": lambda r: f"gateway {'.'.join(str(r.randrange(256)) for _ in range(4))}",
    "UUID": lambda r: f"message {uuid.UUID(int=r.getrandbits(128))}",
    "tracking number": lambda r: (
        f"PRO {_pick(r, _DIGITS, 9)} / 1Z{_pick(r, _CAPITALS + _DIGITS, 16)}"
    ),
    "invoice number": lambda r: f"Invoice {_pick(r, _CAPITALS, 3)}-{_pick(r, _DIGITS, 7)}",
    "booking": lambda r: f"Booking {_pick(r, _CAPITALS, 4)}{_pick(r, _DIGITS, 8)}",
    "container": lambda r: (
        f"Seal {_pick(r, _DIGITS, 7)} Container {_pick(r, _CAPITALS, 4)} {_pick(r, _DIGITS, 6)}-1"
    ),
    "weights": lambda r: (
        f"{r.randrange(40_000)} kg  {r.randrange(99)}.{r.randrange(999)} m3  4 pcs"
    ),
    "date": lambda r: (
        f"ETA {r.randrange(1, 29)}.{r.randrange(1, 13)}.2031 14:{r.randrange(10, 60)}"
    ),
    "amount": lambda r: f"{r.randrange(9)},{_pick(r, _DIGITS, 3)}.{_pick(r, _DIGITS, 2)} net",
    "tariff": lambda r: f"HTS {_pick(r, _DIGITS, 4)}.{_pick(r, _DIGITS, 2)}.{_pick(r, _DIGITS, 4)}",
    "article": lambda r: (
        f"Item {_pick(r, _DIGITS, 6)}-{_pick(r, _DIGITS, 2)} rev {_pick(r, _CAPITALS, 1)}"
    ),
    "reference": lambda r: (
        f"our ref {_pick(r, _DIGITS, 4)}/{_pick(r, _DIGITS, 5)}/{_pick(r, _DIGITS, 2)}"
    ),
}


def block_with(kind: str, random: Random) -> Block:
    """Return a block with one value of a kind between harmless lines."""
    frame, value = POSITIVES[kind](random)
    lines = [HARMLESS[name](random) for name in random.sample(tuple(HARMLESS), 2)]
    return Block("\n".join((lines[0], frame.format(value), lines[1])), value)


def harmless_block(random: Random) -> str:
    """Return a block of three lines without personal data."""
    return "\n".join(HARMLESS[name](random) for name in random.sample(tuple(HARMLESS), 3))
