"""Commands about the sentence: parse."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from no_undo.cli.files import read_json
from no_undo.cli.output import Exit, show


def add_commands(commands: Any) -> None:  # noqa: ANN401 - argparse keeps its class private
    """Add the commands about the sentence."""
    parse = commands.add_parser(
        "parse", help="what a sentence says; 1: something is to be answered"
    )
    parse.add_argument("text", help="the sentence")
    parse.add_argument(
        "--contacts", type=Path, help='JSON: [{"name", "email"}, ...] or {"name": "mail"}'
    )
    parse.set_defaults(run=run_parse)


def run_parse(options: argparse.Namespace) -> Exit:
    """Show the typed payload of a sentence; exit 1 when something has to be answered first."""
    from no_undo.domain.instruction import parse_contacts, parse_instruction  # noqa: PLC0415 - slow

    contacts = parse_contacts(read_json(options.contacts)) if options.contacts else ()
    said = parse_instruction(options.text, now=datetime.now(UTC), contacts=contacts)
    show(said.as_json())
    return Exit.NO if said.questions else Exit.YES
