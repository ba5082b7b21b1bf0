"""The tenants' approver policies, from one Systems Manager parameter."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from no_undo.adapters.botocore_errors import AWS_ERRORS, error_code, translated
from no_undo.domain.approver_policy import ApproverPolicy, policy_for
from no_undo.domain.errors import RefusedError
from no_undo.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

KEPT_FOR: Final = timedelta(seconds=5)
"""How long one reading is used: a withdrawn right to approve ends within seconds."""

_NOTHING: Final[object] = {"tenants": {}}


class SsmPolicySource:
    """Implements `ports.PolicySource` over one JSON document for all tenants."""

    def __init__(self, client: SSMClient, parameter_name: str, clock: Clock) -> None:
        """Take the client, the parameter's name and the clock that ages a reading."""
        self._client = client
        self._parameter_name = parameter_name
        self._clock = clock
        self._document: object = _NOTHING
        self._fresh_until: datetime | None = None

    def policy(self, tenant: str) -> ApproverPolicy | None:
        """Return the tenant's policy, or None when it has none.

        Raises:
            RefusedError: The deployed document cannot be used; names what is wrong with it.
            TransientError: It could not be read this time.
        """
        now = self._clock.now()
        if self._fresh_until is None or now >= self._fresh_until:
            self._document = self._read()
            self._fresh_until = now + KEPT_FOR
        return policy_for(self._document, tenant)

    def _read(self) -> object:
        try:
            answer = self._client.get_parameter(Name=self._parameter_name, WithDecryption=True)
        except AWS_ERRORS as error:
            if error_code(error) == "ParameterNotFound":
                return _NOTHING
            raise translated(error, "reading the approver policy", repeatable=True) from error
        try:
            document: object = json.loads(answer["Parameter"].get("Value", ""))
        except ValueError:
            raise RefusedError(
                f"The approver policy cannot be used: parameter {self._parameter_name} is not JSON."
            ) from None  # the decoder's error quotes the document
        return document
