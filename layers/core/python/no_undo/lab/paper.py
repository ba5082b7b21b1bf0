"""Stand-ins for what opens, makes and changes documents: every document is a sheet of paper."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

from no_undo.domain.pii import Finding
from no_undo.domain.recipients import Recipient
from no_undo.domain.redaction import ChannelResult, ChannelVerdict, RedactionTarget
from no_undo.domain.words import Word
from no_undo.ports import ExtractionAnswer, PageText, PdfFacts, TextReading, VisibleText

_PNG_HEAD: Final = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
PICTURE: Final = _PNG_HEAD + struct.pack(">II", 850, 1100)
"""As much of a PNG as anybody here reads: its size."""


class PaperInspector:
    """Implements `ports.DocumentInspector`: one page, and tags for two recipients."""

    def inspect(self, document: bytes) -> PdfFacts:  # noqa: ARG002
        """Say what a sheet is."""
        return PdfFacts(page_count=1, active_content=(), signed=False, has_text=True)

    def page_texts(self, document: bytes) -> tuple[PageText, ...]:
        """Read the sheet as it is."""
        return (PageText(0, document.decode("latin-1")),)

    def words(self, document: bytes) -> tuple[Word, ...]:  # noqa: ARG002
        """See no words."""
        return ()

    def visible_text(self, document: bytes) -> VisibleText:
        """See the sheet as it is."""
        return VisibleText((document.decode("latin-1"),), complete=True, hidden_words=0)

    def page_pictures(self, document: bytes, *, dpi: int) -> tuple[bytes, ...]:  # noqa: ARG002
        """Picture the sheet."""
        return (PICTURE,)

    def signature_tags(self, document: bytes) -> tuple[int, ...]:  # noqa: ARG002
        """Find both tags."""
        return (1, 2)


class PaperReaders:
    """Implements `ports.TextReaders`: one reader, one page."""

    def read(self, document: bytes) -> tuple[TextReading, ...]:
        """Read the sheet as it is."""
        return (TextReading("eyes", (PageText(0, document.decode("latin-1")),)),)


class PaperPress:
    """Implements `ports.PdfService` and `ports.DocumentAssembler`."""

    def render_html(self, html: str, *, name: str) -> bytes:  # noqa: ARG002
        """Print the text."""
        return b"%PDF-1.7 " + html.encode()

    def append_signature_page(
        self,
        document: bytes,
        recipients: Sequence[Recipient],
        *,
        title: str,  # noqa: ARG002
    ) -> bytes:
        """Add a line per recipient."""
        return document + b" " + b" ".join(one.name.encode() for one in recipients)


class BluntEraser:
    """Implements `ports.RedactionService`.

    Attributes:
        removes: False: it answers well and removes nothing, as a vendor may.
    """

    def __init__(self) -> None:
        """Start removing."""
        self.removes = True

    def redact(
        self,
        document: bytes,
        targets: Sequence[RedactionTarget],
        *,
        operation_id: str,  # noqa: ARG002
    ) -> bytes:
        """Remove every target, or nothing."""
        for one in targets if self.removes else ():
            document = document.replace(one.value.encode(), b"")
        return document


class PaperVerifier:
    """Implements `ports.RedactionVerifier`: looks for the values in the bytes."""

    def verify(
        self,
        before: bytes,  # noqa: ARG002
        after: bytes,
        values: Mapping[str, str],
        *,
        signature_fields: int,  # noqa: ARG002
    ) -> tuple[ChannelVerdict, ...]:
        """Look."""
        left = any(value.encode() in after for value in values)
        result = ChannelResult.FOUND if left or not values else ChannelResult.GONE
        return (ChannelVerdict("text", "bytes", result, "looked"),)


class NoDetector:
    """Implements `ports.PiiDetector` and finds nothing by itself."""

    def findings(self, text: str, *, regions: Sequence[str] = ()) -> tuple[Finding, ...]:  # noqa: ARG002
        """Find nothing."""
        return ()


class PaperReader:
    """Implements `ports.ExtractionService`: reads the same two values from every sheet."""

    def extract(
        self,
        document: bytes,  # noqa: ARG002
        schema: Mapping[str, Any],  # noqa: ARG002
        *,
        mode: str,
    ) -> ExtractionAnswer:
        """Read a number and a total."""
        data = {"invoice_number": "INV-7", "total_amount": 86.26}
        return ExtractionAnswer({}, data, {}, mode, "paper", points_per_unit=1.0)

    def parse_words(self, document: bytes, *, mode: str) -> tuple[Word, ...]:  # noqa: ARG002
        """See no words."""
        return ()
