"""The state machine's executions, by Step Functions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from no_undo.adapters.botocore_errors import AWS_ERRORS, error_code, translated

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

_RUNNING: Final = frozenset({"RUNNING", "PENDING_REDRIVE"})

_NOBODY_WAITS: Final = frozenset({"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"})
"""AWS does not say which of these a used or outlived token gets; all mean that nobody waits."""


class StepFunctionsExecutions:
    """Implements `ports.Executions` for one state machine."""

    def __init__(self, client: SFNClient, state_machine_arn: str) -> None:
        """Take the client and the state machine's ARN, of an alias or version if need be."""
        self._client = client
        self._state_machine_arn = state_machine_arn

    def start(self, name: str, request_id: str) -> None:
        """Start an execution; the same name again is no error (it runs or ran already).

        Raises:
            TransientError: Not started, or the answer was lost; starting again is harmless.
        """
        try:
            self._client.start_execution(
                stateMachineArn=self._state_machine_arn,
                name=name,
                input=json.dumps({"requestId": request_id}),
            )
        except AWS_ERRORS as error:
            if error_code(error) != "ExecutionAlreadyExists":
                raise translated(error, "starting an execution", repeatable=True) from error

    def is_running(self, name: str) -> bool:
        """Return whether the execution of this name is running.

        Raises:
            TransientError: It could not be read this time.
        """
        try:
            answer = self._client.describe_execution(
                executionArn=execution_arn(self._state_machine_arn, name)
            )
        except AWS_ERRORS as error:
            if error_code(error) == "ExecutionDoesNotExist":
                return False
            raise translated(error, "looking at an execution", repeatable=True) from error
        return answer["status"] in _RUNNING

    def answer(self, task_token: str, outcome: str) -> bool:
        """Answer a parked token with `{"outcome": ...}`; False when nobody waits on it any more.

        Raises:
            TransientError: Not answered, or the answer was lost; answering again is harmless.
        """
        try:
            self._client.send_task_success(
                taskToken=task_token, output=json.dumps({"outcome": outcome})
            )
        except AWS_ERRORS as error:
            if error_code(error) in _NOBODY_WAITS:
                return False
            raise translated(error, "answering a wait", repeatable=True) from error
        return True


def execution_arn(state_machine_arn: str, name: str) -> str:
    """Return an execution's ARN.

    Args:
        state_machine_arn: `arn:PARTITION:states:REGION:ACCOUNT:stateMachine:NAME`, an alias or
            version suffix allowed.
        name: Name of the execution.
    """
    arn, partition, service, region, account, _, machine, *_ = state_machine_arn.split(":")
    return f"{arn}:{partition}:{service}:{region}:{account}:execution:{machine}:{name}"
