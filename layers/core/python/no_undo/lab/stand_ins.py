"""Small stand-ins for the ports that the gate needs besides its stores."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field

from no_undo.domain.approver_policy import ApproverPolicy
from no_undo.domain.card import Card, FormState
from no_undo.domain.instruction import Contact
from no_undo.domain.invoice import Invoice
from no_undo.domain.mail import MailMessage
from no_undo.domain.notices import ApprovalNotice, RequesterNotice
from no_undo.domain.rebuilt_document import RebuiltDocument
from no_undo.domain.recipients import Recipient
from no_undo.domain.results import Result


@dataclass
class FixedPolicies:
    """Implements `ports.PolicySource` from a table; a test changes it as a deployment would."""

    by_tenant: dict[str, ApproverPolicy] = field(default_factory=dict[str, ApproverPolicy])

    def policy(self, tenant: str) -> ApproverPolicy | None:
        """Return the tenant's policy, or None when it has none."""
        return self.by_tenant.get(tenant)


@dataclass
class FixedContacts:
    """Implements `ports.ContactSource` from a table."""

    by_tenant: dict[str, tuple[Contact, ...]] = field(
        default_factory=dict[str, tuple[Contact, ...]]
    )

    def contacts(self, tenant: str) -> tuple[Contact, ...]:
        """Return the tenant's contact list, empty when it has none."""
        return self.by_tenant.get(tenant, ())


class FixedHasher:
    """Implements `ports.KeyedHasher` with a key that is no secret."""

    def digest(self, scope: str, value: str) -> str:
        """Return the HMAC-SHA-256 of a value under the scope."""
        return hmac.new(scope.encode(), value.encode(), hashlib.sha256).hexdigest()


class AcceptingValidator:
    """Implements `ports.SignatureValidator`.

    Attributes:
        problems: What validation finds; empty accepts everything.
    """

    def __init__(self) -> None:
        """Start accepting."""
        self.problems: tuple[str, ...] = ()

    def validate(self, signed: bytes) -> tuple[str, ...]:  # noqa: ARG002
        """Return the problems that were set."""
        return self.problems

    def same_content(self, approved: bytes, signed: bytes) -> tuple[str, ...]:  # noqa: ARG002
        """Find no difference."""
        return ()


@dataclass(frozen=True, slots=True)
class PlainPage:
    """Implements `ports.HtmlPage`."""

    html: str
    style_source: str = "'none'"


class PlainPages:
    """Implements `ports.Pages` with as little text as the people of the lab need."""

    def approval_page(self, card: Card, form: FormState | None = None) -> PlainPage:  # noqa: ARG002
        """Render the title and what a form carries: the card's digest."""
        return PlainPage(f"{card.title} {card.digest}")

    def result_page(self, result: Result) -> PlainPage:
        """Render the heading."""
        return PlainPage(result.heading)

    def approval_mail(self, notice: ApprovalNotice) -> MailMessage:
        """Render a mail whose text is the link alone."""
        return MailMessage(notice.title, notice.link, notice.link)

    def requester_mail(self, notice: RequesterNotice) -> MailMessage:
        """Render a mail whose text is the headline."""
        return MailMessage(notice.subject, notice.headline, notice.headline)

    def invoice_html(self, invoice: Invoice, recipients: Sequence[Recipient]) -> str:
        """Render the number."""
        return f"{invoice.invoice_number} {len(recipients)}"

    def rebuilt_html(self, document: RebuiltDocument, recipients: Sequence[Recipient]) -> str:
        """Render every value."""
        values = [one.value for one in document.facts]
        values += [value for table in document.tables for row in table.rows for value in row]
        return f"{' '.join(value or '-' for value in values)} {len(recipients)}"
