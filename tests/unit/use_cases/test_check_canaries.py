"""Check Canaries: any change of a known answer withdraws automatic acceptance, and says so."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from no_undo.domain.audit_chain import Provenance
from no_undo.domain.calibration import Calibration
from no_undo.domain.canary import (
    Canary,
    Expectation,
    changes_of,
    parse_expectation,
    parse_withdrawal,
)
from no_undo.domain.errors import (
    InvalidRequestError,
    TransientError,
    VendorContractError,
    VendorRefusedError,
)
from no_undo.domain.extraction_schema import FREIGHT_INVOICE
from no_undo.domain.field_routing import extracted_fields
from no_undo.domain.floors import FLOORS
from no_undo.lab.fixed_clock import EPOCH, FixedClock
from no_undo.lab.memory_store import MemoryStateStore
from no_undo.use_cases.check_canaries import CanaryCheck, check_canaries
from no_undo.use_cases.settle_plan import OPERATIONS_CHAIN
from tests.fakes.extraction import (
    FINGERPRINT,
    FixedFloors,
    MemoryCanaries,
    ScriptedExtraction,
    cited,
)

READ: dict[str, Any] = {
    "payer_name": "Lindstrom Transport LLC",
    "total_amount": 86.86,
    "line_items": [{"description": "Parcel 1", "quantity": 2}],
}
EVIDENCE = Calibration(FINGERPRINT, date(2026, 2, 1), 60, 0, "e" * 64)


def expected(data: dict[str, Any] = READ, score: float = 0.95) -> Expectation:
    fields = extracted_fields(data, cited(data, score), FREIGHT_INVOICE)
    return Expectation.of(fields, mode="understand", fingerprint=FINGERPRINT)


CANARY = Canary("invoice", "page", b"%PDF-1.7", expected())


def checking(
    vendor: ScriptedExtraction | None, canaries: MemoryCanaries | None = None
) -> CanaryCheck:
    return CanaryCheck(
        vendor,
        canaries or MemoryCanaries((CANARY,)),
        FixedFloors({"invoice": replace(FLOORS["invoice"], calibration=EVIDENCE)}),
        MemoryStateStore(Provenance("test", "test")),
        FixedClock(),
    )


def answering(**changes: Any) -> ScriptedExtraction:  # noqa: ANN401 - of the stand-in
    return ScriptedExtraction({"understand": READ}, **changes)


def test_the_same_answer_is_no_drift() -> None:
    check = checking(answering())

    assert check_canaries(check) == {"checked": 1, "drifted": 0, "failed": 0}
    assert check.canaries.withdrawal("invoice") is None
    assert check.store.chain(OPERATIONS_CHAIN) == ()


@pytest.mark.parametrize(
    ("vendor", "change"),
    [
        (answering(fingerprint=f"{FINGERPRINT}+null-for-not-found"), "page: fingerprint"),
        (answering(fingerprint=FINGERPRINT.replace("stable", "next")), "page: fingerprint"),
        (answering(score=0.9500001), "page: score of total_amount"),
        (
            ScriptedExtraction({"understand": {**READ, "total_amount": 86.26}}),
            "page: value of total_amount",
        ),
        (
            ScriptedExtraction({"understand": {**READ, "total_amount": "86.86"}}),
            "page: value of total_amount",
        ),
        (
            ScriptedExtraction({"understand": {**READ, "total_amount": None}}),
            "page: label of total_amount",
        ),
        (
            ScriptedExtraction({"understand": {**READ, "line_items": []}}),
            "page: presence of line_items[0].quantity",
        ),
        (
            answering(fails={"extract understand": VendorContractError("no output")}),
            "page: shape of the answer",
        ),
    ],
)
def test_any_change_withdraws_automatic_acceptance_and_is_audited_by_name(
    vendor: ScriptedExtraction, change: str
) -> None:
    check = checking(vendor)

    assert check_canaries(check) == {"checked": 1, "drifted": 1, "failed": 0}

    found = check.canaries.withdrawal("invoice")
    assert found is not None
    assert (found.evidence, found.found_at) == (EVIDENCE.evidence, EPOCH)
    assert change in found.changes
    [record] = check.store.chain(OPERATIONS_CHAIN)
    assert '"kind":"extraction.drifted"' in record.line
    assert "Lindstrom" not in record.line
    assert "86" not in record.line.replace(record.hash, "").split('"changes"')[1].split("]")[0]


@pytest.mark.parametrize("error", [TransientError("late"), VendorRefusedError("no credits")])
def test_no_answer_proves_nothing_either_way(error: Exception) -> None:
    check = checking(answering(fails={"extract understand": error}))

    assert check_canaries(check) == {"checked": 0, "drifted": 0, "failed": 1}
    assert check.canaries.withdrawal("invoice") is None


def test_one_canary_without_an_answer_does_not_keep_the_others_from_singing() -> None:
    odd = replace(CANARY, document_type="receipt", name="odd")
    drifted = replace(CANARY, expected=expected(score=0.5))
    check = checking(answering(), MemoryCanaries((odd, drifted)))

    assert check_canaries(check) == {"checked": 1, "drifted": 1, "failed": 1}


def test_a_second_run_records_nothing_new_and_keeps_the_first_day() -> None:
    check = checking(answering(score=0.5))
    check_canaries(check)
    later = replace(check, clock=FixedClock(EPOCH.replace(day=20)))

    check_canaries(later)

    found = check.canaries.withdrawal("invoice")
    assert found is not None
    assert found.found_at == EPOCH
    assert len(check.store.chain(OPERATIONS_CHAIN)) == 1


def test_drift_after_a_new_calibration_is_found_anew() -> None:
    check = checking(answering(score=0.5))
    check_canaries(check)
    renewed = replace(EVIDENCE, evidence="f" * 64)
    floors = FixedFloors({"invoice": replace(FLOORS["invoice"], calibration=renewed)})

    check_canaries(replace(check, floors=floors))

    found = check.canaries.withdrawal("invoice")
    assert found is not None
    assert found.evidence == renewed.evidence
    assert len(check.store.chain(OPERATIONS_CHAIN)) == 2


def test_without_an_account_no_canary_is_read() -> None:
    assert check_canaries(checking(None)) == {"checked": 0, "drifted": 0, "failed": 0}


def test_many_changes_are_counted_not_listed() -> None:
    rows = {"line_items": [{"description": str(n), "quantity": n} for n in range(20)]}

    changes = changes_of(replace(CANARY, expected=expected(rows)), expected(score=0.1))

    assert len(changes) == 21
    assert changes[-1].startswith("page: ")
    assert changes[-1].endswith(" more")


def test_an_expectation_and_a_withdrawal_read_back_as_they_were_written() -> None:
    check = checking(answering(score=0.5))
    check_canaries(check)
    found = check.canaries.withdrawal("invoice")

    assert parse_expectation(expected().as_json()) == expected()
    assert found is not None
    assert parse_withdrawal(found.as_json()) == found
    without_evidence = replace(found, evidence="")
    assert parse_withdrawal(without_evidence.as_json()) == without_evidence


@pytest.mark.parametrize(
    "spoilt",
    [
        None,
        {},
        {**expected().as_json(), "fields": {}},
        {**expected().as_json(), "fingerprint": 7},
        {**expected().as_json(), "more": 1},
        {**expected().as_json(), "fields": {"a": {"value": [], "label": "x", "scores": []}}},
        {**expected().as_json(), "fields": {"a": {"value": 1, "label": 2, "scores": [1, 1, 1]}}},
        {**expected().as_json(), "fields": {"a": {"value": 1, "label": "x", "scores": [1, 1]}}},
        {**expected().as_json(), "fields": {"a": {"value": 1, "label": "x", "scores": ["", 1, 1]}}},
    ],
)
def test_an_expectation_of_another_shape_is_refused(spoilt: object) -> None:
    with pytest.raises(InvalidRequestError):
        parse_expectation(spoilt)
