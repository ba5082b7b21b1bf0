"""Who may approve, as the tenant's policy says (P5).

The policy document is written only at deployment::

    {"tenants": {TENANT: {
        "eligible": [ADDRESS | "@DOMAIN"],     required; a domain covers itself, not its children
        "smallest_quorum": 1,                  1 to 20, default 1
        "recipients_may_approve": false,       default false
        "escalation": [ADDRESS],               eligible, asked when it gets late, default nobody
        "reminder_hours": 24,                  hours before the deadline, 1 to 7200, default 24
        "escalation_hours": 8,                 hours before the deadline, 1 to 7200, default 8
        "default_approvers": [ADDRESS],        who is asked when the request names nobody
        "deadline_hours": 72,                  1 to 7200 (300 days), default 72
        "callers": {IDENTITY: ADDRESS | null}  the person behind each caller, null for a machine
    }}}

An IDENTITY is a caller's identity as the authorizer gives it, or every session of one role,
`arn:aws:sts::ACCOUNT:assumed-role/ROLE/*`; the identity in full goes before the role.

Rules:
1. Without a usable policy for the tenant nothing may be asked for: refused, never defaulted open.
2. A request may choose from the eligible and raise the quorum. It never adds a person or lowers
   a number.
3. The requester is never an approver, under any spelling.
4. A recipient approves only if the policy says so.
5. Two spellings of one person are refused, naming the entry: they are not a quorum.
6. A caller that the policy does not list is refused: nobody could tell whether its own person
   approves. Somebody in a role chooses the name of the session, and so the identity. A machine,
   listed with null, may submit but not name approvers.
7. Eligible means the listed address as it is, case aside. `alice+x@` is not `alice@`: whether
   they share a mailbox is the mail server's affair. (For rules 3 to 5 they are one person.)
8. Eligibility is a question that is asked again at the decision and at begin (`still_eligible`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from no_undo.domain.addresses import check_address, domain_of, same_person
from no_undo.domain.errors import InvalidRequestError, RefusedError
from no_undo.domain.json_object import JsonObject
from no_undo.domain.recipients import Recipient, refuse_one_person_twice

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ROLE = r"arn:[a-z-]+:sts::\d{12}:assumed-role/[^/*]+"
_ROLE_SESSION = re.compile(rf"{_ROLE}/[^/*]+", re.ASCII)
_EVERY_SESSION = re.compile(rf"{_ROLE}/\*", re.ASCII)

MAX_APPROVERS = 20
MAX_LISTED = 1000
MAX_DEADLINE_HOURS = 300 * 24
DEFAULT_DEADLINE_HOURS = 72
DEFAULT_REMINDER_HOURS = 24
DEFAULT_ESCALATION_HOURS = 8

_DOCUMENT_KEYS = frozenset({"tenants"})
_TENANT_KEYS = frozenset(
    {
        "eligible",
        "smallest_quorum",
        "recipients_may_approve",
        "escalation",
        "escalation_hours",
        "reminder_hours",
        "default_approvers",
        "deadline_hours",
        "callers",
    }
)


@dataclass(frozen=True, slots=True)
class ApproverPolicy:
    """One tenant's policy; shapes and defaults as in the module docstring.

    Attributes:
        eligible: Addresses, and domains written `@example.com`; at least one.
        smallest_quorum: Fewest distinct approvals any plan needs.
        recipients_may_approve: Whether a signer may also approve.
        escalation: Eligible addresses asked when an approval is late or could not be delivered.
        default_approvers: Eligible addresses asked when a request names nobody.
        deadline_hours: How long approvers have when a request names no deadline.
        reminder_hours: How long before the deadline people are reminded.
        escalation_hours: How long before the deadline the escalation list is asked.
        callers: Caller identity, or role with `/*`, to the person's address; empty for a machine.
    """

    eligible: tuple[str, ...]
    smallest_quorum: int
    recipients_may_approve: bool
    escalation: tuple[str, ...]
    default_approvers: tuple[str, ...]
    deadline_hours: int
    callers: Mapping[str, str]
    reminder_hours: int = DEFAULT_REMINDER_HOURS
    escalation_hours: int = DEFAULT_ESCALATION_HOURS

    def person_behind(self, caller: str) -> str | None:
        """Return the address of a caller's person, empty for a machine, None when not listed."""
        role, separator, _ = caller.rpartition("/")
        every_session = f"{role}/*" if separator and _ROLE_SESSION.fullmatch(caller) else caller
        return self.callers.get(caller, self.callers.get(every_session))


