"""Extract Fields: read typed fields from an uploaded document and route every one of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from no_undo.domain.documents import DocumentRef
from no_undo.domain.extraction_schema import FREIGHT_INVOICE
from no_undo.domain.request import Request, Stage
from no_undo.ports import DocumentInspector, ExtractionService
from no_undo.use_cases.stage import Stages, commit, key_of, load, put_json, with_artefact

ACTOR = "extract_fields"
MODE = "understand"


@dataclass(frozen=True, slots=True)
class Extraction:
    """What reads fields: the vendor, None without an account, and our own reader."""

    service: ExtractionService | None
    inspector: DocumentInspector
