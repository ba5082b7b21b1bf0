"""A mail service that keeps what it was given."""

from __future__ import annotations

from dataclasses import dataclass

from no_undo.domain.mail import MailMessage


@dataclass(frozen=True, slots=True)
class SentMail:
    """One mail as handed over."""

    to: str
    message: MailMessage
    tag: str
    link: str = ""


class MemoryMailer:
    """Implements `ports.Mailer`.

    Attributes:
        sent: Every mail, oldest first.
    """

    def __init__(self) -> None:
        """Start with nothing sent."""
        self.sent: list[SentMail] = []

    def send(self, to: str, message: MailMessage, *, tag: str, link: str = "") -> None:
        """Keep a message."""
        self.sent.append(SentMail(to, message, tag, link))
