"""What happens without a request: late effects land, webhook events go out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from starlette.concurrency import run_in_threadpool

from local.sandbox.calls import take_due_calls
from local.sandbox.pipeline import Handler
from local.sandbox.state import Sandbox
from local.sandbox.webhooks import deliver_due_events

_TICK_SECONDS = 0.02
_log = logging.getLogger(__name__)


async def land_late_effects(sandbox: Sandbox, handlers: Mapping[str, Handler]) -> None:
    """Run the calls whose effect is due now; nobody hears their answers."""
    for call in take_due_calls(sandbox):
        await run_in_threadpool(handlers[call.route], sandbox, call)


async def run_forever(sandbox: Sandbox, handlers: Mapping[str, Handler]) -> None:
    """Look every 20 ms for what is due; one failure is logged and does not end the loop."""
    while True:
        try:
            await land_late_effects(sandbox, handlers)
            await deliver_due_events(sandbox)
        except Exception:  # noqa: BLE001 - whatever it is, the next tick must come
            _log.exception("background work failed")
        await asyncio.sleep(_TICK_SECONDS)
