"""Commands that need nobody: parse, pii scan, redaction verify, route, crash-test."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from no_undo.cli.output import Exit, progress, show
from no_undo.domain.errors import InvalidRequestError


def add_commands(commands: Any) -> None:  # noqa: ANN401 - argparse keeps its class private
    """Add the commands that run on a laptop alone."""
    parse = commands.add_parser("parse", help="what a sentence says")
    parse.add_argument("text")
    parse.add_argument("--contacts", type=Path, help="JSON: names and addresses")
    parse.set_defaults(run=run_parse)
    pii = commands.add_parser("pii", help="personal data in a PDF").add_subparsers(required=True)
    scan = pii.add_parser("scan", help="kind, page and position of each finding")
    scan.add_argument("file", type=Path)
    scan.add_argument("--show-values", action="store_true")
    scan.set_defaults(run=run_pii_scan)
    redaction = commands.add_parser("redaction", help="proof of removal")
    verify = redaction.add_subparsers(required=True).add_parser("verify")
    verify.add_argument("--before", type=Path, required=True)
    verify.add_argument("--after", type=Path, required=True)
    verify.add_argument("--value", action="append", default=[], help="default: what is detected")
    verify.add_argument("--signature-fields", type=int, default=0)
    verify.set_defaults(run=run_redaction_verify)
    route = commands.add_parser("route", help="route and reason for every extracted field")
    route.add_argument("response", type=Path)
    route.add_argument("--schema", type=Path, required=True)
    route.add_argument("--document-type", default="invoice")
    route.add_argument("--compare", type=Path, help="the answer of another mode")
    route.set_defaults(run=run_route)
    crash = commands.add_parser("crash-test", help="every window, every vendor behaviour")
    crash.add_argument("--points", default="all")
    crash.add_argument("--seed", type=int, default=0)
    crash.set_defaults(run=run_crash_test)


def run_parse(options: argparse.Namespace) -> Exit:
    """Show the typed payload of a sentence; exit 1 when something has to be answered first."""
    from no_undo.domain.instruction import parse_contacts, parse_instruction  # noqa: PLC0415

    contacts = parse_contacts(_json(options.contacts)) if options.contacts else ()
    said = parse_instruction(options.text, now=datetime.now(UTC), contacts=contacts)
    show(said.as_json())
    return Exit.NO if said.questions else Exit.YES


def run_pii_scan(options: argparse.Namespace) -> Exit:
    """Show what the detector finds, page by page; exit 1 when it finds something."""
    from no_undo.adapters.document_inspector import PdfiumDocumentInspector  # noqa: PLC0415
    from no_undo.adapters.pii_validators import PatternPiiDetector  # noqa: PLC0415

    detector = PatternPiiDetector()
    pages = PdfiumDocumentInspector().page_texts(_bytes(options.file))
    findings = [
        {
            "kind": one.kind,
            "page": page.page_index + 1,
            "start": one.start,
            "end": one.end,
            "confidence": one.confidence,
            "reason": one.reason,
            **({"value": one.value} if options.show_values else {}),
        }
        for page in pages
        for one in detector.findings(page.text)
    ]
    unread = [page.page_index + 1 for page in pages if not page.text.strip()]
    show({"findings": findings, "unread_pages": unread})
    if findings:
        return Exit.NO
    return Exit.COULD_NOT_TELL if unread else Exit.YES


def run_redaction_verify(options: argparse.Namespace) -> Exit:
    """Prove removal on two files; exit 0 only when every reader finds nothing."""
    from no_undo.adapters.document_inspector import PdfiumDocumentInspector  # noqa: PLC0415
    from no_undo.adapters.pii_validators import PatternPiiDetector  # noqa: PLC0415
    from no_undo.adapters.redaction_verifier import IndependentReadersVerifier  # noqa: PLC0415
    from no_undo.domain.redaction import ChannelResult, RedactionVerdict  # noqa: PLC0415

    before, after = _bytes(options.before), _bytes(options.after)
    values = dict.fromkeys(options.value, "literal")
    if not values:
        detector = PatternPiiDetector()
        for page in PdfiumDocumentInspector().page_texts(before):
            values |= {value: kind for kind, value in detector.detect(page.text)}
    rows = IndependentReadersVerifier().verify(
        before, after, values, signature_fields=options.signature_fields
    )
    verdict = RedactionVerdict(rows)
    channels = [
        {"channel": r.channel, "reader": r.reader, "result": r.result.value, "detail": r.detail}
        for r in rows
    ]
    show({"proven": verdict.proven, "channels": channels})
    if verdict.proven:
        return Exit.YES
    found = any(row.result is ChannelResult.FOUND for row in rows)
    return Exit.NO if found else Exit.COULD_NOT_TELL


def run_route(options: argparse.Namespace) -> Exit:
    """Route every field of a stored extraction answer; exit 1 when a person is needed."""
    from no_undo.domain.field_routing import (  # noqa: PLC0415
        FieldRoute,
        Witness,
        floors_for,
        route_fields,
    )
    from no_undo.domain.field_witnesses import (  # noqa: PLC0415
        DateWitness,
        SecondReadingWitness,
    )

    output = _json(options.response).get("output", {})
    witnesses: list[Witness] = [DateWitness()]
    if options.compare:
        other = _json(options.compare)
        mode, other_mode = _mode(options.response), _mode(options.compare)
        data: dict[str, Any] = other.get("output", {}).get("data") or {}
        witnesses.append(SecondReadingWitness(mode, other_mode, data))
    routing = route_fields(
        output.get("data") or {},
        output.get("metadata") or {},
        _json(options.schema),
        floors=floors_for(options.document_type),
        witnesses=witnesses,
    )
    show(routing.as_json())
    people = any(one.route is FieldRoute.HUMAN for one in routing.fields)
    return Exit.NO if people else Exit.YES


def _mode(path: Path) -> str:
    return str(_json(path).get("configuration", {}).get("mode", path.name))


def run_crash_test(options: argparse.Namespace) -> Exit:
    """Run the crash matrix; exit 1 when a promise broke."""
    from no_undo.lab import crash_lab  # noqa: PLC0415

    report = crash_lab.run(points=options.points, seed=options.seed)
    progress(crash_lab.matrix_text(report))
    result = report.to_json()
    show(result)
    return Exit.NO if result["violations"] else Exit.YES


def _json(path: Path) -> dict[str, Any]:
    try:
        value: Any = json.loads(_bytes(path))
    except ValueError:
        raise InvalidRequestError(f"{path} is not JSON", field=path.name) from None
    return value  # type: ignore[no-any-return] # contacts may be a list; the reader checks


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidRequestError(f"{path} cannot be read: {error.strerror}") from error
