"""Readers that share no code with the sandbox's redactor, and small shared test data."""

from __future__ import annotations

import io
import json
import re
import unicodedata
import zlib
from pathlib import Path
from typing import Any

import pikepdf
import pypdfium2
from pdfminer.high_level import extract_text

REPO = Path(__file__).resolve().parents[4]
_IGNORED = dict.fromkeys(map(ord, "\u00ad\u200b"))
_FRAGMENT = 6


def fixture_json(path: str) -> dict[str, Any]:
    """Return one JSON fixture."""
    data: dict[str, Any] = json.loads((REPO / "fixtures" / path).read_text("utf-8"))
    return data


def invoice_pdf() -> bytes:
    """Return the committed freight invoice."""
    return (REPO / "fixtures/documents/freight_invoice.pdf").read_bytes()


def squashed(text: str) -> str:
    """Return letters and digits only, case folded, compatibility forms resolved."""
    plain = unicodedata.normalize("NFKC", text).translate(_IGNORED).casefold()
    return "".join(c for c in plain if c.isalnum())


def pdfium_text(pdf: bytes) -> str:
    """Return what pdfium reads."""
    with pypdfium2.PdfDocument(pdf) as document:
        return "\n".join(page.get_textpage().get_text_range() for page in document)


def miner_text(pdf: bytes) -> str:
    """Return what pdfminer reads."""
    return extract_text(io.BytesIO(pdf))


def object_text(pdf: bytes) -> str:
    """Return every object's own strings and every stream, decompressed."""
    parts: list[str] = []
    with pikepdf.open(io.BytesIO(pdf)) as document:
        parts.append(document.trailer.unparse().decode("latin-1"))
        for one in document.objects:
            if isinstance(one, pikepdf.Stream):
                parts.append(repr(dict(one.items())))
                parts.append(one.read_bytes().decode("latin-1"))
            else:
                parts.append(repr(one))
    return "\n".join(parts)


def raw_text(pdf: bytes) -> str:
    """Return the file's bytes, and everything in them that inflates."""
    parts = [pdf]
    for start in (hit.end() for hit in re.finditer(rb"stream\r?\n", pdf)):
        try:
            parts.append(zlib.decompressobj().decompress(pdf[start:], 10_000_000))
        except zlib.error:
            continue
    return b"\n".join(parts).decode("latin-1")


def all_texts(pdf: bytes) -> dict[str, str]:
    """Return what every reader sees, by reader."""
    return {
        "pdfium": pdfium_text(pdf),
        "pdfminer": miner_text(pdf),
        "objects": object_text(pdf),
        "raw": raw_text(pdf),
    }


def readers_that_see(pdf: bytes, value: str) -> list[str]:
    """Return the readers that see a value, whatever stands between its letters."""
    wanted = squashed(value)
    return [reader for reader, text in all_texts(pdf).items() if wanted in squashed(text)]


def readers_that_see_a_part(pdf: bytes, value: str) -> list[str]:
    """Return the readers that see any six letters in a row of a value."""
    wanted = squashed(value)
    runs = {wanted[i : i + _FRAGMENT] for i in range(len(wanted) - _FRAGMENT + 1)}
    return [
        reader
        for reader, text in all_texts(pdf).items()
        if any(run in squashed(text) for run in runs)
    ]


def words_with_places(pdf: bytes) -> dict[str, list[tuple[float, float]]]:
    """Return each word that pdfium reads with the left bottom corners where it stands."""
    places: dict[str, list[tuple[float, float]]] = {}
    with pypdfium2.PdfDocument(pdf) as document:
        for page in document:
            textpage = page.get_textpage()
            text = "".join(
                textpage.get_text_range(i, 1) or " " for i in range(textpage.count_chars())
            )
            for hit in re.finditer(r"\S+", text):
                left, bottom, _, _ = textpage.get_charbox(hit.start())
                places.setdefault(hit[0], []).append((round(left, 1), round(bottom, 1)))
    return places
