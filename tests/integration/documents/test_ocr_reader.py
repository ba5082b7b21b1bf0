"""The picture reader with and without Tesseract."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from no_undo.adapters import ocr_reader
from no_undo.adapters.ocr_reader import search_pictures
from no_undo.adapters.tesseract import language_data
from tests.integration.documents.pdf_maker import (
    VALUE,
    picture,
    text_pdf,
    with_operators,
    with_picture,
)

ARGUMENTS = {"values": {VALUE: "email"}, "max_pages": 50, "seconds": 60}
TEXT_ONLY = text_pdf()
LETTERHEAD = with_picture(picture("Example Freight"), width=400, height=48)(TEXT_ONLY)
LOGO = with_picture(picture("EF"), width=60, height=20)(TEXT_ONLY)
OUTLINES = with_operators(
    b"".join(b"72 %d m " % (300 + n) + b"9 9 l " * 8 + b"f\n" for n in range(30))
)


def row(document: bytes) -> dict[str, Any]:
    report, _ = search_pictures(ARGUMENTS, [document, document])
    return dict(report["rows"][0])


@pytest.fixture
def no_ocr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr_reader, "language_data", lambda: None)


@pytest.mark.parametrize("document", [TEXT_ONLY, LOGO], ids=["text only", "small logo"])
def test_without_ocr_a_page_of_text_can_still_be_proven(no_ocr: None, document: bytes) -> None:
    assert row(document)["result"] == "gone"


@pytest.mark.parametrize(
    "document", [LETTERHEAD, OUTLINES(TEXT_ONLY)], ids=["letterhead", "letters as outlines"]
)
def test_without_ocr_a_page_of_pictures_is_not_proven(no_ocr: None, document: bytes) -> None:
    verdict = row(document)

    assert verdict["result"] == "not_proven"
    assert "page 1" in verdict["detail"]


def test_with_ocr_every_page_with_a_picture_is_read() -> None:
    pytest.importorskip("tesserocr")

    assert row(LOGO)["detail"].endswith("1 pages were read")
    assert row(TEXT_ONLY)["detail"].endswith("0 pages were read")


def test_language_data_is_found_where_the_environment_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("tesserocr")
    (tmp_path / "eng.traineddata").write_bytes(b"data")
    monkeypatch.setenv("TESSDATA_PREFIX", str(tmp_path))

    assert language_data() == tmp_path


def test_without_the_library_there_is_no_language_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(_name: str) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", find_nothing)

    assert language_data() is None
