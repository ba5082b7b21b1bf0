"""No recording lies unused: a new one fails here until a test replays it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from tests.contract.replay import RECORDINGS, REPLAYED

# Importing a module registers what it replays, also when pytest runs this file alone.
for _path in sorted(Path(__file__).parent.glob("test_*.py")):
    if _path.name != Path(__file__).name:
        import_module(f"tests.contract.{_path.stem}")


def test_every_recording_in_the_folder_is_replayed_by_some_test() -> None:
    if not RECORDINGS.is_dir():
        pytest.skip("no recordings: set NO_UNDO_SHARED to the shared vendor data")
    present = {path.name for path in RECORDINGS.iterdir() if path.suffix in {".json", ".txt"}}

    assert present
    assert present - REPLAYED == set()


def test_no_test_replays_a_recording_that_does_not_exist() -> None:
    if not RECORDINGS.is_dir():
        pytest.skip("no recordings: set NO_UNDO_SHARED to the shared vendor data")

    assert {name for name in REPLAYED if not (RECORDINGS / name).is_file()} == set()
