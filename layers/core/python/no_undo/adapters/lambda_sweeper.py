"""Asks the `reconcile_sends` function for a sweep, asynchronously."""

from __future__ import annotations

from typing import TYPE_CHECKING

from no_undo.adapters.botocore_errors import repeatable

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient


class LambdaSweeper:
    """Implements `ports.Sweeper`."""

    def __init__(self, client: LambdaClient, function_name: str) -> None:
        """Take the client and the name or ARN of `reconcile_sends`."""
        self._client = client
        self._function_name = function_name

    def sweep(self) -> None:
        """Ask for one sweep soon; asking twice is harmless.

        Raises:
            TransientError: Not asked this time.
        """
        with repeatable("asking for a sweep"):
            self._client.invoke(
                FunctionName=self._function_name, InvocationType="Event", Payload=b"{}"
            )
