"""Every class the SDK can raise has a place: certainly nothing happened, or the answer was lost."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest
from botocore import exceptions as sdk
from botocore import parsers

from no_undo.adapters.botocore_errors import (
    AWS_ERRORS,
    is_answer_lost,
    repeatable,
    translated,
)
from no_undo.domain.errors import InDoubtError, NoUndoError, TransientError
from tests.integration.aws.scripted_client import service_error

NEVER_LEFT = {
    "BaseEndpointResolverError",
    "ConnectTimeoutError",
    "CredentialRetrievalError",
    "EndpointConnectionError",
    "EndpointProviderError",
    "EndpointResolutionError",
    "EndpointVariantError",
    "InvalidRegionError",
    "MetadataRetrievalError",
    "MissingParametersError",
    "NoAuthTokenError",
    "NoCredentialsError",
    "NoRegionError",
    "ParamValidationError",
    "PartialCredentialsError",
    "ProxyConnectionError",
    "SSOError",
    "SSOTokenLoadError",
    "TokenRetrievalError",
    "UnauthorizedSSOTokenError",
    "UnknownEndpointError",
    "UnknownEndpointResolutionBuiltInName",
    "UnknownFIPSEndpointError",
}
"""Reviewed by hand. Every other class, a new one included, counts as a lost answer: safe."""

NOT_RAISED_BY_CALLS = {"ImminentRemovalWarning", "UnsupportedTLSVersionWarning"}


def sdk_classes() -> Iterator[type[Exception]]:
    for module in (sdk, parsers):
        for name, value in inspect.getmembers(module, inspect.isclass):
            own = value.__module__ == module.__name__ and name not in NOT_RAISED_BY_CALLS
            if own and issubclass(value, Exception):
                yield value


def bare(error_class: type[Exception]) -> Exception:
    """Return an instance without the keyword arguments that each class wants."""
    error = error_class.__new__(error_class)
    if isinstance(error, sdk.ClientError):
        error.response = {}
    return error


@pytest.mark.parametrize("error_class", list(sdk_classes()), ids=lambda one: one.__name__)
def test_every_sdk_error_becomes_one_of_ours(error_class: type[Exception]) -> None:
    error = bare(error_class)

    with pytest.raises(NoUndoError), repeatable("reading"):
        raise error

    expected = TransientError if error_class.__name__ in NEVER_LEFT else InDoubtError
    assert isinstance(error, AWS_ERRORS)
    assert type(translated(error, "writing", repeatable=False)) is expected
    assert type(translated(error, "reading", repeatable=True)) is TransientError


def test_the_reviewed_list_names_only_classes_that_exist() -> None:
    assert {one.__name__ for one in sdk_classes()} >= NEVER_LEFT


@pytest.mark.parametrize(
    ("code", "status", "lost"),
    [
        ("ConditionalCheckFailedException", 400, False),
        ("ThrottlingException", 400, False),
        ("AccessDeniedException", 400, False),
        ("ExpiredTokenException", 403, False),
        ("TransactionInProgressException", 400, True),
        ("InternalServerError", 500, True),
        ("ServiceUnavailable", 503, True),
        ("", 200, True),
        ("", 0, True),
    ],
)
def test_only_a_4xx_answer_to_a_write_says_that_nothing_was_stored(
    code: str, status: int, *, lost: bool
) -> None:
    assert is_answer_lost(service_error(code, status)) is lost


def test_texts_name_the_step_and_the_code_and_never_quote_the_service() -> None:
    error = translated(service_error("ValidationException"), "storing a wait", repeatable=True)

    assert "storing a wait" in str(error)
    assert "ValidationException" in str(error)
    assert "quote parameters" not in str(error)
