"""What `make bench` writes has the agreed shape, and a row past its limit is an exit status."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import __main__ as bench
from benchmarks import suites
from benchmarks.rows import Row, cpu_seconds, seconds


def run(rows: list[Row], folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    def suite(_options: suites.Options) -> Iterator[Row]:
        yield from rows

    monkeypatch.setitem(suites.SUITES, "audit", suite)
    return bench.main(["--only", "audit", "--results", str(folder)])


def test_the_results_name_machine_versions_and_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [Row("a", 5.0, 2.0, "us", aim=2.0, limit=3.0, note="n"), Row("b", 1.0, None, "MiB")]

    assert run(rows, tmp_path, monkeypatch) == 0

    [written] = tmp_path.glob("*.json")
    results = json.loads(written.read_text())
    assert set(results) == {"machine", "versions", "rows"}
    assert results["versions"]["python"]
    assert results["rows"][0] == {
        "name": "a",
        "ours": 5.0,
        "reference": 2.0,
        "limit": 3.0,
        "ratio": 2.5,
        "aim": 2.0,
        "unit": "us",
        "note": "n",
    }
    assert results["rows"][1]["ratio"] is None


@pytest.mark.parametrize(
    "row", [Row("a", 7.0, 2.0, "us", limit=3.0), Row("a", 4.0, None, "us", limit=3.0)]
)
def test_a_row_past_its_limit_fails(
    row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run([row], tmp_path, monkeypatch) == 1


def test_a_time_is_the_shortest_of_several_runs() -> None:
    runs: list[int] = []

    assert seconds(lambda: runs.append(1), repeats=3) >= 0
    assert cpu_seconds(lambda: runs.append(1), repeats=2) >= 0
    assert len(runs) == 5
