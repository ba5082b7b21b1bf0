"""The vendor's webhook is a hint to look: signed, and never a fact."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from no_undo.domain.errors import InvalidRequestError
from no_undo.use_cases.receive_webhook import check_signature

SECRET = "example-webhook-secret"
BODY = b'{"data": {"folder": {"folderName": "Invoice [x#1]"}}}'


def signed(body: bytes, secret: str = SECRET) -> str:
    return base64.b64encode(hmac.new(secret.encode(), body, hashlib.sha256).digest()).decode()


def test_the_signature_of_the_raw_body_is_accepted() -> None:
    check_signature(BODY, signed(BODY), SECRET)


def test_a_plus_that_arrives_as_a_space_is_still_the_same_signature() -> None:
    body = next(b"%d" % n for n in range(1000) if "+" in signed(b"%d" % n))

    check_signature(body, signed(body).replace("+", " "), SECRET)


@pytest.mark.parametrize(
    ("body", "signature", "secret"),
    [
        (BODY + b" ", signed(BODY), SECRET),
        (BODY, signed(BODY, "another"), SECRET),
        (BODY, "", SECRET),
        (BODY, "ü", SECRET),
        (BODY, signed(BODY, ""), ""),
    ],
    ids=["other body", "other secret", "no signature", "not base64", "no secret configured"],
)
def test_anything_else_is_refused(body: bytes, signature: str, secret: str) -> None:
    with pytest.raises(InvalidRequestError):
        check_signature(body, signature, secret)
