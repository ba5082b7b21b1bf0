"""Reassign Approver: another eligible person takes the place of one who has not decided."""

from __future__ import annotations

from dataclasses import dataclass

from no_undo.domain.addresses import check_address
from no_undo.domain.asking import put_in_place
from no_undo.domain.errors import ConflictError, InvalidRequestError, StaleError
from no_undo.domain.plan import StandIn, plan_id_of
from no_undo.ports import Change, Save
from no_undo.use_cases.gate import MAX_ROUNDS, Gate, event_of
from no_undo.use_cases.get_request import own_request


@dataclass(frozen=True, slots=True)
class Reassignment:
    """What a caller asks for.

    Attributes:
        approver: Whose place it is, as the request shows them.
        to: The address of who shall take it.
        reason: Why, in the caller's words; recorded.
    """

    approver: str
    to: str
    reason: str


def reassign_approver(
    request_id: str, tenant: str, caller: str, wanted: Reassignment, gate: Gate
) -> None:
    """Give one approver's place to somebody else; the old link is dead from this write on.

    The new person gets a link of their own from `send_reminders`.

    Raises:
        NotFoundError: There is no such request of this caller.
        InvalidRequestError: `field` is `approver` or `to`; the caller is a machine.
        ConflictError: Nobody is asked (any more), or that approver has decided.
        TransientError: The policy cannot be read or used now.
        StaleError: The plan kept moving; try again.
    """
    to = check_address(wanted.to, field="to")
    for _ in range(MAX_ROUNDS):
        request = own_request(request_id, tenant, caller, gate.store)
        plan = gate.store.plan(plan_id_of(request_id, request.round))
        if plan is None:
            raise ConflictError("nobody has been asked to approve this yet")
        if not plan.requester_email:
            raise InvalidRequestError(
                "approvers are not named by machines: the policy knows no person behind this "
                "caller.",
                field="to",
            )
        now = gate.clock.now()
        changed = put_in_place(
            plan, StandIn(to, wanted.approver, now), eligible=gate.eligible(plan, to)
        )
        event = event_of(
            plan,
            "approval.reassigned",
            caller,
            now,
            approver=wanted.approver,
            to=to,
            reason=wanted.reason,
        )
        try:
            gate.store.commit(Change(request_id, event, (Save(changed),)))
        except StaleError:
            continue
        return
    raise StaleError("the plan kept changing; try again")
