"""Does the work on untrusted PDFs in child processes, under time and memory limits.

A parser that crashes, hangs or eats memory takes its child with it and becomes an error answer.
A message is a JSON header and a block of bytes, each with its length in front, both ways.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import resource
import struct
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from local.sandbox.nutrient import errors, extract, parse, redact
from local.sandbox.nutrient.matching import Target
from local.sandbox.nutrient.switches import Switches

_ROOT = Path(__file__).resolve().parents[3]
_MEMORY_BYTES = 3 * 1024**3
_LENGTHS = struct.Struct(">QQ")

Header = Mapping[str, Any]


class WorkerPool:
    """Keeps idle child processes and gives each call one of its own.

    Args:
        seconds: How long one call may take.
        children: How many calls may run at once; the others wait.
    """

    def __init__(self, *, seconds: float = 120.0, children: int = 4) -> None:
        self._seconds = seconds
        self._slots = threading.BoundedSemaphore(children)
        self._idle: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()

    def run(self, header: Header, blob: bytes) -> tuple[dict[str, Any], bytes]:
        """Run one job; see `_JOBS` for what there is.

        Returns:
            The answer's header and bytes.

        Raises:
            SandboxError: The job refused the document, or its process died or ran out of time.
        """
        with self._slots:
            answer, result = self._run(header, blob)
        if "error" in answer:
            raise _error_of(answer["error"])
        return answer, result

    def _run(self, header: Header, blob: bytes) -> tuple[dict[str, Any], bytes]:
        child = self._take()
        timer = threading.Timer(self._seconds, child.kill)
        timer.start()
        try:
            _send(_pipe(child.stdin), header, blob)
            answer, result = _receive(_pipe(child.stdout))
        except (OSError, EOFError, ValueError) as error:
            _end(child)
            raise errors.UnprocessableError(
                "the document could not be processed within the limits", path="document"
            ) from error
        finally:
            timer.cancel()
        self._give_back(child)
        return answer, result

    def close(self) -> None:
        """End all idle children."""
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            _end(child)

    def _take(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return subprocess.Popen(  # noqa: S603 - this interpreter with this module, nothing else
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": str(_ROOT), "OMP_THREAD_LIMIT": "1"},
        )

    def _give_back(self, child: subprocess.Popen[bytes]) -> None:
        if child.poll() is not None:
            _end(child)
            return
        with self._lock:
            self._idle.append(child)


@cache
def shared_pool() -> WorkerPool:
    """Return this process's pool; its children end with the process."""
    pool = WorkerPool()
    atexit.register(pool.close)
    return pool


def _pipe(stream: Any) -> BinaryIO:  # noqa: ANN401 - Popen types its pipes as optional
    return stream  # type: ignore[no-any-return]  # always set: Popen was given PIPE


def _end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    child.wait()


def _send(stream: BinaryIO, header: Header, blob: bytes) -> None:
    text = json.dumps(header).encode()
    stream.write(_LENGTHS.pack(len(text), len(blob)) + text + blob)
    stream.flush()


def _receive(stream: BinaryIO) -> tuple[dict[str, Any], bytes]:
    text_length, blob_length = _LENGTHS.unpack(_exactly(stream, _LENGTHS.size))
    header: dict[str, Any] = json.loads(_exactly(stream, text_length))
    return header, _exactly(stream, blob_length)


def _exactly(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) != count:
        raise EOFError
    return data


def _error_of(body: Header) -> errors.SandboxError:
    kinds: dict[str, type[errors.SandboxError]] = {
        kind.__name__: kind
        for kind in (
            errors.BadRequestError,
            errors.UnsupportedFileError,
            errors.TooLargeError,
            errors.UnprocessableError,
        )
    }
    kind = kinds.get(body["kind"], errors.UnprocessableError)
    return kind(str(body["message"]), path=str(body["path"]))


# --- the child's side ---------------------------------------------------------------------------


def _extract(header: Header, pdf: bytes) -> tuple[Header, bytes]:
    request = extract.read_request(header["instructions"])
    switches = Switches.model_validate(header["switches"])
    return {"answer": extract.extract(pdf, request, switches)}, b""


def _parse(header: Header, pdf: bytes) -> tuple[Header, bytes]:
    request = parse.read_request(header["instructions"])
    switches = Switches.model_validate(header["switches"])
    return {"answer": parse.parse(pdf, request, switches)}, b""


def _redact(header: Header, pdf: bytes) -> tuple[Header, bytes]:
    targets = [Target(**target) for target in header["targets"]]
    switches = Switches.model_validate(header["switches"])
    return {}, redact.redact(pdf, targets, switches, apply=bool(header["apply"]))


_JOBS: Mapping[str, Callable[[Header, bytes], tuple[Header, bytes]]] = {
    "extract": _extract,
    "parse": _parse,
    "redact": _redact,
}


def _answer(header: Header, blob: bytes) -> tuple[Header, bytes]:
    try:
        return _JOBS[header["job"]](header, blob)
    except errors.SandboxError as error:
        body = {"kind": type(error).__name__, "message": str(error), "path": error.path}
        return {"error": body}, b""
    except (MemoryError, RecursionError):
        message = "the document needs more memory than there is"
        body = {"kind": "UnprocessableError", "message": message, "path": "document"}
        return {"error": body}, b""


def serve() -> None:
    """Answer jobs from standard input until it ends."""
    logging.disable(logging.WARNING)  # parsers comment on every broken file they meet,
    warnings.simplefilter("ignore")  # some in this way
    with contextlib.suppress(ValueError, OSError):  # not every system limits address space
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            header, blob = _receive(requests)
        except EOFError:
            return
        _send(answers, *_answer(header, blob))


if __name__ == "__main__":
    serve()
