"""Makes an uploaded PDF ready for signing: a page with one signature tag per recipient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from no_undo.adapters.pdf_sandboxed import PdfSandbox, ReaderStoppedError, refuse_unusable
from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.recipients import Recipient


@dataclass(frozen=True, slots=True)
class SignaturePageAssembler:
    """`ports.DocumentAssembler` in a child process.

    Attributes:
        sandbox: Runs the child process and holds the limits.
    """

    sandbox: PdfSandbox = field(default_factory=PdfSandbox)

    def append_signature_page(
        self, document: bytes, recipients: Sequence[Recipient], *, title: str
    ) -> bytes:
        """Append a page with one signature tag per recipient, in order; nothing else changes.

        Each block shows the recipient's number and printed name, the tag in white above a rule,
        and the word Signature. Addresses are not printed. A name in a script that the bundled
        font cannot draw is left out, the number stays. Many recipients take a second page.

        Args:
            document: PDF bytes, unsigned.
            recipients: Recipient n signs at tag n.
            title: Heading of the page.

        Raises:
            InvalidRequestError: No recipients (field `recipients`), or the document is signed,
                encrypted, broken, or over a limit with the page added (field `document`).
        """
        if not recipients:
            raise InvalidRequestError("There is nobody to sign.", field="recipients")
        limits = self.sandbox.limits
        refuse_unusable(document, max_bytes=limits.max_bytes)
        in_order = sorted(recipients, key=lambda recipient: recipient.order)
        arguments = {"names": [recipient.name for recipient in in_order], "title": title}
        try:
            answer = self.sandbox.ask("append_signature_page", arguments, [document])
        except ReaderStoppedError as error:
            raise InvalidRequestError(
                f"The document was refused: no page can be added to it; {error}.",
                field="document",
            ) from error
        (assembled,) = answer.blobs
        refuse_unusable(assembled, max_bytes=limits.max_bytes)
        return assembled
