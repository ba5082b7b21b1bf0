"""Tesseract with its English data, where it is installed; child process only."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Final, Self

import pypdfium2 as pdfium
from PIL.Image import Image

from no_undo.adapters.pdfium_reader import safe_scale

MOST_PAGES: Final = 30
"""How many pages, or pictures, of one document are looked at; about 1.3 s each when dense."""

_BUDGET_SHARE: Final = 0.8  # of the reader's seconds; the rest is for starting and answering


@dataclass(slots=True)
class Budget:
    """What one reader may spend.

    Attributes:
        seconds: From now on, what the whole reader is given.
        pages: How many pages or pictures of one document it may look at.
    """

    seconds: float
    pages: int = MOST_PAGES
    _ends: float = field(init=False)

    def __post_init__(self) -> None:
        self._ends = time.monotonic() + self.seconds * _BUDGET_SHARE

    @property
    def is_spent(self) -> bool:
        """True once no further page should be begun."""
        return time.monotonic() > self._ends


class Tesseract:
    """One engine; closed on exit.

    Args:
        data: Folder of `eng.traineddata`.
        dpi: Resolution that its name says.

    Attributes:
        name: Name, version and resolution.
    """

    def __init__(self, data: Path, dpi: int) -> None:
        import tesserocr  # noqa: PLC0415 - an optional library of the documents layer

        self.name = f"tesseract (tesserocr {metadata.version('tesserocr')}) at {dpi} dpi"
        self._api = tesserocr.PyTessBaseAPI(path=str(data), lang="eng")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._api.End()

    def pages(
        self, pdf: pdfium.PdfDocument, page_indexes: Sequence[int], dpi: int, budget: Budget
    ) -> Iterator[tuple[int, str]]:
        """Yield index and text of rendered pages, form fields and annotations included."""
        pdf.init_forms()
        for index in page_indexes:
            if index < len(pdf) and not budget.is_spent:
                page = pdf[index]
                scale = safe_scale(page, dpi)
                picture = page.render(scale=scale, grayscale=True).to_pil()
                yield index, self.text_of(picture, dpi=round(scale * 72))

    def text_of(self, picture: Image, *, dpi: int) -> str:
        """Return what a picture shows; `dpi` tells the engine how large letters may be."""
        self._api.SetImage(picture)
        self._api.SetSourceResolution(dpi)
        return str(self._api.GetUTF8Text())


def language_data() -> Path | None:
    """Find Tesseract's English data: named by the environment, in a layer, or in its prefix.

    Returns:
        The folder, or None where the library or its data is not installed.
    """
    if importlib.util.find_spec("tesserocr") is None:
        return None
    named = os.environ.get("TESSDATA_PREFIX")
    roots = [*([Path(named)] if named else [])]
    roots += [Path(root) / "share" / "tessdata" for root in (*sys.path, sys.prefix) if root]
    return next((root for root in roots if (root / "eng.traineddata").is_file()), None)
