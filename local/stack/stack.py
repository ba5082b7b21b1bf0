"""Start, find and stop the local stack of one checkout.

Everything is kept below one data folder (``.local`` by default), and ports are chosen free and then
remembered, so several checkouts run side by side and the addresses in mails stay valid after a
restart. All of it listens on 127.0.0.1 only.
"""

import contextlib
import fcntl
import functools
import json
import random
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from local.stack import processes
from local.stack.aws import Aws
from local.stack.processes import ProcessRecord

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / ".local"
_STATE_FILE, _LOCK_FILE = "stack.json", "stack.lock"
# Below what systems give to outgoing connections, so that a port is still free on restart.
_PORTS = range(20_000, 30_000)
_READY_SECONDS = 60.0
_POLL_SECONDS = 0.05
_ATTEMPTS = 3
_READY_PATHS = {
    "emulator": "/_ministack/health",
    "fault_proxy": "/_faults",
    "inbox": "/messages.json",
}


class StackError(Exception):
    """The local stack cannot be started; says which part and shows the end of its log."""


@dataclass(frozen=True, slots=True)
class StackState:
    """What ``stack.json`` holds.

    Attributes:
        ports: Port by part; kept when the stack stops.
        running: The processes that were started.
        outputs: The outputs of the stack that was deployed last.
    """

    ports: dict[str, int] = field(default_factory=dict[str, int])
    running: list[ProcessRecord] = field(default_factory=list[ProcessRecord])
    outputs: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class RunningStack:
    """Addresses of a stack that is up.

    Attributes:
        data: Its data folder.
        ports: Port by part: ``emulator``, ``sandbox``, ``inbox``, ``fault_proxy``.
        outputs: The outputs of the deployed template, empty before the first deployment.
    """

    data: Path
    ports: dict[str, int]
    outputs: dict[str, str]

    def url(self, part: str) -> str:
        """Return the address of a part."""
        return f"http://127.0.0.1:{self.ports[part]}"

    @property
    def aws(self) -> Aws:
        """Clients of the emulator."""
        return _clients(self.url("emulator"))


@functools.cache
def _clients(endpoint_url: str) -> Aws:
    """Return the clients of one emulator; making one anew costs more than most calls."""
    return Aws(endpoint_url)


