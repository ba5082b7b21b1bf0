"""Rules of `domain/recipients.py`."""

from __future__ import annotations

import pytest

from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.recipients import MAX_RECIPIENTS, Recipient, check_recipients

ALICE = Recipient("Alice", "alice@example.com", 1)
BOB = Recipient("Bob", "bob@example.com", 2)


def test_recipients_come_back_in_signing_order() -> None:
    assert check_recipients([BOB, ALICE]) == (ALICE, BOB)


@pytest.mark.parametrize(
    ("recipients", "field"),
    [
        ([], "recipients"),
        ([Recipient("Alice", f"a{n}@example.com", n + 1) for n in range(11)], "recipients"),
        ([BOB], "recipients"),
        ([ALICE, Recipient("Bob", "bob@example.com", 1)], "recipients"),
        ([ALICE, Recipient("Bob", "bob@example.com", 3)], "recipients"),
        ([ALICE, Recipient("Bob", "bob", 2)], "recipients[1].email"),
        ([ALICE, Recipient("B\u202eob", "bob@example.com", 2)], "recipients[1].name"),
        ([ALICE, Recipient("Bob", "Alice+bob@example.com", 2)], "recipients[1].email"),
    ],
)
def test_a_list_that_could_not_be_signed_is_refused(
    recipients: list[Recipient], field: str
) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        check_recipients(recipients)

    assert refusal.value.field == field


def test_the_largest_list_passes() -> None:
    everyone = [
        Recipient(f"Signer {n}", f"signer{n}@example.com", n) for n in range(1, MAX_RECIPIENTS + 1)
    ]

    assert check_recipients(everyone) == tuple(everyone)
