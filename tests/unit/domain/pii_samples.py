"""Generated texts with and without personal data, for measuring the detector.

Everything comes from a seeded generator; no value belongs to anybody. The generators know the
published formats and nothing of the detector's patterns.
"""

from __future__ import annotations

import string
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import phonenumbers
from phonenumbers import PhoneNumberFormat

_LETTERS = string.ascii_uppercase
_VIN_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"
_VIN_VALUES = dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ", (*range(1, 9), *range(1, 6), 7, 9, *range(2, 10)), strict=True)
)
_PHONE_REGIONS = (
    "US",
    "CA",
    "GB",
    "DE",
    "FR",
    "IT",
    "ES",
    "NL",
    "BE",
    "AT",
    "CH",
    "SE",
    "PL",
    "JP",
)
_NATIONALITIES = ("DEU", "USA", "GBR", "FRA", "UTO", "JPN", "POL")


@dataclass(frozen=True, slots=True)
class Sample:
    """A text, the value in it, and the country hints that come with it."""

    text: str
    value: str
    regions: tuple[str, ...] = ()


def seeded(seed: int) -> Random:
    """Return a generator that gives the same texts every time."""
    return Random(seed)  # noqa: S311 - test texts, no secrets


def digits(random: Random, count: int) -> str:
    return "".join(random.choices(string.digits, k=count))


def capitals(random: Random, count: int) -> str:
    return "".join(random.choices(_LETTERS, k=count))


def grouped(text: str, size: int, separator: str) -> str:
    return separator.join(text[at : at + size] for at in range(0, len(text), size))


def email(random: Random) -> Sample:
    names = ("alice", "bob.example", "c_example", "dana-x", "e+invoices", "f.o'neil", "zoë")
    hosts = ("example.com", "mail.example.org", "x-9.example.co.uk", "sub.dept.example.net")
    value = f"{random.choice(names)}{random.randrange(999)}@{random.choice(hosts)}"
    frame = random.choice(
        ("Contact: {}", "<{}>", "mailto:{}?subject=x", "({}).", "Write to {}, now")
    )
    return Sample(frame.format(value), value)


def iban(random: Random) -> Sample:
    country, length = random.choice(
        (("DE", 22), ("FR", 27), ("GB", 22), ("NL", 18), ("BE", 16), ("AT", 20), ("CH", 21),
         ("ES", 24), ("IT", 27), ("PL", 28), ("NO", 15), ("MT", 31), ("SE", 24), ("LT", 20))
    )  # fmt: skip
    bank = capitals(random, 4) if country in ("GB", "NL", "MT") else digits(random, 4)
    account = bank + digits(random, length - 8)
    number = int("".join(str(int(char, 36)) for char in f"{account}{country}00"))
    compact = f"{country}{98 - number % 97:02d}{account}"
    value = random.choice((compact, grouped(compact, 4, " "), grouped(compact, 4, "-")))
    frame = random.choice(("IBAN {}", "Pay to {} by Friday", "Bank: {}\nBIC EXAMPLEX", "{}"))
    return Sample(frame.format(value), value)


def luhn(body: str) -> str:
    total = sum(
        sum(divmod(int(digit) * (2 if place % 2 == 0 else 1), 10))
        for place, digit in enumerate(reversed(body))
    )
    return body + str(-total % 10)


def payment_card(random: Random) -> Sample:
    prefix, length = random.choice(
        (("4", 16), ("4", 13), ("51", 16), ("55", 16), ("2221", 16), ("2720", 16), ("34", 15),
         ("37", 15), ("6011", 16), ("65", 16), ("36", 14), ("3528", 16), ("3589", 16),
         ("622126", 16))
    )  # fmt: skip
    compact = luhn(prefix + digits(random, length - len(prefix) - 1))
    separator = random.choice(("", " ", "-"))
    if length == 15:
        value = separator.join((compact[:4], compact[4:10], compact[10:]))
    else:
        value = grouped(compact, 4, separator)
    frame = random.choice(("Card number: {}", "Paid with {}", "charged to {} on Monday", "{}"))
    return Sample(frame.format(value), value)


