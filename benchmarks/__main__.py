"""Measure, print a table, and write `benchmarks/results/<time>.json`: `python -m benchmarks`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.rows import Row
from benchmarks.suites import SUITES, Options

RESULTS = Path(__file__).resolve().parent / "results"
_PACKAGES = ("no-undo", "cryptography", "pikepdf", "pypdfium2", "pdfminer.six")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suites that were asked for; 1 when a row went past its limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=sorted(SUITES), help="this suite only")
    parser.add_argument("--full", action="store_true", help="also what takes minutes")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    for name in options.only or SUITES:
        for row in SUITES[name](Options(full=options.full)):
            rows.append(row)
            sys.stdout.write(line_of(row) + "\n")
            sys.stdout.flush()
    path = write_results(rows, options.results)
    sys.stdout.write(f"bench: {len(rows)} rows in {path}\n")
    return 1 if any(is_past_its_limit(row) for row in rows) else 0


def line_of(row: Row) -> str:
    """Return a row for a person."""
    compared = "" if row.ratio is None else f" / {row.reference:.3g} = {row.ratio:.2f}"
    aim = "" if row.aim is None else f" (aim {row.aim:g})"
    return f"{row.name:44} {row.ours:.3g}{compared} {row.unit}{aim}"


def is_past_its_limit(row: Row) -> bool:
    """Return whether a row's ratio, or its figure where it has none, is over its limit."""
    figure = row.ours if row.ratio is None else row.ratio
    return row.limit is not None and figure > row.limit


def write_results(rows: Sequence[Row], folder: Path) -> Path:
    """Write the results file and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    content = {
        "machine": machine(),
        "versions": versions(),
        "rows": [one.to_json() for one in rows],
    }
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return path


def machine() -> dict[str, Any]:
    """Return what the figures depend on."""
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def versions() -> dict[str, str]:
    """Return the interpreter and the packages that the rows depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()


if __name__ == "__main__":
    sys.exit(main())
