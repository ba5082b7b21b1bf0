"""Reads page text with every reader there is, each in a child process of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from no_undo.adapters.pdf_sandboxed import PdfSandbox, ReaderStoppedError, refuse_unusable
from no_undo.domain.errors import InvalidRequestError
from no_undo.ports import PageText, TextReading

_OCR: Final = "read_pictures"
_READERS: Final = {
    "read_text": "pdfium",
    "read_positions": "pdfminer",
    _OCR: "tesseract",
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
        """Return one reading per reader, pdfium's first; of a file that is no PDF, failures."""
        try:
            refuse_unusable(document, max_bytes=_GROWTH * self.sandbox.limits.max_bytes)
        except InvalidRequestError as refusal:
            return tuple(TextReading(name, failure=str(refusal)) for name in _READERS.values())
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            answers = [pool.submit(self._ask, task, document) for task in _READERS]
        return tuple(answer.result() for answer in answers)

    def _ask(self, task: str, document: bytes) -> TextReading:
        try:
            answer = self.sandbox.ask(task, {}, [document], seconds=self.seconds_per_reader)
        except (ReaderStoppedError, InvalidRequestError) as error:
            return TextReading(_READERS[task], failure=str(error))
        return _reading(answer.facts, by_ocr=task == _OCR)


def _reading(facts: dict[str, Any], *, by_ocr: bool) -> TextReading:
    return TextReading(
        reader=facts["reader"],
        pages=tuple(PageText(index, text) for index, text in facts["pages"]),
        unread=tuple(facts["unread"]),
        by_ocr=by_ocr,
    )