def ssn(random: Random) -> Sample:
    area = random.choice([n for n in range(1, 900) if n != 666])
    parts = (f"{area:03d}", f"{random.randrange(1, 100):02d}", f"{random.randrange(1, 10000):04d}")
    if random.random() < 0.3:
        value = random.choice(("", " ")).join(parts)
        frame = random.choice(("SSN: {}", "Social Security Number {}", "social security no. {}"))
    else:
        value = "-".join(parts)
        frame = random.choice(("SSN: {}", "Driver {} signed", "{}", "ID {}"))
    return Sample(frame.format(value), value)


def ein(random: Random) -> Sample:
    value = f"{random.choice((12, 20, 36, 47, 58, 81, 95)):02d}-{digits(random, 7)}"
    frame = random.choice(
        ("EIN {}", "Tax ID: {}", "Employer Identification Number is {}", "FEIN#{}")
    )
    return Sample(frame.format(value), value)


def _vin(random: Random) -> str:
    body = [random.choice(_VIN_LETTERS + string.digits) for _ in range(17)]
    body[0], body[3] = random.choice("123JKLSVWZ"), random.choice(_VIN_LETTERS)
    weights = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
    total = sum(
        (_VIN_VALUES.get(char) or int(char)) * weight
        for char, weight in zip(body, weights, strict=True)
    )
    body[8] = "X" if total % 11 == 10 else str(total % 11)
    return "".join(body)


def vin(random: Random) -> Sample:
    value = _vin(random)
    if random.random() < 0.3:  # made in Europe: no check digit, so a word must announce it
        value = value[:8] + random.choice(_VIN_LETTERS) + value[9:]
        return Sample(random.choice(("VIN: {}", "Fahrgestellnummer {}")).format(value), value)
    return Sample(random.choice(("VIN: {}", "unit {} loaded", "{}")).format(value), value)


def _mrz_digit(field: str) -> str:
    values = [0 if char == "<" else int(char, 36) for char in field]
    return str(sum(value * (7, 3, 1)[place % 3] for place, value in enumerate(values)) % 10)


def passport(random: Random) -> Sample:
    if random.random() < 0.4:
        number = (capitals(random, 1) + digits(random, 8)).ljust(9, "<")
        born, until = (
            f"{random.randrange(99):02d}0{random.randrange(1, 9)}1{random.randrange(9)}"
            for _ in "ab"
        )
        number, born, until = (field + _mrz_digit(field) for field in (number, born, until))
        private = "<" * 14 + "0"
        nation = random.choice(_NATIONALITIES)
        second = f"{number}{nation}{born}{random.choice('MF<')}{until}{private}"
        second += _mrz_digit(number + born + until + private)
        value = f"P<{nation}EXAMPLE<<ALICE".ljust(44, "<") + "\n" + second
        return Sample(f"Identity\n{value}\n", value)
    value = random.choice(
        (
            digits(random, 9),
            capitals(random, 1) + digits(random, 8),
            capitals(random, 2) + digits(random, 7),
        )
    )
    frame = random.choice(("Passport No. {}", "passport of the driver: {}", "Reisepass Nr. {}"))
    return Sample(frame.format(value), value)


def phone(random: Random) -> Sample:
    region = random.choice(_PHONE_REGIONS)
    number = phonenumbers.PhoneNumber()
    while not phonenumbers.is_valid_number(number):
        example = phonenumbers.example_number(region)
        assert example is not None
        national = str(example.national_number)
        number = phonenumbers.PhoneNumber(
            country_code=example.country_code,
            national_number=int(national[:-5] + digits(random, 5)),
            italian_leading_zero=example.italian_leading_zero,
        )
    style = random.choice(("international", "announced", "hinted"))
    if style == "international":
        value = phonenumbers.format_number(number, PhoneNumberFormat.INTERNATIONAL)
        return Sample(random.choice(("{}", "reach us at {} any time")).format(value), value)
    value = phonenumbers.format_number(number, PhoneNumberFormat.NATIONAL)
    if style == "announced":
        return Sample(random.choice(("Tel. {}", "Phone: {}", "Fax {}")).format(value), value)
    return Sample(random.choice(("Office {}", "{}")).format(value), value, (region,))


POSITIVES: dict[str, Callable[[Random], Sample]] = {
    "email": email,
    "iban": iban,
    "payment_card": payment_card,
    "ssn": ssn,
    "ein": ein,
    "vin": vin,
    "passport": passport,
    "phone": phone,
}


