"""Nutrient Data Extraction behind the `ExtractionService` port: typed fields, and words.

Source of every rule: vendors/nutrient-dws.md (its section numbers below) and its recordings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx

from no_undo.adapters.http_client import Answer, Call, UploadedFile, VendorClient
from no_undo.adapters.json_answers import as_list, as_number, as_object, as_text, json_object
from no_undo.adapters.nutrient_fingerprint import response_fingerprint
from no_undo.domain.errors import InvalidRequestError, VendorContractError
from no_undo.domain.words import Word
from no_undo.ports import ExtractionAnswer

DEFAULT_BASE_URL: Final = "https://api.nutrient.io"
DEFAULT_API_VERSION: Final = "2026-05-25"
DEFAULT_ENGINE_VERSION: Final = "stable"

# Points per unit of the answer's coordinates: `structure` answers in PDF points, the other two in
# pixels of a 200 dpi rendering (section 2.2; a letter page is 612 x 792 or 1700 x 2200).
POINTS_PER_UNIT: Final[Mapping[str, float]] = {
    "structure": 1.0,
    "understand": 72 / 200,
    "agentic": 72 / 200,
}
"""PDF points in one unit of each mode's coordinates."""

_VENDOR: Final = "Nutrient extraction"
_MAX_ANSWER_BYTES: Final = 32 * 1024 * 1024


class NutrientExtraction:
    """The extraction routes, with a Data Extraction key (a Processor key is answered 403).

    Args:
        base_url: Host, see `DEFAULT_BASE_URL`.
        api_key: Data Extraction key.
        transport: Replaces the network in tests.
        timeout_seconds: Longest silence while writing or reading one call. A one-page `agentic`
            answer took up to 12.5 s; longer documents take longer.
        api_version: Dated API, header `x-nutrient-api-version`.
        engine_version: Header `x-nutrient-engine-version`; what ran is not told, only echoed.

    Raises:
        ValueError: The base URL is not HTTPS (loopback excepted), or the key is unusable.
    """

    def __init__(  # noqa: PLR0913 -- one keyword per fact of the connection
        self,
        base_url: str,
        api_key: str,
        *,
        transport: httpx.BaseTransport | None = None,
        timeout_seconds: float = 180.0,
        api_version: str = DEFAULT_API_VERSION,
        engine_version: str = DEFAULT_ENGINE_VERSION,
    ) -> None:
        self._client = VendorClient(
            base_url,
            vendor=_VENDOR,
            headers={
                "Authorization": f"Bearer {api_key}",
                "x-nutrient-api-version": api_version,
                "x-nutrient-engine-version": engine_version,
            },
            timeout_seconds=timeout_seconds,
            transport=transport,
        )

    def extract(self, document: bytes, schema: Mapping[str, Any], *, mode: str) -> ExtractionAnswer:
        """Extract typed fields with their citations (section 2).

        Numbers in `data` keep what the vendor wrote: `4` stays an int, `4.0` a float.

        Args:
            document: PDF bytes.
            schema: The vendor's JSON-Schema subset.
            mode: `structure`, `understand` or `agentic`.

        Raises:
            InvalidRequestError: Another mode.
            TransientError: No answer, throttled, or a 5xx; reading is safe to repeat.
            VendorRefusedError: Key, credits, schema or document refused.
            VendorContractError: The answer has no `output` object.
        """
        _require_mode(mode)
        instructions = {
            "schema": schema,
            "parseConfig": {"mode": mode},
            "options": {"includeCitations": True, "strict": False, "multimodal": False},
        }
        call = _call("/extraction/extract", document, instructions)
        body = _body(call, self._client.ask(call))
        output = _object_of(call, body, "output")
        return ExtractionAnswer(
            body=body,
            data=_object_of(call, output, "data", default={}),
            metadata=_object_of(call, output, "metadata", default={}),
            mode=mode,
            fingerprint=response_fingerprint(body, mode=mode),
            points_per_unit=POINTS_PER_UNIT[mode],
        )

    def parse_words(self, document: bytes, *, mode: str) -> tuple[Word, ...]:
        """Read the words of a document with their own confidences (section 5).

        The instructions stand at the top level; inside `parseConfig`, where the extract route wants
        them, this route ignores them and runs (and charges) its default mode.

        Args:
            document: PDF bytes.
            mode: `structure`, `understand` or `agentic`; `text` has no words.

        Returns:
            Words in the vendor's reading order, in PDF points.

        Raises:
            InvalidRequestError: Another mode.
            TransientError: No answer, throttled, or a 5xx; reading is safe to repeat.
            VendorRefusedError: Key, credits or document refused.
            VendorContractError: No elements, text without words, or a word without place or score.
        """
        _require_mode(mode)
        instructions = {"mode": mode, "output": {"format": "spatial", "includeWords": True}}
        call = _call("/extraction/parse", document, instructions)
        output = _object_of(call, _body(call, self._client.ask(call)), "output")
        elements = as_list(output.get("elements"))
        if elements is None:
            raise VendorContractError(f"{_VENDOR}: {call} answered without elements")
        return _words(call, elements, points_per_unit=POINTS_PER_UNIT[mode])


