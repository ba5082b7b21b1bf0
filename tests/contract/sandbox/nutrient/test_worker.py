"""Work on untrusted files happens in children that may die without harm."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.redaction.traps import Draft, shown
from local.sandbox.nutrient.errors import UnprocessableError, UnsupportedFileError
from local.sandbox.nutrient.switches import HONEST
from local.sandbox.nutrient.worker import WorkerPool
from tests.contract.sandbox.nutrient.reading_back import invoice_pdf, pdfium_text


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    pool = WorkerPool(seconds=5.0)
    yield pool
    pool.close()


def job(pattern: str) -> dict[str, object]:
    return {
        "job": "redact",
        "targets": [{"strategy": "regex", "value": pattern}],
        "apply": True,
        "switches": HONEST.model_dump(mode="json"),
    }


def test_a_job_runs_in_a_child_and_its_bytes_come_back(pool: WorkerPool) -> None:
    _, result = pool.run(job("Handling"), invoice_pdf())

    assert "Handling" not in pdfium_text(result)


def test_a_refusal_in_the_child_is_the_same_refusal_here(pool: WorkerPool) -> None:
    with pytest.raises(UnsupportedFileError, match="cannot be opened"):
        pool.run(job("x"), b"not a pdf")


def test_a_child_that_does_not_finish_is_ended_and_the_next_job_runs(pool: WorkerPool) -> None:
    endless = Draft().finish(shown("a" * 60 + "!"))

    with pytest.raises(UnprocessableError):
        pool.run(job("(a+)+$"), endless)

    _, result = pool.run(job("Handling"), invoice_pdf())
    assert "Handling" not in pdfium_text(result)


def test_a_child_that_dies_is_replaced(pool: WorkerPool) -> None:
    with pytest.raises(UnprocessableError):
        pool.run({"job": "no such job"}, b"")

    _, result = pool.run(job("Handling"), invoice_pdf())
    assert "Handling" not in pdfium_text(result)
