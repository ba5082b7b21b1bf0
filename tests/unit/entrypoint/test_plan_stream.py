"""Which plans Resume Execution looks at, and which of them are delivered again."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from no_undo.domain.errors import InDoubtError, TransientError
from no_undo.entrypoint.plan_stream import PlanChange, failures_answer, plan_changes
from tests.unit.entrypoint.logs import logged


def a_record(plan_id: str, position: str) -> dict[str, Any]:
    keys = {"plan_id": {"S": plan_id}}
    return {"eventName": "MODIFY", "dynamodb": {"Keys": keys, "SequenceNumber": position}}


def test_a_plan_that_changed_often_is_looked_at_once_from_its_newest_place() -> None:
    records = [a_record("r1#1", "10"), a_record("r2#1", "11"), a_record("r1#1", "12")]

    found = plan_changes({"Records": records})

    assert found == (PlanChange("r1#1", "12"), PlanChange("r2#1", "11"))


def test_an_empty_batch_names_no_plan() -> None:
    assert plan_changes({"Records": []}) == ()


def test_a_direct_call_names_its_plans() -> None:
    assert plan_changes({"planIds": ["r1#1", "r2#1"]}) == (
        PlanChange("r1#1", ""),
        PlanChange("r2#1", ""),
    )


@pytest.mark.parametrize(
    "event",
    [{}, {"planIds": "r1#1"}, {"planIds": ["r1#1"], "token": "x"}, {"planIds": ["x"] * 101}],
)
def test_a_direct_call_of_another_shape_is_refused(event: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        plan_changes(event)


def test_only_the_plans_that_failed_are_delivered_again() -> None:
    changes = (PlanChange("r1#1", "10"), PlanChange("r2#1", "11"), PlanChange("r3#1", "12"))
    looked: list[str] = []

    def look(plan_id: str) -> None:
        looked.append(plan_id)
        if plan_id == "r2#1":
            raise TransientError("throttled")

    answer = failures_answer(changes, look)

    assert looked == ["r1#1", "r2#1", "r3#1"]
    assert answer == {"batchItemFailures": [{"itemIdentifier": "11"}]}


def test_a_batch_without_failures_says_so() -> None:
    answer = failures_answer((PlanChange("r1#1", "10"),), lambda _plan_id: None)

    assert answer == {"batchItemFailures": []}


def test_whoever_asked_directly_hears_of_the_failure() -> None:
    def look(_plan_id: str) -> None:
        raise InDoubtError("the answer was lost")

    with pytest.raises(InDoubtError):
        failures_answer((PlanChange("r1#1", ""),), look)


def test_an_error_nobody_planned_for_is_not_taken_for_a_failed_plan() -> None:
    """It fails the whole batch: repeating one record would not mend it."""

    def look(_plan_id: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failures_answer((PlanChange("r1#1", "10"),), look)


def test_the_log_names_plan_and_code_of_a_failure() -> None:
    def look(_plan_id: str) -> None:
        raise TransientError("throttled")

    with logged() as lines:
        failures_answer((PlanChange("r1#1", "10"),), look)

    assert "r1#1" in lines.getvalue()
    assert TransientError.code in lines.getvalue()
