"""Answers `POST /extraction/extract`: typed fields with citations, scores and coordinates.

The scores follow what the recordings show:
1. groundingScore is 0.95 for a value tied to its source and 0.4 for `not_found`.
2. formatScore exists for numbers only; the composite is grounding^0.6 x format^0.4, or the
   grounding alone. It restates the match label and says nothing more.
3. recognitionScore is the lowest word confidence of the source block, absent when that block came
   from the text layer, and never sent in `agentic`.
4. `structure` answers points, the other modes pixels at 200 dpi.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local.sandbox.nutrient import envelope
from local.sandbox.nutrient import instructions as shapes
from local.sandbox.nutrient.fields import FieldResult, Found, find_fields
from local.sandbox.nutrient.reading import Block, ReadingPlan, ReadPage, ReadWord, read_pages
from local.sandbox.nutrient.schema import check_schema
from local.sandbox.nutrient.switches import HONEST, Switches

_NOT_FOUND_GROUNDING = 0.4
_PIXELS_PER_POINT = 200 / 72


@dataclass(frozen=True, slots=True)
class ExtractRequest:
    """The parsed `instructions` of one extract call."""

    schema: Mapping[str, Any]
    mode: str = "understand"
    citations: bool = True


def read_request(instructions: object) -> ExtractRequest:
    """Parse the `instructions` part.

    Raises:
        BadRequestError: Not an object, a bad schema, or a mode this route does not take.
    """
    asked = shapes.read(shapes.ExtractInstructions, instructions)
    schema = check_schema(asked.schema_)
    return ExtractRequest(schema, asked.parse_config.mode, asked.options.include_citations)


def reading_plan(mode: str, switches: Switches) -> ReadingPlan:
    """Return how a mode reads pages; `drift` stands for the vendor's next OCR snapshot."""
    plan = {
        "text": ReadingPlan(ocr="never"),
        "structure": ReadingPlan(ocr="empty_pages"),
        "understand": ReadingPlan(),
        "agentic": ReadingPlan(segmentation="column"),
    }[mode]
    match switches.drift:
        case "dpi":
            return ReadingPlan(plan.ocr, plan.segmentation, dpi=140)
        case "segmentation":
            other = "column" if plan.segmentation == "block" else "block"
            return ReadingPlan(plan.ocr, other, plan.dpi)
        case _:
            return plan


def extract(pdf: bytes, request: ExtractRequest, switches: Switches = HONEST) -> dict[str, Any]:
    """Read the document and return the whole answer body, credits left out of `usage` excepted.

    Raises:
        UnsupportedFileError, TooLargeError: The document cannot be read.
    """
    started = time.monotonic()
    pages = read_pages(pdf, reading_plan(request.mode, switches))
    results = find_fields(request.schema, pages, tables=request.mode != "structure")
    writer = _Writer(request.mode, switches.august)
    data, metadata = writer.members(request.schema, results)
    return {
        "configuration": envelope.configuration(request.mode),
        "metrics": _metrics(pages, started),
        "output": {
            "data": data,
            "metadata": metadata if request.citations else {},
            "pages": [writer.page(page) for page in pages],
        },
        "requestId": envelope.request_id(august=switches.august),
        "status": 200,
        "usage": usage(request.mode, len(pages)),
    }


def _metrics(pages: Sequence[ReadPage], started: float) -> dict[str, int]:
    elapsed = round((time.monotonic() - started) * 1000)
    return {"pagesProcessed": len(pages), "processingTimeMs": elapsed}


def usage(mode: str, page_count: int) -> dict[str, Any]:
    """Return the price of one extract call; `remainingCredits` is filled in by the route."""
    parts = {"extract": envelope.EXTRACT_CREDITS, "parse": envelope.PARSE_CREDITS[mode]}
    return {
        "data_extraction_credits": {
            "cost": sum(parts.values()) * page_count,
            "remainingCredits": 0.0,
        },
        "price_composition": {
            name: {
                "cost": unit * page_count,
                "currency": "data_extraction_credits",
                "unit_cost": unit,
                "units": page_count,
            }
            for name, unit in parts.items()
        },
    }


def scale_of(mode: str) -> float:
    """Return output units per point."""
    return 1.0 if mode in ("structure", "text") else _PIXELS_PER_POINT


