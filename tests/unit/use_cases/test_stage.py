"""A stage's result is stored once, by the run that the request still waits for (P7)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from no_undo.domain.audit_chain import AuditEvent, Provenance
from no_undo.domain.documents import DocumentRef
from no_undo.domain.request import Request, Source, Stage
from no_undo.lab.fixed_clock import FixedClock
from no_undo.lab.memory_documents import MemoryDocumentStore
from no_undo.lab.memory_store import MemoryStateStore
from no_undo.ports import Change, Save
from no_undo.use_cases.stage import Stages, commit, with_artefact

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
FIRST = DocumentRef("k", "1", "1" * 64)
SLOW = DocumentRef("k", "2", "2" * 64)


def stages_with(stage: Stage) -> Stages:
    """Store a request that has come to a stage with an assembled document."""
    store = MemoryStateStore(Provenance("test", "test"))
    request = Request(
        request_id="r1",
        tenant="t",
        caller="caller",
        caller_email="",
        prompt="send it",
        source=Source.UPLOAD,
        source_document=FIRST,
        created_at=NOW,
        stage=stage,
        artefacts={"assembled": FIRST},
    )
    store.commit(Change("r1", AuditEvent("request.submitted", "test", NOW), (Save(request),)))
    return Stages(store, MemoryDocumentStore(), FixedClock(NOW))


def store_assembled(stages: Stages) -> Request:
    """Commit what a run of Assemble Document made."""
    return commit(
        "r1",
        stages,
        lambda now: replace(with_artefact(now, "assembled", SLOW), stage=Stage.REDACT),
        "assemble_document",
        "document.assembled",
        {},
        expected=Stage.ASSEMBLE,
    )


def test_p7_a_slow_run_does_not_replace_what_later_stages_already_work_with() -> None:
    stages = stages_with(Stage.DRAFT)

    kept = store_assembled(stages)

    assert kept.artefacts["assembled"] == FIRST
    assert stages.store.request("r1") == kept
    assert len(stages.store.chain("r1")) == 1


def test_the_run_that_the_request_waits_for_stores_its_result() -> None:
    stages = stages_with(Stage.ASSEMBLE)

    stored = store_assembled(stages)

    assert (stored.artefacts["assembled"], stored.stage) == (SLOW, Stage.REDACT)
    assert stages.store.request("r1") == stored
