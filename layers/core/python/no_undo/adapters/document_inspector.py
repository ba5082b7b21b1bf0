"""Opens untrusted PDFs in a child process and answers what the stages ask about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from no_undo.adapters.pdf_sandboxed import (
    PdfSandbox,
    ReaderStoppedError,
    WorkerAnswer,
    refuse_unusable,
)
from no_undo.domain.errors import InvalidRequestError
from no_undo.ports import PageText, PdfFacts, Word


@dataclass(frozen=True, slots=True)
class DocumentReading:
    """Everything one child process can say about a document; fields as in the port's methods."""

    facts: PdfFacts
    page_texts: tuple[PageText, ...]
    words: tuple[Word, ...]
    signature_tags: tuple[int, ...]
    pictures: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class PdfiumDocumentInspector:
    """`ports.DocumentInspector` over pdfium.

    Attributes:
        sandbox: Runs the child process and holds the limits.
    """

    sandbox: PdfSandbox = field(default_factory=PdfSandbox)

    def inspect(self, document: bytes) -> PdfFacts:
        """Open a PDF and say what it is.

        Raises:
            InvalidRequestError: Empty, not a PDF, broken, encrypted, over the limits, or too
                costly to open; field `document`.
        """
        return _facts(self._ask(document, ["facts"]).facts)

    def page_texts(self, document: bytes) -> tuple[PageText, ...]:
        """Return the text layer of every page as pdfium sees it."""
        return _texts(self._ask(document, ["texts"]).facts)

    def words(self, document: bytes) -> tuple[Word, ...]:
        """Return the words of the text layer in points from each page's top left, as displayed."""
        return _words(self._ask(document, ["words"]).facts)

    def page_pictures(self, document: bytes, *, dpi: int) -> tuple[bytes, ...]:
        """Render every page as PNG, annotations and form fields included."""
        return self._ask(document, ["pictures"], dpi=dpi).blobs

    def signature_tags(self, document: bytes) -> tuple[int, ...]:
        """Return the party numbers of the signature text tags found, sorted, with repeats."""
        return tuple(self._ask(document, ["tags"]).facts["tags"])

    def read(self, document: bytes, *, dpi: int | None = None) -> DocumentReading:
        """Answer all of the above with one child process.

        Args:
            document: PDF bytes.
            dpi: Resolution of the page pictures; None for no pictures.

        Raises:
            InvalidRequestError: As `inspect`.
        """
        questions = ["facts", "texts", "words", "tags"] + (["pictures"] if dpi else [])
        answer = self._ask(document, questions, dpi=dpi or 0)
        return DocumentReading(
            facts=_facts(answer.facts),
            page_texts=_texts(answer.facts),
            words=_words(answer.facts),
            signature_tags=tuple(answer.facts["tags"]),
            pictures=answer.blobs,
        )

    def _ask(self, document: bytes, questions: Sequence[str], *, dpi: int = 0) -> WorkerAnswer:
        refuse_unusable(document, max_bytes=self.sandbox.limits.max_bytes)
        arguments = {"questions": list(questions), "dpi": dpi}
        try:
            return self.sandbox.ask("read", arguments, [document])
        except ReaderStoppedError as error:
            raise InvalidRequestError(
                f"The document was refused: it cannot be opened safely; {error}.",
                field="document",
            ) from error


def _facts(answer: dict[str, Any]) -> PdfFacts:
    facts = answer["facts"]
    return PdfFacts(
        page_count=facts["page_count"],
        active_content=tuple(facts["active_content"]),
        signed=facts["signed"],
        has_text=facts["has_text"],
    )


def _texts(answer: dict[str, Any]) -> tuple[PageText, ...]:
    return tuple(PageText(index, text) for index, text in enumerate(answer["texts"]))


def _words(answer: dict[str, Any]) -> tuple[Word, ...]:
    return tuple(
        Word(text, page_index, x, y, width, height, confidence=1.0)
        for page_index, page in enumerate(answer["words"])
        for text, x, y, width, height in page
    )
