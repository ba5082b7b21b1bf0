"""What proving a redaction costs beside the readers alone, its size and how slowly it starts."""

from __future__ import annotations

import io
import re
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final

import pikepdf
import pypdfium2
from pdfminer.high_level import extract_text

from benchmarks.rows import Row, cpu_seconds, seconds
from fixtures.documents.freight_invoice import load, render
from no_undo.adapters.pdf_worker import run
from no_undo.adapters.redaction_verifier import IndependentReadersVerifier
from no_undo.adapters.tesseract import Budget, Tesseract, language_data
from tests.integration.documents.in_process import VERIFIER

ROOT: Final = Path(__file__).resolve().parents[1]
VALUE: Final = "m.webb@acmefreight-drivers.example"
LAYERS: Final = ("layers/dependencies/requirements.txt", "layers/documents/requirements.txt")
TEXT_READERS: Final = ("search_pdfium", "search_pdfminer", "search_structure", "search_bytes")
PAGES: Final = 20
LARGEST_LAYERS_MIB: Final = 200.0
_MODULES: Final = (
    "no_undo.use_cases.verify_redaction", "no_undo.adapters.redaction_verifier",
    "no_undo.adapters.pikepdf_structure", "no_undo.adapters.pdfium_search",
    "no_undo.adapters.pdfminer_reader", "no_undo.adapters.pii_validators", "tesserocr",
)  # fmt: skip


def measure() -> Iterator[Row]:
    """Measure time, memory, size and start of the proof."""
    page = render(load())
    clean = render({**load(), "contacts": []})
    yield _one_page(page, clean)
    yield _largest_child(page, clean)
    yield _many_pages(repeated(page, PAGES), repeated(clean, PAGES))
    yield _layers()
    yield _start()


def repeated(document: bytes, pages: int) -> bytes:
    """Return a document with its first page so many times."""
    target = io.BytesIO()
    with pikepdf.open(io.BytesIO(document)) as pdf:
        for _ in range(pages - 1):
            pdf.pages.append(pdf.pages[0])
        pdf.save(target)
    return target.getvalue()


def read_alone(*documents: bytes, ocr: bool) -> None:
    """Read documents with pdfium and pdfminer, and by OCR: what no verifier could do without."""
    data = language_data() if ocr else None
    for document in documents:
        with pypdfium2.PdfDocument(document) as pdf:
            for page in pdf:
                page.get_textpage().get_text_range()
            if data is not None:
                with Tesseract(data, 200) as engine:
                    list(engine.pages(pdf, range(len(pdf)), 200, Budget(600.0)))
        extract_text(io.BytesIO(document))


def _one_page(before: bytes, after: bytes) -> Row:
    def ours() -> object:
        return VERIFIER.verify(before, after, {VALUE: "email"}, signature_fields=0)

    return Row(
        "redaction: one page, every reader and OCR",
        cpu_seconds(ours, repeats=3),
        cpu_seconds(lambda: read_alone(before, after, ocr=True), repeats=3),
        "s",
        aim=2.0,
        limit=6.0,
        note="processor time for both documents, beside pdfium, pdfminer and OCR of both alone",
    )


def _largest_child(before: bytes, after: bytes) -> Row:
    IndependentReadersVerifier().verify(before, after, {VALUE: "email"}, signature_fields=0)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    note = "the largest reader process; two run at once"
    return Row("redaction: peak memory, one page", peak, None, "MiB", aim=200.0, note=note)


def _many_pages(before: bytes, after: bytes) -> Row:
    header: Mapping[str, Any] = {
        "arguments": {"values": {VALUE: "email"}}, "max_pages": PAGES, "seconds": 600.0,
    }  # fmt: skip

    def ours() -> object:
        return [run({**header, "task": task}, [before, after]) for task in TEXT_READERS]

    return Row(
        f"redaction: {PAGES} pages, without OCR",
        cpu_seconds(ours, repeats=2),
        cpu_seconds(lambda: read_alone(before, after, ocr=False), repeats=2),
        "s",
        aim=2.0,
        limit=8.0,
        note="processor time for both documents, beside pdfium and pdfminer of both alone",
    )


def _layers() -> Row:
    size = sum(_installed_bytes(name) for name in _pinned()) / 2**20
    core = ROOT / "layers/core/python/no_undo"
    size += sum(one.stat().st_size for one in core.rglob("*") if one.suffix != ".pyc") / 2**20
    note = "the three layers as installed here, without byte code; Lambda allows 250 MiB in all"
    return Row("redaction: layers unzipped", size, None, "MiB", LARGEST_LAYERS_MIB, 250.0, note)


def _pinned() -> set[str]:
    texts = [(ROOT / path).read_text(encoding="utf-8") for path in LAYERS]
    return {name for text in texts for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}


def _installed_bytes(name: str) -> int:
    try:
        files = distribution(name).files or []
    except PackageNotFoundError:  # for another system
        return 0
    paths = (Path(str(one.locate())) for one in files if one.suffix != ".pyc")
    return sum(path.stat().st_size for path in paths if path.is_file())


def _start() -> Row:
    code = f"import {', '.join(_MODULES)}"
    command = [sys.executable, "-c", code]
    ours = seconds(lambda: subprocess.run(command, check=True), repeats=3)  # noqa: S603 - ours
    bare = [sys.executable, "-c", "pass"]
    reference = seconds(lambda: subprocess.run(bare, check=True), repeats=3)  # noqa: S603 - ours
    note = "a fresh interpreter imports all that the proof imports; reference: nothing imported"
    return Row("redaction: cold start", ours, reference, "s", note=note)
