"""Extract Fields: every answer is kept, second readings are bought where needed, all is routed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from no_undo.domain.audit_chain import AuditEvent, Provenance
from no_undo.domain.calibration import Calibration
from no_undo.domain.canary import Withdrawal
from no_undo.domain.errors import TransientError, VendorRefusedError
from no_undo.domain.floors import FLOORS
from no_undo.domain.request import Request, Source, Stage
from no_undo.lab.fixed_clock import FixedClock
from no_undo.lab.memory_documents import MemoryDocumentStore
from no_undo.lab.memory_store import MemoryStateStore
from no_undo.lab.paper import PaperInspector
from no_undo.ports import Change, Save, VisibleText
from no_undo.use_cases.extract_fields import (
    HIDDEN_TEXT,
    NO_SECOND_READING,
    Extraction,
    extract_fields,
)
from no_undo.use_cases.stage import Stages, get_json
from tests.fakes.extraction import FINGERPRINT, FixedFloors, MemoryCanaries, ScriptedExtraction

NO_EVIDENCE = "No documents were compared with the truth, so no field is accepted automatically."
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
PAGE = "Payer: Lindstrom Transport LLC\nTax (10%) $10.00\nSubtotal $100.00\nTotal due $110.00"
READ: dict[str, Any] = {
    "payer_name": "Lindstrom Transport LLC",
    "tax_amount": 10.0,
    "total_amount": 110.0,
}
UNSURE: dict[str, Any] = {**READ, "vendor_name": "Kingston Haulage"}


class Reader(PaperInspector):
    """Sees a page of text, with hidden words or without."""

    def __init__(self, text: str = PAGE, *, complete: bool = False, hidden: int = 0) -> None:
        self.seen = VisibleText((text,), complete=complete, hidden_words=hidden)

    def visible_text(self, document: bytes) -> VisibleText:  # noqa: ARG002
        """Return what was set."""
        return self.seen


def stages_at(stage: Stage = Stage.EXTRACT) -> Stages:
    """Store a request with an uploaded document that has come to a stage."""
    store, documents = MemoryStateStore(Provenance("test", "test")), MemoryDocumentStore()
    request = Request(
        request_id="r1",
        tenant="t",
        caller="caller",
        caller_email="",
        prompt="send it",
        source=Source.UPLOAD,
        source_document=documents.put("source.pdf", b"%PDF-1.7", "application/pdf"),
        created_at=NOW,
        stage=stage,
        notes=("an earlier note",),
    )
    store.commit(Change("r1", AuditEvent("request.submitted", "test", NOW), (Save(request),)))
    return Stages(store, documents, FixedClock(NOW))


def using(
    vendor: ScriptedExtraction | None,
    reader: Reader | None = None,
    *,
    floors: FixedFloors | None = None,
    canaries: MemoryCanaries | None = None,
    second_readings: bool = True,
) -> Extraction:
    return Extraction(
        vendor,
        reader or Reader(),
        floors or FixedFloors(),
        canaries or MemoryCanaries(),
        second_readings=second_readings,
    )


def stored(stages: Stages) -> Request:
    request = stages.store.request("r1")
    assert request is not None
    return request


def fields_of(stages: Stages) -> dict[str, dict[str, Any]]:
    body = get_json(stages.documents, stored(stages).artefacts["fields"])
    return {one["path"]: one for one in body["fields"]}


def says(field: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["says"] for one in field["witnesses"]}


def test_every_answer_is_stored_with_its_fingerprint_and_audited() -> None:
    stages, vendor = stages_at(), ScriptedExtraction({"understand": UNSURE, "agentic": UNSURE})

    extract_fields("r1", stages, using(vendor))

    artefacts = stored(stages).artefacts
    assert vendor.asked == ["extract understand", "parse understand", "extract agentic"]
    assert set(artefacts) == {
        "extraction-understand",
        "words-understand",
        "extraction-agentic",
        "fields",
    }
    for name in ("extraction-understand", "extraction-agentic"):
        answer = get_json(stages.documents, artefacts[name])
        assert answer["fingerprint"] == FINGERPRINT
        assert answer["body"]["output"]["data"] == UNSURE
    lines = [record.line for record in stages.store.chain("r1")]
    assert sum('"kind":"extraction.answered"' in line for line in lines) == 3
    assert not any("Lindstrom" in line or "Kingston" in line for line in lines)


def test_second_readings_are_not_bought_where_the_page_itself_speaks_about_every_value() -> None:
    stages, vendor = stages_at(), ScriptedExtraction({"understand": READ})

    extract_fields("r1", stages, using(vendor))

    assert vendor.asked == ["extract understand"]
    assert stored(stages).stage is Stage.ASSEMBLE


def test_second_readings_are_never_bought_where_the_deployment_says_so() -> None:
    stages, vendor = stages_at(), ScriptedExtraction({"understand": UNSURE})

    extract_fields(
        "r1",
        stages,
        using(vendor, second_readings=False),
    )

    assert vendor.asked == ["extract understand"]
    assert NO_SECOND_READING not in stored(stages).notes


def test_a_second_reading_that_differs_is_a_dispute() -> None:
    other = {**UNSURE, "vendor_name": "Kingston Haulage Ltd"}
    stages, vendor = stages_at(), ScriptedExtraction({"understand": UNSURE, "agentic": other})

    extract_fields("r1", stages, using(vendor))

    vendor_name = fields_of(stages)["vendor_name"]
    assert says(vendor_name)["second reading"] == "disagrees"
    assert (vendor_name["route"], vendor_name["disputed"]) == ("human", True)
    assert fields_of(stages)["payer_name"]["disputed"] is False


@pytest.mark.parametrize("error", [TransientError("late"), VendorRefusedError("out of credits")])
def test_a_second_reading_that_cannot_be_had_does_not_stop_the_run(error: Exception) -> None:
    stages = stages_at()
    vendor = ScriptedExtraction(
        {"understand": UNSURE}, fails={"parse understand": error, "extract agentic": error}
    )

    extract_fields("r1", stages, using(vendor))

    assert stored(stages).notes == ("an earlier note", NO_SECOND_READING, NO_EVIDENCE)
    assert fields_of(stages)["vendor_name"]["route"] == "human"


def test_a_repeated_run_pays_for_no_answer_twice() -> None:
    stages = stages_at()
    vendor = ScriptedExtraction({"understand": UNSURE, "agentic": UNSURE})
    late = TransientError("no answer this time")
    first = ScriptedExtraction(vendor.data, fails={"extract understand": late})

    with pytest.raises(TransientError):
        extract_fields("r1", stages, using(first))
    extract_fields("r1", stages, using(vendor))
    request = replace(stored(stages), stage=Stage.EXTRACT)
    stages.store.commit(Change("r1", AuditEvent("test", "test", NOW), (Save(request),)))
    extract_fields("r1", stages, using(vendor))

    assert vendor.asked == ["extract understand", "parse understand", "extract agentic"]


def test_a_run_that_comes_late_stores_nothing() -> None:
    stages, vendor = stages_at(Stage.ASSEMBLE), ScriptedExtraction({"understand": READ})

    extract_fields("r1", stages, using(vendor))

    assert vendor.asked == []
    assert len(stages.store.chain("r1")) == 1


def test_without_an_account_the_run_goes_on_and_reads_nothing() -> None:
    stages = stages_at()

    extract_fields("r1", stages, using(None))

    assert stored(stages).stage is Stage.ASSEMBLE
    assert stored(stages).artefacts == {}


def test_hidden_text_is_told_on_the_card() -> None:
    stages, vendor = stages_at(), ScriptedExtraction({"understand": READ})

    extract_fields("r1", stages, using(vendor, Reader(hidden=3)))

    assert stored(stages).notes == ("an earlier note", HIDDEN_TEXT, NO_EVIDENCE)


def test_nothing_is_automatic_while_nobody_has_compared_documents_with_the_truth() -> None:
    stages, vendor = stages_at(), ScriptedExtraction({"understand": READ})

    extract_fields("r1", stages, using(vendor, Reader(complete=True)))

    assert {one["route"] for one in fields_of(stages).values()} == {"human"}


def with_evidence(documents: int, fingerprint: str = FINGERPRINT) -> FixedFloors:
    """Return floors with so many labelled documents, none of them wrong."""
    evidence = Calibration(fingerprint, date(2026, 3, 1), documents, 0, "first")
    return FixedFloors({"invoice": replace(FLOORS["invoice"], calibration=evidence)})


def test_enough_evidence_about_this_engine_makes_confirmed_values_automatic() -> None:
    stages, vendor = stages_at(), ScriptedExtraction({"understand": READ})

    extract_fields("r1", stages, using(vendor, floors=with_evidence(60)))

    assert {path for path, one in fields_of(stages).items() if one["route"] == "auto"} == set(READ)
    assert stored(stages).notes[-1] == (
        "Compared with the truth on 2026-03-01: 0 wrong of 60: true error rate could be up to 5 %; "
        "up to 5 % is accepted."
    )


def test_too_little_evidence_prints_its_bound_and_accepts_nothing() -> None:
    stages, vendor = stages_at(), ScriptedExtraction({"understand": READ})

    extract_fields("r1", stages, using(vendor, floors=with_evidence(16)))

    assert {one["route"] for one in fields_of(stages).values()} == {"human"}
    assert "0 wrong of 16: true error rate could be up to 17 %" in stored(stages).notes[-1]


def test_evidence_about_another_engine_accepts_nothing_and_says_so() -> None:
    drifted = FINGERPRINT.replace("traits=none", "traits=null-for-not-found")
    stages, vendor = stages_at(), ScriptedExtraction({"understand": READ}, fingerprint=drifted)

    extract_fields("r1", stages, using(vendor, floors=with_evidence(60)))

    assert {one["route"] for one in fields_of(stages).values()} == {"human"}
    assert "not the one that was compared with the truth" in stored(stages).notes[-1]


def withdrawn(evidence: str) -> MemoryCanaries:
    """Return canaries that have withdrawn some evidence."""
    return MemoryCanaries(
        withdrawn={"invoice": Withdrawal("invoice", evidence, NOW, ("page: fingerprint",))}
    )


def test_drift_takes_automatic_acceptance_away_and_shows_on_the_card() -> None:
    stages, vendor = stages_at(), ScriptedExtraction({"understand": READ})

    extract_fields(
        "r1", stages, using(vendor, floors=with_evidence(60), canaries=withdrawn("first"))
    )

    assert {one["route"] for one in fields_of(stages).values()} == {"human"}
    assert stored(stages).notes[-1] == (
        "The extraction engine answers differently than when it was compared with the truth "
        "(found on 2026-03-02), so no field is accepted automatically."
    )
    body = get_json(stages.documents, stored(stages).artefacts["fields"])
    assert (body["calibrated"], body["drift"]["changes"]) == (False, ["page: fingerprint"])


def test_a_new_calibration_ends_a_withdrawal() -> None:
    stages, vendor = stages_at(), ScriptedExtraction({"understand": READ})

    extract_fields(
        "r1", stages, using(vendor, floors=with_evidence(60), canaries=withdrawn("earlier"))
    )

    assert "auto" in {one["route"] for one in fields_of(stages).values()}


def test_the_stored_field_keeps_value_type_page_and_place() -> None:
    stages, vendor = stages_at(), ScriptedExtraction({"understand": READ})

    extract_fields("r1", stages, using(vendor))

    total = fields_of(stages)["total_amount"]
    assert (total["value"], total["typed"], total["label"]) == ("110.0", 110.0, "Total amount")
    assert total["page"] == 1
    assert total["place"] == pytest.approx({"x": 36, "y": 72, "width": 18, "height": 3.6})
    missing = fields_of(stages)["invoice_number"]
    assert (missing["value"], missing["page"], missing["place"]) == (None, None, None)
