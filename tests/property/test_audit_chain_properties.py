"""No change to an audit chain goes unseen (P9)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from no_undo.domain.audit_chain import (
    AuditEvent,
    AuditRecord,
    ChainHead,
    Provenance,
    next_record,
    verify_chain,
)
from no_undo.domain.canonical_json import MAX_SAFE_INTEGER, canonical_bytes
from no_undo.domain.errors import TamperedError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
KEYS = st.text(st.characters(max_codepoint=127, exclude_categories=["Cs"]), max_size=10)
SCALARS = st.one_of(TEXT, st.booleans(), st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
EVENTS = st.builds(
    AuditEvent,
    kind=TEXT,
    actor=TEXT,
    at=st.datetimes(timezones=st.just(UTC)),
    details=st.dictionaries(KEYS, VALUES, max_size=3),
    plan_id=TEXT,
)
CHAINS = st.lists(EVENTS, min_size=2, max_size=6)


def chain_of(events: list[AuditEvent]) -> list[AuditRecord]:
    head = ChainHead("r1")
    records: list[AuditRecord] = []
    for event in events:
        record = next_record(head, event, Provenance("1", "c"))
        head = ChainHead("r1", record.seq, record.hash)
        records.append(record)
    return records


def test_a_year_of_every_length_is_written_the_same_way() -> None:
    event = AuditEvent("k", "a", datetime(5, 1, 1, tzinfo=UTC))

    assert '"at":"0005-01-01T00:00:00.000+00:00"' in chain_of([event])[0].line


@given(CHAINS)
def test_every_chain_of_events_verifies(events: list[AuditEvent]) -> None:
    records = chain_of(events)

    assert verify_chain("r1", records) == ChainHead("r1", len(records), records[-1].hash)


@given(CHAINS, st.data())
def test_any_change_of_one_line_is_seen(events: list[AuditEvent], data: st.DataObject) -> None:
    records = chain_of(events)
    at = data.draw(st.integers(0, len(records) - 1))
    place = data.draw(st.integers(0, len(records[at].line) - 1))
    sign = data.draw(st.characters())
    line = records[at].line[:place] + sign + records[at].line[place + 1 :]
    records[at] = replace(records[at], line=line)

    if line == chain_of(events)[at].line:
        return
    with pytest.raises(TamperedError):
        verify_chain("r1", records)


@given(CHAINS, st.data())
def test_rewriting_any_record_but_the_last_is_seen_even_with_its_own_hash_put_right(
    events: list[AuditEvent], data: st.DataObject
) -> None:
    records = chain_of(events)
    at = data.draw(st.integers(0, len(records) - 2))
    body: dict[str, Any] = json.loads(records[at].line) | {"actor": data.draw(TEXT)}
    line = canonical_bytes(body)
    rewritten = replace(records[at], line=line.decode(), hash=hashlib.sha256(line).hexdigest())
    if rewritten == records[at]:
        return
    records[at] = rewritten

    with pytest.raises(TamperedError, match=f"record {at + 2} "):
        verify_chain("r1", records)


@given(CHAINS, st.data())
def test_dropping_any_record_but_the_last_ones_is_seen(
    events: list[AuditEvent], data: st.DataObject
) -> None:
    records = chain_of(events)
    del records[data.draw(st.integers(0, len(records) - 2))]

    with pytest.raises(TamperedError):
        verify_chain("r1", records)


@given(CHAINS, st.data())
def test_a_cut_tail_shows_in_the_head(events: list[AuditEvent], data: st.DataObject) -> None:
    records = chain_of(events)
    whole = verify_chain("r1", records)

    cut = verify_chain("r1", records[: data.draw(st.integers(0, len(records) - 1))])

    assert cut != whole


@given(CHAINS, st.permutations(range(6)))
def test_any_other_order_is_seen(events: list[AuditEvent], order: list[int]) -> None:
    records = chain_of(events)
    shuffled = [records[one] for one in order if one < len(records)]
    if shuffled == records:
        return

    with pytest.raises(TamperedError):
        verify_chain("r1", shuffled)


@given(VALUES)
def test_the_form_of_a_value_is_json_that_reads_back_and_has_the_same_form(value: Any) -> None:  # noqa: ANN401
    form = canonical_bytes(value)

    assert json.loads(form) == value
    assert canonical_bytes(json.loads(form)) == form
