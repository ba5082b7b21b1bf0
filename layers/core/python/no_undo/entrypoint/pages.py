"""Response headers of everything an approver's browser is given.

Sources: CSP Level 3; Referrer Policy; RFC 9111 5.2 (`no-store`); RFC 6797 (HSTS).
"""

from __future__ import annotations

from collections.abc import Mapping

from no_undo.domain.results import Result, ResultKind

_HSTS_SECONDS = 2 * 365 * 24 * 3600

# The address of these pages holds the approval token: it must not travel in a Referer, stay in a
# cache, or be readable by another window.
_COMMON: Mapping[str, str] = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": (
        "accelerometer=(), camera=(), clipboard-read=(), geolocation=(), microphone=(), payment=(),"
        " usb=()"
    ),
    "referrer-policy": "no-referrer",
    "strict-transport-security": f"max-age={_HSTS_SECONDS}; includeSubDomains",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "x-robots-tag": "noindex, nofollow, noarchive",
}

_NOTHING_ALLOWED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def page_headers(style_source: str) -> dict[str, str]:
    """Return the headers of one HTML page.

    Args:
        style_source: CSP source of the page's inline stylesheet, `'sha256-...'`.

    Returns:
        Lower-case names. The policy allows that stylesheet, pictures and form posts of the same
        origin, and nothing else: no script at all.
    """
    policy = (
        f"default-src 'none'; style-src {style_source}; img-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )
    return {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": policy,
        **_COMMON,
    }


def file_headers(content_type: str) -> dict[str, str]:
    """Return the headers of a page picture or any other non-page answer to an approver."""
    return {
        "content-type": content_type,
        "content-security-policy": _NOTHING_ALLOWED,
        **_COMMON,
    }


def redirect_headers(location: str) -> dict[str, str]:
    """Return the headers of a redirect, for example to a short-lived document URL."""
    return {"location": location, "content-security-policy": _NOTHING_ALLOWED, **_COMMON}


_STATUS: Mapping[ResultKind, int] = {
    ResultKind.APPROVED_WAITING: 200,
    ResultKind.APPROVED_COMPLETE: 200,
    ResultKind.APPROVED_PAUSED: 200,
    ResultKind.REJECTED: 200,
    ResultKind.CORRECTED: 200,
    ResultKind.QUESTION_SENT: 200,
    ResultKind.HANDED_OVER: 200,
    ResultKind.ALREADY_DECIDED: 200,
    ResultKind.CLOSED_BY_OTHERS: 410,
    ResultKind.QUORUM_COMPLETE: 410,
    ResultKind.EXPIRED: 410,
    ResultKind.SUPERSEDED: 410,
    ResultKind.APPROVAL_WITHDRAWN: 410,
    ResultKind.ABANDONED: 410,
    ResultKind.WITHDRAWN: 410,
    ResultKind.UNKNOWN_LINK: 404,
    ResultKind.WRONG_CONFIRMATION: 422,
    ResultKind.TOO_MANY_TRIES: 429,
    ResultKind.ERROR: 500,
}


def result_status(result: Result) -> int:
    """Return the HTTP status of a result page (RFC 9110 15)."""
    return _STATUS[result.kind]
