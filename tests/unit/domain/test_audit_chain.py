"""The audit chain; the numbers are those of the module's docstring."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from no_undo.domain.audit_chain import (
    ZERO_HASH,
    AuditEvent,
    AuditRecord,
    ChainHead,
    Provenance,
    next_record,
    verify_chain,
)
from no_undo.domain.canonical_json import canonical_bytes
from no_undo.domain.errors import TamperedError

NOON = datetime(2026, 3, 2, 12, 0, 0, 123456, tzinfo=UTC)
PROVENANCE = Provenance("1.2.3", "c" * 16)
EVENT = AuditEvent("plan.begun", "send_envelope", NOON, {"number": 1}, "r1#1")


def a_chain(length: int = 3, chain_id: str = "r1") -> list[AuditRecord]:
    head = ChainHead(chain_id)
    records: list[AuditRecord] = []
    for number in range(length):
        record = next_record(head, replace(EVENT, details={"number": number}), PROVENANCE)
        head = ChainHead(chain_id, record.seq, record.hash)
        records.append(record)
    return records


def rewritten(record: AuditRecord, **changes: object) -> AuditRecord:
    """Return a record with another content and a hash that fits it."""
    line = canonical_bytes(json.loads(record.line) | changes)
    return replace(record, line=line.decode(), hash=hashlib.sha256(line).hexdigest())


def test_rule_1_the_stored_line_is_canonical_and_hashed_as_bytes() -> None:
    record = next_record(ChainHead("r1"), EVENT, PROVENANCE)

    assert record.hash == hashlib.sha256(record.line.encode()).hexdigest()
    assert record.line == (
        '{"actor":"send_envelope","at":"2026-03-02T12:00:00.123+00:00","chain":"r1",'
        '"code":"1.2.3","config":"cccccccccccccccc","details":{"number":1},"kind":"plan.begun",'
        '"plan":"r1#1","prev":"' + ZERO_HASH + '","seq":1,"v":1}'
    )


def test_a_moment_is_written_in_utc_whatever_zone_it_came_in() -> None:
    elsewhere = replace(EVENT, at=NOON.astimezone(timezone(timedelta(hours=2))))

    assert next_record(ChainHead("r1"), elsewhere, PROVENANCE) == next_record(
        ChainHead("r1"), EVENT, PROVENANCE
    )


def test_rules_2_and_3_each_record_follows_the_one_before() -> None:
    records = a_chain()

    assert [one.seq for one in records] == [1, 2, 3]
    assert json.loads(records[2].line)["prev"] == records[1].hash


def test_p9_a_whole_chain_verifies_and_says_where_it_ends() -> None:
    records = a_chain()

    assert verify_chain("r1", records) == ChainHead("r1", 3, records[2].hash)
    assert verify_chain("r1", []) == ChainHead("r1")


def test_p9_an_edited_line_is_named() -> None:
    records = a_chain()
    records[1] = replace(records[1], line=records[1].line.replace("begun", "ended"))

    with pytest.raises(TamperedError, match="record 2 of chain r1"):
        verify_chain("r1", records)


def test_p9_a_rewritten_record_breaks_the_one_that_follows() -> None:
    records = a_chain()
    records[1] = rewritten(records[1], actor="somebody else")

    with pytest.raises(TamperedError, match="record 3 of chain r1: prev"):
        verify_chain("r1", records)


def test_p9_a_dropped_a_repeated_and_a_swapped_record_are_seen() -> None:
    one, two, three = a_chain()

    for changed in ([one, three], [one, one, two], [two, one, three], [two, three]):
        with pytest.raises(TamperedError):
            verify_chain("r1", changed)


def test_p9_a_record_of_another_chain_does_not_fit() -> None:
    with pytest.raises(TamperedError, match="chain is not"):
        verify_chain("r1", a_chain(chain_id="r2"))


def test_a_line_that_is_not_in_canonical_form_does_not_verify_even_with_its_own_hash() -> None:
    record = a_chain(1)[0]
    line = record.line.replace('":', '": ')
    loose = replace(record, line=line, hash=hashlib.sha256(line.encode()).hexdigest())

    with pytest.raises(TamperedError, match="canonical form"):
        verify_chain("r1", [loose])


def test_a_number_that_only_looks_right_does_not_verify() -> None:
    with pytest.raises(TamperedError, match="known version"):
        verify_chain("r1", [rewritten(a_chain(1)[0], seq=True)])


@pytest.mark.parametrize(
    "line", ["", "no json", '{"a":1.5}', "[]", "{}", "\ud800", "[" * 100_000], ids=range(7)
)
def test_a_line_that_is_no_record_does_not_verify(line: str) -> None:
    hashed = hashlib.sha256(line.encode(errors="replace")).hexdigest()
    odd = AuditRecord("r1", 1, line, hashed)

    with pytest.raises(TamperedError):
        verify_chain("r1", [odd])
