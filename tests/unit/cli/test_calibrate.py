"""`no-undo calibrate`: counts documents, claims what they carry, writes it down."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from no_undo.domain.extraction_schema import FREIGHT_INVOICE
from no_undo.domain.floors import parse_thresholds
from tests.fakes.extraction import cited
from tests.unit.cli.running import Ran, run
from tests.unit.cli.test_offline_commands import RIGHT, SCHEMA, WRONG, recording

TRUTH: dict[str, Any] = {"total_amount": 110.0, "tax_amount": 10.0}


def answer(data: dict[str, Any], *, mode: str = "understand", score: float = 0.95) -> str:
    output: dict[str, Any] = {"data": data, "metadata": cited(data, score), "pages": []}
    return json.dumps({"configuration": {"mode": mode}, "output": output})


def labelled(
    folder: Path, documents: int, *, wrong: int = 0, compared: bool = True, score: float = 0.95
) -> Path:
    """Fill a folder: each document is read twice, by another mode in the same way."""
    (folder / "schema.json").write_text(json.dumps(FREIGHT_INVOICE))
    for number in range(documents):
        read = {**TRUTH, "total_amount": 910.0} if number < wrong else TRUTH
        (folder / f"d{number}.truth.json").write_text(json.dumps(TRUTH))
        (folder / f"d{number}.response.json").write_text(answer(read, score=score))
        if compared:
            (folder / f"d{number}.compare.json").write_text(answer(read, mode="agentic"))
    return folder


def rows_in(path: Path) -> dict[str, Any]:
    return dict(parse_thresholds(json.loads(path.read_text())))


def test_enough_right_documents_carry_automatic_acceptance(tmp_path: Path) -> None:
    ran = run("calibrate", str(labelled(tmp_path, 60)))

    assert (ran.status, ran.said["supported"], ran.said["documents"]) == (0, True, 60)
    assert ran.said["sentence"] == "0 wrong of 60: true error rate could be up to 5 %"
    [row] = rows_in(tmp_path / "thresholds.json").values()
    assert row.calibrated(ran.said["fingerprint"])
    assert row.recognition == ran.said["recognition"] == 0.0
    assert [one["automatic_documents"] for one in ran.said["sequence"][:3]] == [0, 0, 60]


def test_sixteen_right_documents_do_not_and_the_bound_says_why(tmp_path: Path) -> None:
    ran = run("calibrate", str(labelled(tmp_path, 16)))

    assert (ran.status, ran.said["supported"]) == (1, False)
    assert ran.said["sentence"] == "0 wrong of 16: true error rate could be up to 17 %"
    assert ran.said["sequence"][0]["bound"] == pytest.approx(0.170750, abs=1e-6)
    assert len(ran.said["sequence"]) == 1
    [row] = rows_in(tmp_path / "thresholds.json").values()
    assert not row.calibrated(ran.said["fingerprint"])
    assert row.recognition == 0.99


def test_documents_are_counted_not_fields_and_not_answers(tmp_path: Path) -> None:
    labelled(tmp_path, 1)
    for number in range(99):
        (tmp_path / f"d0.again{number}.response.json").write_text(answer(TRUTH))

    ran = run("calibrate", str(tmp_path))

    assert (ran.status, ran.said["documents"]) == (1, 1)
    assert ran.said["sentence"] == "0 wrong of 1: true error rate could be up to 95 %"


def test_wrong_values_that_would_have_been_accepted_end_the_sequence(tmp_path: Path) -> None:
    """Both modes read ten documents alike and wrongly; floors over 0.95 keep them out."""
    ran = run("calibrate", str(labelled(tmp_path, 100, wrong=10)))

    assert [one["wrong_documents"] for one in ran.said["sequence"]] == [0, 0, 10]
    assert ran.said["recognition"] == 0.97
    # Nothing is accepted at that floor: true, and of no use.
    assert ran.status == 1


def test_without_witnesses_nothing_is_automatic_and_nothing_carried(tmp_path: Path) -> None:
    ran = run("calibrate", str(labelled(tmp_path, 60, compared=False)))

    assert ran.status == 1
    assert {one["automatic_documents"] for one in ran.said["sequence"]} == {0}


def without(pattern: str) -> Callable[[Path], None]:
    """Return what removes files of a folder."""

    def spoil(folder: Path) -> None:
        for path in folder.glob(pattern):
            path.unlink()

    return spoil


def of_another_mode(folder: Path) -> None:
    (folder / "d1.response.json").write_text(answer(TRUTH, mode="agentic"))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (without("*.truth.json"), "nothing is claimed"),
        (without("d0.response.json"), "has no d0.response.json"),
        (without("d0.truth.json"), "has no NAME.truth.json"),
        (without("schema.json"), "schema.json cannot be read"),
        (of_another_mode, "2 engines or modes"),
    ],
)
def test_labels_that_do_not_fit_are_refused_and_nothing_is_written(
    tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    spoil(labelled(tmp_path, 2))

    ran = run("calibrate", str(tmp_path))

    assert ran.status == 2
    assert message in ran.err
    assert not (tmp_path / "thresholds.json").exists()


@pytest.mark.parametrize("limit", ["0", "0.2", "1"])
def test_a_limit_that_limits_nothing_is_refused(tmp_path: Path, limit: str) -> None:
    ran = run("calibrate", str(labelled(tmp_path, 1)), "--error-limit", limit)

    assert (ran.status, (tmp_path / "thresholds.json").exists()) == (2, False)


def test_a_document_can_be_checked_against_its_labels(tmp_path: Path) -> None:
    folder, written = labelled(tmp_path, 60), tmp_path / "thresholds.json"
    run("calibrate", str(folder))
    forged = tmp_path / "forged.json"
    forged.write_text(written.read_text().replace('"documents": 60', '"documents": 600'))

    assert run("calibrate", str(folder), "--check", str(written)).status == 0
    assert run("calibrate", str(folder), "--check", str(forged)).status == 1
    (folder / "d0.truth.json").write_text(json.dumps({**TRUTH, "tax_amount": 11.0}))
    assert run("calibrate", str(folder), "--check", str(written)).status == 1


def test_rows_of_other_document_types_are_kept(tmp_path: Path) -> None:
    folder, output = labelled(tmp_path, 3), tmp_path / "all.json"

    run("calibrate", str(folder), "--output", str(output))
    run("calibrate", str(folder), "--output", str(output), "--document-type", "receipt")

    assert set(rows_in(output)) == {"invoice", "receipt"}


def test_the_recorded_page_is_one_document_however_often_it_was_read(tmp_path: Path) -> None:
    def copy(source: str, name: str) -> None:
        (tmp_path / name).write_bytes(Path(source).read_bytes())

    copy(str(SCHEMA), "schema.json")
    copy(str(SCHEMA.parent / "freight_invoice_truth.json"), "page.truth.json")
    copy(recording(WRONG), "page.response.json")
    copy(recording(RIGHT), "page.compare.json")

    ran = run("calibrate", str(tmp_path))

    assert (ran.status, ran.said["documents"]) == (1, 1)
    assert ran.said["sequence"][0]["wrong_documents"] == 0


def test_a_written_document_serves_the_route_command(tmp_path: Path) -> None:
    folder = labelled(tmp_path, 60)
    run("calibrate", str(folder))

    ran: Ran = run(
        "route",
        str(folder / "d0.response.json"),
        *("--schema", str(folder / "schema.json")),
        *("--compare", str(folder / "d0.compare.json")),
        *("--thresholds", str(folder / "thresholds.json")),
    )

    assert ran.said["calibrated"] is True
    routes = {one["path"]: one["route"] for one in ran.said["fields"]}
    assert routes["total_amount"] == routes["tax_amount"] == "auto"


def test_no_function_of_a_deployment_carries_scipy() -> None:
    layers = [path.read_text() for path in (SCHEMA.parents[2] / "layers").glob("*/requirements.*")]

    assert len(layers) >= 4
    assert not any("scipy" in text or "numpy" in text for text in layers)