def _date(random: Random) -> str:
    year, month, day = 2000 + random.randrange(40), random.randrange(1, 13), random.randrange(1, 29)
    return random.choice(("{0}-{1:02}-{2:02}", "{2:02}.{1:02}.{0}", "{1}/{2}/{0}")).format(
        year, month, day
    )


def _wrong_luhn(random: Random) -> str:
    right = luhn("4" + digits(random, 14))
    return grouped(right[:-1] + str((int(right[-1]) + 1) % 10), 4, " ")


def _wrong_iban(random: Random) -> str:
    value = iban(random).value
    return value[:-1] + str((int(value[-1]) + 1) % 10)


NEGATIVES: dict[str, Callable[[Random], str]] = {
    "IPv4 address": lambda r: ".".join(str(r.randrange(256)) for _ in range(4)),
    "UUID": lambda r: str(uuid.UUID(int=r.getrandbits(128))),
    "SHA-1": lambda r: f"{r.getrandbits(160):040x}",
    "short commit": lambda r: f"commit {r.getrandbits(40):010x}",
    "UPS tracking": lambda r: f"tracking 1Z{capitals(r, 3)}{digits(r, 13)}",
    "USPS tracking": lambda r: f"9400{digits(r, 18)}",
    "courier tracking": lambda r: f"Tracking number {digits(r, 12)}",
    "air waybill": lambda r: f"AWB {digits(r, 3)}-{digits(r, 8)}",
    "invoice number": lambda r: f"INV-{2020 + r.randrange(9)}-{digits(r, 4)}",
    "long invoice number": lambda r: f"Invoice no. {digits(r, 10)}",
    "purchase order": lambda r: f"PO {digits(r, 8)}",
    "order number": lambda r: f"Order #{digits(r, 3)}-{digits(r, 7)}-{digits(r, 7)}",
    "date": _date,
    "date and time": lambda r: f"{_date(r)} {r.randrange(24):02}:{r.randrange(60):02}:00",
    "amount": lambda r: f"{r.randrange(10**7):,}.{r.randrange(100):02}",
    "European amount": lambda r: f"{r.randrange(999)}.{digits(r, 3)}.{digits(r, 3)},00 EUR",
    "amounts in a row": lambda r: " ".join(f"{r.randrange(9999)}.{digits(r, 2)}" for _ in range(4)),
    "quantities in a row": lambda r: " ".join(str(r.randrange(9999)) for _ in range(5)),
    "EAN": lambda r: f"EAN {digits(r, 13)}",
    "ISBN": lambda r: f"ISBN 978-{digits(r, 1)}-{digits(r, 4)}-{digits(r, 4)}-{digits(r, 1)}",
    "container": lambda r: f"{capitals(r, 3)}U{digits(r, 7)}",
    "bill of lading": lambda r: f"B/L {capitals(r, 4)}{digits(r, 9)}",
    "tariff code": lambda r: f"HS {digits(r, 4)}.{digits(r, 2)}.{digits(r, 2)}.{digits(r, 2)}",
    "VAT number": lambda r: f"VAT DE{digits(r, 9)}",
    "wrong IBAN": _wrong_iban,
    "wrong card": _wrong_luhn,
    "version": lambda r: f"v{r.randrange(20)}.{r.randrange(99)}.{r.randrange(9999)}",
    "coordinates": lambda r: f"{r.uniform(-90, 90):.6f}, {r.uniform(-180, 180):.6f}",
    "ZIP+4": lambda r: f"{capitals(r, 2)} {digits(r, 5)}-{digits(r, 4)}",
    "MAC address": lambda r: ":".join(f"{r.randrange(256):02x}" for _ in range(6)),
    "file name": lambda r: f"scan_{digits(r, 8)}_{digits(r, 6)}.pdf",
    "web address": lambda r: f"https://www.example.com/{digits(r, 9)}/{r.getrandbits(60):x}",
    "part number": lambda r: f"P/N {digits(r, 3)}-{capitals(r, 2)}{digits(r, 5)}",
    "handle": lambda r: f"@{capitals(r, 6).lower()}{digits(r, 3)}",
    "date stamp": lambda r: f"{digits(r, 6)}-{digits(r, 4)}",
    "random letters and digits": lambda r: "".join(r.choices(_LETTERS + string.digits, k=17)),
}
