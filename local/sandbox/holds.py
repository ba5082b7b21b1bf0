"""Holds: a vendor call stops at a named point until a test lets it go on, or its client dies.

With one a test can kill the calling process exactly before or exactly after the vendor's effect.
Holds live in memory: a held connection does not survive a restart either.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from local.sandbox.faults import RouteName


class Point(StrEnum):
    """Where a call can be held."""

    BEFORE_EFFECT = "before_effect"
    AFTER_EFFECT = "after_effect"


class HoldState(StrEnum):
    """How far a hold has come."""

    ARMED = "armed"
    HOLDING = "holding"
    RELEASED = "released"
    ABANDONED = "abandoned"


class HoldRequest(BaseModel):
    """What `POST /_sandbox/holds` takes. `folder` None holds the next call about any folder."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    route: RouteName
    point: Point
    folder: int | None = None


@dataclass(slots=True)
class Hold:
    """One hold; it catches one call."""

    hold_id: int
    request: HoldRequest
    state: HoldState = HoldState.ARMED
    held_folder: int | None = None
    released: asyncio.Event = field(default_factory=asyncio.Event)

    def matches(self, route: str, point: Point, folder: int | None) -> bool:
        """Say whether this hold is armed for such a call."""
        wanted = self.request
        return (
            self.state is HoldState.ARMED
            and (wanted.route, wanted.point) == (route, point)
            and wanted.folder in (None, folder)
        )

    def as_json(self) -> dict[str, object]:
        """Return the hold as the control routes show it."""
        wanted = self.request
        return {
            "id": self.hold_id,
            "route": wanted.route,
            "point": wanted.point,
            "folder": wanted.folder,
            "state": self.state,
            "heldFolder": self.held_folder,
        }


class Holds:
    """All holds of this process. Only used on the event loop, hence without a lock."""

    def __init__(self) -> None:
        self._holds: dict[int, Hold] = {}

    def arm(self, request: HoldRequest) -> Hold:
        """Arm a hold for the next matching call."""
        hold = Hold(len(self._holds) + 1, request)
        self._holds[hold.hold_id] = hold
        return hold

    def all(self) -> list[Hold]:
        """Return every hold since the start or the last reset, oldest first."""
        return list(self._holds.values())

    def release(self, hold_id: int) -> bool:
        """Let the held call go on, or disarm the hold; False when there is no such hold."""
        hold = self._holds.get(hold_id)
        if hold is None:
            return False
        if hold.state in (HoldState.ARMED, HoldState.HOLDING):
            hold.state = HoldState.RELEASED
        hold.released.set()
        return True

    def abandon(self) -> None:
        """End every held call as if its client had gone; the sandbox is about to stop."""
        for hold in self._holds.values():
            if hold.state is HoldState.HOLDING:
                hold.state = HoldState.ABANDONED
                hold.released.set()

    def clear(self) -> None:
        """Release everything and forget it."""
        for hold_id in self._holds:
            self.release(hold_id)
        self._holds.clear()

    async def pass_point(
        self, route: str, point: Point, folder: int | None, client_gone: asyncio.Event
    ) -> bool:
        """Wait at a point if a hold is armed for it.

        Returns:
            True when the call may go on; False when its client, or the sandbox, went away while it
            was held.
        """
        hold = next((h for h in self._holds.values() if h.matches(route, point, folder)), None)
        if hold is None:
            return True
        hold.state, hold.held_folder = HoldState.HOLDING, folder
        await _first_of(hold.released, client_gone)
        if client_gone.is_set() and not hold.released.is_set():
            hold.state = HoldState.ABANDONED
        return hold.state is not HoldState.ABANDONED


async def _first_of(*events: asyncio.Event) -> None:
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