@dataclass(frozen=True, slots=True)
class ApproverChoice:
    """Who decides about one plan.

    Attributes:
        approvers: Distinct people, in the order they were named.
        quorum: How many of them must approve, 1 to their number.
        requester: The mapped address of the caller, empty when it has none.
    """

    approvers: tuple[str, ...]
    quorum: int
    requester: str


def policy_for(document: object, tenant: str) -> ApproverPolicy | None:
    """Read one tenant's policy out of the deployed document; None when it has none.

    Args:
        document: Decoded JSON in the shape of the module docstring.
        tenant: From the authorizer, never from the request's body.

    Raises:
        RefusedError: The policy cannot be used (rule 1); the message names the path at fault,
            for the operator.
    """
    try:
        policy = JsonObject.of(document, "policy", _DOCUMENT_KEYS).table("tenants").get(tenant)
        if policy is None:
            return None
        return _policy(JsonObject.of(policy, "policy.tenants.*", _TENANT_KEYS))
    except InvalidRequestError as error:
        raise RefusedError(f"The approver policy cannot be used. {error}") from error


def choose_approvers(
    policy: ApproverPolicy | None,
    *,
    caller: str,
    requested: Sequence[str],
    quorum: int | None,
    recipients: Sequence[Recipient],
) -> ApproverChoice:
    """Decide who approves a request, from the policy and what the request asked for.

    Args:
        policy: The tenant's policy, None when it has none.
        caller: The caller's identity, from the authorizer.
        requested: Addresses the request names, empty to take the policy's default approvers.
        quorum: How many approvals the request asks for, None for the policy's smallest.
        recipients: The signers, addresses checked.

    Raises:
        RefusedError: There is no policy (rule 1), or it does not list the caller (rule 6).
        InvalidRequestError: Rules 2 to 6; `field` is `approvers[n]`, `approvers` or `quorum`.
    """
    if policy is None:
        raise RefusedError("There is no approver policy for this tenant, so nobody could approve.")
    requester = policy.person_behind(caller)
    if requester is None:
        raise RefusedError(
            "The approver policy does not list this caller, so nobody could tell whether the "
            "requester approves; an operator adds it to callers, a machine with null."
        )
    if requested:
        approvers = _requested(policy, requested, requester, recipients)
    else:
        approvers = tuple(
            address
            for address in policy.default_approvers
            if still_eligible(policy, address, requester=requester, recipients=recipients)
        )
    return ApproverChoice(approvers, _quorum(policy, quorum, len(approvers)), requester)


def still_eligible(
    policy: ApproverPolicy, address: str, *, requester: str, recipients: Sequence[Recipient]
) -> bool:
    """Return True while this person may approve; asked at the decision and again at begin.

    Args:
        policy: The tenant's policy as it is now.
        address: The approver.
        requester: The requester's mapped address, empty when the caller has none.
        recipients: The signers.
    """
    return _why_not(policy, address, requester, recipients) is None


def _requested(
    policy: ApproverPolicy,
    requested: Sequence[str],
    requester: str,
    recipients: Sequence[Recipient],
) -> tuple[str, ...]:
    if not requester:
        raise InvalidRequestError(
            "approvers must be left out: the policy lists this caller as a machine, so it may "
            "submit but not name approvers.",
            field="approvers",
        )
    if len(requested) > MAX_APPROVERS:
        raise InvalidRequestError(
            f"approvers must have at most {MAX_APPROVERS} entries.", field="approvers"
        )
    approvers = tuple(
        _requested_one(policy, value, f"approvers[{index}]", requester, recipients)
        for index, value in enumerate(requested)
    )
    refuse_one_person_twice(approvers, field="approvers")
    return approvers


def _requested_one(
    policy: ApproverPolicy, value: str, field: str, requester: str, recipients: Sequence[Recipient]
) -> str:
    address = check_address(value, field=field)
    reason = _why_not(policy, address, requester, recipients)
    if reason:
        raise InvalidRequestError(f"{field} {reason}.", field=field)
    return address


