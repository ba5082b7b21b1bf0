"""The child process that opens PDFs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from no_undo.adapters.pdf_sandboxed import Limits, PdfSandbox, ReaderStoppedError, pack, unpack

SANDBOX = PdfSandbox()


@given(st.dictionaries(st.text(), st.integers()), st.lists(st.binary(max_size=20), max_size=4))
def test_what_is_packed_is_unpacked(header: dict[str, int], blobs: list[bytes]) -> None:
    assert unpack(pack(header, blobs)) == (header, blobs)


@given(st.binary(max_size=40))
def test_an_answer_that_is_cut_or_foreign_stops_and_never_breaks(frame: bytes) -> None:
    with pytest.raises(ReaderStoppedError):
        unpack(frame + b"\x00")


def test_a_library_failure_is_named_by_its_kind_alone() -> None:
    with pytest.raises(ReaderStoppedError, match=r"gave up \(KeyError\)") as caught:
        SANDBOX.ask("no such task", {}, [b"secret text"])

    assert "secret" not in str(caught.value)


def test_a_child_that_dies_is_reported() -> None:
    tiny = PdfSandbox(Limits(memory_bytes=1))

    with pytest.raises(ReaderStoppedError):
        tiny.ask("read", {"questions": ["facts"]}, [b"%PDF-"])


def test_a_child_that_takes_too_long_is_stopped() -> None:
    with pytest.raises(ReaderStoppedError, match=r"did not finish within 0\.001 seconds"):
        SANDBOX.ask("read", {"questions": ["facts"]}, [b"%PDF-"], seconds=0.001)
