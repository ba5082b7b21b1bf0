"""The definition keeps the rules it was written by (design of the state machine)."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest

from no_undo.domain import errors
from no_undo.domain.waiting import BEGIN_AGAIN, WaitKind
from tests.statemachine.definition import (
    PATH,
    Json,
    definition,
    errors_named,
    function_of,
    next_states,
    states,
    tasks,
    text,
)

WAITS = {
    "Request Approval": "RequestApprovalFunctionArn",
    "Await Settlement": "AwaitSettlementFunctionArn",
    "Await Signature": "AwaitSignatureFunctionArn",
}
IRREVERSIBLE = "Send Envelope"
LONGEST_WAIT = 300 * 24 * 3600

# How Step Functions names what went wrong with a call of a function, as documented in "Handle
# Lambda service exceptions" and "Handling errors in Step Functions workflows", read 2026-03.
SERVICE_ERRORS = {
    "Lambda.ClientExecutionTimeoutException",
    "Lambda.ServiceException",
    "Lambda.AWSLambdaException",
    "Lambda.SdkClientException",
    "Lambda.TooManyRequestsException",
    "Lambda.Unknown",
    "Runtime.ExitError",
    "Sandbox.Timedout",
}
STATES_ERRORS = {"States.ALL", "States.TaskFailed", "States.Timeout", "States.HeartbeatTimeout"}


def every_error() -> dict[str, type[errors.NoUndoError]]:
    """Return our errors by the name under which the state machine sees them."""
    found: list[type[errors.NoUndoError]] = [errors.NoUndoError]
    for one in found:
        found.extend(one.__subclasses__())
    return {one.__name__: one for one in found if one.__module__ == errors.__name__}


REPEATABLE = {
    name
    for name, kind in every_error().items()
    if issubclass(kind, (errors.TransientError, errors.StaleError, errors.InDoubtError))
}
"""Ours after which a step that can be undone is repeated: nothing happened, or looking tells.