def _require_mode(mode: str) -> None:
    if mode not in POINTS_PER_UNIT:
        raise InvalidRequestError(
            f"the mode is not one of {', '.join(POINTS_PER_UNIT)}", field="mode"
        )


def _call(route: str, document: bytes, instructions: Mapping[str, object]) -> Call:
    return Call(
        "POST",
        route,
        form={"instructions": json.dumps(instructions, ensure_ascii=False)},
        files={"file": UploadedFile("document.pdf", document, "application/pdf")},
        max_bytes=_MAX_ANSWER_BYTES,
    )


def _body(call: Call, answer: Answer) -> dict[str, object]:
    body = json_object(answer.body)
    if body is None:
        raise VendorContractError(
            f"{_VENDOR}: {call} answered {answer.status} with something else than a JSON object"
        )
    return body


def _object_of(
    call: Call,
    parent: Mapping[str, object],
    key: str,
    *,
    default: dict[str, object] | None = None,
) -> dict[str, object]:
    """Return an object of the answer; absent is the default, any other type is a wrong shape."""
    found = default if key not in parent else as_object(parent[key])
    if found is None:
        raise VendorContractError(f"{_VENDOR}: {call} answered without an object {key}")
    return found


@dataclass(frozen=True, slots=True)
class _Page:
    index: int
    points_per_unit: float


def _words(call: Call, elements: Sequence[object], *, points_per_unit: float) -> tuple[Word, ...]:
    words: dict[Word, None] = {}
    for element in elements:
        found = list(_words_below(call, as_object(element) or {}, None, points_per_unit))
        words.update(dict.fromkeys(found))
    if not words and any(as_text((as_object(e) or {}).get("text")) for e in elements):
        raise VendorContractError(f"{_VENDOR}: {call} answered text without words")
    return tuple(words)


def _words_below(
    call: Call, node: Mapping[str, object], page: _Page | None, points_per_unit: float
) -> Iterator[Word]:
    """Yield the words of an element and of what it contains: table cells, key-value pairs.

    A word listed by a cell and again by its table is one word; the caller drops the repeat.
    """
    page = _page(node, points_per_unit) or page
    for word in as_list(node.get("words")) or []:
        yield _word(call, as_object(word) or {}, page)
    for key in sorted(node.keys() - {"words", "page", "bounds", "points"}):
        for child in as_list(node[key]) or [node[key]]:
            inner = as_object(child)
            if inner is not None:
                yield from _words_below(call, inner, page, points_per_unit)


def _page(node: Mapping[str, object], points_per_unit: float) -> _Page | None:
    index = (as_object(node.get("page")) or {}).get("pageIndex")
    return _Page(index, points_per_unit) if type(index) is int and index >= 0 else None


def _word(call: Call, word: Mapping[str, object], page: _Page | None) -> Word:
    bounds = as_object(word.get("bounds")) or {}
    place = [as_number(bounds.get(key)) for key in ("x", "y", "width", "height")]
    known = [number for number in place if number is not None]
    confidence = as_number(word.get("confidence"))
    text = word.get("text")
    if (
        page is None
        or not isinstance(text, str)
        or len(known) != len(place)
        or confidence is None
        or not 0.0 <= confidence <= 1.0
    ):
        raise VendorContractError(
            f"{_VENDOR}: {call} answered a word without text, page, bounds or a score of 0 to 1"
        )
    x, y, width, height = (number * page.points_per_unit for number in known)
    return Word(text, page.index, x, y, width, height, confidence)
