"""HTML to PDF with a real engine: plutoprint, or xhtml2pdf where plutoprint has no wheel.

Nothing is fetched: the engine may follow `data:` URLs only, because its own default opens `file:`
URLs as well. Dates are fixed, so the same HTML gives the same bytes. One font is bundled: without
any font the engine writes an empty page and says nothing.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# xhtml2pdf has no types.

from __future__ import annotations

import base64
import io
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import pypdfium2

from local.sandbox.state import PDFIUM_LOCK

FONTS = Path(__file__).parent.parent / "fonts"

_A4_POINTS = (595.0, 842.0)
_FIXED_DATE = "2026-01-01T00:00:00Z"
_ENGINE_LOCK = threading.Lock()


HAS_PLUTOPRINT = find_spec("plutoprint") is not None


class RenderError(Exception):
    """The HTML did not become a PDF with readable text."""


@dataclass(frozen=True, slots=True)
class PageSetup:
    """Size of a page in points, and its margin in points on every side."""

    width: float = _A4_POINTS[0]
    height: float = _A4_POINTS[1]
    margin: float = 54.0


Engine = Callable[[str, PageSetup], bytes]


def render_html(html: str, setup: PageSetup | None = None) -> bytes:
    """Turn self-contained HTML into a PDF with a text layer.

    Args:
        html: The page; anything it refers to by URL is left out.
        setup: Page size and margins, A4 by default.

    Raises:
        RenderError: The engine failed, or the result has no text that can be read back.
    """
    engine = render_with_plutoprint if HAS_PLUTOPRINT else render_with_xhtml2pdf
    return checked_render(engine, html, setup or PageSetup())


def checked_render(engine: Engine, html: str, setup: PageSetup) -> bytes:
    """Run one engine, one page at a time, and refuse what cannot be read back.

    Raises:
        RenderError: See `render_html`.
    """
    with _ENGINE_LOCK:
        pdf = engine(html, setup)
    if not _has_text(pdf):
        raise RenderError("the rendered document has no text: is the page empty?")
    return pdf


def _has_text(pdf: bytes) -> bool:
    with PDFIUM_LOCK:
        document = pypdfium2.PdfDocument(pdf)
        try:
            pages = (document[index].get_textpage() for index in range(len(document)))
            return any(page.get_text_bounded().strip() for page in pages)
        finally:
            document.close()


@cache
def _style() -> str:
    """CSS that embeds the bundled font and uses it for everything, whatever the machine has."""
    faces: list[str] = []
    for weight, name in (("normal", "DejaVuSans.ttf"), ("bold", "DejaVuSans-Bold.ttf")):
        data = base64.b64encode((FONTS / name).read_bytes()).decode()
        faces.append(
            f"@font-face{{font-family:'DejaVu Sans';font-weight:{weight};"
            f"src:url(data:font/ttf;base64,{data})}}"
        )
    return "".join(faces) + "html,html *{font-family:'DejaVu Sans' !important}"


def render_with_plutoprint(html: str, setup: PageSetup) -> bytes:
    """The main engine: full CSS.

    Raises:
        RenderError: The engine failed.
    """
    import plutoprint  # noqa: PLC0415 - has no wheel for Linux on arm64 and for musl

    class RefusingFetcher(plutoprint.ResourceFetcher):
        """Answers every URL with nothing; `data:` URLs never come here."""

        def fetch_url(self, url: str) -> plutoprint.ResourceData:  # noqa: ARG002
            return plutoprint.ResourceData(b"", "text/plain")

    margins = plutoprint.PageMargins(setup.margin, setup.margin, setup.margin, setup.margin)
    book = plutoprint.Book(plutoprint.PageSize(setup.width, setup.height), margins)
    book.custom_resource_fetcher = RefusingFetcher()
    pdf = io.BytesIO()
    try:
        book.load_html(html, _style())
        book.set_metadata(plutoprint.PDF_METADATA_CREATION_DATE, _FIXED_DATE)
        book.set_metadata(plutoprint.PDF_METADATA_MODIFICATION_DATE, _FIXED_DATE)
        book.write_to_pdf_stream(pdf)
    except plutoprint.Error as error:
        raise RenderError("the engine could not render this page") from error
    return pdf.getvalue()


def render_with_xhtml2pdf(html: str, setup: PageSetup) -> bytes:
    """The fallback engine: less CSS, and core fonts (Latin-1) where the page names one.

    Raises:
        RenderError: The engine failed.
    """
    from reportlab import (  # noqa: PLC0415 - of this engine only
        rl_config,
    )
    from xhtml2pdf import pisa  # noqa: PLC0415 - slow to import, and only a fallback
    from xhtml2pdf.config.resources import ResourceAccessPolicy  # noqa: PLC0415 - same

    rl_config.invariant = 1
    page = f"@page{{size:{setup.width}pt {setup.height}pt;margin:{setup.margin}pt}}"
    pdf = io.BytesIO()
    outcome = cast("Any", pisa.CreatePDF)(
        f"<style>{page}{_style()}</style>{html}",
        pdf,
        raise_exception=False,
        capacity=-1,  # in memory: its temporary files are left open
        resource_policy=ResourceAccessPolicy(allow_remote=False, base_dir=None),
    )
    if outcome.err:
        raise RenderError("the engine could not render this page")
    return pdf.getvalue()
