"""A stand-in for the extraction vendor: answers by mode, and what was asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from no_undo.domain.canary import Canary, Withdrawal
from no_undo.domain.floors import Floors, floors_for
from no_undo.domain.words import Word
from no_undo.ports import ExtractionAnswer

FINGERPRINT = "mode=understand api=2026-05-25 engine=stable traits=none"


def cited(tree: Any, score: float = 0.95) -> Any:  # noqa: ANN401 - JSON
    """Return metadata that mirrors data with a perfect citation for every value."""
    match tree:
        case dict():
            return {key: cited(child, score) for key, child in tree.items()}  # pyright: ignore[reportUnknownVariableType]
        case list():
            return [cited(child, score) for child in tree]  # pyright: ignore[reportUnknownVariableType]
        case None:
            return {"match": "not_found", "source_bboxes": []}
        case _:
            return {
                "match": "id_match",
                "confidence": 0.97,
                "confidenceComponents": {"groundingScore": 0.95},
                "recognitionScore": score,
                "pageIndex": 0,
                "bbox": {"x": 100.0, "y": 200.0, "width": 50.0, "height": 10.0},
            }


@dataclass
class FixedFloors:
    """Implements `ports.FloorsSource` over rows that a test sets."""

    rows: Mapping[str, Floors] = field(default_factory=dict[str, Floors])

    def floors(self, document_type: str) -> Floors:
        """Return the row, a built-in one by default."""
        return floors_for(document_type, self.rows)


@dataclass
class MemoryCanaries:
    """Implements `ports.CanaryStore` in memory."""

    kept: tuple[Canary, ...] = ()
    withdrawn: dict[str, Withdrawal] = field(default_factory=dict[str, Withdrawal])

    def canaries(self) -> tuple[Canary, ...]:
        """Return every canary."""
        return self.kept

    def withdrawal(self, document_type: str) -> Withdrawal | None:
        """Return what was withdrawn, or None."""
        return self.withdrawn.get(document_type)

    def withdraw(self, withdrawal: Withdrawal) -> None:
        """Store a withdrawal."""
        self.withdrawn[withdrawal.document_type] = withdrawal


@dataclass
class ScriptedExtraction:
    """Implements `ports.ExtractionService`.

    Attributes:
        data: What each mode reads.
        words: What parse reads, in any mode.
        fails: Error by question, such as `extract agentic`.
        fingerprint: Of every answer.
        score: Recognition of every value.
        asked: Questions in order.
    """

    data: Mapping[str, Mapping[str, Any]]
    words: tuple[Word, ...] = ()
    fails: dict[str, Exception] = field(default_factory=dict[str, Exception])
    fingerprint: str = FINGERPRINT
    score: float = 0.95
    asked: list[str] = field(default_factory=list[str])

    def extract(
        self,
        document: bytes,  # noqa: ARG002
        schema: Mapping[str, Any],  # noqa: ARG002
        *,
        mode: str,
    ) -> ExtractionAnswer:
        """Answer with what the mode reads."""
        self._ask(f"extract {mode}")
        data = dict(self.data[mode])
        metadata: dict[str, Any] = cited(data, self.score)
        return ExtractionAnswer(
            body={"output": {"data": data, "metadata": metadata}},
            data=data,
            metadata=metadata,
            mode=mode,
            fingerprint=self.fingerprint,
            points_per_unit=72 / 200,
        )

    def parse_words(self, document: bytes, *, mode: str) -> tuple[Word, ...]:  # noqa: ARG002
        """Answer with the words."""
        self._ask(f"parse {mode}")
        return self.words

    def _ask(self, question: str) -> None:
        self.asked.append(question)
        if question in self.fails:
            raise self.fails[question]
