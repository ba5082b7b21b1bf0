"""docs/audit.md lists every kind of record that the code writes, and no other."""

from __future__ import annotations

import ast
import re
from typing import Final

from tests.infrastructure.template import ROOT

CODE: Final = ROOT / "layers/core/python/no_undo"
SUBJECTS: Final = (
    "approval|attempt|begins|confirmation|decision|document|draft|execution|extraction|fields|link|"
    "plan|question|redaction|request|signed_document|signer|wait"
)
KIND: Final = re.compile(rf"(?:{SUBJECTS})\.[a-z_]+")
NO_KINDS: Final = {"document.invoice", "document.upload_id", "fields.json"}
"""Names of fields and files that look like kinds."""
COMPOSED: Final = {"plan.decision_recorded", "plan.approved", "plan.rejected"}
"""Kinds that `record_decision` composes of a subject and a verb."""


def written() -> set[str]:
    """Return every kind that stands in the code as a text of its own."""
    found = {
        node.value
        for folder in ("use_cases", "domain")
        for path in (CODE / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and KIND.fullmatch(node.value)
    }
    return found - NO_KINDS | COMPOSED


def test_every_kind_of_record_is_documented_and_every_documented_kind_is_written() -> None:
    text = (ROOT / "docs/audit.md").read_text(encoding="utf-8")
    documented = {one for one in re.findall(r"`([a-z_.]+)`", text) if KIND.fullmatch(one)}

    assert documented == written()