def _why_not(
    policy: ApproverPolicy, address: str, requester: str, recipients: Sequence[Recipient]
) -> str | None:
    """Return the rule that keeps this person from approving, or None."""
    if requester and same_person(address, requester):
        return "is the requester, who never approves"
    if not _listed(policy, address):
        return "is not eligible under the approver policy"
    if not policy.recipients_may_approve and _among(address, recipients):
        return "is a recipient, and the policy does not let recipients approve"
    return None


def _listed(policy: ApproverPolicy, address: str) -> bool:
    spellings = {address.casefold(), f"@{domain_of(address)}"}
    return any(entry.casefold() in spellings for entry in policy.eligible)


def _among(address: str, recipients: Sequence[Recipient]) -> bool:
    return any(same_person(address, recipient.email) for recipient in recipients)


def _quorum(policy: ApproverPolicy, asked: int | None, available: int) -> int:
    quorum = policy.smallest_quorum if asked is None else asked
    if quorum < policy.smallest_quorum:
        raise InvalidRequestError(
            f"quorum must be at least {policy.smallest_quorum}, as the approver policy says.",
            field="quorum",
        )
    if quorum > available:
        # What is missing is people; only a caller that asked for a number can lower it.
        field = "approvers" if asked is None else "quorum"
        raise InvalidRequestError(
            f"{field} cannot be met: {quorum} approvals are needed and {available} eligible "
            "approvers remain, the requester and barred recipients left out.",
            field=field,
        )
    return quorum


def _policy(node: JsonObject) -> ApproverPolicy:
    policy = ApproverPolicy(
        eligible=_eligible(node),
        smallest_quorum=node.integer("smallest_quorum", least=1, most=MAX_APPROVERS, default=1),
        recipients_may_approve=node.flag("recipients_may_approve", default=False),
        escalation=_addresses(node, "escalation"),
        default_approvers=_addresses(node, "default_approvers"),
        deadline_hours=_hours(node, "deadline_hours", DEFAULT_DEADLINE_HOURS),
        callers=_callers(node),
        reminder_hours=_hours(node, "reminder_hours", DEFAULT_REMINDER_HOURS),
        escalation_hours=_hours(node, "escalation_hours", DEFAULT_ESCALATION_HOURS),
    )
    _require_eligible(policy, policy.default_approvers, node.at("default_approvers"))
    _require_eligible(policy, policy.escalation, node.at("escalation"))
    return policy


def _require_eligible(policy: ApproverPolicy, addresses: Sequence[str], path: str) -> None:
    for index, address in enumerate(addresses):
        if not _listed(policy, address):
            place = f"{path}[{index}]"
            raise InvalidRequestError(f"{place} is not among the eligible.", field=place)


def _hours(node: JsonObject, key: str, default: int) -> int:
    return node.integer(key, least=1, most=MAX_DEADLINE_HOURS, default=default)


def _eligible(node: JsonObject) -> tuple[str, ...]:
    entries = node.items("eligible", most=MAX_LISTED)
    if not entries:
        raise InvalidRequestError(
            f"{node.at('eligible')} must have at least one entry.", field=node.at("eligible")
        )
    return tuple(
        _eligible_entry(entry, node.at(f"eligible[{index}]")) for index, entry in enumerate(entries)
    )


def _eligible_entry(entry: object, field: str) -> str:
    if isinstance(entry, str) and entry.strip().startswith("@"):
        # A domain is what any address in it would pass with.
        return "@" + domain_of(check_address(f"any{entry.strip()}", field=field))
    return check_address(entry, field=field)


def _addresses(node: JsonObject, key: str) -> tuple[str, ...]:
    addresses = tuple(
        check_address(entry, field=node.at(f"{key}[{index}]"))
        for index, entry in enumerate(node.items(key, most=MAX_APPROVERS))
    )
    refuse_one_person_twice(addresses, field=node.at(key))
    return addresses


def _callers(node: JsonObject) -> Mapping[str, str]:
    path = node.at("callers.*")
    return {
        _identity(identity, path): "" if address is None else check_address(address, field=path)
        for identity, address in node.table("callers").items()
    }


def _identity(identity: str, path: str) -> str:
    """Take an identity; a star stands for the sessions of one role and for nothing else."""
    if "*" in identity and not _EVERY_SESSION.fullmatch(identity):
        raise InvalidRequestError(
            f"{path} has an identity with a star that is not "
            "arn:aws:sts::ACCOUNT:assumed-role/ROLE/*.",
            field=path,
        )
    return identity
