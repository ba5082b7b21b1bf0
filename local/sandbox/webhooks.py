"""Webhook events: every one is delivered twice, and what happens together arrives out of order.

Events wait in an outbox that is written in the same transaction as the change they tell of.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Any
from urllib.parse import quote

import httpx

from local.sandbox.state import Sandbox, WebhookChannel

_OUTBOX = "webhook_outbox"
_DELIVERIES = "webhook_deliveries"
_MAX_ATTEMPTS = 4
_TIMEOUT_SECONDS = 5.0


class EventName(StrEnum):
    """Event names; the last two are reported by integrators only."""

    SENT = "folder_sent"
    SIGNED = "folder_signed"
    COMPLETED = "folder_completed"
    EXECUTED = "folder_executed"
    CANCELLED = "folder_cancelled"
    DECLINED = "folder_declined"
    EXPIRED = "folder_expired"


def queue_events(
    sandbox: Sandbox,
    names: Sequence[EventName],
    folder: dict[str, Any],
    *,
    signer_email: str | None,
) -> None:
    """Queue events that happened together; nothing happens without a channel.

    Args:
        sandbox: The state.
        names: In the order in which they happened. Delivered in reverse at once, and once more
            in order after the redelivery delay, so that duplicates also mix with later events.
        folder: The folder as `myfolder` shows it.
        signer_email: Who signed or declined, where somebody did.
    """
    settings = sandbox.settings
    if settings.webhook is None:
        return
    now = sandbox.now_ms()
    again = now + int(settings.redelivery_seconds * 1000)
    for due_ms, ordered in ((now, reversed(names)), (again, iter(names))):
        for name in ordered:
            body = _event_body(name, now, folder, signer_email)
            sandbox.store.add(_OUTBOX, {"due_ms": due_ms, "attempt": 1, "body": body})


def _event_body(
    name: EventName, now_ms: int, folder: dict[str, Any], signer_email: str | None
) -> dict[str, Any]:
    data: dict[str, Any] = {"folder": folder}
    if signer_email is not None:
        data["signing_party"] = {"emailId": signer_email}
    return {"event_name": name.value, "event_date": now_ms, "data": data}


def signed_url(channel: WebhookChannel, body: bytes) -> str:
    """Return the channel's URL with the body's signature, URL-encoded, in the query string."""
    digest = hmac.new(channel.secret.encode(), body, hashlib.sha256).digest()
    separator = "&" if "?" in channel.url else "?"
    return f"{channel.url}{separator}signature={quote(base64.b64encode(digest), safe='')}"


async def deliver_due_events(sandbox: Sandbox) -> None:
    """Deliver what is due, in the order queued; a non-2xx answer is tried again a few times."""
    for number, queued in sandbox.store.all(_OUTBOX):
        channel = sandbox.settings.webhook
        if channel is None or queued["due_ms"] > sandbox.now_ms():
            continue
        status = await _post(channel, json.dumps(queued["body"]).encode())
        with sandbox.store.transaction():
            sandbox.store.remove(_OUTBOX, number)
            sandbox.store.add(_DELIVERIES, _delivery(queued, status))
            if not _accepted(status) and queued["attempt"] < _MAX_ATTEMPTS:
                delay_ms = int(sandbox.settings.redelivery_seconds * 1000)
                retry = {"due_ms": sandbox.now_ms() + delay_ms, "attempt": queued["attempt"] + 1}
                sandbox.store.add(_OUTBOX, {**queued, **retry})


async def _post(channel: WebhookChannel, body: bytes) -> int | None:
    headers = {"Content-Type": "application/json", "User-Agent": "no-undo-sandbox-webhooks"}
    try:
        async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS) as client:
            answer = await client.post(signed_url(channel, body), content=body, headers=headers)
    except httpx.HTTPError:
        return None
    return answer.status_code


def _accepted(status: int | None) -> bool:
    return status is not None and httpx.codes.is_success(status)


def _delivery(queued: dict[str, Any], status: int | None) -> dict[str, Any]:
    body = queued["body"]
    return {
        "event": body["event_name"],
        "folderId": body["data"]["folder"]["folderId"],
        "attempt": queued["attempt"],
        "status": status,
    }


def deliveries(sandbox: Sandbox) -> list[dict[str, Any]]:
    """Return every delivery so far: event, folder, attempt, HTTP status (None: no answer)."""
    return [delivery for _, delivery in sandbox.store.all(_DELIVERIES)]
