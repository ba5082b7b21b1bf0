"""Opens of approval links: recorded, so that an auditor sees who looked and did not decide (P6).

Rules:
1. Opens have a chain of their own, `<request_id>#opens`: the page that shows the card may write
   nothing else.
2. The first `MAX_RECORDED_OPENS` opens by one approver are recorded; later ones are only counted,
   so that a robot cannot fill the chain.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from no_undo.domain.audit_chain import AuditEvent

MAX_RECORDED_OPENS: Final = 20


def opens_chain_of(request_id: str) -> str:
    """Return the id of a request's chain of opens (rule 1)."""
    return f"{request_id}#opens"


def opened(approver: str, at: datetime) -> AuditEvent:
    """Return the record of one open.

    Args:
        approver: Normalised address that the link was mailed to.
        at: UTC.
    """
    return AuditEvent(kind="link.opened", actor=approver, at=at)
