"""Reading untrusted JSON."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from no_undo.adapters.json_answers import (
    MAX_DEPTH,
    as_list,
    as_number,
    as_object,
    as_text,
    json_object,
)

_SCALARS = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)


@given(st.dictionaries(st.text(), _SCALARS.filter(lambda v: v not in (math.inf, -math.inf))))
def test_an_object_is_read_as_it_was_written(value: dict[str, object]) -> None:
    assert json_object(json.dumps(value).encode()) == value


@given(st.binary())
def test_any_bytes_are_read_or_refused_without_an_exception(body: bytes) -> None:
    read = json_object(body)

    assert read is None or isinstance(read, dict)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html></html>",
        b"[1]",
        b'"text"',
        b"null",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": 1e999}',
        b"\xff",
    ],
)
def test_what_is_no_json_object_is_none(body: bytes) -> None:
    assert json_object(body) is None


@pytest.mark.parametrize("opening", [b'{"a":', b"["])
def test_deep_nesting_is_refused(opening: bytes) -> None:
    closing = b"}" if opening.startswith(b"{") else b"]"

    assert json_object(b'{"a":' + opening * 100_000 + b"1" + closing * 100_000 + b"}") is None


def test_nesting_up_to_the_limit_is_read() -> None:
    assert json_object(b'{"a":' * (MAX_DEPTH - 1) + b"1" + b"}" * (MAX_DEPTH - 1)) is not None
    assert json_object(b'{"a":' * MAX_DEPTH + b"1" + b"}" * MAX_DEPTH) is None


def test_whole_and_fractional_numbers_stay_apart() -> None:
    read = json_object(b'{"whole": 4, "fraction": 4.0}')

    assert read is not None
    assert [type(value) for value in read.values()] == [int, float]


@pytest.mark.parametrize("value", [True, False, None, "1", [1], math.inf, math.nan, 10**400])
def test_what_is_no_finite_number_is_none(value: object) -> None:
    assert as_number(value) is None


@pytest.mark.parametrize(("value", "number"), [(0, 0.0), (0.95, 0.95), (-1, -1.0)])
def test_a_number_is_read(value: object, number: float) -> None:
    assert as_number(value) == number


def test_other_types_are_none() -> None:
    assert as_object([]) is None
    assert as_list({}) is None
    assert as_text("") is None
    assert as_text(1) is None
