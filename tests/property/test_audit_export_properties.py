"""No change to an export goes unseen (P9): every byte of a small one, anything in larger ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from no_undo.domain.audit_chain import AuditRecord, ChainHead, link_of
from no_undo.domain.audit_export import MAX_RECORDS, MAX_SEGMENT_BYTES, lines_of
from no_undo.domain.canonical_json import canonical_bytes
from tests.fakes.audit_exports import Exporter, Files, chain, small_export, verify

EXPORT = small_export().with_key()
PLACES = [(name, place) for name in sorted(EXPORT) for place in range(len(EXPORT[name]))]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
BATCHES = st.lists(
    st.lists(
        st.tuples(st.sampled_from(["r1", "r2", "r1#opens", "#operations"]), st.integers(1, 4)),
        max_size=4,
    ),
    min_size=1,
    max_size=5,
)


def changed_at(files: Mapping[str, bytes], name: str, place: int) -> Iterator[bytes]:
    """Yield a file with one byte changed, removed, doubled, or another one put in."""
    content = files[name]
    before, byte, after = content[:place], content[place], content[place + 1 :]
    yield before + bytes([byte ^ 1]) + after
    yield before + bytes([byte ^ 0x20]) + after
    yield before + bytes([byte ^ 0x80]) + after
    yield before + after
    yield before + bytes([byte, byte]) + after
    yield before + b"0" + content[place:]


def export_of(batches: list[list[tuple[str, int]]]) -> Files:
    """Return an export with these batches of (chain, length)."""
    exporter, heads = Exporter(), dict[str, ChainHead]()
    for batch in batches:
        records: list[AuditRecord] = []
        for chain_id, length in batch:
            added = chain(chain_id, length, heads.get(chain_id))
            heads[chain_id] = ChainHead(chain_id, added[-1].seq, added[-1].hash)
            records += added
        exporter.export(records)
    return exporter.files


def test_the_untouched_export_verifies() -> None:
    done = verify(EXPORT)

    assert (done.failure, done.records, done.checkpoints) == (None, 7, 3)


@pytest.mark.parametrize("part", range(8))
def test_every_change_of_a_single_byte_is_reported(part: int) -> None:
    """Exhaustive over places: a changed, removed, doubled or added byte at each of them."""
    unseen = [
        (name, place)
        for name, place in PLACES[part::8]
        for content in changed_at(EXPORT, name, place)
        if content != EXPORT[name] and verify({**EXPORT, name: content}).failure is None
    ]

    assert unseen == []


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(EXPORT))
def test_every_other_value_of_every_byte_is_reported(name: str) -> None:
    content = EXPORT[name]
    for place in range(len(content)):
        for value in set(range(256)) - {content[place]}:
            other = content[:place] + bytes([value]) + content[place + 1 :]
            assert verify({**EXPORT, name: other}).failure is not None, (place, value)


@given(BATCHES)
@settings(max_examples=50, deadline=None)
def test_what_is_exported_verifies(batches: list[list[tuple[str, int]]]) -> None:
    done = verify(export_of(batches))

    assert done.failure is None
    assert done.checkpoints == len(batches)
    assert done.records == sum(length for batch in batches for _chain, length in batch)


@given(BATCHES, st.data())
@settings(max_examples=200, deadline=None)
def test_any_change_deletion_insertion_swap_or_duplication_is_reported(
    batches: list[list[tuple[str, int]]], data: st.DataObject
) -> None:
    files = export_of(batches)
    name = data.draw(st.sampled_from(sorted(files)))
    content = files[name]
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, len(content)))
    match data.draw(st.sampled_from(["replace", "duplicate", "swap files", "add file", "drop"])):
        case "replace":
            changed = {**files, name: content[:start] + data.draw(st.binary()) + content[end:]}
        case "duplicate":
            changed = {**files, name: content[:end] + content[start:]}
        case "swap files":
            other = data.draw(st.sampled_from(sorted(files)))
            changed = {**files, name: files[other], other: content}
        case "add file":
            changed = {**files, f"{name}{data.draw(st.text(min_size=1))}": content}
        case _:
            kept = data.draw(st.sets(st.sampled_from(sorted(files))))
            changed = {one: files[one] for one in kept}
    if changed != files and not is_an_earlier_export(changed, files):
        assert verify(changed).failure is not None


def is_an_earlier_export(files: Files, whole: Files) -> bool:
    """Say whether the last checkpoints were cut off completely: then it is what it once was."""
    last = max((name[-12:] for name in files if name.startswith("checkpoints/")), default="")
    return bool(last) and files == {
        name: content for name, content in whole.items() if name.split("/")[1][:12] <= last
    }


@given(st.lists(st.integers(0, 3_000), min_size=1, max_size=6))
@settings(max_examples=20, deadline=None)
def test_a_checkpoint_takes_what_fits_and_leaves_the_rest(sizes: list[int]) -> None:
    records = [one for n, size in enumerate(sizes) for one in chain(f"r{n}", 1, note="x" * size)]
    exporter = Exporter()
    while records:
        planned = exporter.export(records)
        [segment] = planned.manifest.segments
        assert 1 <= segment.records <= MAX_RECORDS
        assert segment.bytes <= MAX_SEGMENT_BYTES
        records = records[segment.records :]

    assert verify(exporter.files).failure is None


def test_a_segment_that_would_be_too_large_is_halved() -> None:
    def noise(number: int) -> str:
        parts = (hashlib.sha512(f"{number} {part}".encode()).hexdigest() for part in range(16))
        return "".join(parts)

    records = [one for n in range(400) for one in chain(f"r{n}", 1, note=noise(n))]
    exporter = Exporter()

    counts: list[int] = []
    while records:
        [segment] = exporter.export(records).manifest.segments
        assert segment.bytes <= MAX_SEGMENT_BYTES
        counts.append(segment.records)
        records = records[segment.records :]

    assert counts == [200, 200]
    assert verify(exporter.files).failure is None


@given(st.dictionaries(st.text("abcé", max_size=2), st.one_of(TEXT, st.integers(), st.floats())))
def test_a_line_is_a_record_exactly_when_it_is_canonical(details: dict[str, Any]) -> None:
    [record] = chain("r1", 1)
    body = {**json.loads(record.line), "details": details}
    text = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    try:
        canonical = canonical_bytes(body) == text.encode()
    except ValueError:
        canonical = False

    assert is_a_record(text.encode()) is canonical


@given(st.integers(0, 10_000), st.sampled_from([" ", "\\u0061", "null,", '"a":1,', "0", "-", "é"]))
def test_a_record_has_no_second_spelling(place: int, added: str) -> None:
    """Whatever is put into a line gives no line that reads the same."""
    [record] = chain("r1", 1)
    line = record.line.encode()
    place %= len(line)
    other = line[:place] + added.encode() + line[place:]

    assert not is_a_record(other) or json.loads(other) != json.loads(line)


def is_a_record(line: bytes) -> bool:
    try:
        link_of(line)
    except ValueError:
        return False
    return True


def test_lines_are_exported_as_they_are_stored() -> None:
    records = chain("r1", 2)
    exporter = Exporter()
    [segment] = exporter.export(records).segments.values()

    assert [one.decode() for one in lines_of(segment)] == [one.line for one in records]