In doubt belongs to them outside the send alone: such a step finds what an earlier call left.
"""


def retried() -> dict[str, Json]:
    """Return the Tasks that call a function and may be repeated."""
    return {name: one for name, one in tasks().items() if function_of(one) and "Retry" in one}


def test_every_state_can_be_reached() -> None:
    reached = [definition()["StartAt"]]
    for name in reached:
        reached.extend(one for one in next_states(states()[name]) if one not in reached)

    assert set(reached) == set(states())


def test_every_next_state_exists() -> None:
    for name, state in states().items():
        assert set(next_states(state)) <= set(states()), name


def test_every_state_goes_on_or_ends() -> None:
    for name, state in states().items():
        assert list(next_states(state)) or state["Type"] in ("Succeed", "Fail"), name


@pytest.mark.parametrize("name", states())
def test_a_state_is_named_by_a_verb_and_says_what_it_does(name: str) -> None:
    assert re.fullmatch(r"[A-Z][a-z]+( [A-Z][a-z]+)*", name)
    assert states()[name]["Comment"].endswith(".")


@pytest.mark.parametrize("name", tasks())
def test_a_task_has_a_literal_timeout_and_catches_everything_at_last(name: str) -> None:
    task = tasks()[name]

    assert isinstance(task["TimeoutSeconds"], int)
    assert not {key for key in task if key.endswith("SecondsPath")}
    assert errors_named({"Catch": task["Catch"][-1:]}, "Catch") == ["States.ALL"]
    assert errors_named({"Catch": task["Catch"][:-1]}, "Catch").count("States.ALL") == 0


def test_the_irreversible_call_is_never_repeated_by_the_machine() -> None:
    send = states()[IRREVERSIBLE]

    assert "Retry" not in send
    assert {one["Next"] for one in send["Catch"]} == {"Await Settlement"}
    assert "heartbeat" not in str(send).lower()


def test_the_irreversible_call_is_entered_by_an_approval_or_a_settlement_only() -> None:
    before = {name for name, state in states().items() if IRREVERSIBLE in next_states(state)}

    assert before == {"Act On Approval", "Act On Settlement"}
    for name, outcome in (("Act On Approval", "approved"), ("Act On Settlement", BEGIN_AGAIN)):
        [rule] = [one for one in states()[name]["Choices"] if one["Next"] == IRREVERSIBLE]
        assert (rule["Variable"], rule["StringEquals"]) == ("$.answer.outcome", outcome)
        assert states()[name]["Default"] != IRREVERSIBLE


def test_everything_after_the_send_but_executed_and_refused_is_settled_first() -> None:
    act = states()["Act On Send"]

    assert {one["StringEquals"]: one["Next"] for one in act["Choices"]} == {
        "executed": "Await Signature",
        "refused": "Note Refusal",
    }
    assert act["Default"] == "Await Settlement"


@pytest.mark.parametrize("name", tasks())
def test_only_errors_that_exist_are_named(name: str) -> None:
    known = set(every_error()) | SERVICE_ERRORS | STATES_ERRORS

    assert set(errors_named(tasks()[name], "Retry")) <= known
    assert set(errors_named(tasks()[name], "Catch")) <= known


@pytest.mark.parametrize("name", retried())
def test_a_step_is_repeated_for_named_passing_errors_and_no_others(name: str) -> None:
    """A new subclass of a repeatable error has to be listed: the machine knows no inheritance."""
    named = errors_named(retried()[name], "Retry")

    assert len(set(named)) == len(named)
    assert {one for one in named if one in every_error()} == REPEATABLE
    assert {one for one in named if one not in every_error()} - {"States.Timeout"} == SERVICE_ERRORS


@pytest.mark.parametrize("name", [one for one in tasks() if one != IRREVERSIBLE])
def test_a_repetition_is_bounded_and_spread(name: str) -> None:
    [rule] = tasks()[name]["Retry"]

    assert 1 <= rule["MaxAttempts"] <= 8
    assert rule["MaxDelaySeconds"] <= 60
    assert rule["BackoffRate"] > 1
    assert rule["JitterStrategy"] == "FULL"


def test_the_waits_park_a_token_for_as_long_as_any_deadline_can_be() -> None:
    parked = {
        name: function_of(state)
        for name, state in tasks().items()
        if state["Resource"].endswith(".waitForTaskToken")
    }

    assert parked == WAITS
    assert len(parked) == len(WaitKind)
    for name in parked:
        assert tasks()[name]["TimeoutSeconds"] == LONGEST_WAIT


@pytest.mark.parametrize("name", WAITS)
def test_a_wait_that_times_out_asks_which_stage_comes_next(name: str) -> None:
    """AWS reports one name for a missed heartbeat and documents another: both are caught."""
    first = tasks()[name]["Catch"][0]

    assert set(first["ErrorEquals"]) == {"States.Timeout", "States.HeartbeatTimeout"}
    assert first["Next"] == "Choose Stage"
    assert "States.Timeout" not in errors_named(tasks()[name], "Retry")


@pytest.mark.parametrize("name", tasks())
def test_a_function_is_given_ids_and_a_token_and_nothing_else(name: str) -> None:
    task = tasks()[name]
    if name in ("Choose Stage", "Close Request"):
        return  # reads a row; takes the ending
    given = task["Parameters"]
    payload = given["Payload"] if name in WAITS else given

    expected = {"requestId.$": "$.requestId"}
    if name in WAITS:
        expected["taskToken.$"] = "$$.Task.Token"
    assert payload == expected


def test_no_result_replaces_the_request_id() -> None:
    for name, state in states().items():
        if state["Type"] in ("Task", "Pass"):
            assert re.fullmatch(r"\$\.[a-z]+", state["ResultPath"]), name
        assert not {"OutputPath", "InputPath"} & set(state), name


def test_the_stage_is_read_consistently_and_alone() -> None:
    parameters = states()["Choose Stage"]["Parameters"]

    assert parameters["ConsistentRead"] is True
    assert parameters["ProjectionExpression"] == "stage"


def test_every_ending_says_an_outcome_and_a_stage() -> None:
    endings = [
        state["Parameters"]
        for state in states().values()
        if state["Type"] == "Pass" and state["Next"] == "Close Request"
    ]

    assert len(endings) >= 10
    for one in endings:
        assert {key.removesuffix(".$") for key in one} - {"code"} == {"outcome", "stage"}
        assert one["stage"] in {*states(), "Withdraw Request"}


def test_every_literal_ending_is_one_that_closing_knows() -> None:
    literal = {
        state["Parameters"]["outcome"]
        for state in states().values()
        if state["Type"] == "Pass" and "outcome" in state["Parameters"]
    }

    assert literal == {"completed", "failed", "not_archived", "withdrawn"}


def test_a_failure_before_the_send_names_its_own_stage() -> None:
    for name, state in tasks().items():
        last = state.get("Catch", [{}])[-1].get("Next", "")
        if last.startswith("Note Failure"):
            assert last == f"Note Failure In {name}"
            assert states()[last]["Parameters"]["stage"] == name


def test_a_choice_compares_text_and_has_a_default() -> None:
    for name, state in states().items():
        if state["Type"] == "Choice":
            assert state["Default"], name
            assert all(set(one) == {"Variable", "StringEquals", "Next"} for one in state["Choices"])


def test_placeholders_stand_for_text_only() -> None:
    """A substituted number would arrive as text: numbers are literals."""
    assert re.findall(r":\s*\$\{", text()) == []
    for value in _scalars(definition()):
        assert not (isinstance(value, str) and "${" in value) or re.fullmatch(r"\$\{\w+\}", value)


def test_the_definition_has_one_way_to_fail_and_it_is_left_to_the_sweep() -> None:
    failing = [name for name, state in states().items() if state["Type"] == "Fail"]

    assert failing == ["Leave To Sweep"]


def _scalars(value: Any) -> list[Any]:  # noqa: ANN401 - JSON
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = list(cast("Json", value).values())
    elif isinstance(value, list):
        inner = value  # pyright: ignore[reportUnknownVariableType] # JSON
    else:
        return [value]
    return [scalar for one in inner for scalar in _scalars(one)]


def test_the_readme_has_a_row_for_every_state() -> None:
    readme = (PATH.parent / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \**([A-Z][^|*]*?)\** \|", readme, re.MULTILINE)
    named = {name.strip() for row in rows for name in row.split(",")}

    documented = {one for one in states() if not one.startswith("Note Failure In")}
    assert documented <= named
    assert named - {"Note Failure In ..."} == documented
