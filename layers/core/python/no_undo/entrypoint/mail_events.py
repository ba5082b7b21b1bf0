"""What SES publishes about one mail, through EventBridge, in our words.

Source: Amazon SES developer guide, "Contents of event data that Amazon SES publishes" (read
2026-12-01); samples in `events/mail/`. The emulator publishes none of them.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.mail import LINK_TAG, REQUEST_TAG
from no_undo.domain.plan import Delivery
from no_undo.use_cases.record_mail_event import MailEvent

_SUPPRESSED = frozenset({"Suppressed", "OnAccountSuppressionList"})
"""Sub-types that say: SES did not even try, the address is on a suppression list."""


class _Part(BaseModel):
    # AWS adds keys over time. Values stay out of error texts: they are addresses (P10).
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class _Headers(_Part):
    subject: str = ""


class _Mail(_Part):
    destination: tuple[str, ...] = ()
    tags: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    headers: _Headers = Field(default_factory=_Headers, alias="commonHeaders")


class _Bounce(_Part):
    sub_type: str = Field(default="", alias="bounceSubType")


class _Complaint(_Part):
    sub_type: str | None = Field(default=None, alias="complaintSubType")


class _Detail(_Part):
    event_type: str = Field(alias="eventType")
    mail: _Mail
    bounce: _Bounce = Field(default_factory=_Bounce)
    complaint: _Complaint = Field(default_factory=_Complaint)


class _Event(_Part):
    detail: _Detail


def mail_event(event: dict[str, Any]) -> MailEvent:
    """Return what an event says.

    Raises:
        InvalidRequestError: It is of a kind that nobody asked for.
        ValidationError: It does not have the shape of such an event.
    """
    detail = _Event.model_validate(event).detail
    return MailEvent(
        delivery=_delivery(detail),
        request_id=_first(detail.mail.tags, REQUEST_TAG),
        link=_first(detail.mail.tags, LINK_TAG),
        addresses=detail.mail.destination,
        subject=detail.mail.headers.subject,
    )


def _delivery(detail: _Detail) -> Delivery:
    match detail.event_type:
        case "Delivery":
            return Delivery.DELIVERED
        case "Bounce":
            listed = detail.bounce.sub_type in _SUPPRESSED
            return Delivery.SUPPRESSED if listed else Delivery.BOUNCED
        case "Complaint":
            listed = detail.complaint.sub_type in _SUPPRESSED
            return Delivery.SUPPRESSED if listed else Delivery.UNWANTED
        case "Reject":
            return Delivery.REFUSED
        case _:
            raise InvalidRequestError("this kind of mail event was not asked for")


def _first(tags: dict[str, tuple[str, ...]], name: str) -> str:
    return next(iter(tags.get(name, ())), "")