def read_state(data: Path) -> StackState:
    """Read what is remembered about the stack of a data folder; empty when there is nothing."""
    try:
        content: dict[str, Any] = json.loads((data / _STATE_FILE).read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return StackState()
    return StackState(
        ports=content["ports"],
        running=[ProcessRecord(**record) for record in content["running"]],
        outputs=content["outputs"],
    )


def _write_state(data: Path, state: StackState) -> None:
    unfinished = data / f"{_STATE_FILE}.new"
    unfinished.write_text(json.dumps(asdict(state), indent=2) + "\n")
    unfinished.replace(data / _STATE_FILE)


@contextlib.contextmanager
def _locked(data: Path) -> Generator[None]:
    """Let one command at a time change the stack of a data folder."""
    data.mkdir(parents=True, exist_ok=True)
    with (data / _LOCK_FILE).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def find(data: Path = DATA) -> RunningStack | None:
    """Return the stack of a data folder when its emulator runs."""
    state = read_state(data)
    if any(record.name == "emulator" and processes.is_alive(record) for record in state.running):
        return RunningStack(data, state.ports, state.outputs)
    return None


def start(
    data: Path = DATA,
    *,
    parts: tuple[str, ...] = ("emulator", "sandbox"),
    wait_scale: float = 1.0,
) -> RunningStack:
    """Start the parts that do not run yet and wait until they answer.

    Args:
        data: Data folder of this stack.
        parts: Which of ``fault_proxy``, ``emulator``, ``sandbox`` and ``inbox``; a fault proxy
            comes first, because the emulator tells functions to go through it.
        wait_scale: Factor on the sleeps of Wait states and retries in the state machine.

    Raises:
        StackError: A part ended or did not answer in time.
    """
    data = data.resolve()
    with _locked(data):
        state = read_state(data)
        running = [record for record in state.running if processes.is_alive(record)]
        ports = dict(state.ports)
        for part in parts:
            if not any(record.name == part for record in running):
                proxied = any(record.name == "fault_proxy" for record in running)
                running.append(_start_part(part, data, ports, wait_scale, proxied=proxied))
                _write_state(data, StackState(ports, running, state.outputs))
        return RunningStack(data, ports, state.outputs)


def remember_outputs(stack: RunningStack, outputs: dict[str, str]) -> RunningStack:
    """Keep the outputs of a deployment for later commands."""
    with _locked(stack.data):
        state = read_state(stack.data)
        _write_state(stack.data, StackState(state.ports, state.running, outputs))
    return RunningStack(stack.data, stack.ports, outputs)


def stop(data: Path = DATA) -> None:
    """Stop whatever runs of a stack; safe when nothing runs or after a kill."""
    data = data.resolve()
    if not (data / _STATE_FILE).exists():
        return
    with _locked(data):
        state = read_state(data)
        for record in reversed(state.running):
            processes.stop(record)
        _write_state(data, StackState(state.ports, [], state.outputs))


def kill(data: Path, part: str) -> None:
    """Kill one part as a crash would, for tests of what survives."""
    with _locked(data):
        for record in read_state(data).running:
            if record.name == part:
                processes.kill(record)


def _start_part(
    part: str, data: Path, ports: dict[str, int], wait_scale: float, *, proxied: bool
) -> ProcessRecord:
    """Start one part, on another port when another program was quicker to take the first."""
    log = _fresh_log(data / "logs" / f"{part}.log")
    for _ in range(_ATTEMPTS):
        ports[part] = _free_port(ports.get(part))
        command = _command(part, data, ports, wait_scale, proxied=proxied)
        record = processes.start(part, command, log=log, folder=ROOT)
        if _becomes_ready(record, _probe(part, record, ports)):
            return record
        processes.stop(record)
    raise StackError(
        f"The {part} did not come up in {_ATTEMPTS} attempts. "
        f"The end of {log}:\n{processes.log_tail(log)}"
    )


def _command(
    part: str, data: Path, ports: dict[str, int], wait_scale: float, *, proxied: bool
) -> list[str]:
    port = str(ports[part])
    if part == "emulator":
        python = str(ROOT / ".venv-emulator" / "bin" / "python")
        options = ["--data", str(data / "emulator"), "--wait-scale", str(wait_scale)]
        if proxied:
            options += ["--functions-endpoint", f"http://127.0.0.1:{ports['fault_proxy']}"]
        return [python, "-m", "local.emulator", "--port", port, *options]
    if part == "sandbox":
        folder = str(data / "sandbox")
        return [sys.executable, "-m", "local.sandbox", "--port", port, "--data", folder]
    if part == "fault_proxy":
        stack = ["--stack", str(data)]
        return [sys.executable, "-m", "local.fault_proxy", "--port", port, *stack]
    emulator = f"http://127.0.0.1:{ports['emulator']}"
    return [sys.executable, "-m", "local.stack.inbox", "--port", port, "--emulator", emulator]


def _probe(part: str, record: ProcessRecord, ports: dict[str, int]) -> Callable[[], bool]:
    """Return the question whether a part is ready."""
    if part == "sandbox":
        return lambda: "sandbox ready" in Path(record.log).read_text(errors="replace")
    path = _READY_PATHS[part]
    return lambda: _answers(f"http://127.0.0.1:{ports[part]}{path}")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:  # noqa: S310 a loopback address
            return bool(response.status == 200)  # noqa: PLR2004 HTTP
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def _becomes_ready(record: ProcessRecord, ready: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline and processes.is_alive(record):
        if ready():
            return True
        time.sleep(_POLL_SECONDS)
    return False


def _fresh_log(log: Path) -> Path:
    """Keep the log of the run before and return the path for a new one."""
    if log.exists():
        log.replace(log.with_suffix(".previous.log"))
    return log


def _free_port(preferred: int | None) -> int:
    """Return the preferred port when it is free, or else any free one of our range."""
    candidates = random.sample(_PORTS, len(_PORTS))
    for port in candidates if preferred is None else [preferred, *candidates]:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port
    raise StackError(f"No free port in {_PORTS} on 127.0.0.1.")
