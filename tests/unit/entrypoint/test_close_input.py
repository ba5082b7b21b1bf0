"""How the state machine's data becomes an ending: the right code, and a reason only of our own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from no_undo.domain import errors
from no_undo.entrypoint.inputs import CloseInput, reason_of
from no_undo.use_cases.close_request import Closing


def an_input(outcome: str, *, code: str = "", **more: object) -> CloseInput:
    ending = {"outcome": outcome, "stage": "Verify Redaction", **({"code": code} if code else {})}
    return CloseInput.model_validate({"requestId": "r1", "ending": ending, **more})


def an_error(name: str, message: str = "One value survived.") -> dict[str, Any]:
    cause = json.dumps({"errorType": name, "errorMessage": message, "stackTrace": ["secret"]})
    return {"Error": name, "Cause": cause}


def test_a_stage_that_failed_ends_with_its_code_and_its_sentence() -> None:
    closing = an_input("failed", error=an_error("RedactionUnprovenError")).closing()

    assert closing == Closing(
        outcome="failed",
        stage="Verify Redaction",
        code="redaction_unproven",
        reason="One value survived.",
    )


@pytest.mark.parametrize("name", ["UnexpectedError", "Runtime.ExitError", "ValueError"])
def test_the_text_of_an_error_that_is_not_ours_is_not_kept(name: str) -> None:
    closing = an_input("failed", error=an_error(name)).closing()

    assert (closing.code, closing.reason) == (name, "")


def test_a_timeout_has_a_name_and_no_sentence() -> None:
    closing = an_input("failed", error={"Error": "States.Timeout"}).closing()

    assert (closing.code, closing.reason) == ("States.Timeout", "")


def test_a_refusal_by_a_rule_is_not_explained_by_an_older_error() -> None:
    """A send that failed, was settled and began again leaves its error in the input."""
    older = an_error("InDoubtError", "no usable answer")

    closing = an_input("failed", code="quorum_not_met", error=older).closing()

    assert (closing.code, closing.reason) == ("quorum_not_met", "")


@pytest.mark.parametrize("outcome", ["completed", "rejected", "expired", "withdrawn", "declined"])
def test_an_ending_that_is_no_failure_forgets_older_errors(outcome: str) -> None:
    closing = an_input(outcome, error=an_error("TransientError")).closing()

    assert (closing.code, closing.reason) == ("", "")


def test_an_archive_that_failed_says_why() -> None:
    closing = an_input("not_archived", error=an_error("TamperedError", "It differs.")).closing()

    assert (closing.code, closing.reason) == ("tampered", "It differs.")


@pytest.mark.parametrize("kind", [errors.NothingSentError, errors.VendorRefusedError])
def test_every_error_of_ours_is_known_by_its_code_however_deep_it_stands(
    kind: type[errors.NoUndoError],
) -> None:
    assert an_input("failed", error=an_error(kind.__name__)).closing().code == kind.code


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (json.dumps({"errorMessage": "x" * 600}), "x" * 500),
        (json.dumps({"errorType": "Error"}), ""),
        (json.dumps(["not", "an", "object"]), ""),
        (json.dumps({"errorMessage": 5}), ""),
        ("no JSON at all", ""),
        ("", ""),
    ],
)
def test_a_reason_is_a_short_sentence_or_nothing(cause: str, reason: str) -> None:
    assert reason_of(cause) == reason


def test_data_of_earlier_and_later_versions_of_the_definition_is_read() -> None:
    found = an_input("completed", answer={"outcome": "signed"}, sent={"planId": "r1#1"}, new=1)

    assert found.request_id == "r1"
    assert found.closing().outcome == "completed"
