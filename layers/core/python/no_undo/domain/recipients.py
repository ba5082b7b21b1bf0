"""Who receives the envelope for signature.

Rules:
1. A recipient has a name and one address; neither is ever taken from document text.
2. Order is 1-based and without gaps: recipient n signs at tag n.
3. At most ten recipients.
"""

from __future__ import annotations

from dataclasses import dataclass

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
