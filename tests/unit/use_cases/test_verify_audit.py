"""An attacker with every table and every exported copy, but not the key and not the locked bucket.

Each attack builds what the attacker hands to the auditor, at their best: hashes, counts and even
whole signed-looking histories are made anew wherever that needs no key. Each is caught and named.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from no_undo.domain.audit_chain import AuditRecord, ChainHead
from no_undo.domain.audit_export import (
    PUBLIC_KEY_NAME,
    Planned,
    Segment,
    checkpoint_name,
    lines_of,
    manifest_name,
    plan_checkpoint,
    planned,
    segment_name,
    segment_of,
)
from no_undo.domain.canonical_json import canonical_bytes
from no_undo.domain.checkpoint import Checkpoint, parse_checkpoint
from no_undo.domain.signed_note import NoteSignature, SignedNote, parse_note
from tests.fakes.audit_exports import (
    NOON,
    ORIGIN,
    SIGNER,
    Exporter,
    Files,
    Signer,
    chain,
    small_export,
    verify,
)

HONEST = small_export()
FILES = HONEST.files
SEGMENT = segment_name(1, 1)
LAST = checkpoint_name(3)
MALLORY = Signer.of(666)


def newest() -> Checkpoint:
    """The checkpoint that the auditor took from the locked bucket, out of the attacker's reach."""
    return parse_checkpoint(parse_note(FILES[LAST]).text)


def rehashed(records: list[AuditRecord], place: int, note: str) -> list[AuditRecord]:
    """Change one record and give every later one of its chain fresh hashes."""
    changed: list[AuditRecord] = []
    head = ChainHead(records[0].chain_id)
    for number, record in enumerate(records):
        body = json.loads(record.line) | {"prev": head.hash}
        if number == place:
            body["details"] = {"note": note}
        line = canonical_bytes(body)
        head = ChainHead(head.chain_id, record.seq, hashlib.sha256(line).hexdigest())
        changed.append(replace(record, line=line.decode(), hash=head.hash))
    return changed


def with_lines(change: Callable[[list[bytes]], list[bytes]]) -> Files:
    """Change the lines of the first segment and everything after it that needs no key."""
    files = dict(FILES)
    content = segment_of(change(lines_of(files[SEGMENT])))
    files[SEGMENT] = content
    manifest = json.loads(files[manifest_name(1)])
    manifest["segments"] = [
        {
            "name": SEGMENT,
            "sha256": hashlib.sha256(content).hexdigest(),
            "bytes": len(content),
            "records": len(lines_of(content)),
        }
    ]
    files[manifest_name(1)] = canonical_bytes(manifest)
    return files


def edited_record() -> Files:
    return {**FILES, SEGMENT: segment_of(_edited(lines_of(FILES[SEGMENT])))}


def _edited(lines: list[bytes]) -> list[bytes]:
    return [line.replace(b'"n":1', b'"n":7') for line in lines]


def edited_record_with_recomputed_hashes() -> Files:
    records = rehashed(chain("r1", 3), 1, "nothing happened")
    return with_lines(lambda lines: [*(one.line.encode() for one in records), *lines[3:]])


def cut_tail() -> Files:
    return with_lines(lambda lines: lines[:-1])


def cut_tail_with_recomputed_checkpoint() -> Files:
    """The records are cut, and size, root and manifest fit again; the old signature does not."""
    exporter = Exporter()
    exporter.export([*chain("r1", 3), *chain("r2", 1)])
    exporter.export()
    forged = dict(exporter.files)
    for number in (1, 2):
        note = parse_note(forged[checkpoint_name(number)])
        old = parse_note(FILES[checkpoint_name(number)]).signatures
        forged[checkpoint_name(number)] = SignedNote(note.text, old).to_bytes()
    return forged


def cut_off_checkpoints() -> Files:
    """A true older export: only the kept checkpoint tells."""
    names = (checkpoint_name(3), manifest_name(3), segment_name(3, 1))
    return {name: content for name, content in FILES.items() if name not in names}


def dropped_chain() -> Files:
    return with_lines(lambda lines: [line for line in lines if b'"chain":"r2"' not in line])


def dropped_segment() -> Files:
    return {name: content for name, content in FILES.items() if name != SEGMENT}


def dropped_checkpoint() -> Files:
    return {name: content for name, content in FILES.items() if name != checkpoint_name(2)}


def dropped_checkpoint_with_renumbering() -> Files:
    """The empty second checkpoint is taken out completely and the third takes its number."""
    gone = {checkpoint_name(2), manifest_name(2)}
    files = {name: content for name, content in FILES.items() if name not in gone}
    files[checkpoint_name(2)] = files.pop(checkpoint_name(3))
    files[manifest_name(2)] = files.pop(manifest_name(3))
    files[segment_name(2, 1)] = files.pop(segment_name(3, 1))
    return files


def dropped_last_checkpoint_alone() -> Files:
    return {name: content for name, content in FILES.items() if name != LAST}


