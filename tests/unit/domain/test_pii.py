"""Personal data by its form: the rules of `domain/pii.py`, and how they fare on made-up texts."""

from __future__ import annotations

import re

import pytest
from stdnum import numdb

from no_undo.adapters.pii_validators import PatternPiiDetector
from no_undo.domain.pii import IBAN_LENGTHS, KINDS, REPORT_FLOOR
from no_undo.ports import PiiDetector
from tests.unit.domain.pii_samples import NEGATIVES, POSITIVES, Sample, seeded

DETECTOR: PiiDetector = PatternPiiDetector()
SEED = 20260418
PER_KIND = 300


def sure(text: str, *regions: str) -> list[tuple[str, str]]:
    found = DETECTOR.findings(text, regions=regions)
    return [(one.kind, one.value) for one in found if one.confidence >= REPORT_FLOOR]


def kinds(text: str, *regions: str) -> list[str]:
    return [kind for kind, _ in sure(text, *regions)]


def values(text: str) -> list[str]:
    return [value for _, value in sure(text)]


def finds(kind: str, sample: Sample) -> bool:
    return (kind, sample.value) in sure(sample.text, *sample.regions)


@pytest.mark.parametrize("kind", POSITIVES)
def test_at_least_98_percent_of_a_kind_are_found(kind: str) -> None:
    random = seeded(SEED)
    samples = [POSITIVES[kind](random) for _ in range(PER_KIND)]

    missed = [sample.text for sample in samples if not finds(kind, sample)]

    assert len(missed) <= 0.02 * PER_KIND, missed[:10]


@pytest.mark.parametrize("kind", KINDS)
def test_under_1_percent_of_texts_without_personal_data_raise_an_alarm_of_a_kind(kind: str) -> None:
    random = seeded(SEED)
    texts = [make(random) for make in NEGATIVES.values() for _ in range(100)]

    alarms = [text for text in texts if kind in kinds(text)]

    assert len(alarms) < 0.01 * len(texts), alarms[:10]


def test_no_kind_of_harmless_number_is_mistaken_often() -> None:
    random = seeded(SEED)
    rates = {
        name: sum(bool(kinds(make(random))) for _ in range(200)) / 200
        for name, make in NEGATIVES.items()
    }

    # one in eleven random strings passes the check digit of a VIN
    assert {name: rate for name, rate in rates.items() if rate > 0.02}.keys() <= {
        "random letters and digits"
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Write to alice.o'neil+x@mail.example.co.uk.", "alice.o'neil+x@mail.example.co.uk"),
        ("(zoë@example.org)", "zoë@example.org"),
        ("mailto:bob@example.com?subject=hi", "bob@example.com"),
        ("Driver m.webb @acme-freight.example", "m.webb @acme-freight.example"),
        ("ap@ lindstrom.example (payer)", "ap@ lindstrom.example"),
    ],
)
def test_an_email_address_is_taken_whole_and_without_punctuation(text: str, value: str) -> None:
    assert values(text) == [value]


@pytest.mark.parametrize(
    "text", ["a@b", "@example.com", "user@localhost", "x@@example.com", "a@1.2"]
)
def test_what_merely_has_an_at_sign_is_no_email_address(text: str) -> None:
    assert kinds(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "GB33BUKB20201555555555",
        "GB33 BUKB 2020 1555 5555 55",
        "gb33 bukb 2020 1555 5555 55",
        "BE68 5390 0754 7034",
        "MT84MALT011000012345MTLCAST001S",
        "IBAN: DE89 3704 0044\r\n0532 0130 00",
    ],
)
def test_an_iban_is_found_in_any_spelling(text: str) -> None:
    assert kinds(text) == ["iban"]


def test_what_looks_like_the_start_of_an_iban_does_not_swallow_one() -> None:
    text = "message 3300c7e7-56f2-69e7-ef6d-da2062f8e27c\naccount GB33BUKB20201555555555"

    assert kinds(text) == ["iban"]


def test_words_after_an_iban_do_not_belong_to_it() -> None:
    assert values("Pay GB33 BUKB 2020 1555 5555 55 BY FRIDAY") == ["GB33 BUKB 2020 1555 5555 55"]


@pytest.mark.parametrize(
    "text", ["GB34BUKB20201555555555", "XX33BUKB20201555555555", "GB33BUKB202015555555551"]
)
def test_an_iban_of_wrong_check_digits_country_or_length_is_none(text: str) -> None:
    assert "iban" not in kinds(text)


def test_iban_lengths_agree_with_an_independent_table() -> None:
    table = numdb.get("iban")

    for country, length in IBAN_LENGTHS.items():
        ((_, facts),) = [entry for entry in table.info(country) if entry[0] == country]
        account = sum(map(int, re.findall(r"(\d+)!", facts["bban"])))
        assert account + 4 == length, country


