"""Receipts; the numbers are those of the module's docstring."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from no_undo.adapters.jinja_pages import JinjaPages
from no_undo.domain.audit_chain import AuditEvent, AuditRecord, ChainHead, next_record
from no_undo.domain.canonical_json import Json, canonical_bytes
from no_undo.domain.errors import TamperedError
from no_undo.domain.receipt import Receipt, check_receipt, parse_receipt
from no_undo.lab.fixed_clock import FixedClock
from no_undo.use_cases.export_audit import Exporting, export_audit
from no_undo.use_cases.verify_audit import opened_note
from tests.fakes.audit_exports import NOON, ORIGIN, PROVENANCE, SIGNER, Signer, chain
from tests.fakes.audit_outbox import InMemoryArchive, InMemoryOutbox, InMemorySigner

STORY: list[tuple[str, str, dict[str, Json]]] = [
    ("request.submitted", "arn:aws:iam::123456789012:user/carol", {"source": "a" * 64}),
    ("redaction.verified", "verify_redaction", {"proven": True, "verdictSha256": "b" * 64}),
    (
        "plan.proposed",
        "request_approval",
        {"digest": "c" * 64, "document": "d" * 64, "envelope": "77", "quorum": 1},
    ),
    (
        "plan.approved",
        "dave@example.com",
        {"verdict": "approve", "digest": "c" * 64, "card": "e" * 64, "reason": "gut, geprüft"},
    ),
    ("attempt.answered", "send_envelope", {"answer": "ACCEPTED"}),
    ("plan.executed", "reconcile_sends", {"because": "status SHARED"}),
    ("plan.followed_up", "reconcile_sends", {"became": "SIGNED"}),
    ("signed_document.archived", "archive_signed_document", {"sha256": "f" * 64}),
    ("request.closed", "close_request", {"state": "COMPLETED"}),
]


def records_of(story: list[tuple[str, str, dict[str, Json]]]) -> list[AuditRecord]:
    head, records = ChainHead("r1"), list[AuditRecord]()
    for kind, actor, details in story:
        record = next_record(head, AuditEvent(kind, actor, NOON, details, "r1#1"), PROVENANCE)
        head = ChainHead("r1", record.seq, record.hash)
        records.append(record)
    return records


def a_receipt() -> Receipt:
    """Return the receipt of a request whose chain was exported in two checkpoints among others."""
    outbox, archive, records = InMemoryOutbox(), InMemoryArchive(), records_of(STORY)
    exporting = Exporting(outbox, archive, InMemorySigner(), FixedClock(NOON), ORIGIN)
    for some in ([*chain("r0", 3), *records[:4]], [*records[4:], *chain("r2", 2)]):
        outbox.add(some)
        export_audit(exporting, lambda: 1e9)
    anchor = outbox.anchor("r1")
    assert anchor is not None
    return Receipt(tuple(one.line for one in records), anchor)


RECEIPT = a_receipt()
FILE = RECEIPT.to_bytes()


def check(content: bytes, signer: Signer = SIGNER) -> None:
    """Verify a file as the command does."""
    receipt = parse_receipt(content)
    checkpoint, _key = opened_note(receipt.anchor.note, [signer.public])
    check_receipt(receipt, checkpoint)


def test_a_receipt_verifies_from_its_own_contents_and_the_key() -> None:
    check(FILE)
    assert parse_receipt(FILE) == RECEIPT


def test_rule_3_what_it_says_is_what_the_records_carry() -> None:
    says: Any = json.loads(FILE)["says"]

    assert says["state"] == "COMPLETED"
    assert says["documents"] == {"source": "a" * 64, "approved": "d" * 64, "signed": "f" * 64}
    assert says["plan"] == {"id": "r1#1", "digest": "c" * 64, "envelope": "77", "quorum": 1}
    assert says["redaction"] == {"proven": True, "verdict_sha256": "b" * 64}
    assert [one["card_digest"] for one in says["decisions"]] == ["e" * 64]
    assert [one["says"] for one in says["vendor"]] == ["ACCEPTED", "status SHARED", "SIGNED"]
    assert [one["kind"] for one in says["transitions"]] == [kind for kind, _by, _what in STORY]


@pytest.mark.parametrize(
    ("member", "value"),
    [("state", "REJECTED"), ("decisions", []), ("plan", {}), ("more", "words")],
)
def test_rule_3_a_statement_that_the_records_do_not_carry_does_not_verify(
    member: str, value: Json
) -> None:
    body = json.loads(FILE)
    body["says"][member] = value

    with pytest.raises(TamperedError, match="do not carry"):
        check(canonical_bytes(body))


def test_rule_1_a_record_that_was_changed_is_named() -> None:
    lines = list(RECEIPT.records)
    lines[3] = lines[3].replace('"verdict":"approve"', '"verdict":"reject"')

    with pytest.raises(TamperedError, match="record 5 of chain r1"):
        check(replace(RECEIPT, records=tuple(lines)).to_bytes())


def test_rule_1_a_receipt_ends_with_an_ending() -> None:
    cut = replace(RECEIPT, records=RECEIPT.records[:-1])
    claimed = replace(cut, anchor=replace(cut.anchor, seq=8))

    with pytest.raises(TamperedError, match="do not end"):
        check(cut.to_bytes())
    with pytest.raises(TamperedError, match="not an ending"):
        check(claimed.to_bytes())


def test_rule_2_the_proof_leads_to_the_signed_root_from_its_place_alone() -> None:
    anchor = RECEIPT.anchor
    for wrong in (
        replace(anchor, index=anchor.index + 1),
        replace(anchor, proof=anchor.proof[:-1]),
        replace(anchor, proof=()),
    ):
        with pytest.raises(TamperedError, match="root that was signed"):
            check(replace(RECEIPT, anchor=wrong).to_bytes())


def test_another_key_signed_nothing_here() -> None:
    with pytest.raises(ValueError, match="another key"):
        check(FILE, Signer.of(2))


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"null", b'{"records":1}', FILE + b"\n"])
def test_rule_4_what_is_not_in_the_one_form_is_no_receipt(content: bytes) -> None:
    with pytest.raises(TamperedError):
        check(content)


@given(st.integers(0, len(FILE) - 1), st.integers(1, 255))
@settings(max_examples=300, deadline=None)
def test_any_changed_byte_of_a_receipt_is_reported(place: int, change: int) -> None:
    other = FILE[:place] + bytes([FILE[place] ^ change]) + FILE[place + 1 :]
    with pytest.raises((TamperedError, ValueError)):
        check(other)


def test_the_page_prints_everything_that_is_needed_to_compute_it_again() -> None:
    """Paper alone: the lines, canonicalised, hash to what the next one and the proof start from."""
    html = JinjaPages().receipt_page(RECEIPT).html

    for line in RECEIPT.records:
        body = json.loads(line)
        assert canonical_bytes(body).decode() == line
        printed = json.dumps(body, sort_keys=True).replace("&", "&amp;").replace('"', "&#34;")
        assert printed in html
        assert str(body["prev"]) in html
    assert all(one.hex() in html for one in RECEIPT.anchor.proof)
    for line in RECEIPT.anchor.note.decode().split("\n"):
        assert line.replace("+", "&#43;") in html or line in html
