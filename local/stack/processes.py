"""Background processes that outlive the command that started them.

A process is remembered by id, start time and command, so that a stale note about a process that is
gone never leads to a signal to another process that got the same id.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_GRACE_SECONDS = 10.0
_POLL_SECONDS = 0.05

# Children of this very process by id; polled, so that one that ended does not stay a zombie.
_children: dict[int, subprocess.Popen[bytes]] = {}


class ProcessEndedError(Exception):
    """A background process ended before it was ready; carries the end of its log."""


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """What is remembered about a process.

    Attributes:
        name: What it is: ``emulator``, ``sandbox`` or ``inbox``.
        pid: Process id; it leads a process group of its own.
        started: Start time as the system tells it; opaque, compared for equality.
        log: File that takes its output.
    """

    name: str
    pid: int
    started: str
    log: str


def start(
    name: str,
    command: Sequence[str],
    *,
    log: Path,
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> ProcessRecord:
    """Start a process in a group of its own, without standard input.

    Args:
        name: What it is.
        command: Program and arguments.
        log: File that its output is appended to.
        folder: Its working directory.
        environment: Its environment; this process's own when omitted.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 our own programs
            command,
            cwd=folder,
            env=None if environment is None else dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _children[process.pid] = process
    return ProcessRecord(name, process.pid, start_time(process.pid) or "", str(log))


def start_time(pid: int) -> str | None:
    """Return when a process started, or None when it is gone or a zombie."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] == "Z" and not _has_other_threads(pid) else fields[19]
    answer = subprocess.run(  # noqa: S603 a number, no outside text
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)],  # noqa: S607 the system's own ps
        capture_output=True,
        text=True,
        check=False,
    )
    status, _, started = answer.stdout.strip().partition(" ")
    return None if not status or status.startswith("Z") else started.strip()


def _has_other_threads(pid: int) -> bool:
    """Tell whether a process whose first thread ended still holds its files and ports."""
    try:
        return sum(1 for _ in Path(f"/proc/{pid}/task").iterdir()) > 1
    except OSError:
        return False


def is_alive(record: ProcessRecord) -> bool:
    """Tell whether this very process still runs."""
    return record.started != "" and start_time(record.pid) == record.started


def stop(record: ProcessRecord) -> None:
    """End a process and its group: politely first, then by force; does nothing when it is gone."""
    if is_alive(record):
        _signal_group(record.pid, signal.SIGTERM)
        _wait_until_gone(record, _GRACE_SECONDS)
    if is_alive(record):
        _signal_group(record.pid, signal.SIGKILL)
        _wait_until_gone(record, _GRACE_SECONDS)


def kill(record: ProcessRecord) -> None:
    """End a process and its group at once, as a crash would."""
    if is_alive(record):
        _signal_group(record.pid, signal.SIGKILL)
        _wait_until_gone(record, _GRACE_SECONDS)


def log_tail(log: Path, lines: int = 20) -> str:
    """Return the last lines of a log; empty when there is none."""
    with contextlib.suppress(OSError):
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    return ""


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, number)


def _wait_until_gone(record: ProcessRecord, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while is_alive(record) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    if record.pid in _children and _children[record.pid].poll() is not None:
        del _children[record.pid]
