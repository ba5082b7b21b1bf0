"""Decodes shown strings into glyphs: which bytes, which character, how wide.

pdfminer knows the encodings, character maps and metrics; this module hands it a font dictionary
and keeps what it does not tell: how many bytes each code takes.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, cast

import pikepdf
from pdfminer.cmapdb import CMap, CMapParser, FileCMap, IdentityCMap, IdentityCMapByte
from pdfminer.pdffont import (
    PDFCIDFont,
    PDFFont,
    PDFSimpleFont,
    PDFUnicodeNotDefined,
    TrueTypeFont,
)
from pdfminer.pdfinterp import PDFResourceManager
from pdfminer.pdftypes import PDFStream
from pdfminer.psparser import LIT

_MAX_DEPTH = 8
_MAX_FONT_FILE = 8_000_000
_DEFAULT_WIDTH = 0.5
_SPACE = 0x20
_NOT_NEEDED = ("/Parent", "/CharProcs", "/Resources", "/FontFile3")
_PLAUSIBLE_ASCENT = (0.2, 2.0)
_PLAUSIBLE_DESCENT = (-1.0, 0.0)


@dataclass(frozen=True, slots=True)
class Code:
    """One character code within a shown string.

    Attributes:
        start: First byte.
        end: One past the last byte.
        text: What readers say it is; empty when nothing says so.
        alt: What the font itself draws, where that is known and differs from `text`.
        width: Advance in text space for font size 1 (along y when the font is vertical).
        is_space: True for the single-byte code 32, to which word spacing applies.
    """

    start: int
    end: int
    text: str
    alt: str
    width: float
    is_space: bool


@dataclass(slots=True)
class GlyphFont:
    """One font as a decoder of shown strings."""

    font: PDFFont | None
    cmap: Any = None
    drawn: Any = None
    vertical: bool = False
    ascent: float = 0.85
    descent: float = -0.25
    _known: dict[int, tuple[str, str, float]] = field(
        default_factory=dict[int, tuple[str, str, float]]
    )

    def decode(self, shown: bytes) -> Iterator[Code]:
        """Split a shown string into codes; every byte belongs to exactly one of them."""
        for start, end, cid in self._codes(shown):
            text, alt, width = self._known.get(cid) or self._learn(cid)
            space = end - start == 1 and shown[start] == _SPACE
            yield Code(start, end, text, alt, width, space)

    def _learn(self, cid: int) -> tuple[str, str, float]:
        text, alt = self._text(cid), self._drawn_text(cid)
        entry = (text, "" if alt == text else alt, self._width(cid))
        self._known[cid] = entry
        return entry

    def _codes(self, shown: bytes) -> Iterator[tuple[int, int, int]]:
        if self.cmap is None or isinstance(self.cmap, IdentityCMapByte):
            yield from ((i, i + 1, byte) for i, byte in enumerate(shown))
        elif isinstance(self.cmap, IdentityCMap):
            for start in range(0, len(shown), 2):
                end = min(start + 2, len(shown))
                yield start, end, int.from_bytes(shown[start:end], "big")
        else:
            yield from _mapped_codes(self.cmap, shown)

    def _text(self, cid: int) -> str:
        if self.font is None:
            return chr(cid) if cid <= sys.maxunicode else ""
        try:
            return str(self.font.to_unichr(cid))
        except (PDFUnicodeNotDefined, KeyError, ValueError, TypeError):
            return ""

    def _drawn_text(self, cid: int) -> str:
        if self.drawn is None:
            return ""
        try:
            return str(self.drawn[cid])
        except (KeyError, TypeError):
            return ""

    def _width(self, cid: int) -> float:
        if self.font is None:
            return _DEFAULT_WIDTH
        try:
            return float(self.font.char_width(cid))
        except (KeyError, ValueError, TypeError):
            return _DEFAULT_WIDTH


def _mapped_codes(cmap: CMap, shown: bytes) -> Iterator[tuple[int, int, int]]:
    """Walk a code map; bytes it does not know become codes of their own."""
    start, node = 0, cmap.code2cid
    for index, byte in enumerate(shown):
        step: Any = node.get(byte)
        if isinstance(step, dict):
            node = cast("dict[int, object]", step)
            continue
        yield start, index + 1, step if isinstance(step, int) else 0
        start, node = index + 1, cmap.code2cid
    if start < len(shown):
        yield start, len(shown), 0


class FontCache:
    """Makes each font of a document once."""

    def __init__(self) -> None:
        self._manager = PDFResourceManager(caching=False)
        self._fonts: dict[tuple[int, int], GlyphFont] = {}

    def get(self, font: pikepdf.Object | None) -> GlyphFont:
        """Return a decoder; a font that cannot be read decodes bytes as Latin-1."""
        if font is None:
            return GlyphFont(None)
        key = font.objgen
        if key != (0, 0) and key in self._fonts:
            return self._fonts[key]
        made = self._make(font)
        if key != (0, 0):
            self._fonts[key] = made
        return made

    def _make(self, font: pikepdf.Object) -> GlyphFont:
        # Fonts come from untrusted files and pdfminer raises whatever its parsers trip over; a
        # font that cannot be read must not end the whole redaction, so every error means Latin-1.
        try:
            spec = _plain(font)
            known = self._manager.get_font(None, spec)
            return _glyph_font(known, spec)
        except Exception:  # noqa: BLE001 - see above
            return GlyphFont(None)


def _glyph_font(font: PDFFont, spec: dict[str, Any]) -> GlyphFont:
    ascent, descent = font.get_ascent(), font.get_descent()
    made = GlyphFont(font)
    if _PLAUSIBLE_ASCENT[0] < ascent < _PLAUSIBLE_ASCENT[1]:
        made.ascent = ascent
    if _PLAUSIBLE_DESCENT[0] < descent < _PLAUSIBLE_DESCENT[1]:
        made.descent = descent
    if isinstance(font, PDFSimpleFont):
        made.drawn = font.cid2unicode if font.unicode_map else None
    if isinstance(font, PDFCIDFont):
        made.cmap = _embedded_cmap(spec) or font.cmap
        made.vertical = font.is_vertical()
        made.drawn = _drawn_by_font_file(spec)
    return made


def _embedded_cmap(spec: dict[str, Any]) -> CMap | None:
    encoding = spec.get("Encoding")
    if not isinstance(encoding, PDFStream):
        return None
    cmap = FileCMap()
    CMapParser(cmap, io.BytesIO(encoding.get_data())).run()
    return cmap if cmap.code2cid else None


def _drawn_by_font_file(spec: dict[str, Any]) -> dict[int, str] | None:
    """Return glyph number to character as the embedded TrueType font itself maps them."""
    descendants = spec.get("DescendantFonts")
    if not isinstance(descendants, list) or not descendants:
        return None
    first = cast("dict[str, Any]", descendants[0])
    program: Any = first.get("FontDescriptor", {}).get("FontFile2")
    if not isinstance(program, PDFStream):
        return None
    with contextlib.suppress(Exception):
        font = TrueTypeFont("", io.BytesIO(program.get_data()))
        return font.create_unicode_map().cid2unichr
    return None


def _plain(value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - PDF values of every type
    """Turn a pikepdf object into the values that pdfminer's fonts are made from."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, pikepdf.Stream):
        return _plain_stream(value, depth)
    if isinstance(value, pikepdf.Dictionary):
        return {
            key[1:]: _plain(inner, depth + 1)
            for key, inner in value.items()
            if key not in _NOT_NEEDED
        }
    if isinstance(value, pikepdf.Array):
        return [_plain(inner, depth + 1) for inner in value]
    return _plain_scalar(value)


def _name(value: pikepdf.Name) -> str:
    try:
        return str(value)[1:]
    except UnicodeDecodeError:
        return value.unparse().decode("latin-1")[1:]


def _plain_scalar(value: Any) -> Any:  # noqa: ANN401 - PDF values of every type
    match value:
        case pikepdf.Name():
            return LIT(_name(value))
        case pikepdf.String():
            return bytes(value)
        case Decimal():
            return float(value)
        case _:
            return value


def _plain_stream(value: pikepdf.Stream, depth: int) -> PDFStream:
    attrs = {
        key[1:]: _plain(inner, depth + 1)
        for key, inner in value.stream_dict.items()
        if key not in ("/Filter", "/DecodeParms", "/Length")
    }
    data = value.read_bytes()
    if len(data) > _MAX_FONT_FILE:
        data = b""
    return PDFStream(attrs, data)
