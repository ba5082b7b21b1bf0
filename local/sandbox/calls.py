"""One vendor call as a handler sees it, and the calls whose effect is still to come."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from local.sandbox.faults import Behaviour, Fault
from local.sandbox.state import Sandbox

_LATE = "late_calls"
_JSON_OBJECT = TypeAdapter(dict[str, Any])


@dataclass(frozen=True, slots=True)
class VendorCall:
    """One call as a handler sees it; nothing in it depends on the connection.

    Attributes:
        route: Name of the vendor route.
        path: Path parameters.
        query: Query parameters, the last of each name.
        content_type: As sent, empty when absent.
        body: Raw bytes.
        fault: The switch used up by this call, for behaviours that a handler acts out.
    """

    route: str
    path: Mapping[str, str]
    query: Mapping[str, str]
    content_type: str
    body: bytes
    fault: Fault | None = None

    def json_object(self) -> dict[str, Any]:
        """Return the body's JSON object, or an empty one when it holds none."""
        with suppress(ValueError):
            return _JSON_OBJECT.validate_json(self.body)
        return {}

    @property
    def folder_id(self) -> int | None:
        """The folder the call is about, wherever the route carries it; None when it names none."""
        named = self.query.get("folderId") or self.json_object().get("folderId")
        try:
            return int(named) if named is not None else None
        except (TypeError, ValueError):
            return None

    def misbehaves(self, behaviour: Behaviour) -> Fault | None:
        """Return this call's switch when it is of that behaviour."""
        fault = self.fault
        return fault if fault is not None and fault.behaviour is behaviour else None


def plan_late_call(sandbox: Sandbox, call: VendorCall, *, due_ms: int) -> None:
    """Keep a call whose effect is to land later; it survives a restart of the sandbox.

    Args:
        sandbox: The state.
        call: The call; its fault is spent and not kept.
        due_ms: Earliest time of the effect, epoch milliseconds.
    """
    kept = {
        "due_ms": due_ms,
        "route": call.route,
        "path": dict(call.path),
        "query": dict(call.query),
        "content_type": call.content_type,
        "body": base64.b64encode(call.body).decode(),
    }
    sandbox.store.add(_LATE, kept)


def take_due_calls(sandbox: Sandbox) -> list[VendorCall]:
    """Remove and return the late calls that are due now, oldest first."""
    due: list[VendorCall] = []
    with sandbox.store.transaction():
        for number, kept in sandbox.store.all(_LATE):
            if kept.pop("due_ms") > sandbox.now_ms():
                continue
            sandbox.store.remove(_LATE, number)
            kept["body"] = base64.b64decode(kept["body"])
            due.append(VendorCall(**kept))
    return due
