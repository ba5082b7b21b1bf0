"""The one byte form of a JSON value (RFC 8785)."""

from __future__ import annotations

from typing import Any

import pytest

from no_undo.domain.canonical_json import MAX_SAFE_INTEGER, canonical_bytes, sha256_hex


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"b": 1, "a": 2}, b'{"a":2,"b":1}'),
        ({"a": [True, False, "x"]}, b'{"a":[true,false,"x"]}'),
        ({"a": {}}, b'{"a":{}}'),
        # RFC 8785 3.2.2.2: only these are escaped, everything else is itself.
        ('\b\t\n\f\r"\\/\x01', b'"\\b\\t\\n\\f\\r\\"\\\\/\\u0001"'),
        ("\u20ac$\u000f\nA'B\"", b'"\xe2\x82\xac$\\u000f\\nA\'B\\""'),
        ("\x7f\u2028", b'"\x7f\xe2\x80\xa8"'),
        (-0, b"0"),
        (MAX_SAFE_INTEGER, b"9007199254740991"),
    ],
)
def test_a_value_has_exactly_one_form(value: Any, expected: bytes) -> None:  # noqa: ANN401
    assert canonical_bytes(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        1.0,
        None,
        {"a": None},
        {"\u00e4": 1},
        {1: "x"},
        MAX_SAFE_INTEGER + 1,
        -MAX_SAFE_INTEGER - 1,
        "\ud800",
        b"bytes",
        {"a": {"b": [0.5]}},
    ],
    ids=repr,
)
def test_what_has_no_form_is_refused(value: Any) -> None:  # noqa: ANN401
    with pytest.raises(ValueError):  # noqa: PT011 - the class is the promise
        canonical_bytes(value)


def test_the_digest_is_the_sha256_of_the_form() -> None:
    assert sha256_hex({"a": 1}) == (
        "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
    )
