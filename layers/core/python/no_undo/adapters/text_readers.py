"""Reads page text with every reader there is, each in a child process of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from no_undo.adapters.pdf_sandboxed import PdfSandbox, ReaderStoppedError, refuse_unusable
from no_undo.domain.errors import InvalidRequestError
from no_undo.ports import PageText, TextReading

_READERS: Final = {
    "read_text": "pdfium",
    "read_positions": "pdfminer",
    "read_pictures": "tesseract",
}
_AT_ONCE: Final = 2
_GROWTH: Final = 2  # a redacted copy may be larger than its original


@dataclass(frozen=True, slots=True)
class IndependentTextReaders:
    """`ports.TextReaders` over pdfium, pdfminer and OCR.

    Attributes:
        sandbox: Runs the child processes and holds the limits.
        seconds_per_reader: Budget of one reader.
    """

    sandbox: PdfSandbox = field(default_factory=PdfSandbox)
    seconds_per_reader: float = 60.0

    def read(self, document: bytes) -> tuple[TextReading, ...]:
        """Return one reading per reader, pdfium's first.

        Raises:
            InvalidRequestError: Empty, no PDF, or too large; field `document`.
        """
        refuse_unusable(document, max_bytes=_GROWTH * self.sandbox.limits.max_bytes)
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            answers = [pool.submit(self._ask, task, document) for task in _READERS]
        return tuple(answer.result() for answer in answers)

    def _ask(self, task: str, document: bytes) -> TextReading:
        try:
            answer = self.sandbox.ask(task, {}, [document], seconds=self.seconds_per_reader)
        except (ReaderStoppedError, InvalidRequestError) as error:
            return TextReading(_READERS[task], failure=str(error))
        return _reading(answer.facts)


def _reading(facts: dict[str, Any]) -> TextReading:
    return TextReading(
        reader=facts["reader"],
        pages=tuple(PageText(index, text) for index, text in facts["pages"]),
        unread=tuple(facts["unread"]),
    )