def forked_checkpoint() -> Files:
    """Another third checkpoint on the true second one, under the signature of the true third."""
    exporter = Exporter()
    exporter.export([*chain("r1", 3), *chain("r2", 2)])
    exporter.export()
    plan = plan_checkpoint(exporter.head, chain("r9", 2), NOON, ORIGIN)
    signature = parse_note(FILES[LAST]).signatures
    forged = SignedNote(plan.checkpoint.to_text(), signature).to_bytes()
    return {
        **exporter.files,
        **plan.segments,
        manifest_name(3): plan.manifest.to_bytes(),
        LAST: forged,
    }


def replayed_old_checkpoint() -> Files:
    return {**FILES, LAST: FILES[checkpoint_name(2)], manifest_name(3): FILES[manifest_name(2)]}


def swapped_records() -> Files:
    return with_lines(lambda lines: [lines[1], lines[0], *lines[2:]])


def inserted_record() -> Files:
    return with_lines(lambda lines: [*lines, chain("r3", 1)[0].line.encode()])


def duplicated_record() -> Files:
    return with_lines(lambda lines: [lines[0], *lines])


def same_length_rewrite() -> Files:
    content = FILES[SEGMENT]
    other = content[:200] + bytes([content[200] ^ 255]) + content[201:]
    assert len(other) == len(content)
    return {**FILES, SEGMENT: other}


def other_key() -> Files:
    """A whole history of the attacker's own, perfect but for the key."""
    exporter = Exporter(signer=MALLORY)
    exporter.export(chain("r1", 5, note="as it should have been"))
    return exporter.with_key()


def other_key_alone() -> Files:
    return {name: content for name, content in other_key().items() if name != PUBLIC_KEY_NAME}


def other_key_under_our_key_id() -> Files:
    forged = dict(FILES)
    note = parse_note(FILES[LAST])
    [ours] = note.signatures
    signature = NoteSignature(ours.name, ours.key_id, MALLORY.private.sign(note.text.encode()))
    forged[LAST] = SignedNote(note.text, (signature,)).to_bytes()
    return forged


def other_log() -> Files:
    """The last checkpoint is true, and of another deployment that signs with the same key."""
    exporter = Exporter(origin="audit.example/other")
    for records in ([*chain("r1", 3), *chain("r2", 2)], [], chain("r9", 2)):
        exporter.export(records)
    return {**FILES, LAST: exporter.files[LAST], manifest_name(3): exporter.files[manifest_name(3)]}


def added_file() -> Files:
    return {**FILES, segment_name(3, 2): segment_of([b"{}"])}


def compressed_again() -> Files:
    """The same records in other bytes."""
    return {**FILES, SEGMENT: gzip.compress(gzip.decompress(FILES[SEGMENT]), 1, mtime=1)}


ATTACKS: dict[Callable[[], Files], str] = {
    edited_record: SEGMENT,
    edited_record_with_recomputed_hashes: manifest_name(1),
    cut_tail: manifest_name(1),
    cut_tail_with_recomputed_checkpoint: checkpoint_name(1),
    cut_off_checkpoints: LAST,
    dropped_chain: manifest_name(1),
    dropped_segment: SEGMENT,
    dropped_checkpoint: checkpoint_name(2),
    dropped_checkpoint_with_renumbering: manifest_name(2),
    dropped_last_checkpoint_alone: manifest_name(3),
    forked_checkpoint: LAST,
    replayed_old_checkpoint: manifest_name(3),
    swapped_records: manifest_name(1),
    inserted_record: manifest_name(1),
    duplicated_record: manifest_name(1),
    same_length_rewrite: SEGMENT,
    other_key: PUBLIC_KEY_NAME,
    other_key_alone: checkpoint_name(1),
    other_key_under_our_key_id: LAST,
    other_log: LAST,
    added_file: segment_name(3, 2),
    compressed_again: SEGMENT,
}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_every_attack_on_the_exported_copies_is_caught_and_named(
    attack: Callable[[], Files],
) -> None:
    failure = verify(attack(), kept=[newest()]).failure

    assert failure is not None
    assert failure.where.startswith(ATTACKS[attack])


def exported(*batches: list[AuditRecord]) -> Files:
    """Export what the attacker left in the tables: our own key signs it."""
    exporter = Exporter()
    for records in batches:
        exporter.export(records)
    return exporter.files


def rewritten_after_export() -> Files:
    """An exported record is rewritten in the tables, hashes and head with it; the chain goes on."""
    forged = rehashed(chain("r1", 3), 0, "forged")
    on_top = chain("r1", 1, ChainHead("r1", 3, forged[-1].hash))
    return exported(chain("r1", 3), on_top)


def cut_in_the_table() -> Files:
    """The newest exported record is cut off its chain in the tables, and the chain goes on."""
    whole = chain("r1", 3)
    return exported(whole, chain("r1", 1, ChainHead("r1", 2, whole[1].hash), note="again"))