def box(words: Sequence[ReadWord], scale: float) -> dict[str, int]:
    """Return the whole-unit box around words, origin top left."""
    left, top = min(w.x for w in words), min(w.y for w in words)
    right, bottom = max(w.right for w in words), max(w.bottom for w in words)
    x, y = round(left * scale), round(top * scale)
    return {
        "height": max(1, round(bottom * scale) - y),
        "width": max(1, round(right * scale) - x),
        "x": x,
        "y": y,
    }


@dataclass(frozen=True, slots=True)
class _Writer:
    """Turns results into `data` and `metadata` of one mode."""

    mode: str
    august: bool

    def page(self, page: ReadPage) -> dict[str, int]:
        scale = scale_of(self.mode)
        return {
            "height": round(page.height * scale),
            "page": page.index + 1,
            "width": round(page.width * scale),
        }

    def members(
        self, schema: Mapping[str, Any], results: Mapping[str, FieldResult]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return data and metadata of an object; August left a missing field out of data."""
        data: dict[str, Any] = {}
        metadata: dict[str, Any] = {}
        required = schema.get("required", [])
        for name, spec in schema.get("properties", {}).items():
            value, citation = self.field(spec, results[name], required=name in required)
            metadata[name] = citation
            if value is not None or not self.august:
                data[name] = value
        return data, metadata

    def field(
        self, spec: Mapping[str, Any], result: FieldResult, *, required: bool
    ) -> tuple[Any, Any]:
        """Return the value and the citation tree of one field."""
        kind = spec.get("type", "string")
        if kind == "object":
            return self.members(spec, result.members)
        if kind == "array":
            rows = [self.members(spec["items"], item.members) for item in result.items]
            if not rows:
                return None, {}
            return [row[0] for row in rows], [row[1] for row in rows]
        if result.found is None:
            return self._missing(kind, required=required)
        return self._value(result.found, kind), self._citation(result.found)

    def _value(self, found: Found, kind: str) -> str | float | int:
        whole = isinstance(found.value, float) and found.value.is_integer() and kind == "number"
        return int(found.value) if whole and self.august else found.value

    def _missing(self, kind: str, *, required: bool) -> tuple[Any, dict[str, Any]]:
        """Return what stands for an absent value; `structure` answers 0 for a required number."""
        number = kind in ("number", "integer")
        zero = self.mode == "structure" and required and number
        citation: dict[str, Any] = {"match": "not_found", "source_bboxes": []}
        if zero or not self.august:
            scores = _scores(_NOT_FOUND_GROUNDING, 1 if zero else None)
            citation = {**scores, **citation}
        return (0 if zero else None), citation

    def _citation(self, found: Found) -> dict[str, Any]:
        number = not isinstance(found.value, str)
        block = found.blocks[-1]
        citation: dict[str, Any] = {
            "bbox": box(self._located(found, block), scale_of(self.mode)),
            **_scores(found.grounding, 1 if number else None),
            "match": found.match,
            "pageIndex": block.page_index,
            "pageNumber": block.page_index + 1,
        }
        recognition = [
            score for source in found.blocks if (score := source.lowest_confidence) is not None
        ]
        if recognition and self.mode != "agentic":
            citation["recognitionScore"] = min(recognition)
        citation["source_bboxes"] = [self._source(source) for source in found.blocks]
        return citation

    def _located(self, found: Found, block: Block) -> Sequence[ReadWord]:
        """Return the value's words, or the block's where the printed value is not unique in it."""
        if isinstance(found.value, str):
            return found.words
        printed = found.words[0].text.strip("$€£,;")
        same = [word for word in block.words if word.text.strip("$€£,;") == printed]
        return found.words if len(same) == 1 and printed == str(found.value) else block.words

    def _source(self, block: Block) -> dict[str, Any]:
        return {
            "bbox": box(block.words, scale_of(self.mode)),
            "block_id": block.block_id,
            "pageIndex": block.page_index,
            "pageNumber": block.page_index + 1,
        }


def _scores(grounding: float, format_score: float | None) -> dict[str, Any]:
    components: dict[str, Any] = {"groundingScore": grounding, "source": "no-logprobs"}
    if format_score is None:
        return {"confidence": grounding, "confidenceComponents": components}
    components = {"formatScore": format_score, **components}
    composite = grounding**0.6 * format_score**0.4
    return {"confidence": composite, "confidenceComponents": components}
