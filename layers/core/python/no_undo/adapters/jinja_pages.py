"""Renders what people see: the card, result pages, mails, and the invoice that is signed.

Every value is made inert on its way in, by the `finalize` hook of the template environment and by
autoescape, so that no template has to remember it. Only what this module itself marks as `Markup`
passes unchanged.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from no_undo.domain import card as card_module
from no_undo.domain.audit_chain import record_of
from no_undo.domain.card import Card, Choice, FormInput, FormState, moment_text
from no_undo.domain.corrections import FieldShape
from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.field_routing import FieldRoute
from no_undo.domain.invoice import Invoice, money_text
from no_undo.domain.mail import MailMessage
from no_undo.domain.notices import ApprovalNotice, RequesterNotice, subject_line
from no_undo.domain.plain_text import has_unsafe_characters
from no_undo.domain.plan import Verdict
from no_undo.domain.rebuilt_document import RebuiltDocument
from no_undo.domain.receipt import Receipt
from no_undo.domain.recipients import Recipient
from no_undo.domain.redaction import ChannelResult
from no_undo.domain.results import Result
from no_undo.domain.signature_tags import signature_tag

DEFAULT_SERVICE_NAME = "No Undo"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_TEXT_WIDTH = 72
# The width proven with the vendor (foxit-esign.md 3.3); a longer tag would not fit on a line.
_TAG_UNDERSCORES = 4

# Written by callers, so it must not become something to click on in a mail that we vouch for.
# Anything with a scheme, a leading www., or a host followed by a path; mail addresses stay.
_LINK_IN_TEXT = re.compile(
    r"[a-z][a-z0-9+.-]{0,30}:/+\S+|\bwww\.\S+|(?<![\w@.-])(?:[\w-]+\.)+[a-z]{2,}[/?#]\S*",
    re.IGNORECASE,
)
_LINK_REMOVED = "[link removed]"

_KIND_LABELS = {
    "bank_account": "bank account number",
    "bic": "BIC",
    "payment_card": "card number",
    "email": "e-mail address",
    "iban": "IBAN",
    "ip_address": "IP address",
    "ipv4": "IP address",
    "ipv6": "IP address",
    "literal": "text named in the request",
    "mac_address": "MAC address",
    "mrz": "passport machine-readable line",
    "passport": "passport number",
    "pattern": "text pattern named in the request",
    "phone": "telephone number",
    "ssn": "social security number",
    "url": "web address",
    "vin": "vehicle identification number",
}
_SOURCE_LABELS = {
    "contacts": "address from the contact list",
    "instruction": "address from the instruction",
    "request": "address given with the request",
}


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """One rendered page.

    Attributes:
        html: The whole document.
        style_source: CSP source of its one inline stylesheet: `'sha256-...'` (CSP 3, 8.1).
    """

    html: str
    style_source: str


class JinjaPages:
    """Renders pages, mails and documents from the package's own templates."""

    def __init__(self, service_name: str = DEFAULT_SERVICE_NAME) -> None:
        self._service_name = service_name
        loader = PackageLoader("no_undo", "templates")
        self._pages = _environment(loader, clean_block)
        self._mails = _environment(loader, _clean_mail_text)
        # Markup, because a stylesheet must stand in the page exactly as it was hashed.
        self._stylesheet = Markup(_source(self._pages, "page.css"))  # noqa: S704 - package file
        self._style_source = style_source(str(self._stylesheet))

    def approval_page(self, card: Card, form: FormState | None = None) -> HtmlPage:
        """Render the card with its form.

        Args:
            card: What the approver reads.
            form: What was entered before and what was wrong with it, when shown again.
        """
        return self._page("approval_page.html", card=card, form=form or FormState())

    def result_page(self, result: Result) -> HtmlPage:
        """Render what became of a click."""
        return self._page("result_page.html", result=result)

    def receipt_page(self, receipt: Receipt) -> HtmlPage:
        """Render a receipt so that paper is enough to compute again what it claims.

        Lines are printed in ASCII with JSON's own escapes, which say the same: their canonical form
        (RFC 8785) is what was hashed.
        """
        lines = [record_of(one.encode()) for one in receipt.records]
        rows = [
            (hashlib.sha256(line.encode()).hexdigest(), json.dumps(body, sort_keys=True))
            for line, body in zip(receipt.records, lines, strict=True)
        ]
        return self._page("receipt_page.html", receipt=receipt.to_json(), rows=rows)

    def approval_mail(self, notice: ApprovalNotice) -> MailMessage:
        """Render the mail that asks one approver to decide."""
        return self._mail("approval_email", notice.subject, notice=notice)

    def requester_mail(self, notice: RequesterNotice) -> MailMessage:
        """Render a mail that tells the requester where a request stands."""
        return self._mail("requester_email", notice.subject, notice=notice)

    def invoice_html(self, invoice: Invoice, recipients: Sequence[Recipient]) -> str:
        """Render a freight invoice, ready for the HTML to PDF service, with its signature tags.

        A signer's own address is left out of the contacts: a redaction box over it could cover
        the tag beside it (foxit-pdf-services.md 7, rule 2).

        Args:
            invoice: What to print.
            recipients: In signing order; recipient n gets tag n.

        Returns:
            A self-contained HTML document: no script, nothing to load.

        Raises:
            InvalidRequestError: A value holds the start of a text tag, or, outside the contacts,
                a signer's address.
        """
        signers = frozenset(one.email.casefold() for one in recipients)
        html = self._pages.get_template("invoice.html").render(
            invoice=invoice,
            signatures=_signatures(recipients),
            contacts=[
                (one, "" if one.email.casefold() in signers else one.email)
                for one in invoice.contacts
            ],
            money=_money(invoice.currency),
        )
        _refuse_foreign_tags(html, len(recipients), "document.invoice")
        _refuse_signer_addresses(html, signers, "document.invoice")
        return html

    def rebuilt_html(self, document: RebuiltDocument, recipients: Sequence[Recipient]) -> str:
        """Render a document from fields, ready for the HTML to PDF service, with its tags.

        Raises:
            InvalidRequestError: A value holds the start of a text tag or a signer's address.
        """
        signers = frozenset(one.email.casefold() for one in recipients)
        html = self._pages.get_template("rebuilt_document.html").render(
            document=document, signatures=_signatures(recipients)
        )
        _refuse_foreign_tags(html, len(recipients), "document")
        _refuse_signer_addresses(html, signers, "document")
        return html

    def _page(self, template: str, **values: object) -> HtmlPage:
        html = self._pages.get_template(template).render(
            service_name=self._service_name, stylesheet=self._stylesheet, **values
        )
        return HtmlPage(html=html, style_source=self._style_source)

    def _mail(self, template: str, subject: str, **values: object) -> MailMessage:
        values = {"service_name": self._service_name, **values}
        return MailMessage(
            subject=subject_line(_clean_mail_text(subject)),
            text=self._mails.get_template(f"{template}.txt").render(values),
            html=self._mails.get_template(f"{template}.html").render(values),
        )


