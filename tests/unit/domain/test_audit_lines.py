"""Lines of every version that was ever written stay readable; files are added, never edited."""

from __future__ import annotations

from pathlib import Path

from no_undo.domain.audit_chain import SCHEMAS, ChainHead, follow, record_of

FOLDER = Path(__file__).parent / "audit_lines"
ENDS = {"v1": "5f1d5561ce1ce7f5c8c7d664161e72145695e0ef12dd36e2bf10f84fafc428b5"}
"""Hash of the last line of each file: what the version that wrote it computed."""


def test_stored_lines_of_every_version_still_verify() -> None:
    for name, expected in ENDS.items():
        lines = (FOLDER / f"{name}.jsonl").read_bytes().splitlines()
        head = ChainHead(record_of(lines[0])["chain"])
        for line in lines:
            head = follow(head, line)
        assert head.hash == expected


def test_every_version_has_stored_lines() -> None:
    assert {one.stem for one in FOLDER.glob("*.jsonl")} == set(ENDS)
    assert len(ENDS) == len(SCHEMAS)
