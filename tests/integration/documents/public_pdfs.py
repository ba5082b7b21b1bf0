"""Public PDFs for tests, read from a shared folder that is not part of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(os.environ.get("NO_UNDO_SHARED") or _ROOT.parent / "shared") / "pdfs"

NAMES = sorted(path.name for path in FOLDER.glob("*.pdf"))
needs_public_pdfs = pytest.mark.skipif(
    not NAMES, reason="the shared folder with public PDFs is absent; set NO_UNDO_SHARED"
)


def public_pdf(name: str) -> bytes:
    """Return one public PDF, or skip the test where it is absent."""
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"{name} is absent; set NO_UNDO_SHARED to the folder that holds pdfs/")
    return path.read_bytes()
