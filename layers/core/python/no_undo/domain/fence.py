"""The fence: one intended effect at a time, across requests.

Rules:
1. The key is the SHA-256 over tenant, action kind, source digest and normalised recipients: the
   same document to the same people is the same intended effect, whoever asks.
2. A plan without an attempt holds nothing. Begin takes the fence; an executed effect marks it for
   good; only an operator's "not done" frees it. The end of a released plan does not: what the
   vendor guarantees for one envelope says nothing about the next request's envelope (ADR 0014).
3. A marked fence lets through only the plan that declares to repeat exactly the plan that marked
   it: two repeats of one plan cannot both begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from no_undo.domain.canonical_json import sha256_hex
from no_undo.domain.errors import FenceHeldError


@dataclass(frozen=True, slots=True)
class Fence:
    """Who holds one intended effect.

    Attributes:
        fence_key: 64 hex digits (rule 1).
        holder: Plan id with an attempt, or empty.
        last_executed: Plan id that executed the effect last, or empty.
        revision: 0 before it is first stored.
    """

    fence_key: str
    holder: str = ""
    last_executed: str = ""
    revision: int = 0


def fence_key_of(
    tenant: str, action_kind: str, source_sha256: str, addresses: Sequence[str]
) -> str:
    """Return the fence key of one intended effect (rule 1); addresses are already normalised."""
    return sha256_hex(
        {
            "tenant": tenant,
            "action": action_kind,
            "source": source_sha256,
            "recipients": sorted(addresses),
        }
    )


def check_fence(fence: Fence, plan_id: str, repeat_of: str) -> None:
    """Refuse when the effect is held by, or was executed by, another plan.

    Raises:
        FenceHeldError: Names the plan that holds it or executed it last.
    """
    if fence.holder not in ("", plan_id):
        raise FenceHeldError(
            f"plan {fence.holder} holds the same effect (same document, same recipients) and is "
            "not settled; wait for it, or ask an operator to settle it",
            holder_plan_id=fence.holder,
        )
    if fence.last_executed not in ("", plan_id, repeat_of):
        raise FenceHeldError(
            f"plan {fence.last_executed} has already sent this document to these recipients; "
            "to send it again knowingly, submit with repeat_of set to that plan",
            holder_plan_id=fence.last_executed,
        )


def take(fence: Fence, plan_id: str) -> Fence:
    """Return the fence held by this plan."""
    return replace(fence, holder=plan_id)


def mark_executed(fence: Fence, plan_id: str) -> Fence:
    """Return the fence marked for good by this plan; another plan's hold on it stays."""
    return replace(free(fence, plan_id), last_executed=plan_id)


def free(fence: Fence, plan_id: str) -> Fence:
    """Return the fence without this plan as holder; unchanged when another holds it."""
    return replace(fence, holder="") if fence.holder == plan_id else fence
