"""The PDF readers without their child processes: the same code, many times faster to start.

What the child process itself guards (memory, time, crashes) has tests of its own.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from no_undo.adapters import pdf_worker
from no_undo.adapters.pdf_sandboxed import PdfSandbox, WorkerAnswer, checked
from no_undo.adapters.redaction_verifier import IndependentReadersVerifier
from no_undo.adapters.text_readers import IndependentTextReaders

_ONE_AT_A_TIME = threading.Lock()
"""pdfium may be used by one thread of a process at a time."""


@dataclass(frozen=True, slots=True)
class InProcessSandbox(PdfSandbox):
    """Runs a task here and now."""

    def ask(
        self,
        task: str,
        arguments: Mapping[str, Any],
        documents: Sequence[bytes],
        *,
        seconds: float | None = None,
    ) -> WorkerAnswer:
        """Answer as the child would, through JSON as it does."""
        header = {
            "task": task,
            "arguments": dict(arguments),
            "max_pages": self.limits.max_pages,
            "seconds": self.limits.seconds if seconds is None else seconds,
        }
        with _ONE_AT_A_TIME:
            facts, blobs = pdf_worker.run(header, documents)
        return checked(WorkerAnswer(json.loads(json.dumps(facts)), tuple(blobs)))


VERIFIER = IndependentReadersVerifier(InProcessSandbox())
READERS = IndependentTextReaders(InProcessSandbox())
