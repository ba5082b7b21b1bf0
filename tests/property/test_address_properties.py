"""What holds for every address, not only for the examples."""

from __future__ import annotations

import string
from email.headerregistry import Address

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from no_undo.domain.addresses import check_address, person_key, same_person
from no_undo.domain.errors import InvalidRequestError

# A busy machine is no finding.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
names = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=12)
domains = st.sampled_from(["example.com", "sub.example.org", "gmail.com", "bücher.example"])


def _accepted(value: str) -> str | None:
    try:
        return check_address(value, field="email")
    except InvalidRequestError:
        return None


@unhurried
@given(names, domains, names, st.data())
def test_case_and_tags_never_make_a_second_person(
    name: str, domain: str, tag: str, data: st.DataObject
) -> None:
    capitals = data.draw(st.lists(st.booleans(), min_size=len(name), max_size=len(name)))
    spelled = "".join(c.upper() if up else c for c, up in zip(name, capitals, strict=True))

    assert same_person(f"{name}@{domain}", f"{spelled}+{tag}@{domain.upper()}")


@unhurried
@given(st.text(max_size=30), domains)
def test_whatever_passes_the_door_is_one_inert_header_value(local: str, domain: str) -> None:
    address = _accepted(f"{local}@{domain}")

    if address is not None:
        assert address.isascii()
        assert not set(address) & set(' \t\r\n<>,;:"()[]\\')
        assert Address(addr_spec=address).addr_spec == address
        assert check_address(address, field="email") == address


@unhurried
@given(st.text(max_size=60))
def test_every_text_has_a_key_and_keys_are_stable(text: str) -> None:
    key = person_key(text)

    assert person_key(key) == person_key(person_key(key))
    assert same_person(text, text)
