"""Signed notes and checkpoints have one form each."""

from __future__ import annotations

import base64

import pytest

from no_undo.domain.checkpoint import Checkpoint, parse_checkpoint
from no_undo.domain.signed_note import (
    NoteSignature,
    SignedNote,
    is_key_name,
    key_id_of,
    parse_note,
)

NOTE = SignedNote("audit.example\n1\n", (NoteSignature("audit.example", b"abcd", b"s" * 64),))
CHECKPOINT = Checkpoint("audit.example/log", 7, b"r" * 32, "a" * 64)


def test_a_note_is_read_as_it_was_written() -> None:
    assert parse_note(NOTE.to_bytes()) == NOTE
    assert (
        NOTE.to_bytes().decode().endswith(f"\n\n\u2014 audit.example {_b64(b'abcd' + b's' * 64)}\n")
    )


def _b64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def test_rule_3_the_key_id_starts_the_hash_of_name_type_and_key() -> None:
    """The key and the id that Go's checksum database publishes for itself."""
    key = base64.b64decode("Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8")

    assert key[0] == 1
    assert key_id_of("sum.golang.org", key[1:]).hex() == "033de0ae"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"text\n",
        NOTE.to_bytes()[:-1],
        NOTE.to_bytes() + b"\n",
        NOTE.to_bytes().replace("\u2014".encode(), b"-"),
        NOTE.to_bytes().replace(b"audit.example ", b"audit+example "),
        NOTE.to_bytes().replace(b"3M=\n", b"3M\n"),
        NOTE.to_bytes().replace(b"3M=\n", b"3N=\n"),
        NOTE.to_bytes().replace(_b64(b"abcd" + b"s" * 64).encode(), b"!!!!"),
        NOTE.to_bytes().replace(_b64(b"abcd" + b"s" * 64).encode(), b"YWJj"),
        b"\x00" + NOTE.to_bytes(),
        b"\xff" + NOTE.to_bytes(),
    ],
)
def test_rule_4_what_is_not_in_the_one_form_is_no_note(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"note|base64"):
        parse_note(content)


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\u00a0b", "a\x00"])
def test_a_key_name_has_no_space_and_no_plus(name: str) -> None:
    assert not is_key_name(name)
    assert is_key_name("audit.example/no-undo")


def test_a_checkpoint_is_read_as_it_was_written() -> None:
    assert parse_checkpoint(CHECKPOINT.to_text()) == CHECKPOINT
    assert CHECKPOINT.to_text().count("\n") == 4


@pytest.mark.parametrize(
    "text",
    [
        "",
        CHECKPOINT.to_text()[:-1],
        CHECKPOINT.to_text() + "more\n",
        CHECKPOINT.to_text().replace("\n7\n", "\n07\n"),
        CHECKPOINT.to_text().replace("\n7\n", "\n-7\n"),
        CHECKPOINT.to_text().replace("sha256:a", "sha256:A"),
        CHECKPOINT.to_text().replace(_b64(b"r" * 32), _b64(b"r" * 31)),
        CHECKPOINT.to_text().replace(_b64(b"r" * 32), "====" + _b64(b"r" * 32)),
        CHECKPOINT.to_text().replace("cnI=", "cnJ="),
        CHECKPOINT.to_text().replace("audit.example/log", "audit example"),
    ],
)
def test_rule_3_what_is_not_in_the_one_form_is_no_checkpoint(text: str) -> None:
    with pytest.raises(ValueError, match="checkpoint"):
        parse_checkpoint(text)
