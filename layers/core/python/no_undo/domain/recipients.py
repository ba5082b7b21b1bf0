"""Who receives the envelope for signature.

Rules:
1. A recipient has a name and one address; neither is ever taken from document text.
2. Order is 1-based and without gaps: recipient n signs at tag n.
3. At most ten recipients.
4. No two recipients are one person (`addresses.person_key`): one signature each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from no_undo.domain.addresses import check_address, check_display_name, person_key
from no_undo.domain.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_RECIPIENTS = 10


@dataclass(frozen=True, slots=True)
class Recipient:
    """One signer.

    Attributes:
        name: Display name as the caller wrote it, 1 to 200 characters.
        email: Address as the caller wrote it.
        order: 1-based signing order.
        source: Where the address came from: `request`, `instruction` or `contacts`.
    """

    name: str
    email: str
    order: int
    source: str = "request"


def check_recipients(
    recipients: Sequence[Recipient], *, field: str = "recipients"
) -> tuple[Recipient, ...]:
    """Return the recipients in signing order, names and addresses checked.

    Args:
        recipients: As the caller gave them, in any order.
        field: Path of the list; prefixes every refusal.

    Raises:
        InvalidRequestError: None or more than ten, orders that are not 1 to n, a bad name or
            address, or one person twice; `field` names the entry at fault.
    """
    if not 1 <= len(recipients) <= MAX_RECIPIENTS:
        raise InvalidRequestError(f"{field} must have 1 to {MAX_RECIPIENTS} entries.", field=field)
    if sorted(recipient.order for recipient in recipients) != [*range(1, len(recipients) + 1)]:
        raise InvalidRequestError(
            f"{field} must be numbered in signing order from 1 without gaps.", field=field
        )
    checked = [
        _checked(recipient, f"{field}[{index}]") for index, recipient in enumerate(recipients)
    ]
    refuse_one_person_twice([recipient.email for recipient in checked], field=field, part=".email")
    return tuple(sorted(checked, key=lambda recipient: recipient.order))


def refuse_one_person_twice(addresses: Sequence[str], *, field: str, part: str = "") -> None:
    """Refuse a list in which two addresses are one person.

    Args:
        addresses: Checked addresses.
        field: Path of the list.
        part: What follows the index in the refusal, for example `.email`.

    Raises:
        InvalidRequestError: `field` names the second entry of the pair.
    """
    first_index: dict[str, int] = {}
    for index, address in enumerate(addresses):
        first = first_index.setdefault(person_key(address), index)
        if first != index:
            path = f"{field}[{index}]{part}"
            raise InvalidRequestError(
                f"{path} is the same person as {field}[{first}]{part}; "
                "tags, dots, case and look-alike letters do not make a second one.",
                field=path,
            )


def _checked(recipient: Recipient, path: str) -> Recipient:
    email = check_address(recipient.email, field=f"{path}.email")
    name = check_display_name(recipient.name, address=email, field=f"{path}.name")
    return replace(recipient, name=name, email=email)
