"""The child process that opens PDFs. Started by `pdf_sandboxed`, never imported by the product.

It limits itself first, then reads one request from standard input, runs one task and writes one
answer to standard output. Libraries are imported per task, so that a task pays only for its own.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from no_undo.adapters.pdf_sandboxed import pack, unpack
from no_undo.domain.errors import InvalidRequestError

_Task = Callable[[Mapping[str, Any], Sequence[bytes]], tuple[object, Sequence[bytes]]]

_MODULES: Final = {
    "read": "pdfium_reader",
    "read_visible": "pdfium_visible",
    "append_signature_page": "signature_page_writer",
    "search_pdfium": "pdfium_search",
    "search_pdfminer": "pdfminer_reader",
    "search_structure": "pikepdf_structure",
    "search_bytes": "raw_bytes_reader",
    "search_pictures": "ocr_reader",
    "search_images": "image_reader",
    "read_text": "pdfium_reader",
    "read_positions": "pdfminer_reader",
    "read_pictures": "ocr_reader",
    "validate_signatures": "pyhanko_reader",
    "compare_content": "content_comparison",
}


def main() -> None:
    """Answer one request and end."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a chatty library must not break the frame
    warnings.simplefilter("ignore")
    header, documents = unpack(sys.stdin.buffer.read())
    _limit_resources(header["memory_bytes"], header["cpu_seconds"])
    facts, blobs = run(header, documents)
    with answers:
        answers.write(pack(facts, blobs))


def _limit_resources(memory_bytes: int, cpu_seconds: int) -> None:
    """Lower this process's own limits for good; some systems lack one, the parent's clock stays."""
    for kind, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_CORE, 0),  # a core file would hold the document
    ):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


def run(header: Mapping[str, Any], documents: Sequence[bytes]) -> tuple[object, Sequence[bytes]]:
    """Run the task; a failure is answered by its kind alone, since its text may quote the file."""
    limits = {"max_pages": header["max_pages"], "seconds": header["seconds"]}
    arguments = header["arguments"] | limits
    try:
        return _task(header["task"])(arguments, documents)
    except InvalidRequestError as refusal:
        return {"refused": str(refusal)}, ()
    except MemoryError:
        return {"stopped": "the PDF reader ran out of memory"}, ()
    except Exception as error:  # noqa: BLE001 - any library failure becomes one reason
        return {"stopped": f"the PDF reader gave up ({type(error).__name__})"}, ()


def _task(name: str) -> _Task:
    """Import the module of a task and return the function of the task's name."""
    module = import_module(f"no_undo.adapters.{_MODULES[name]}")
    task: _Task = getattr(module, name)
    return task


if __name__ == "__main__":
    main()