def style_source(stylesheet: str) -> str:
    """Return the CSP source expression that allows exactly this inline stylesheet."""
    digest = hashlib.sha256(stylesheet.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def clean_block(text: str) -> str:
    """Make control, invisible and text-direction characters visible; keep line breaks."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ").split("\n")
    return "\n".join(_clean_line(line) for line in lines)


def _clean_line(line: str) -> str:
    if not has_unsafe_characters(line):
        return line
    return "".join(_REPLACEMENT if has_unsafe_characters(one) else one for one in line)


def _clean_mail_text(text: str) -> str:
    """One line, nothing to click on: a value cannot add a line of its own to a mail."""
    return _LINK_IN_TEXT.sub(_LINK_REMOVED, " ".join(clean_block(text).split()))


def _environment(loader: PackageLoader, clean: Callable[[str], str]) -> Environment:
    def finalize(value: object) -> object:
        # Markup comes only from the filters below and from macros, which were cleaned inside.
        if isinstance(value, str) and not isinstance(value, Markup):
            return clean(value)
        return value

    environment = Environment(
        loader=loader,
        # Off only for the plain text parts of mails (.txt), which no program reads as HTML.
        autoescape=select_autoescape(("html",), default_for_string=True),
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(_filters(clean))
    environment.globals.update(_GLOBALS)
    return environment


def _filters(clean: Callable[[str], str]) -> dict[str, Callable[..., Any]]:
    def wrapped(text: str, indent: str = "") -> Markup:
        """Wrap one paragraph of a text mail; long words stay whole."""
        lines = textwrap.fill(
            clean(text),
            width=_TEXT_WIDTH,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return Markup(lines)  # noqa: S704 - plain text mail only, cleaned above

    return {
        "wrapped": wrapped,
        "own_link": _own_link,
        "moment": moment_text,
        "iso": _iso,
        "kind_label": _kind_label,
        "source_label": _source_label,
        "names": _names,
        "shape_hint": _shape_hint,
        "day": _day,
    }


def _own_link(url: str) -> Markup:
    """Let our own link pass unchanged; its characters were checked when the notice was made."""
    return escape(url)


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _kind_label(kind: str) -> str:
    return _KIND_LABELS.get(kind, kind.replace("_", " "))


def _source_label(source: str) -> str:
    return _SOURCE_LABELS.get(source, source.replace("_", " "))


def _names(names: Iterable[str]) -> str:
    """Join names for a sentence: `Alice, Bob and Carol`."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _day(value: date) -> str:
    return f"{value.day} {value:%B} {value.year}"


_SHAPE_HINTS = {
    FieldShape.TEXT: "One line. A single - says that the document does not give it.",
    FieldShape.NUMBER: "Digits with a point before the decimals, such as 1234.50; - for none.",
    FieldShape.WHOLE: "A whole number in digits, such as 12; - for none.",
    FieldShape.DATE: "Year-month-day, such as 2026-09-30; - for none.",
}


def _shape_hint(shape: FieldShape) -> str:
    return _SHAPE_HINTS[shape]


def _other_correction_entered(card: Card, form: FormState) -> bool:
    """Whether the block of undisputed fields holds something: it is then shown open."""
    names = [card_module.correction_input_name(index) for index, _ in card.other_fields]
    return any(form.entered.get(one) or one in form.errors for one in names)


_GLOBALS: dict[str, Any] = {
    "Choice": Choice,
    "ChannelResult": ChannelResult,
    "FieldRoute": FieldRoute,
    "FormInput": FormInput,
    "Verdict": Verdict,
    "FIELD_CONFIRMED": card_module.FIELD_CONFIRMED,
    "FIELD_CORRECTED": card_module.FIELD_CORRECTED,
    "field_input_name": card_module.field_input_name,
    "correction_input_name": card_module.correction_input_name,
    "other_correction_entered": _other_correction_entered,
}


def _source(environment: Environment, template: str) -> str:
    loader = environment.loader
    assert loader is not None  # noqa: S101 - set two lines above every call
    source, _, _ = loader.get_source(environment, template)
    return source


def _money(currency: str) -> Callable[[Decimal], str]:
    return lambda amount: money_text(amount, currency)


def _signatures(recipients: Sequence[Recipient]) -> list[tuple[Recipient, str]]:
    return [(one, signature_tag(one.order, underscores=_TAG_UNDERSCORES)) for one in recipients]


def _refuse_foreign_tags(html: str, expected: int, field: str) -> None:
    """Every `${` is ours: the vendor turns any text tag it finds into a field.

    Counted as its readers see it: compatibility forms folded, white space dropped.
    """
    seen = "".join(unicodedata.normalize("NFKC", html).split())
    if seen.count("${") != expected:
        raise InvalidRequestError(
            f"{field} must not contain `${{`: the e-sign vendor would read it as a field.",
            field=field,
        )


def _refuse_signer_addresses(html: str, signers: frozenset[str], field: str) -> None:
    printed = html.casefold()
    if any(str(escape(address)) in printed for address in signers):
        raise InvalidRequestError(
            f"{field} prints the mail address of a recipient outside its contacts; "
            "leave it out: redaction could cover the signature field.",
            field=field,
        )


__all__ = ["DEFAULT_SERVICE_NAME", "HtmlPage", "JinjaPages", "clean_block", "style_source"]
