"""Commands about the audit: verify, which asks nobody, and receipt."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from no_undo.cli.files import read_bytes, write_bytes
from no_undo.cli.output import Exit, progress, show
from no_undo.domain.errors import InvalidRequestError, TamperedError
from no_undo.domain.receipt import check_receipt, parse_receipt

if TYPE_CHECKING:
    from no_undo.adapters.ed25519_keys import Ed25519Key
    from no_undo.domain.checkpoint import Checkpoint
    from no_undo.use_cases.verify_audit import Verification

_BAR_WIDTH = 40


def add_commands(commands: Any) -> None:  # noqa: ANN401 - argparse keeps its class private
    """Add the commands about the audit."""
    audit = commands.add_parser("audit", help="the exported audit, checked offline")
    parts = audit.add_subparsers(required=True, metavar="COMMAND")
    verify = parts.add_parser(
        "verify", help="check an export; 0: verified, 1: names the first thing that is not"
    )
    verify.add_argument("path", type=Path, help="folder with the exported files, or a receipt")
    _with_keys(verify)
    verify.add_argument(
        "--kept",
        type=Path,
        action="append",
        default=[],
        help="checkpoint kept elsewhere, which must be part of the export; repeated",
    )
    verify.set_defaults(run=run_verify)
    receipt = parts.add_parser("receipt", help="the receipt of an own request that has ended")
    receipt.add_argument("request_id")
    receipt.add_argument("--output", type=Path, help="file for the receipt; default: shown")
    receipt.add_argument("--page", type=Path, help="file for a page that prints well (HTML)")
    receipt.set_defaults(run=run_receipt)


def _with_keys(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--key",
        type=Path,
        action="append",
        required=True,
        help="public key as PEM; after a change of keys repeated, in the order of their use",
    )


def run_verify(options: argparse.Namespace) -> Exit:
    """Verify an export, or one receipt, with its files and the public keys."""
    from no_undo.adapters.chain_ends import BoundedChainEnds  # noqa: PLC0415 - only this command
    from no_undo.adapters.export_folder import ExportFolder  # noqa: PLC0415
    from no_undo.domain.audit_export import checkpoint_number  # noqa: PLC0415
    from no_undo.use_cases.verify_audit import verify_audit  # noqa: PLC0415

    keys = _keys(options.key)
    if options.path.is_file():
        return _verify_receipt(options.path, keys)
    kept = [_kept(path, keys) for path in options.kept]
    files = ExportFolder(options.path)
    total = sum(checkpoint_number(name) is not None for name in files.names())
    ends = BoundedChainEnds()
    try:
        done = verify_audit(files, keys, ends, kept=kept, progress=_bar(total))
    finally:
        ends.close()
    show(_told(done))
    return Exit.YES if done.failure is None else Exit.NO


def run_receipt(options: argparse.Namespace) -> Exit:
    """Fetch a receipt; write it, or the page made from it, or show it."""
    from no_undo.domain.canonical_json import canonical_bytes  # noqa: PLC0415

    path = f"/requests/{quote(options.request_id, safe='')}/receipt"
    content = canonical_bytes(options.connect().get(path))
    receipt = parse_receipt(content)
    if options.page is not None:
        from no_undo.adapters.jinja_pages import JinjaPages  # noqa: PLC0415 - only here

        write_bytes(options.page, JinjaPages().receipt_page(receipt).html.encode())
    if options.output is not None:
        write_bytes(options.output, content)
    show(dict(receipt.to_json()) if options.output is None else _written(options))
    return Exit.YES


def _written(options: argparse.Namespace) -> dict[str, Any]:
    page = "" if options.page is None else str(options.page)
    return {"receipt": str(options.output), "page": page}


def _verify_receipt(path: Path, keys: Sequence[Ed25519Key]) -> Exit:
    from no_undo.use_cases.verify_audit import opened_note  # noqa: PLC0415

    records, failure = 0, None
    try:
        receipt = parse_receipt(read_bytes(path))
        checkpoint, _key = opened_note(receipt.anchor.note, keys)
        check_receipt(receipt, checkpoint)
        records = len(receipt.records)
    except (TamperedError, ValueError) as error:
        failure = {"where": path.name, "why": str(error)}
    show(
        {
            "verified": failure is None,
            "records": records,
            "checkpoints": int(failure is None),
            "first_failure": failure,
        }
    )
    return Exit.YES if failure is None else Exit.NO


def _told(done: Verification) -> dict[str, Any]:
    failure = done.failure
    return {
        "verified": failure is None,
        "records": done.records,
        "checkpoints": done.checkpoints,
        "newest_checkpoint_at": done.newest,
        "first_failure": None if failure is None else {"where": failure.where, "why": failure.why},
    }


def _keys(paths: Sequence[Path]) -> list[Ed25519Key]:
    from no_undo.adapters.ed25519_keys import key_from_pem  # noqa: PLC0415 - needs cryptography

    return [key_from_pem(read_bytes(path)) for path in paths]


def _kept(path: Path, keys: Sequence[Ed25519Key]) -> Checkpoint:
    """Return a checkpoint that was kept elsewhere.

    Raises:
        InvalidRequestError: It is none, or none of the keys signed it.
    """
    from no_undo.use_cases.verify_audit import opened_note  # noqa: PLC0415

    try:
        checkpoint, _key = opened_note(read_bytes(path), keys)
    except ValueError as error:
        raise InvalidRequestError(f"{path} is no usable checkpoint: {error}") from None
    return checkpoint


def _bar(total: int) -> Callable[[int], None]:
    """Return what draws a bar over the checkpoints, if somebody is watching."""
    if not sys.stderr.isatty():
        return lambda _done: None

    def draw(done: int) -> None:
        filled = _BAR_WIDTH * done // max(total, 1)
        bar = "#" * filled + "." * (_BAR_WIDTH - filled)
        sys.stderr.write(f"\r[{bar}] {done} of {total} checkpoints")
        sys.stderr.flush()
        if done == total:
            progress("")

    return draw
