"""A DynamoDB client whose transactions go wrong as a test says; everything else is the real one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Never, cast

from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Step = Callable[[Callable[[], Any]], Any]
"""Receives the real call and makes it, or not, and fails, or not."""


class ScriptedClient:
    """Plays one step for each transaction; when the script is over, transactions just work.

    Attributes:
        tokens: Client tokens of all transactions offered, in order.
        update_error: What a single update fails with, or None.
    """

    def __init__(self, real: DynamoDBClient, script: Sequence[Step]) -> None:
        self._real = real
        self._script = list(script)
        self.tokens: list[str] = []
        self.update_error: Exception | None = None

    def transact_write_items(self, **parameters: object) -> object:
        self.tokens.append(str(parameters["ClientRequestToken"]))
        real = cast("Any", self._real).transact_write_items
        step = self._script.pop(0) if self._script else works
        return step(lambda: real(**parameters))

    def update_item(self, **parameters: object) -> object:
        if self.update_error is not None:
            raise self.update_error
        return cast("Any", self._real).update_item(**parameters)

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)

    def as_client(self) -> DynamoDBClient:
        return cast("DynamoDBClient", self)


def works(call: Callable[[], Any]) -> object:
    return call()


def answer_lost(call: Callable[[], Any]) -> Never:
    call()
    raise ReadTimeoutError(endpoint_url="https://dynamodb.example")


def never_arrived(_call: Callable[[], Any]) -> Never:
    raise ReadTimeoutError(endpoint_url="https://dynamodb.example")


def no_connection(_call: Callable[[], Any]) -> Never:
    raise EndpointConnectionError(endpoint_url="https://dynamodb.example")


def after(other: Callable[[], object]) -> Step:
    """Let something else happen between the reads and the transaction."""

    def step(call: Callable[[], Any]) -> object:
        other()
        return call()

    return step


def fails(code: str, status: int = 400, reasons: Sequence[str] = ()) -> Step:
    """Fail with a service error, nothing stored."""

    def step(_call: Callable[[], Any]) -> Never:
        raise service_error(code, status, reasons)

    return step


def service_error(code: str, status: int = 400, reasons: Sequence[str] = ()) -> ClientError:
    """Return an error as the service would answer it."""
    response: Any = {
        "Error": {"Code": code, "Message": "a text that may quote parameters"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    if reasons:
        response["CancellationReasons"] = [{"Code": reason} for reason in reasons]
    return ClientError(response, "TransactWriteItems")
