"""Rules of `domain/addresses.py`."""

from __future__ import annotations

import pytest

from no_undo.domain.addresses import (
    check_address,
    check_display_name,
    domain_of,
    mixes_scripts,
    same_person,
)
from no_undo.domain.errors import InvalidRequestError

LONG_DOMAIN = ".".join(["d" * 60] * 3) + ".example"


@pytest.mark.parametrize(
    "address",
    [
        "alice@example.com",
        "Alice.B+signing@Example.COM",
        "o'brien_1@mail.sub-domain.example",
        "x@xn--bcher-kva.example",
        "1@2.example",
        "a" * 64 + "@example.com",
        "a" * (253 - len(LONG_DOMAIN)) + "@" + LONG_DOMAIN,
    ],
)
def test_an_ordinary_address_passes_unchanged(address: str) -> None:
    assert check_address(address, field="email") == address


def test_an_international_domain_is_kept_in_its_ascii_form() -> None:
    assert check_address("alice@bücher.example", field="email") == "alice@xn--bcher-kva.example"


def test_blanks_around_an_address_are_dropped() -> None:
    assert check_address(" alice@example.com ", field="email") == "alice@example.com"


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        "",
        "   ",
        "alice",
        "@example.com",
        "alice@",
        "alice@@example.com",
        "alice@home@example.com",
        "alice@example",
        "alice@localhost",
        "alice@[192.0.2.1]",
        "alice@192.0.2.1",
        "alice@example..com",
        "alice@.example.com",
        "alice@example.com.",
        "alice@-example.com",
        "alice@exam_ple.com",
        "alice@" + "d" * 64 + ".example",
        ".alice@example.com",
        "al..ice@example.com",
        "al ice@example.com",
        '"alice"@example.com',
        "alice(boss)@example.com",
        "Alice <alice@example.com>",
        "alice@example.com,bob@example.com",
        "alice@example.com\r\nBcc: eve@example.com",
        "alice\x00@example.com",
        "alice\u202e@example.com",
        "alice\u200b@example.com",
        "älice@example.com",
        "a" * 65 + "@example.com",
        "a" * 64 + "@" + LONG_DOMAIN,
        "a" * 40 + "@" + "ü." * 90 + "example",  # too long once in its ASCII form
        "alice@ü..example",
    ],
)
def test_anything_else_is_refused_and_the_field_named(value: object) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        check_address(value, field="recipients[0].email")

    assert refusal.value.field == "recipients[0].email"
    assert "recipients[0].email" in str(refusal.value)


@pytest.mark.parametrize(
    "address",
    [
        "\u0430lice@example.com",  # Cyrillic a in the local part
        "alice@ex\u0430mple.com",  # Cyrillic a in a Latin label
        "alice@\u0430\u0440\u0440\u04cf\u0435.com",  # all Cyrillic, reads "apple"
        "alice@xn--80ak6aa92e.com",  # the same label in its ASCII form
        "alice@XN--80AK6AA92E.com",
        "alice@\u0430\u0440\u3002\u0440\u0435",  # split by an ideographic full stop
        "alice@xn--99999999999.example",  # decodes to nothing
        "alice@\u03bf\u03c1\u03b1.example",  # all Greek, reads "opa"
    ],
)
def test_an_address_that_imitates_another_is_refused(address: str) -> None:
    with pytest.raises(InvalidRequestError):
        check_address(address, field="email")


@pytest.mark.parametrize(
    "address",
    ["a@пример.example", "a@例え.example", "a@한국.example", "a@ελλάδα.example"],
)
def test_an_honest_domain_of_one_script_passes(address: str) -> None:
    assert check_address(address, field="email").isascii()


def test_a_refusal_never_repeats_the_address() -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        check_address("secret-person@", field="email")

    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "other",
    [
        "ALICE.B@example.com",
        "alice.b+approver@EXAMPLE.com",
        "alice.b+a+b@example.com",
        " alice.b@example.com. ",
        "\uff41lice.b@example.com",  # full-width a
        "\u0430lice.b@example.com",  # Cyrillic a
        "al\u0131ce.b@example.com",  # dotless i
        "ALİCE.b@example.com",  # dotted capital I
        "alice.b@ex\u0430mple.com",
    ],
)
def test_another_spelling_is_the_same_person(other: str) -> None:
    assert same_person("alice.b@example.com", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("alice.b@gmail.com", "aliceb@gmail.com"),
        ("alice.b@gmail.com", "A.l.i.c.e.b+x@GoogleMail.com"),
        ("a@bücher.example", "a@xn--bcher-kva.example"),
        ("a@apple.com", "a@xn--80ak6aa92e.com"),
    ],
)
def test_domains_with_rules_of_their_own_are_known(one: str, other: str) -> None:
    assert same_person(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("alice@example.com", "bob@example.com"),
        ("alice@example.com", "alice@example.org"),
        ("alice.b@example.com", "aliceb@example.com"),
        ("+a@example.com", "+b@example.com"),
        ("", "a@example.com"),
    ],
)
def test_two_people_stay_two(one: str, other: str) -> None:
    assert not same_person(one, other)


@pytest.mark.parametrize(
    "name",
    ["Alice Chen", "José Ñuñez-O'Neil", "田中 さくら", "Иван Petrov", "李 Li", "김 Kim", "Tシャツ"],
)
def test_names_of_real_people_pass(name: str) -> None:
    assert check_display_name(f" {name} ", address="a@example.com", field="name") == name


def test_an_address_may_serve_as_its_own_name() -> None:
    name = check_display_name("Alice@example.com", address="alice@example.com", field="name")

    assert name == "Alice@example.com"


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        None,
        "Alice\nBcc: eve@example.com",
        "Alice\u202ecilA",
        "Alice\u200b",
        "\u0410lice",
        "ceo@example.com",
        "x" * 201,
    ],
)
def test_a_name_that_hides_something_is_refused(name: object) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        check_display_name(name, address="alice@example.com", field="recipients[1].name")

    assert refusal.value.field == "recipients[1].name"


def test_the_domain_is_compared_in_one_form() -> None:
    assert domain_of("a@Bücher.Example") == domain_of("b@xn--bcher-kva.example")


def test_scripts_that_belong_together_are_not_mixed() -> None:
    assert not mixes_scripts("OK株式会社カナかな")
    assert not mixes_scripts("abc123-")
    assert mixes_scripts("p\u0430ypal")
    assert mixes_scripts("かな한국")
