"""Rows as items: old items stay readable, indexes stay sparse, instants sort as text."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from no_undo.adapters.dynamodb_rows import (
    Item,
    TableNames,
    caller_partition,
    from_item,
    instant,
    key_of,
    place_of,
    plain,
    to_item,
)
from no_undo.domain.approval import ApprovalLink
from no_undo.domain.errors import TamperedError
from no_undo.domain.fence import Fence
from no_undo.domain.ledger import LedgerEntry, Pause
from no_undo.domain.plan import Plan
from no_undo.domain.request import Request
from no_undo.ports import Row
from tests.integration.aws.examples import NOON, a_link, a_pause, a_plan, a_request, an_entry

SAMPLES = Path(__file__).parent / "stored_items"
ROW_TYPES: tuple[type[Row], ...] = (Request, Plan, LedgerEntry, Fence, ApprovalLink, Pause)
TABLES = TableNames("requests", "plans", "ledger", "fences", "approvals", "a", "h", "o")

aware = st.datetimes(timezones=st.just(UTC))


def item_of(row: Row) -> Item:
    return to_item(row, place_of(type(row), key_of(row), TABLES))


def row_of(row_type: type[Row], item: Item) -> Row:
    kind: Any = row_type  # one of the types that `from_item` is written for
    row: Row = from_item(kind, item)
    return row


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.json")), ids=lambda one: one.stem)
def test_items_stored_by_every_earlier_version_stay_readable(sample: Path) -> None:
    """Samples are only ever added; a new field needs a default, or this fails."""
    kinds = {one.__name__: one for one in ROW_TYPES}
    kind = kinds[sample.stem.partition("_")[2]]

    row = row_of(kind, json.loads(sample.read_text()))

    assert row.revision > 0
    assert row_of(kind, item_of(row)) == row


def test_there_is_a_sample_of_every_kind_of_row() -> None:
    assert {one.stem.partition("_")[2] for one in SAMPLES.glob("*.json")} == {
        one.__name__ for one in ROW_TYPES
    }


def test_attributes_that_this_version_does_not_know_are_ignored() -> None:
    item = {**item_of(a_link()), "from_a_later_version": {"M": {"x": {"N": "1"}}}}

    assert from_item(ApprovalLink, item) == a_link()


@pytest.mark.parametrize("row_type", ROW_TYPES, ids=lambda one: one.__name__)
def test_every_row_carries_its_revision(row_type: type[Row]) -> None:
    assert "revision" in {one.name for one in fields(row_type)}


def test_an_item_of_another_shape_is_refused_by_field_name_without_its_value() -> None:
    item = {**item_of(a_link()), "expires_at": {"S": "alice@example.com"}}

    with pytest.raises(TamperedError, match=r"ApprovalLink.*expires_at") as caught:
        from_item(ApprovalLink, item)

    assert "alice" not in str(caught.value)


def test_a_plan_is_in_the_due_index_only_while_it_is_due() -> None:
    assert plain(item_of(a_plan()))["due_partition"] == "DUE"
    for never in (a_plan(due_at=None), replace(a_plan(), due_kind=None)):
        assert "due_partition" not in item_of(never)
    assert "due_at" not in item_of(a_plan(due_at=None))


def test_a_request_is_in_the_open_index_only_while_somebody_has_to_look() -> None:
    assert plain(item_of(a_request()))["open_partition"] == "OPEN"
    ended = item_of(replace(a_request(), check_at=None))
    assert "open_partition" not in ended
    assert "check_at" not in ended


def test_a_request_is_in_the_drafts_index_only_while_it_has_abandoned_drafts() -> None:
    ended = replace(a_request(), drafts_since=NOON)

    assert plain(item_of(a_request()))["drafts_partition"] == "WATCHED"
    assert plain(item_of(ended))["drafts_partition"] == "KEPT"
    assert plain(item_of(replace(ended, sent_drafts=("41",))))["drafts_partition"] == "SENT"
    none = item_of(replace(a_request(), abandoned_drafts=()))
    assert "drafts_partition" not in none
    assert "drafts_at" not in none


def test_the_pause_shares_the_ledger_table_under_a_key_no_plan_can_have() -> None:
    place = place_of(Pause, "whatever", TABLES)

    assert (place.table, place.item_key()) == ("ledger", {"plan_id": {"S": "#pause"}})
    assert from_item(Pause, item_of(a_pause())) == a_pause()


@given(first=aware, second=aware)
def test_instants_sort_as_text_as_they_sort_in_time(first: datetime, second: datetime) -> None:
    assert (instant(first) < instant(second)) == (first < second)
    assert len(instant(first)) == 32


def test_an_instant_is_stored_in_utc_whatever_its_zone() -> None:
    there = NOON.astimezone(timezone(timedelta(hours=5, minutes=30)))

    assert instant(there) == instant(NOON) == "2026-03-02T12:00:00.000000+00:00"


@given(pairs=st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9)), min_size=2, max_size=2))
def test_no_two_callers_share_a_partition(pairs: list[tuple[str, str]]) -> None:
    first, second = pairs

    assert (caller_partition(*first) == caller_partition(*second)) == (first == second)


@pytest.mark.parametrize("row", [a_request(), a_plan(), an_entry(), a_link()])
def test_what_is_stored_is_what_is_read(row: Row) -> None:
    assert row_of(type(row), item_of(row)) == row
