"""Checks an executed PDF: its digital signatures, and that it shows what was approved (P7)."""

from __future__ import annotations

from dataclasses import dataclass, field

from no_undo.adapters.pdf_sandboxed import PdfSandbox, ReaderStoppedError, refuse_unusable
from no_undo.domain.errors import InvalidRequestError


@dataclass(frozen=True, slots=True)
class PyhankoSignatureValidator:
    """`ports.SignatureValidator` over pyHanko, in a child process.

    Attributes:
        trust_roots: PEM of the certificates that signatures must chain to. Without any, only
            integrity is checked: that the bytes are the signed ones, not who signed them.
        sandbox: Runs the child process and holds the limits.
    """

    trust_roots: tuple[bytes, ...] = ()
    sandbox: PdfSandbox = field(default_factory=PdfSandbox)

    @property
    def scope(self) -> str:
        """Say what an empty result of `validate` means, for records and cards."""
        if self.trust_roots:
            return "integrity, and trust in the configured roots"
        return "integrity only; no trust root is configured, so who signed is not checked"

    def validate(self, signed: bytes) -> tuple[str, ...]:
        """Return one line per problem; an empty result means every signature is intact and valid.

        A document without a signature, or one that cannot be read, has a problem too.
        """
        roots = [pem.decode("ascii") for pem in self.trust_roots]
        return self._problems("validate_signatures", {"roots": roots}, signed)

    def same_content(self, approved: bytes, signed: bytes) -> tuple[str, ...]:
        """Return how the signed document differs from the approved one; empty means not at all.

        The signed document must have the approved pages, no more and no fewer, and each must look
        the same and carry the same words in the same places, except inside the boxes of the
        approved document's signature tags and fields, grown by their own height for the ink of
        the signature. It is not enough that the signed file begins with the approved bytes: a
        later revision could show something else.
        """
        return self._problems("compare_content", {}, approved, signed)

    def _problems(
        self, task: str, arguments: dict[str, list[str]], *documents: bytes
    ) -> tuple[str, ...]:
        try:
            for document in documents:
                # Signing adds certificates and revisions: a document at the limit may grow.
                refuse_unusable(document, max_bytes=2 * self.sandbox.limits.max_bytes)
            answer = self.sandbox.ask(task, arguments, documents)
        except (InvalidRequestError, ReaderStoppedError) as error:
            return (f"it could not be checked: {error}",)
        return tuple(answer.facts["problems"])
