"""One mapping from everything the AWS SDK raises to what the caller may do next.

Rules:
1. A call that may be repeated without harm (a read, or a write that only sets the same value again)
   fails as TransientError, whatever happened.
2. Any other write fails as TransientError only when it is certain that nothing was stored: the
   request never left, or the service answered with a 4xx status. Everything else, every class this
   module does not know included, is InDoubtError.
3. Messages name the step and the error's class or code; never the SDK's text, which may quote
   parameters.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from botocore import exceptions as sdk
from botocore.parsers import ResponseParserError

from no_undo.domain.errors import InDoubtError, TransientError

AWS_ERRORS: Final = (
    sdk.BotoCoreError,
    sdk.ClientError,
    ResponseParserError,
    sdk.UndefinedModelAttributeError,
)
"""The roots of everything the SDK raises on purpose."""

NEVER_LEFT: Final = (
    # No connection to the service was made.
    sdk.EndpointConnectionError,
    sdk.ConnectTimeoutError,
    sdk.ProxyConnectionError,
    # No signed request could be made.
    sdk.NoCredentialsError,
    sdk.PartialCredentialsError,
    sdk.CredentialRetrievalError,
    sdk.MetadataRetrievalError,
    sdk.NoAuthTokenError,
    sdk.TokenRetrievalError,
    sdk.SSOError,
    # The call itself is malformed, or there is no address to send it to.
    sdk.ParamValidationError,
    sdk.MissingParametersError,
    sdk.BaseEndpointResolverError,
    sdk.EndpointProviderError,
    sdk.InvalidRegionError,
)
"""Classes that are raised before a request leaves."""

THROTTLED: Final = frozenset(
    {
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
"""Codes, of an answer or of a cancellation reason, that ask for the same call a little later."""

_IN_PROGRESS: Final = "TransactionInProgressException"
_CLIENT_FAULT: Final = range(400, 500)


def error_code(error: Exception) -> str:
    """Return the service's error code, or the empty string when the service did not answer."""
    if not isinstance(error, sdk.ClientError):
        return ""
    return error.response.get("Error", {}).get("Code", "")


def is_answer_lost(error: Exception) -> bool:
    """Return whether a write that failed like this may nevertheless have been stored (rule 2)."""
    if isinstance(error, sdk.ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        # An earlier request of ours with the same client token is still being worked on.
        return status not in _CLIENT_FAULT or error_code(error) == _IN_PROGRESS
    return not isinstance(error, NEVER_LEFT)


def is_passing(error: Exception) -> bool:
    """Return whether the same call may succeed a little later: not a 4xx, or throttled."""
    return not error_code(error) or error_code(error) in THROTTLED or is_answer_lost(error)


def translated(error: Exception, step: str, *, repeatable: bool) -> TransientError | InDoubtError:
    """Return our error for one of the SDK's.

    Args:
        error: One of `AWS_ERRORS`.
        step: What was being done, for example `reading a plan`; no values.
        repeatable: Whether the call may be repeated without harm (rule 1).
    """
    said = error_code(error) or type(error).__name__
    if not repeatable and is_answer_lost(error):
        return InDoubtError(f"{step}: the answer was lost ({said}); read back before deciding")
    return TransientError(f"{step}: AWS did not do it this time ({said})")


@contextmanager
def repeatable(step: str) -> Generator[None]:
    """Translate what the SDK raises inside; the call inside may be repeated without harm.

    Raises:
        TransientError: The call failed.
    """
    try:
        yield
    except AWS_ERRORS as error:
        raise translated(error, step, repeatable=True) from error
