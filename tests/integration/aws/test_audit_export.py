"""The export's adapters on an account in memory: outbox and head, archive, signer."""

from __future__ import annotations

from typing import Any

import pytest

from no_undo.adapters.dynamodb_audit_export import DynamoDbAuditOutbox, ExportTables
from no_undo.adapters.dynamodb_rows import typed
from no_undo.adapters.kms_checkpoint_signer import KmsCheckpointSigner
from no_undo.adapters.s3_audit_archive import S3AuditArchive
from no_undo.domain.audit_chain import AuditRecord
from no_undo.domain.audit_export import ExportHead, plan_checkpoint
from no_undo.domain.checkpoint import Checkpoint
from no_undo.domain.errors import StaleError, TamperedError, VendorContractError
from no_undo.domain.receipt import Anchor
from no_undo.ports import Claim, ExportState
from tests.fakes.audit_exports import NOON, ORIGIN, chain
from tests.integration.aws.clients import client_of, documents_client, state_client
from tests.integration.aws.tables import create_state_tables, create_table

RECORDS = [*chain("r1", 3), *chain("r2#opens", 2)]


@pytest.fixture
def tables(aws: None) -> ExportTables:
    client = state_client()
    names = create_state_tables(client)
    create_table(client, "export", "export_id")
    return ExportTables(audit=names.audit, outbox=names.audit_outbox, export="export")


@pytest.fixture
def outbox(tables: ExportTables) -> DynamoDbAuditOutbox:
    return DynamoDbAuditOutbox(state_client(), tables)


def store(tables: ExportTables, records: list[AuditRecord]) -> None:
    """Store records as a transition does: the record, and its row in the outbox."""
    for one in records:
        place: dict[str, Any] = {"chain_id": one.chain_id, "seq": one.seq, "hash": one.hash}
        key = f"{one.chain_id}#{one.seq:012d}"
        client = state_client()
        client.put_item(TableName=tables.audit, Item=typed({**place, "line": one.line}))
        client.put_item(TableName=tables.outbox, Item=typed({**place, "chain_seq": key}))


def test_what_waits_is_read_in_order_and_forgotten_when_it_is_cleared(
    tables: ExportTables, outbox: DynamoDbAuditOutbox
) -> None:
    store(tables, RECORDS)

    assert outbox.pending(limit=10) == tuple(RECORDS)

    outbox.clear([("r1", 1), ("r1", 2), ("r1", 2)])
    assert outbox.pending(limit=10) == tuple(RECORDS[2:])


def test_more_than_one_read_takes_is_read(
    tables: ExportTables, outbox: DynamoDbAuditOutbox
) -> None:
    records = [one for n in range(120) for one in chain(f"r{n:03d}", 1)]
    store(tables, records)

    assert outbox.pending(limit=1_000) == tuple(records)


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_what_a_scan_missed_is_put_in_its_place(
    tables: ExportTables, outbox: DynamoDbAuditOutbox, limit: int
) -> None:
    """A bounded read stops anywhere; what it returns has no gap at the front of any chain."""
    store(tables, RECORDS)

    for chain_id in ("r1", "r2#opens"):
        seqs = [one.seq for one in outbox.pending(limit=limit) if one.chain_id == chain_id]
        assert seqs == list(range(1, len(seqs) + 1))


@pytest.mark.parametrize("line", ["{}", None])
def test_a_record_that_was_changed_or_removed_before_its_export_is_named(
    tables: ExportTables, outbox: DynamoDbAuditOutbox, line: str | None
) -> None:
    store(tables, RECORDS)
    key: Any = typed({"chain_id": "r1", "seq": 2})
    if line is None:
        state_client().delete_item(TableName=tables.audit, Key=key)
    else:
        state_client().put_item(TableName=tables.audit, Item={**key, "line": {"S": line}})

    with pytest.raises(TamperedError, match="record 2 of chain r1"):
        outbox.pending(limit=10)


def test_claim_and_head_are_read_as_they_were_written(outbox: DynamoDbAuditOutbox) -> None:
    plan = plan_checkpoint(ExportHead(), RECORDS, NOON, ORIGIN)
    claim = Claim(plan.manifest, plan.segments)

    assert outbox.state() == ExportState()
    claimed = outbox.claim(outbox.state(), claim)
    assert outbox.state() == claimed == ExportState(1, ExportHead(), claim)
    outbox.advance(claimed, plan.head)
    assert outbox.state() == ExportState(2, plan.head)


def test_only_one_run_claims_and_only_one_advances(outbox: DynamoDbAuditOutbox) -> None:
    plan = plan_checkpoint(ExportHead(), RECORDS, NOON, ORIGIN)
    claim = Claim(plan.manifest, plan.segments)
    fresh = outbox.state()
    claimed = outbox.claim(fresh, claim)

    with pytest.raises(StaleError):
        outbox.claim(fresh, claim)
    outbox.advance(claimed, plan.head)
    with pytest.raises(StaleError):
        outbox.advance(claimed, plan.head)


def test_a_head_of_another_shape_is_tampered_with(
    tables: ExportTables, outbox: DynamoDbAuditOutbox
) -> None:
    item = typed({"export_id": "#head", "revision": 1, "number": 3, "size": 5, "frontier": []})
    state_client().put_item(TableName=tables.export, Item=item)

    with pytest.raises(TamperedError, match="head of the export"):
        outbox.state()


def test_the_newest_anchor_of_a_request_is_kept(outbox: DynamoDbAuditOutbox) -> None:
    older = Anchor("r1", 3, 7, (b"a" * 32, b"b" * 32), b"a note")
    newer = Anchor("r1", 5, 9, (), b"another note")

    outbox.keep_anchors([older, newer])
    outbox.keep_anchors([older])

    assert outbox.anchor("r1") == newer
    assert outbox.anchor("r2") is None


def test_a_file_is_stored_once(aws: None) -> None:
    client = documents_client()
    client.create_bucket(Bucket="audit")
    archive = S3AuditArchive(client, "audit")

    assert archive.put_once("checkpoints/1", b"first") == b"first"
    assert archive.put_once("checkpoints/1", b"second") == b"first"


def test_a_key_of_another_kind_signs_nothing(aws: None) -> None:
    client = client_of("kms")
    key = client.create_key(KeySpec="ECC_NIST_P256", KeyUsage="SIGN_VERIFY")["KeyMetadata"]

    class Signs:
        """A service that would sign with whatever key it has."""

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - stands in for a client
            return getattr(client, name)

        def sign(self, **_asked: object) -> dict[str, bytes]:
            return {"Signature": bytes(64)}

    service: Any = Signs()
    signer = KmsCheckpointSigner(service, key["KeyId"])

    with pytest.raises(VendorContractError, match="not an Ed25519 key"):
        signer.sign(Checkpoint(ORIGIN, 0, bytes(32), "0" * 64))
