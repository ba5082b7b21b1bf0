"""The border of every function: our errors pass by name, others without a word of their text."""

from __future__ import annotations

import json
import traceback
from typing import Any, cast

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext
from hypothesis import given
from hypothesis import strategies as st

from no_undo.domain.errors import (
    ApprovalExpiredError,
    FenceHeldError,
    InDoubtError,
    InvalidRequestError,
    NotFoundError,
    RefusedError,
    StaleError,
    TransientError,
    UnresolvedRecipientError,
)
from no_undo.entrypoint.handling import (
    HttpHandler,
    UnexpectedError,
    http_handler,
    page_handler,
    state_handler,
)
from no_undo.entrypoint.http_requests import HttpRequest
from no_undo.entrypoint.http_responses import HttpAnswer, json_answer
from no_undo.entrypoint.inputs import CloseInput, ResumeInput, StageInput, WaitInput
from no_undo.entrypoint.plan_stream import plan_changes
from no_undo.lab.stand_ins import PlainPages
from tests.unit.entrypoint.logs import logged

CONTEXT = cast("LambdaContext", None)

# Long enough never to stand in a log line by chance.
SECRETS = st.text(st.characters(categories=("Lu", "Ll", "Nd")), min_size=16, max_size=60)


def raises_in_a_state(error: Exception) -> Any:  # noqa: ANN401 - a handler
    @state_handler
    def handler(_event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
        raise error

    return handler


def raises_on_a_route(error: Exception) -> HttpHandler:
    @http_handler
    def handler(_request: HttpRequest) -> HttpAnswer:
        raise error

    return handler


def raises_on_a_page(error: Exception) -> HttpHandler:
    @page_handler(PlainPages)
    def handler(_request: HttpRequest) -> HttpAnswer:
        raise error

    return handler


def a_request(method: str = "GET", **more: object) -> dict[str, Any]:
    return {"routeKey": f"{method} /x", "requestContext": {"http": {"method": method}}, **more}


@pytest.mark.parametrize(
    "error",
    [
        RefusedError("a rule said no"),
        FenceHeldError("held", holder_plan_id="r0#1"),
        TransientError("throttled"),
        StaleError("moved"),
        InDoubtError("unknown"),
    ],
)
def test_our_errors_reach_the_state_machine_as_they_are(error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        raises_in_a_state(error)({}, CONTEXT)

    assert raised.value is error


def test_a_result_passes_through_the_border_unchanged() -> None:
    @state_handler
    def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
        return event

    assert handler({"requestId": "r1"}, CONTEXT) == {"requestId": "r1"}


@given(secret=SECRETS)
def test_no_word_of_a_foreign_error_is_raised_or_logged(secret: str) -> None:
    foreign = ValueError(f"cannot read {secret}")
    foreign.__cause__ = KeyError(secret)

    with logged() as lines, pytest.raises(UnexpectedError) as raised:
        raises_in_a_state(foreign)({}, CONTEXT)

    shown = "".join(traceback.format_exception(raised.value))
    assert secret not in shown + str(raised.value.args)
    assert secret not in lines.getvalue()
    assert "ValueError" in lines.getvalue()


@given(
    secret=SECRETS,
    model=st.sampled_from([StageInput, WaitInput, CloseInput, ResumeInput]),
    keys=st.lists(
        st.sampled_from(["requestId", "taskToken", "ending", "error", "planIds", "more"]),
        min_size=1,
        unique=True,
    ),
)
def test_no_value_of_a_state_input_that_does_not_fit_is_raised_or_logged(
    secret: str, model: type[StageInput], keys: list[str]
) -> None:
    @state_handler
    def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
        model.model_validate(event)
        raise LookupError(secret)

    with logged() as lines, pytest.raises(UnexpectedError) as raised:
        handler({key: [secret] for key in keys}, CONTEXT)

    shown = "".join(traceback.format_exception(raised.value))
    assert secret not in shown + lines.getvalue()


@given(secret=SECRETS)
def test_no_value_of_a_stream_record_that_does_not_fit_is_raised_or_logged(secret: str) -> None:
    @state_handler
    def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
        return {"seen": len(plan_changes(event))}

    with logged() as lines, pytest.raises(UnexpectedError) as raised:
        handler({"Records": [{"dynamodb": {"Keys": secret}}]}, CONTEXT)

    assert secret not in "".join(traceback.format_exception(raised.value)) + lines.getvalue()


@given(secret=SECRETS)
def test_no_value_of_an_http_event_is_answered_or_logged_when_something_breaks(
    secret: str,
) -> None:
    event = a_request(
        pathParameters={"token": secret},
        headers={"authorization": secret},
        body=secret,
        rawPath=f"/approvals/{secret}",
    )

    with logged() as lines:
        answer = raises_on_a_route(ValueError(secret))(event, CONTEXT)
        broken = raises_on_a_route(ValueError(secret))({"requestContext": secret}, CONTEXT)

    assert secret not in json.dumps([answer, broken]) + lines.getvalue()
    assert [answer["statusCode"], broken["statusCode"]] == [500, 500]


@given(secret=SECRETS, kind=st.sampled_from([InvalidRequestError, UnresolvedRecipientError]))
def test_a_question_to_the_caller_is_answered_and_not_logged(
    secret: str, kind: type[InvalidRequestError | UnresolvedRecipientError]
) -> None:
    with logged() as lines:
        answer = raises_on_a_route(kind(f"Who is {secret}?"))(a_request(), CONTEXT)

    assert secret in answer["body"]
    assert secret not in lines.getvalue()
    assert kind.code in lines.getvalue()


def test_a_route_answers_an_error_as_a_problem_document() -> None:
    answer = raises_on_a_route(NotFoundError("you have no request of this id"))(
        a_request(), CONTEXT
    )

    assert answer["statusCode"] == 404
    assert answer["headers"]["content-type"] == "application/problem+json"
    assert json.loads(answer["body"]) == {
        "type": "urn:no-undo:problem:not_found",
        "title": "Not found",
        "status": 404,
        "detail": "you have no request of this id",
    }


def test_a_route_says_that_a_call_may_be_repeated_when_nothing_was_written() -> None:
    answer = raises_on_a_route(TransientError("the table is throttled"))(a_request(), CONTEXT)

    assert answer["statusCode"] == 503
    assert int(answer["headers"]["retry-after"]) > 0
    assert "throttled" not in answer["body"]


@pytest.mark.parametrize(
    ("error", "status"),
    [(TransientError("x"), 503), (InDoubtError("x"), 502), (RuntimeError("x"), 500)],
)
def test_an_approver_reads_a_page_when_something_breaks_on_our_side(
    error: Exception, status: int
) -> None:
    answer = raises_on_a_page(error)(a_request(), CONTEXT)

    assert answer["statusCode"] == status
    assert answer["headers"]["content-type"].startswith("text/html")
    assert answer["headers"]["referrer-policy"] == "no-referrer"
    assert answer["body"] == "Something went wrong on our side."


def test_a_page_that_is_not_there_is_no_fault_of_ours() -> None:
    answer = raises_on_a_page(NotFoundError("there is no such page"))(a_request(), CONTEXT)

    assert answer["statusCode"] == 404


def test_options_is_answered_without_asking_the_handler() -> None:
    handler = raises_on_a_page(ApprovalExpiredError("never reached"))

    answer = handler(a_request("OPTIONS"), CONTEXT)

    assert answer["statusCode"] == 204
    assert answer["headers"]["allow"] == "GET, HEAD, OPTIONS, POST"


def test_an_answer_passes_through_the_border_unchanged() -> None:
    @http_handler
    def handler(request: HttpRequest) -> HttpAnswer:
        return json_answer(200, {"route": request.route_key})

    assert json.loads(handler(a_request(), CONTEXT)["body"]) == {"route": "GET /x"}
