"""Proves a redaction with several independent readers, each in a child process of its own.

A row says gone only when its reader ran to the end and saw nothing. A reader that crashes, gives
up or runs out of time yields a not-proven row, which blocks (P8).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from no_undo.adapters.pdf_sandboxed import PdfSandbox, ReaderStoppedError, refuse_unusable
from no_undo.adapters.redaction_reports import ReaderReport, from_json
from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.redaction import (
    ChannelResult,
    ChannelVerdict,
    judge_control,
    squash,
)

_READERS: Final = {
    "search_pdfium": "pdfium",
    "search_pdfminer": "pdfminer",
    "search_structure": "pikepdf",
    "search_bytes": "bytes",
    "search_pictures": "tesseract",
    "search_images": "tesseract",
}
_SLOWEST_FIRST: Final = tuple(reversed(_READERS))
_AT_ONCE: Final = 2
_GROWTH: Final = 2  # a redacted copy may be larger than its original
_FEW_WORDS: Final = 20
_SAME_DOCUMENT_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class IndependentReadersVerifier:
    """`ports.RedactionVerifier` over pdfium, pdfminer, pikepdf, the raw bytes and OCR.

    Attributes:
        sandbox: Runs the child processes and holds the limits.
        seconds_per_reader: Budget of one reader for both documents.
    """

    sandbox: PdfSandbox = field(default_factory=PdfSandbox)
    seconds_per_reader: float = 120.0

    def verify(
        self, before: bytes, after: bytes, values: Mapping[str, str], *, signature_fields: int
    ) -> tuple[ChannelVerdict, ...]:
        """Look for every value in the output, and, as positive control, in the input.

        Args:
            before: The document before redaction.
            after: The redacted document.
            values: Value to its PII kind; never written anywhere.
            signature_fields: How many distinct party tags must survive.

        Returns:
            One row per channel and reader. For the rows `positive_control`, `page_count`,
            `same_document` and `signature_fields`, gone means that the check passed.
        """
        unusable = self._unusable(before, after)
        if unusable:
            return unusable
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            searches = {
                task: pool.submit(self._search, before, after, values, task)
                for task in _SLOWEST_FIRST
            }
        answers = [searches[task].result() for task in _READERS]
        reports = [answer for answer in answers if isinstance(answer, ReaderReport)]
        stopped = [answer for answer in answers if isinstance(answer, ChannelVerdict)]
        return (
            *(row for report in reports for row in report.rows),
            *stopped,
            *_measurable(values),
            judge_control(values, _seen_by(reports)),
            *_survival(reports, signature_fields),
        )

    def _unusable(self, before: bytes, after: bytes) -> tuple[ChannelVerdict, ...]:
        rows: list[ChannelVerdict] = []
        for name, document in (("original", before), ("redacted document", after)):
            try:
                refuse_unusable(document, max_bytes=_GROWTH * self.sandbox.limits.max_bytes)
            except InvalidRequestError as refusal:
                rows.append(_not_proven("document", "none", f"{name}: {refusal}"))
        return tuple(rows)

    def _search(
        self, before: bytes, after: bytes, values: Mapping[str, str], task: str
    ) -> ReaderReport | ChannelVerdict:
        try:
            answer = self.sandbox.ask(
                task, {"values": dict(values)}, [before, after], seconds=self.seconds_per_reader
            )
        except (ReaderStoppedError, InvalidRequestError) as error:
            return _not_proven("all", _READERS[task], str(error))
        return from_json(answer.facts)


def _not_proven(channel: str, reader: str, detail: str) -> ChannelVerdict:
    return ChannelVerdict(channel, reader, ChannelResult.NOT_PROVEN, detail)


def _passed(channel: str, reader: str, detail: str) -> ChannelVerdict:
    return ChannelVerdict(channel, reader, ChannelResult.GONE, detail)


def _seen_by(reports: Sequence[ReaderReport]) -> dict[str, Sequence[int]]:
    """Return reader to the values it saw in the original.

    On a page without text only OCR can look. Its second pass at another resolution counts as a
    second reader there: weaker than another engine, and named as what it is.
    """
    seen: dict[str, Sequence[int]] = {}
    for report in reports:
        seen[report.reader] = (*seen.get(report.reader, ()), *report.control)
        if "second_control" in report.facts:
            name = f"{report.reader} and again at {report.facts['second_dpi']} dpi"
            seen[name] = report.facts["second_control"]
    return seen


def _measurable(values: Mapping[str, str]) -> tuple[ChannelVerdict, ...]:
    """Name the kinds of values without any letter or digit: nobody can look for those."""
    return tuple(
        _not_proven("values", "none", f"a value of kind {kind} has no letter or digit")
        for value, kind in values.items()
        if not squash(value)
    )


def _survival(reports: Sequence[ReaderReport], signature_fields: int) -> tuple[ChannelVerdict, ...]:
    """Compare what must not have changed: pages, other words, signature tags and fields."""
    facts = {name: value for report in reports for name, value in report.facts.items()}
    rows: list[ChannelVerdict] = []
    if "pages" in facts:
        rows += [_page_row(*facts["pages"]), _same_document_row(*facts["words"])]
        old_tags, new_tags = facts["tags"]
        rows.append(_tags_row(old_tags, new_tags, signature_fields))
    if "signature_fields" in facts:
        rows.append(_fields_row(*facts["signature_fields"]))
    return tuple(rows)


def _page_row(before: int, after: int) -> ChannelVerdict:
    if before == after:
        return _passed("page_count", "pdfium", f"{after} pages, as before")
    return _not_proven("page_count", "pdfium", f"{after} pages, {before} before")


def _same_document_row(before: int, after: int) -> ChannelVerdict:
    """Doubt an output that lost most of its words: it may be another document, or empty.

    An output without any text layer is left to the picture reader.
    """
    share = after / before if before else 1.0
    if before >= _FEW_WORDS and after and share < _SAME_DOCUMENT_SHARE:
        return _not_proven("same_document", "pdfium", f"only {share:.0%} of the words are left")
    return _passed("same_document", "pdfium", f"{after} words, {before} before")


def _tags_row(before: Sequence[int], after: Sequence[int], required: int) -> ChannelVerdict:
    missing = sorted(set(range(1, required + 1)) - set(after))
    lost = sorted(set(before) - set(after))
    if not missing and not lost:
        return _passed("signature_tags", "pdfium", f"{len(set(after))} parties have a tag")
    parties = ", ".join(map(str, sorted({*missing, *lost})))
    return _not_proven("signature_tags", "pdfium", f"no signature tag for party {parties}")


def _fields_row(before: Sequence[str], after: Sequence[str]) -> ChannelVerdict:
    lost = (Counter(before) - Counter(after)).total()
    if not lost:
        return _passed("signature_form_fields", "pikepdf", f"{len(after)} fields")
    detail = f"{lost} of {len(before)} signature form fields are gone"
    return _not_proven("signature_form_fields", "pikepdf", detail)
