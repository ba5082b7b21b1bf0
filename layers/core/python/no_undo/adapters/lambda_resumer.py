"""Asks the `resume_execution` function to answer waits: asynchronously, never with a token."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from no_undo.adapters.botocore_errors import repeatable

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient


class LambdaResumer:
    """Implements `ports.Resumer`."""

    def __init__(self, client: LambdaClient, function_name: str) -> None:
        """Take the client and the name or ARN of `resume_execution`."""
        self._client = client
        self._function_name = function_name

    def resume(self, plan_id: str) -> None:
        """Ask `resume_execution` to look at a plan soon; asking twice is harmless.

        Raises:
            TransientError: Not asked this time.
        """
        with repeatable("asking for a resumption"):
            self._client.invoke(
                FunctionName=self._function_name,
                InvocationType="Event",
                Payload=json.dumps({"planIds": [plan_id]}).encode("ascii"),
            )
