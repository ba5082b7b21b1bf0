"""Which plan a request's execution works on: the one of the request's current round."""

from __future__ import annotations

from no_undo.domain.errors import NotFoundError
from no_undo.domain.plan import plan_id_of
from no_undo.ports import StateStore


def current_plan_id(request_id: str, store: StateStore) -> str:
    """Return the plan id of a request's current round.

    Raises:
        NotFoundError: There is no such request.
    """
    request = store.request(request_id)
    if request is None:
        raise NotFoundError("there is no such request; check the request id")
    return plan_id_of(request_id, request.round)
