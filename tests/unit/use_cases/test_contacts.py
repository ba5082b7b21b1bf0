"""A name in the sentence resolves in the tenant's contact list, or stops before anything exists."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.instruction import Contact
from no_undo.lab.stand_ins import FixedContacts
from no_undo.use_cases.parse_request import parse_request
from no_undo.use_cases.stage import Stages
from no_undo.use_cases.submit_request import Door, Submission, submit_request
from tests.unit.entrypoint.door import CAROL, TENANT, a_door, stored_requests

ZOE = Contact("Zoe Park", "zoe@example.com")
INVOICE: dict[str, Any] = {
    "invoice_number": "INV-1",
    "currency": "USD",
    "vendor": {"name": "ACME"},
    "payer": {"name": "Example"},
    "lines": [{"description": "Parcel", "quantity": 1, "unit_price": "1.00"}],
}


def door_knowing(*contacts: Contact, tenant: str = TENANT) -> Door:
    return replace(a_door(), contacts=FixedContacts({tenant: contacts}))


def submitted(door: Door, prompt: str) -> str:
    return submit_request(Submission(TENANT, CAROL, prompt, invoice=INVOICE), door)


def test_a_known_name_gets_its_address_and_the_card_says_from_where() -> None:
    door = door_knowing(ZOE)

    request_id = submitted(door, "Send this invoice to Zoe without redaction.")
    stages = Stages(door.store, door.documents, door.clock)
    parse_request(request_id, stages, door.policies, door.contacts)

    stored = door.store.request(request_id)
    assert stored is not None
    [zoe] = stored.recipients
    assert (zoe.name, zoe.email, zoe.source) == ("Zoe Park", "zoe@example.com", "contacts")


@pytest.mark.parametrize(
    ("door", "question"),
    [
        (door_knowing(), 'Which address belongs to "Zoe"'),
        (door_knowing(ZOE, Contact("Zoe Lee", "lee@example.com")), "2 people have this name"),
        (door_knowing(ZOE, tenant="another tenant"), 'Which address belongs to "Zoe"'),
    ],
)
def test_a_name_that_is_not_one_person_stops_at_the_door_with_the_question(
    door: Door, question: str
) -> None:
    with pytest.raises(InvalidRequestError, match=question) as refusal:
        submitted(door, "Send this invoice to Zoe without redaction.")

    assert refusal.value.field == "recipients"
    assert stored_requests(door) == ()
