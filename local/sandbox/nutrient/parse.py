"""Answers `POST /extraction/parse`: the document as elements with words, or as Markdown."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from local.sandbox.nutrient import envelope
from local.sandbox.nutrient import instructions as shapes
from local.sandbox.nutrient.errors import BadRequestError
from local.sandbox.nutrient.extract import box, reading_plan, scale_of
from local.sandbox.nutrient.reading import Block, ReadPage, ReadWord, read_pages
from local.sandbox.nutrient.switches import HONEST, Switches

_TITLE_HEIGHT = 1.3  # times the next tallest line


@dataclass(frozen=True, slots=True)
class ParseRequest:
    """The parsed `instructions` of one parse call."""

    mode: str = "understand"
    output_format: str = "spatial"
    words: bool = False


def read_request(instructions: object) -> ParseRequest:
    """Parse the `instructions` part; other keys, `parseConfig` among them, are ignored.

    Raises:
        BadRequestError: Unknown mode or format, or `text` with the spatial format.
    """
    asked = shapes.read(shapes.ParseInstructions, instructions)
    usual = "markdown" if asked.mode == "text" else "spatial"
    output_format = asked.output.format or usual
    if asked.mode == "text" and output_format == "spatial":
        raise BadRequestError("mode text has no spatial format", path="output.format")
    return ParseRequest(asked.mode, output_format, asked.output.include_words)


def parse(pdf: bytes, request: ParseRequest, switches: Switches = HONEST) -> dict[str, Any]:
    """Read the document and return the whole answer body.

    Raises:
        UnsupportedFileError, TooLargeError: The document cannot be read.
    """
    started = time.monotonic()
    pages = read_pages(pdf, reading_plan(request.mode, switches))
    output = _spatial(pages, request) if request.output_format == "spatial" else _markdown(pages)
    elapsed = round((time.monotonic() - started) * 1000)
    cost = envelope.PARSE_CREDITS[request.mode] * len(pages)
    return {
        "configuration": envelope.configuration(request.mode, request.output_format),
        "metrics": {"pagesProcessed": len(pages), "processingTimeMs": elapsed},
        "output": {**output, "languageDetection": _languages(pages)},
        "requestId": envelope.request_id(august=switches.august),
        "status": 200,
        "usage": {"data_extraction_credits": {"cost": cost, "remainingCredits": 0.0}},
    }


def _languages(pages: Sequence[ReadPage]) -> dict[str, Any]:
    return {
        "pages": [
            {"languages": ["eng"], "pageNumber": page.index + 1, "textDirection": "lrtb"}
            for page in pages
        ]
    }


def _markdown(pages: Sequence[ReadPage]) -> dict[str, str]:
    texts: list[str] = []
    for page in pages:
        title = _title(page)
        texts.append("\n\n".join(f"# {b.text}" if b is title else b.text for b in page.blocks))
    return {"markdown": "\n\n".join(texts)}


def _spatial(pages: Sequence[ReadPage], request: ParseRequest) -> dict[str, Any]:
    order = 0
    elements: list[dict[str, Any]] = []
    for page in pages:
        title = _title(page)
        for block in page.blocks:
            role = "Title" if block is title else _role(block)
            elements.append(_element(page, block, role, order, request))
            order += 1
    return {"elements": elements}


def _title(page: ReadPage) -> Block | None:
    """Return the tallest line when it is clearly taller than the others."""
    if not page.blocks:
        return None
    heights = sorted((max(w.height for w in block.words), block.block_id) for block in page.blocks)
    if len(heights) == 1 or heights[-1][0] < _TITLE_HEIGHT * heights[-2][0]:
        return None
    return next(block for block in page.blocks if block.block_id == heights[-1][1])


def _role(block: Block) -> str:
    return "ListItem" if re.match(r"(\d{1,2}[.)]|[-*•])$", block.words[0].text) else "Text"


def _element(
    page: ReadPage, block: Block, role: str, order: int, request: ParseRequest
) -> dict[str, Any]:
    scale = scale_of(request.mode)
    bounds = box(block.words, scale)
    element: dict[str, Any] = {
        "bounds": bounds,
        "confidence": _layout_confidence(block),
        "id": str(uuid.uuid4()),
        "page": {
            "height": round(page.height * scale),
            "pageIndex": page.index,
            "pageNumber": page.index + 1,
            "width": round(page.width * scale),
        },
        "points": _points(bounds),
        "readingOrder": order,
        "role": role,
        "text": block.text,
        "type": "paragraph",
    }
    if request.words:
        element["words"] = [_word(word, scale) for word in block.words]
    return element


def _word(word: ReadWord, scale: float) -> dict[str, Any]:
    bounds = box((word,), scale)
    return {
        "bounds": bounds,
        "confidence": word.confidence if word.by_ocr else 1,
        "points": _points(bounds),
        "text": word.text,
    }


def _points(bounds: dict[str, int]) -> list[list[int]]:
    left, top = bounds["x"], bounds["y"]
    right, bottom = left + bounds["width"], top + bounds["height"]
    return [[left, top], [right, top], [right, bottom], [left, bottom]]


def _layout_confidence(block: Block) -> float:
    """Return how much of the line's width its words cover; says nothing about text quality."""
    width = max(w.right for w in block.words) - min(w.x for w in block.words)
    return round(min(1.0, sum(w.width for w in block.words) / width), 7) if width else 1.0