@pytest.mark.parametrize(
    "text",
    ["4111 1111 1111 1111", "4111111111111111", "5500-0000-0000-0004", "3782 822463 10005"],
)
def test_a_payment_card_is_found_by_check_digit_and_issuer(text: str) -> None:
    assert kinds(f"paid with {text}") == ["payment_card"]


def test_a_card_number_of_an_unlisted_range_needs_a_word() -> None:
    maestro = "6759649826438453"

    assert kinds(f"Code {maestro}") == []
    assert kinds(f"Maestro card {maestro}") == ["payment_card"]


def test_a_card_number_that_is_named_as_an_order_is_a_hint_below_the_floor() -> None:
    (finding,) = DETECTOR.findings("Order no. 4111111111111111")

    assert finding.confidence < REPORT_FLOOR
    assert kinds("Order no. 4111111111111111") == []


@pytest.mark.parametrize("text", ["000-12-3456", "666-12-3456", "912-12-3456", "123-00-4567"])
def test_a_number_that_was_never_assigned_is_no_social_security_number(text: str) -> None:
    assert kinds(f"SSN {text}") == []


def test_nine_bare_digits_need_a_word_to_be_a_social_security_number() -> None:
    assert kinds("123456789") == []
    assert kinds("SSN 123456789") == ["ssn"]


def test_an_employer_number_is_not_reported_without_a_word() -> None:
    assert kinds("12-3456789") == []
    assert kinds("EIN: 12-3456789") == ["ein"]


def test_a_vehicle_number_passes_by_check_digit_or_by_name() -> None:
    assert kinds("1HGCM82633A004352") == ["vin"]
    assert kinds("WVWZZZ1JZXW000001") == []
    assert kinds("Fahrgestellnummer: WVWZZZ1JZXW000001") == ["vin"]


def test_a_passport_is_found_by_its_machine_readable_zone() -> None:
    zone = (
        "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\n"
        "L898902C36UTO7408122F1204159ZE184226B<<<<<10"  # ICAO 9303 part 4, specimen
    )

    assert values(f"Copy:\n{zone}\n") == [zone]
    assert kinds(zone.replace("7408122", "7408123")) == []


def test_a_passport_number_needs_a_word_and_is_no_date() -> None:
    assert kinds("C01X00T47") == []
    assert values("Passport No.: C01X00T47") == ["C01X00T47"]
    assert values("Passport AB 123456") == ["AB 123456"]
    assert kinds("Passport expires 20310418") == []


@pytest.mark.parametrize(
    ("text", "regions"),
    [
        ("+49 30 901820", ()),
        ("0049 30 901820", ()),
        ("(212) 555-0142", ()),
        ("212-555-0142", ()),
        ("Tel: 2125550142", ()),
        ("Telefon 030 901820", ()),
        ("030 901820", ("DE",)),
        ("020 7946 0018", ("GB",)),
    ],
)
def test_a_telephone_number_is_found(text: str, regions: tuple[str, ...]) -> None:
    assert kinds(text, *regions) == ["phone"]


@pytest.mark.parametrize(
    "text",
    ["192.168.100.200", "2026-04-18", "18.04.2026", "2125550142", "207453-1288", "Tel. 12.03.2026"],
)
def test_addresses_dates_stamps_and_bare_digits_are_no_telephone_numbers(text: str) -> None:
    assert kinds(text) == []


def test_full_width_and_invisible_characters_do_not_hide_a_value() -> None:
    wide = "".join(chr(ord(char) + 0xFEE0) for char in "GB33BUKB20201555555555")
    broken = "alice\u200b@exam\u00adple.com"

    assert values(f"IBAN {wide}.") == [wide]
    assert values(f"mail {broken}") == [broken]


def test_exotic_hyphens_and_spaces_do_not_hide_a_value() -> None:
    assert kinds("SSN 123\u201145\u20116789") == ["ssn"]
    assert kinds("Tel. +49\u00a030\u00a0901820") == ["phone"]


def test_the_surer_of_two_overlapping_findings_stays() -> None:
    # the digits inside would also pass as a telephone number after the word before them
    (finding,) = DETECTOR.findings("Phone bill IBAN DE89 3704 0044 0532 0130 00")

    assert finding.kind == "iban"


def test_findings_come_in_reading_order_and_say_why_without_the_value() -> None:
    findings = DETECTOR.findings("SSN 123-45-6789, mail alice@example.com, VIN 1HGCM82633A004352")

    assert [finding.kind for finding in findings] == ["ssn", "email", "vin"]
    assert all(finding.reason and finding.value not in finding.reason for finding in findings)
