"""Mail: what is sent to one person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

REQUEST_TAG: Final = "request_id"
LINK_TAG: Final = "link"
"""Names under which a mail carries what it is about; what becomes of it comes back with them."""


@dataclass(frozen=True, slots=True)
class MailMessage:
    """One message; inert content, no remote parts.

    Attributes:
        subject: One line without control characters.
        text: Plain text part.
        html: HTML part.
    """

    subject: str
    text: str
    html: str
