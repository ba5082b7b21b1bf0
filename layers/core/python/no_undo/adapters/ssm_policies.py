"""The tenants' approver policies, from one Systems Manager parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from no_undo.adapters.ssm_documents import SsmDocument
from no_undo.domain.approver_policy import ApproverPolicy, policy_for
from no_undo.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient


class SsmPolicySource:
    """Implements `ports.PolicySource` over one JSON document for all tenants."""

    def __init__(self, client: SSMClient, parameter_name: str, clock: Clock) -> None:
        """Take the client, the parameter's name and the clock that ages a reading."""
        self._document = SsmDocument(
            client, parameter_name, clock, what="the approver policy", absent={"tenants": {}}
        )

    def policy(self, tenant: str) -> ApproverPolicy | None:
        """Return the tenant's policy, or None when it has none.

        Raises:
            RefusedError: The deployed document cannot be used; names what is wrong with it.
            TransientError: It could not be read this time.
        """
        return policy_for(self._document.read(), tenant)
