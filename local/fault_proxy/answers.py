"""Errors as AWS services answer them (DynamoDB, SES and Lambda API references)."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response


def cancelled(code: str, items: int) -> Response:
    """A cancelled transaction: the first part has a reason, the others none."""
    codes = [code, *["None"] * (items - 1)]
    reasons = [{"Code": one, **_message_of(one)} for one in codes]
    message = (
        "Transaction cancelled, please refer cancellation reasons for specific reasons "
        f"[{', '.join(codes)}]"
    )
    return _error("TransactionCanceledException", 400, message, CancellationReasons=reasons)


def _message_of(code: str) -> dict[str, str]:
    return {} if code == "None" else {"Message": f"{code}, as a fault was armed to say"}


def refused(code: str, status: int) -> Response:
    """An error of one code; the JSON and the REST protocols find it each in their place."""
    return _error(code, status, f"{code}, as a fault was armed to say")


def _error(code: str, status: int, message: str, **more: object) -> Response:
    body = {"__type": f"com.amazonaws#{code}", "message": message, **more}
    return JSONResponse(body, status_code=status, headers={"x-amzn-errortype": code})
