"""What every handler is wrapped in: where errors turn into what the trigger understands."""

from __future__ import annotations

import functools
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from no_undo.domain.errors import (
    InvalidRequestError,
    NoUndoError,
    UnresolvedRecipientError,
)
from no_undo.entrypoint.approval_routes import error_page
from no_undo.entrypoint.http_requests import HttpRequest
from no_undo.entrypoint.http_responses import (
    HttpAnswer,
    options_answer,
    problem_answer,
    problem_status,
)
from no_undo.entrypoint.observability import log_unexpected, logger

if TYPE_CHECKING:
    from no_undo.ports import Pages

Event = dict[str, Any]
Handle = Callable[[HttpRequest], HttpAnswer]
HttpHandler = Callable[[Event, LambdaContext], HttpAnswer]


class UnexpectedError(Exception):
    """An error nobody planned for. Its cause is logged by place; its text would be a leak (P10)."""


def state_handler(
    handle: Callable[[Event, LambdaContext], Event],
) -> Callable[[Event, LambdaContext], Event]:
    """Wrap a state's handler: our errors go to the state machine by name, others without text."""

    @functools.wraps(handle)
    def wrapped(event: Event, context: LambdaContext) -> Event:
        try:
            return handle(event, context)
        except NoUndoError as error:
            logger.warning(
                "stopped", error=type(error).__name__, code=error.code, reason=_reason(error)
            )
            raise
        except Exception as error:  # noqa: BLE001 - the border: nothing passes with its text
            log_unexpected(error)
            raise UnexpectedError("an unexpected error; its place is in the log") from None

    return wrapped


def http_handler(handle: Handle) -> HttpHandler:
    """Wrap a route's handler: every error becomes a problem document (RFC 9457)."""
    return _wrapped(handle, problem_answer)


def page_handler(pages: Callable[[], Pages]) -> Callable[[Handle], HttpHandler]:
    """Wrap the handler of a route that people open: what goes wrong on our side is told on a page.

    Args:
        pages: Returns what renders pages; asked only when something went wrong.
    """

    def answer(error: Exception) -> HttpAnswer:
        if problem_status(error) < HTTPStatus.INTERNAL_SERVER_ERROR:
            return problem_answer(error)
        return error_page(pages(), problem_status(error))

    return lambda handle: _wrapped(handle, answer)


def _wrapped(handle: Handle, answer: Callable[[Exception], HttpAnswer]) -> HttpHandler:
    @functools.wraps(handle)
    def wrapped(event: Event, _context: LambdaContext) -> HttpAnswer:
        try:
            request = HttpRequest.of(event)
            if request.method == "OPTIONS":
                return options_answer(("GET", "HEAD", "OPTIONS", "POST"))
            return handle(request)
        except NoUndoError as error:
            logger.info(
                "refused", error=type(error).__name__, code=error.code, reason=_reason(error)
            )
            return answer(error)
        except Exception as error:  # noqa: BLE001 - the border: nothing passes with its text
            log_unexpected(error)
            return answer(error)

    return wrapped


def _reason(error: NoUndoError) -> str:
    """Return an error's sentence for the log; a question to the caller may quote them (P10)."""
    quotes = isinstance(error, InvalidRequestError | UnresolvedRecipientError)
    return "" if quotes else str(error)
