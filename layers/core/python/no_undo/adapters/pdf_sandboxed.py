"""Runs the PDF libraries in a child process, so that a hostile file cannot hurt the caller.

The child is the same interpreter running `no_undo.adapters.pdf_worker` with a limit on address
space, processor time and wall clock, and with an environment that carries no credential. One call
asks one task; the answer is JSON plus byte strings. Pipes only: AWS Lambda has no shared memory.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from no_undo.domain.errors import InvalidRequestError

_PASSED_ON: Final = ("PATH", "LD_LIBRARY_PATH", "LANG", "TZ", "TMPDIR", "TESSDATA_PREFIX")
_HEADER_WINDOW: Final = 1024  # bytes; ISO 32000-1 implementation note 13: readers look this far
_LENGTH: Final = struct.Struct(">Q")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a document may cost.

    Attributes:
        max_bytes: Largest file accepted.
        max_pages: Most pages accepted.
        memory_bytes: Address space of the child.
        seconds: Wall clock and processor time of one task.
    """

    max_bytes: int = 10 * 1024 * 1024
    max_pages: int = 50
    memory_bytes: int = 1024 * 1024 * 1024
    seconds: float = 30.0


class ReaderStoppedError(Exception):
    """The child died, ran out of time or memory, or a library gave up. Never leaves the adapters.

    The message says which, and never what the document contains.
    """


@dataclass(frozen=True, slots=True)
class WorkerAnswer:
    """What a task returned: JSON facts, and byte strings such as pictures."""

    facts: dict[str, Any]
    blobs: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class PdfSandbox:
    """Asks the child process one thing at a time.

    Attributes:
        limits: Bounds on the document and on the child.
    """

    limits: Limits = Limits()

    def ask(
        self,
        task: str,
        arguments: Mapping[str, Any],
        documents: Sequence[bytes],
        *,
        seconds: float | None = None,
    ) -> WorkerAnswer:
        """Run one task of `pdf_worker` over some documents.

        Args:
            task: A name in the worker's table.
            arguments: JSON-ready arguments of the task.
            documents: The PDFs, as the task expects them.
            seconds: Other time limit than the configured one.

        Raises:
            InvalidRequestError: The worker refused a document; field `document`.
            ReaderStoppedError: No answer: a crash, a limit, or a library that gave up.
        """
        allowed = self.limits.seconds if seconds is None else seconds
        header = {
            "task": task,
            "arguments": dict(arguments),
            "memory_bytes": self.limits.memory_bytes,
            "cpu_seconds": int(allowed) + 1,
            "seconds": allowed,
            "max_pages": self.limits.max_pages,
        }
        output = _run_child(pack(header, documents), allowed)
        facts, blobs = unpack(output)
        return checked(WorkerAnswer(facts, tuple(blobs)))


def refuse_unusable(document: bytes, *, max_bytes: int) -> None:
    """Refuse what needs no PDF library to refuse.

    Raises:
        InvalidRequestError: Empty, larger than `max_bytes`, or without a PDF header.
    """
    if not document:
        raise InvalidRequestError("The document was refused: it is empty.", field="document")
    if len(document) > max_bytes:
        raise InvalidRequestError(
            f"The document was refused: it has {len(document)} bytes; "
            f"at most {max_bytes} are accepted.",
            field="document",
        )
    if b"%PDF-" not in document[:_HEADER_WINDOW]:
        raise InvalidRequestError(
            "The document was refused: it is not a PDF (no %PDF- header).", field="document"
        )


def pack(header: object, blobs: Sequence[bytes]) -> bytes:
    """Frame one JSON value and some byte strings; each part is preceded by its length."""
    parts = [json.dumps(header).encode(), *blobs]
    return b"".join(_LENGTH.pack(len(part)) + part for part in parts)


def unpack(frame: bytes) -> tuple[Any, list[bytes]]:
    """Undo `pack`.

    Raises:
        ReaderStoppedError: The frame is cut or is not one of ours.
    """
    parts: list[bytes] = []
    at = 0
    while at < len(frame):
        body = at + _LENGTH.size
        if body > len(frame):
            raise ReaderStoppedError("the answer of the PDF reader was cut off")
        (length,) = _LENGTH.unpack_from(frame, at)
        at = body + length
        if at > len(frame):
            raise ReaderStoppedError("the answer of the PDF reader was cut off")
        parts.append(frame[body:at])
    try:
        return json.loads(parts[0]), parts[1:]
    except (IndexError, ValueError) as error:
        raise ReaderStoppedError("the PDF reader gave no answer") from error


def _run_child(request: bytes, seconds: float) -> bytes:
    """Start the worker, hand it the request, and return what it wrote; its stderr is dropped."""
    command = [sys.executable, "-sP", "-m", "no_undo.adapters.pdf_worker"]
    with subprocess.Popen(  # noqa: S603 - our own interpreter and module, no shell
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=child_environment(),
        close_fds=True,
    ) as child:
        try:
            output, _ = child.communicate(request, timeout=seconds)
        except subprocess.TimeoutExpired as error:
            child.kill()
            raise ReaderStoppedError(
                f"the PDF reader did not finish within {seconds:g} seconds"
            ) from error
    if child.returncode != 0:
        raise ReaderStoppedError(f"the PDF reader crashed (exit status {child.returncode})")
    return output


def child_environment() -> dict[str, str]:
    """Return the child's environment: where modules are, and nothing secret."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    search_path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    return kept | {
        "PYTHONPATH": search_path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_THREAD_LIMIT": "1",
    }


def checked(answer: WorkerAnswer) -> WorkerAnswer:
    """Turn the worker's own refusals into errors."""
    facts: dict[str, Any] = answer.facts
    if "refused" in facts:
        raise InvalidRequestError(str(facts["refused"]), field="document")
    if "stopped" in facts:
        raise ReaderStoppedError(str(facts["stopped"]))
    return answer
