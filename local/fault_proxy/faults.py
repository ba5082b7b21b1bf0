"""The faults: which calls go wrong, how, and how often."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.responses import Response

from local.fault_proxy.calls import AwsCall


class Kind(StrEnum):
    """How a call goes wrong."""

    CANCELLED = "transaction_cancelled"
    """The transaction is cancelled; its first part has the fault's code. Nothing is stored."""
    REFUSED = "refused"
    """The service answers with the fault's code and status. Nothing happens."""
    REPLY_DROPPED = "reply_dropped"
    """The service does it, and the connection is cut before the first byte of its answer."""
    STALE = "stale"
    """The first such call is answered truly; every later one gets that same answer again."""
    HELD_BEFORE = "held_before"
    """The call waits before it reaches the service, until it is let go or its client dies."""
    HELD_AFTER = "held_after"
    """The service does it, and its answer waits, until it is let go or the client dies."""


class FaultRequest(BaseModel):
    """One fault as a test arms it.

    Attributes:
        kind: What goes wrong.
        service: Signing name, such as `dynamodb`, `ses` or `lambda`.
        operation: Such as `TransactWriteItems`, `Query`, `SendEmail`.
        table: Text in the name of a table that the call has to name; empty for any.
        index: The index that a query has to name; empty for any.
        containing: Texts that the body has to contain, all of them: an id, the kind of a record.
        times: How many matching calls it acts on; None for all of them.
        skip: How many matching calls pass unharmed first.
        code: Error code (`refused`), or code of the first reason (`transaction_cancelled`).
        status: HTTP status of `refused`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind
    service: str = "dynamodb"
    operation: str
    table: str = ""
    index: str = ""
    containing: tuple[str, ...] = ()
    times: int | None = Field(default=1, ge=1)
    skip: int = Field(default=0, ge=0)
    code: str = ""
    status: int = Field(default=400, ge=400, le=599)

    @model_validator(mode="after")
    def _has_a_code(self) -> Self:
        if self.kind in (Kind.CANCELLED, Kind.REFUSED) and not self.code:
            raise ValueError(f"{self.kind} needs a code")
        return self

    def concerns(self, call: AwsCall) -> bool:
        """Return whether the fault is meant for such a call."""
        return (
            (self.service, self.operation) == (call.service, call.operation)
            and (not self.table or any(self.table in one for one in call.tables))
            and self.index in ("", call.index)
            and all(one in call.text for one in self.containing)
        )


@dataclass
class Fault:
    """One armed fault.

    Attributes:
        request: As it was armed.
        seen: How many matching calls came by.
        hits: How many of them it acted on.
        holding: How many calls it holds now.
        let_go: Set when held calls may go on.
        kept: The answer that `stale` repeats.
    """

    request: FaultRequest
    seen: int = 0
    hits: int = 0
    holding: int = 0
    let_go: asyncio.Event = field(default_factory=asyncio.Event)
    kept: Response | None = None

    def take(self, call: AwsCall) -> bool:
        """Use the fault up for one call; False when the call may behave."""
        wanted = self.request
        if not wanted.concerns(call) or self.hits == wanted.times:
            return False
        self.seen += 1
        if self.seen <= wanted.skip:
            return False
        self.hits += 1
        return True

    def as_json(self) -> dict[str, object]:
        """Return the fault as the control route shows it."""
        shown = self.request.model_dump(mode="json")
        return {**shown, "hits": self.hits, "holding": self.holding}


class Faults:
    """The armed faults, in the order in which they were set; only used on the event loop."""

    def __init__(self) -> None:
        self._armed: list[Fault] = []

    def replace(self, wanted: list[FaultRequest]) -> None:
        """Arm exactly these; calls that were held go on."""
        for fault in self._armed:
            fault.let_go.set()
        self._armed = [Fault(one) for one in wanted]

    def all(self) -> list[Fault]:
        """Return what is armed or used up since the last replacement."""
        return list(self._armed)

    def take(self, call: AwsCall) -> Fault | None:
        """Use up the first fault that is meant for a call; None when the call may behave."""
        return next((fault for fault in self._armed if fault.take(call)), None)
