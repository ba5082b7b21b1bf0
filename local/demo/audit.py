"""The demo's last act: the audit is exported, copied out of the bucket, and verified offline."""

import json
import shutil
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key

from local.demo.people import DemoError
from local.stack.stack import RunningStack
from no_undo.adapters.chain_ends import BoundedChainEnds
from no_undo.adapters.ed25519_keys import key_from_pem
from no_undo.adapters.export_folder import ExportFolder
from no_undo.adapters.jinja_pages import JinjaPages
from no_undo.cli.api import ApiClient
from no_undo.domain.audit_export import PUBLIC_KEY_NAME
from no_undo.domain.canonical_json import canonical_bytes
from no_undo.domain.errors import TamperedError
from no_undo.domain.receipt import check_receipt, parse_receipt
from no_undo.use_cases.verify_audit import opened_note, verify_audit

FOLDER = "audit-export"


def export_audit(running: RunningStack, results: Path) -> Path:
    """Run the export as its schedule does, and copy bucket and public key into a folder.

    Raises:
        DemoError: The export failed.
    """
    answer = running.aws.client("lambda").invoke(
        FunctionName=running.outputs["ExportAuditFunctionName"], Payload=b"{}"
    )
    if "FunctionError" in answer:
        raise DemoError(f"the audit export failed: {answer['Payload'].read().decode()}")
    folder = results / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    copy_bucket(running, folder)
    spki = running.aws.client("kms").get_public_key(KeyId=running.outputs["AuditKeyArn"])
    key = load_der_public_key(spki["PublicKey"])
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (folder / PUBLIC_KEY_NAME).write_bytes(pem)
    return folder


def copy_bucket(running: RunningStack, folder: Path) -> None:
    """Copy every exported file, as `aws s3 sync` would."""
    bucket, client = running.outputs["AuditBucketName"], running.aws.client("s3")
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    for key in [one["Key"] for page in pages for one in page.get("Contents", ())]:
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(client.get_object(Bucket=bucket, Key=key)["Body"].read())


def verify_export(folder: Path) -> str:
    """Verify the exported files with the public key; return what was found.

    Raises:
        DemoError: Something does not verify.
    """
    key = key_from_pem((folder / PUBLIC_KEY_NAME).read_bytes())
    done = verify_audit(ExportFolder(folder), [key], BoundedChainEnds())
    if done.failure is not None:
        raise DemoError(f"the exported audit does not verify: {json.dumps(str(done.failure))}")
    found = f"{done.records} records in {done.checkpoints} checkpoints"
    return f"the exported audit verifies offline: {found}"


def fetch_receipt(api: ApiClient, request_id: str, results: Path) -> str:
    """Fetch the receipt as its caller would, verify it, and leave it with a page that prints well.

    Raises:
        DemoError: It does not verify.
    """
    content = canonical_bytes(api.get(f"/requests/{request_id}/receipt"))
    key = key_from_pem((results / FOLDER / PUBLIC_KEY_NAME).read_bytes())
    try:
        receipt = parse_receipt(content)
        checkpoint, _key = opened_note(receipt.anchor.note, [key])
        check_receipt(receipt, checkpoint)
    except (TamperedError, ValueError) as error:
        raise DemoError(f"the receipt does not verify: {error}") from error
    (results / "receipt.json").write_bytes(content)
    (results / "receipt.html").write_text(JinjaPages().receipt_page(receipt).html, "utf-8")
    return f"the receipt verifies: {len(receipt.records)} records, one proof, one signature"
