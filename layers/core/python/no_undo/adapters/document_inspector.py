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
from no_undo.domain.words import Word, page_texts
from no_undo.ports import PageText, PdfFacts, VisibleText


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

    def visible_text(self, document: bytes) -> VisibleText:
        """Return what of the text layer shows on the pages, decided by rendering them."""
        facts = self._run("read_visible", {}, document).facts
        return VisibleText(
            page_texts=tuple(
                "\n".join(page_texts(_placed(index, words)))
                for index, words in enumerate(facts["words"])
            ),
            complete=facts["complete"],
            hidden_words=facts["hidden"],
        )

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
        return self._run("read", {"questions": list(questions), "dpi": dpi}, document)

    def _run(self, task: str, arguments: dict[str, Any], document: bytes) -> WorkerAnswer:
        refuse_unusable(document, max_bytes=self.sandbox.limits.max_bytes)
        try:
            return self.sandbox.ask(task, arguments, [document])
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
        word
        for page_index, page in enumerate(answer["words"])
        for word in _placed(page_index, page)
    )


def _placed(page_index: int, page: Sequence[Sequence[Any]]) -> list[Word]:
    return [
        Word(text, page_index, x, y, width, height, confidence=1.0)
        for text, x, y, width, height in page
    ]
