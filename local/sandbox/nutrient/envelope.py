"""The JSON around every extraction answer, and the error bodies of both products.

Sources: recordings of 18 August to 3 September 2026; error shapes from vendor documentation.
"""

from __future__ import annotations

import secrets
import uuid
from typing import Any

_KEY_CODES = frozenset(
    {
        "idempotency_key_conflict",
        "idempotency_admission_in_progress",
        "invalid_idempotency_key",
    }
)
API_VERSION = "2026-05-25"
EXTRACT_CREDITS = 6.0
PARSE_CREDITS = {"text": 1.0, "structure": 1.5, "understand": 9.0, "agentic": 18.0}


def request_id(*, august: bool) -> str:
    """Return a fresh id: a 20-character token before September, a UUID after."""
    return secrets.token_urlsafe(15) if august else str(uuid.uuid4())


def configuration(mode: str, output_format: str | None = None) -> dict[str, Any]:
    """Return what was asked for; the engine version is the requested one, not what ran."""
    asked: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "engine": {"requestedEngineVersion": "stable"},
        "maxLanguages": 2,
        "maxScripts": 2,
        "mode": mode,
    }
    return asked if output_format is None else {**asked, "outputFormat": output_format}


def extraction_error(
    status: int, message: str, code: str, path: str, *, august: bool
) -> dict[str, Any]:
    """Return the body of a refused extraction call (validation and processing)."""
    details: dict[str, Any] = {"source": "request", "code": code, "failingPaths": []}
    if path:
        details["failingPaths"] = [{"path": f"$.{path}", "details": message}]
    return {
        "status": status,
        "requestId": request_id(august=august),
        "errorMessage": message,
        "errorDetails": details,
    }


def processor_error(
    status: int, message: str, code: str, path: str, *, august: bool
) -> dict[str, Any]:
    """Return the body of a refused Processor call; only conflicts over a key carry a code."""
    failing = [{"path": f"$.{path}", "details": message}] if path else []
    body = {
        "details": message,
        "status": status,
        "requestId": request_id(august=august),
        "failingPaths": failing,
    }
    return {**body, "code": code} if code in _KEY_CODES else body


def gateway_error(status: int, details: str, *, august: bool) -> dict[str, Any]:
    """Return the body of a gateway refusal, as recorded for 403."""
    return {
        "error": {
            "details": details,
            "requestId": request_id(august=august),
            "status": status,
            "supportUrl": "https://www.nutrient.io/api/support/",
        }
    }
