"""Background processes are found again, ended, and never confused with others."""

import dataclasses
import sys
from pathlib import Path

from local.stack import processes
from tests.e2e.emulator.conftest import until

_SLEEPER = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]
_STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)",
]


def start(folder: Path, command: list[str]) -> processes.ProcessRecord:
    return processes.start("sleeper", command, log=folder / "sleeper.log", folder=folder)


def test_a_started_process_runs_and_writes_its_log(tmp_path: Path) -> None:
    record = start(tmp_path, _SLEEPER)

    until(lambda: processes.log_tail(Path(record.log)) == "up" or None)
    alive = processes.is_alive(record)
    processes.stop(record)

    assert alive
    assert not processes.is_alive(record)


def test_stopping_twice_is_harmless(tmp_path: Path) -> None:
    record = start(tmp_path, _SLEEPER)

    processes.stop(record)
    processes.stop(record)

    assert not processes.is_alive(record)


def test_a_killed_process_is_not_alive(tmp_path: Path) -> None:
    record = start(tmp_path, _STUBBORN)

    processes.kill(record)

    assert not processes.is_alive(record)


def test_a_note_about_another_process_with_the_same_id_ends_nothing(tmp_path: Path) -> None:
    record = start(tmp_path, _SLEEPER)
    stale = dataclasses.replace(record, started="1")

    processes.stop(stale)
    survived = processes.is_alive(record)
    processes.stop(record)

    assert not processes.is_alive(stale)
    assert survived
