"""Commands about a PDF: pii scan, redaction verify. The file stays on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from no_undo.cli.files import read_bytes
from no_undo.cli.output import Exit, show
from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.pii import KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from no_undo.ports import TextReading
    from no_undo.use_cases.detection import Detection, Sight


def add_commands(commands: Any) -> None:  # noqa: ANN401 - argparse keeps its class private
    """Add the commands about documents."""
    pii = commands.add_parser("pii", help="personal data in a PDF")
    scan = pii.add_subparsers(required=True, metavar="COMMAND").add_parser(
        "scan", help="kind, page and position of each finding; 1: some, 2: pages without text"
    )
    scan.add_argument("file", type=Path, help="a PDF")
    scan.add_argument("--show-values", action="store_true", help="also print what was found")
    scan.set_defaults(run=run_pii_scan)
    redaction = commands.add_parser("redaction", help="proof that values are gone")
    verify = redaction.add_subparsers(required=True, metavar="COMMAND").add_parser(
        "verify", help="verdict per channel and reader; 0: proven, 1: found, 2: not proven"
    )
    verify.add_argument("--before", type=Path, required=True, help="the original PDF")
    verify.add_argument("--after", type=Path, required=True, help="the redacted PDF")
    verify.add_argument(
        "--value",
        action="append",
        default=[],
        help="what must be gone, repeated; without any: what is detected in the original",
    )
    verify.add_argument(
        "--kind", action="append", default=[], choices=KINDS, help="a kind that must be gone"
    )
    verify.add_argument("--keep", action="append", default=[], help="a value that stays, repeated")
    verify.add_argument(
        "--signature-fields", type=int, default=0, help="how many signing parties must survive"
    )
    verify.set_defaults(run=run_redaction_verify)


def run_pii_scan(options: argparse.Namespace) -> Exit:
    """Show what the detector finds, page by page, over every reader of text.

    Exit 1 when it finds something, 2 when it cannot tell: a page on which nobody read anything, a
    reader that failed, or only hints.
    """
    from no_undo.use_cases.detection import detected  # noqa: PLC0415

    detection = _detection()
    readings = detection.readers.read(read_bytes(options.file))
    if all(one.failure for one in readings):  # no PDF, or none that may be opened
        raise InvalidRequestError(readings[0].failure)
    sights = detected(readings, detection.detector)
    unread = sorted(unread_pages(readings))
    failed = [{"reader": one.reader, "why": one.failure} for one in readings if one.failure]
    findings = [_finding(one, with_value=options.show_values) for one in sights]
    show({"findings": findings, "unread_pages": unread, "failed_readers": failed})
    if any(one.is_sure for one in sights):
        return Exit.NO
    return Exit.COULD_NOT_TELL if sights or unread or failed else Exit.YES


def unread_pages(readings: Sequence[TextReading]) -> set[int]:
    """Return the numbers, from 1, of pages of which no reader has seen a letter, or not all."""
    pages = {page.page_index for one in readings for page in one.pages}
    read = {page.page_index for one in readings for page in one.pages if page.text.strip()}
    skipped = {index for one in readings for index in one.unread}
    return {index + 1 for index in (pages - read) | skipped}


def _detection() -> Detection:
    from no_undo.adapters.pii_validators import PatternPiiDetector  # noqa: PLC0415
    from no_undo.adapters.text_readers import IndependentTextReaders  # noqa: PLC0415
    from no_undo.use_cases.detection import Detection  # noqa: PLC0415

    return Detection(IndependentTextReaders(), PatternPiiDetector())


def _finding(sight: Sight, *, with_value: bool) -> dict[str, Any]:
    one = sight.finding
    return {
        "kind": one.kind,
        "page": sight.page_index + 1,
        "start": one.start,
        "end": one.end,
        "confidence": one.confidence,
        "reason": one.reason,
        "reader": sight.reader,
        **({"value": one.value} if with_value else {}),
    }


def run_redaction_verify(options: argparse.Namespace) -> Exit:
    """Prove removal on two files, as the deployed stage does; exit 0 only when it is proven."""
    from no_undo.adapters.redaction_verifier import IndependentReadersVerifier  # noqa: PLC0415
    from no_undo.domain.redaction import ChannelResult, alike  # noqa: PLC0415
    from no_undo.use_cases.redaction_proof import (  # noqa: PLC0415
        Proving,
        Removal,
        prove,
        verdict_document,
    )

    before, after = read_bytes(options.before), read_bytes(options.after)
    detection = _detection()
    removal = Removal(
        values=_values(options, before, detection),
        asked=frozenset(options.kind),
        kept=frozenset(alike(value) for value in options.keep),
        signature_fields=options.signature_fields,
    )
    proof = prove(before, after, removal, Proving(IndependentReadersVerifier(), detection))
    show(verdict_document(proof, removal))
    if proof.verdict.proven:
        return Exit.YES
    found = any(row.result is ChannelResult.FOUND for row in proof.verdict.channels)
    return Exit.NO if found else Exit.COULD_NOT_TELL


def _values(options: argparse.Namespace, before: bytes, detection: Detection) -> dict[str, str]:
    """Return value to kind: what was given, and what the detector finds of the kinds.

    With neither, everything that the detector finds in the original.
    """
    values: dict[str, str] = dict.fromkeys(options.value, "literal")
    if options.value and not options.kind:
        return values
    for one in detection.sights(before):
        if one.is_sure and (not options.kind or one.kind in options.kind):
            values.setdefault(one.value, one.kind)
    return values