def kept_from_the_export() -> Files:
    """A row of the outbox is removed before the export saw it; the chain goes on."""
    whole = chain("r1", 3)
    return exported(whole[:1], whole[2:])


def chain_begun_anew() -> Files:
    """An exported chain is dropped from the tables, and a new one is written under its name."""
    return exported(chain("r1", 3), chain("r1", 2, note="anew"))


def not_a_record() -> Files:
    """A line that reads as one thing here and as another there gets into the tables."""
    [record] = chain("r1", 1)
    line = record.line.replace('"kind":', '"kind":"request.closed","kind":')
    return exported([replace(record, line=line)])


TABLES: dict[Callable[[], Files], str] = {
    rewritten_after_export: "segments/000000000002-0001.jsonl.gz line 1 (record 4 of chain r1)",
    cut_in_the_table: "segments/000000000002-0001.jsonl.gz line 1 (record 3 of chain r1)",
    kept_from_the_export: "segments/000000000002-0001.jsonl.gz line 1 (record 3 of chain r1)",
    chain_begun_anew: "segments/000000000002-0001.jsonl.gz line 1 (record 1 of chain r1)",
    not_a_record: "segments/000000000001-0001.jsonl.gz line 1",
}


@pytest.mark.parametrize("attack", TABLES, ids=lambda attack: attack.__name__)
def test_every_attack_on_the_tables_is_caught_although_our_key_signed_it(
    attack: Callable[[], Files],
) -> None:
    failure = verify(attack()).failure

    assert failure is not None
    assert failure.where == TABLES[attack]


def test_without_a_kept_checkpoint_a_true_older_export_verifies_and_says_how_old_it_is() -> None:
    """What docs/audit.md does not claim."""
    done = verify(cut_off_checkpoints())

    assert done.failure is None
    assert done.newest == "2026-03-02T12:05:00.000+00:00"


def signed(plan: Planned, files: Files) -> Files:
    number = plan.head.number
    return {
        **files,
        **plan.segments,
        manifest_name(number): plan.manifest.to_bytes(),
        checkpoint_name(number): SIGNER.note(plan.checkpoint),
    }


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"number": 5}, "another checkpoint"),
        ({"previous": "f" * 64}, "follows another checkpoint"),
        ({"first": 4}, "begins at another record"),
        ({"consistency": ("00" * 32,)}, "consistency proof"),
        ({"consistency": ("no hex",)}, "consistency proof"),
        ({"segments": (Segment("segments/x", "0" * 64, 1, 1),)}, "names its segments wrongly"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused_even_when_our_key_signed_it(
    changes: dict[str, object], why: str
) -> None:
    exporter = Exporter()
    exporter.export(chain("r1", 3))
    plan = plan_checkpoint(exporter.head, chain("r2", 2), NOON, ORIGIN)
    manifest = replace(plan.manifest, **changes)  # type: ignore[arg-type]
    wrong = planned(exporter.head, manifest, plan.segments, ORIGIN)
    wrong = replace(wrong, head=replace(wrong.head, number=2))

    failure = verify(signed(wrong, exporter.files)).failure

    assert failure is not None
    assert why in failure.why


@pytest.mark.parametrize("records", [1, 3])
def test_a_manifest_that_counts_wrongly_is_refused_even_when_our_key_signed_it(
    records: int,
) -> None:
    plan = plan_checkpoint(Exporter().head, chain("r1", 2), NOON, ORIGIN)
    [segment] = plan.manifest.segments
    manifest = replace(plan.manifest, segments=(replace(segment, records=records),))
    wrong = planned(Exporter().head, manifest, plan.segments, ORIGIN)

    failure = verify(signed(wrong, {})).failure

    assert failure is not None
    assert "as many lines" in failure.why


def test_a_new_key_ends_the_old_one() -> None:
    old, new = Signer.of(1), Signer.of(2)
    exporter = Exporter(signer=old)
    exporter.export(chain("r1", 1))
    exporter.signer = new
    exporter.export(chain("r2", 1))
    keys = [old.public, new.public]

    assert verify(exporter.files, keys).failure is None
    assert verify(exporter.files, [new.public]).failure is not None
    exporter.signer = old
    exporter.export()
    failure = verify(exporter.files, keys).failure
    assert failure is not None
    assert "an earlier checkpoint replaced" in failure.why


def test_a_key_beside_the_export_that_is_another_one_is_named() -> None:
    failure = verify({**FILES, PUBLIC_KEY_NAME: MALLORY.public.pem}).failure

    assert failure is not None
    assert failure.where == PUBLIC_KEY_NAME


def test_a_note_with_a_second_signature_is_refused() -> None:
    note = parse_note(FILES[LAST])
    twice = SignedNote(note.text, (*note.signatures, *note.signatures)).to_bytes()

    assert verify({**FILES, LAST: twice}).failure is not None
