"""The export on the emulator: real tables, real signatures, a bucket that forgets nothing (P9)."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from local.demo.audit import export_audit
from local.stack.aws import error_code
from no_undo.adapters.chain_ends import BoundedChainEnds
from no_undo.adapters.ed25519_keys import key_from_pem
from no_undo.adapters.export_folder import ExportFolder
from no_undo.domain.audit_export import PUBLIC_KEY_NAME, lines_of
from no_undo.use_cases.verify_audit import Verification, verify_audit
from tests.e2e.conftest import WholeJob
from tests.e2e.site import Site


def verify(folder: Path) -> Verification:
    key = key_from_pem((folder / PUBLIC_KEY_NAME).read_bytes())
    return verify_audit(ExportFolder(folder), [key], BoundedChainEnds())


def exported_kinds(folder: Path, chain_id: str) -> list[str]:
    segments = sorted((folder / "segments").iterdir())
    records = [json.loads(line) for one in segments for line in lines_of(one.read_bytes())]
    return [one["kind"] for one in records if one["chain"] == chain_id]


def test_what_happened_is_exported_and_verifies_offline(
    site: Site, whole_job: WholeJob, tmp_path: Path
) -> None:
    folder = export_audit(site.running, tmp_path)

    done = verify(folder)
    assert done.failure is None
    assert exported_kinds(folder, whole_job.request_id) == site.kinds(whole_job.request_id)
    assert site.rows("AuditOutbox") == []


def test_runs_at_once_and_runs_without_news_leave_one_history(site: Site, tmp_path: Path) -> None:
    before = verify(export_audit(site.running, tmp_path / "before")).checkpoints

    with ThreadPoolExecutor(3) as runs:
        folders = [tmp_path / name for name in ("a", "b", "c")]
        list(runs.map(partial(export_audit, site.running), folders))

    done = verify(export_audit(site.running, tmp_path / "after"))
    assert done.failure is None
    assert before + 2 <= done.checkpoints <= before + 4


def test_an_exported_file_cannot_be_deleted_by_anybody(site: Site, tmp_path: Path) -> None:
    export_audit(site.running, tmp_path)
    bucket, client = site.running.outputs["AuditBucketName"], site.running.aws.client("s3")
    [version] = client.list_object_versions(Bucket=bucket, Prefix="checkpoints/000000000001")[
        "Versions"
    ]

    with pytest.raises(ClientError) as refused:
        client.delete_object(Bucket=bucket, Key=version["Key"], VersionId=version["VersionId"])

    assert error_code(refused.value) == "AccessDenied"
