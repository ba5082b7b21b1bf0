"""Draws the signature page and appends it; runs in the child process only.

The page is drawn with pdfium, which embeds a subset of the bundled font with its Unicode map, and
appended with pikepdf, which leaves every existing object as it is. Existing pages, forms and
outlines keep working; a digital signature would not, so a signed PDF is refused.
"""

from __future__ import annotations

import ctypes
import io
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import batched
from pathlib import Path
from typing import Any, Final

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from pdfminer.pdffont import TrueTypeFont

from no_undo.adapters.pdfium_reader import open_pdf
from no_undo.adapters.pikepdf_structure import open_structure
