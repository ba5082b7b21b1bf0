"""Finds the values of a schema's fields on a page by the labels printed beside them.

Rules:
1. A field's labels are the words of its name, and the trade's usual words for them.
2. The value stands right of its label on the same line, or on the next line below it.
3. A value must have the field's form: an amount, a whole number, a date, an identifier, a name.
4. A list field is read from table rows: text, then a whole number, then one or two amounts.
5. What has no label on the page is not found; nothing is guessed from the rest of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from difflib import SequenceMatcher
from typing import Any

from local.sandbox.nutrient.reading import Block, ReadPage, ReadWord

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

#: What invoices print for a word of a field name. The first entry that is on the page wins.
_TRADE_WORDS: Mapping[str, tuple[str, ...]] = {
    "total": ("total due", "amount due", "balance due", "grand total", "total amount", "total"),
    "subtotal": ("subtotal", "sub total"),
    "tax": ("sales tax", "tax", "vat"),
    "vendor": ("vendor", "seller", "supplier", "carrier", "from"),
    "payer": ("payer", "bill to", "billed to", "customer", "buyer"),
    "po": ("po number", "po no", "po", "purchase order"),
    "due": ("due date", "payment due", "due on"),
    "invoice": ("invoice number", "invoice no", "invoice"),
}
_KIND_WORDS = frozenset({"number", "name", "amount", "date", "no", "id", "value", "text"})
_FILLER = frozenset({"number", "no", "nr", "num", "id", "due", "is", "of", "the"})
_CELL_GAP = 1.5  # times the height of the words; a word space is far less
_LINE_GAP = 2.5  # times the height of the label
_FUZZY = 0.8
_FUZZY_MINIMUM = 5  # shorter labels resemble too many words
_FUZZY_LENGTH = 2  # letters more or less
_MOST_AMOUNTS = 2  # unit price and line total
_LEAST_CELLS = 2  # a description and a quantity


@dataclass(frozen=True, slots=True)
class Found:
    """A value and the words it was read from.

    Attributes:
        value: As it goes into `data`.
        words: The value's own words.
        blocks: Source blocks: the value's line, and the label's line when that is another.
        match: `id_match`, `id_match_multiblock` or `fuzzy_match`.
        grounding: 0.95 where the label was read exactly, 0.7 where only something like it.
    """

    value: str | float | int
    words: tuple[ReadWord, ...]
    blocks: tuple[Block, ...]
    match: str = "id_match"
    grounding: float = 0.95


@dataclass(frozen=True, slots=True)
class FieldResult:
    """Outcome for one schema property; exactly one of the three is meaningful by its type.

    Attributes:
        found: For scalars; None means not found.
        members: For objects, by property name.
        items: For arrays; empty means not found.
    """

    found: Found | None = None
    members: Mapping[str, FieldResult] = field(default_factory=dict[str, "FieldResult"])
    items: tuple[FieldResult, ...] = ()


@dataclass(frozen=True, slots=True)
class _Anchor:
    """A label found in a block: the words after it, and how well it was read."""

    block: Block
    label: tuple[ReadWord, ...]
    rest: tuple[ReadWord, ...]
    exact: bool


def find_fields(
    schema: Mapping[str, Any], pages: Sequence[ReadPage], *, tables: bool = True
) -> dict[str, FieldResult]:
    """Look up every property of an object schema.

    Args:
        schema: JSON-Schema subset, already validated (see `schema.py`).
        pages: The document as read.
        tables: False leaves list fields alone, as the mode without layout analysis does.
    """
    blocks = [block for page in pages for block in page.blocks]
    return {
        name: _find(name, spec, blocks, tables=tables)
        for name, spec in schema.get("properties", {}).items()
    }


def _find(
    name: str, spec: Mapping[str, Any], blocks: Sequence[Block], *, tables: bool
) -> FieldResult:
    kind = spec.get("type", "string")
    if kind == "array":
        return FieldResult(items=tuple(_rows(spec, blocks)) if tables else ())
    if kind == "object":
        members = {
            key: _find(key, inner, blocks, tables=tables)
            for key, inner in spec.get("properties", {}).items()
        }
        return FieldResult(members=members)
    return FieldResult(found=_scalar(name, spec, blocks))


def _scalar(name: str, spec: Mapping[str, Any], blocks: Sequence[Block]) -> Found | None:
    form = _form(name, spec)
    for fuzzy in (False, True):
        for label in labels(name):
            for anchor in _anchors(label, blocks, fuzzy=fuzzy):
                found = _value_at(anchor, form, blocks)
                if found is not None:
                    return found
    return None


def labels(name: str) -> tuple[str, ...]:
    """Return the label texts to look for, the most telling first, in lower case."""
    words = [word for word in re.split(r"[_\W]+|(?<=[a-z])(?=[A-Z])", name.lower()) if word]
    full = " ".join(words)
    telling = [word for word in words if word not in _KIND_WORDS] or words
    trade = [text for word in telling for text in _TRADE_WORDS.get(word, ())]
    return tuple(dict.fromkeys([full, *trade, " ".join(telling)]))


# --- labels -------------------------------------------------------------------------------------


def _anchors(label: str, blocks: Sequence[Block], *, fuzzy: bool) -> Iterator[_Anchor]:
    wanted = label.split()
    for block in blocks:
        if fuzzy and block.lowest_confidence is None:
            continue  # a text layer does not misread
        for start in range(len(block.words) - len(wanted) + 1):
            window = block.words[start : start + len(wanted)]
            if not _says(window, wanted, fuzzy=fuzzy):
                continue
            if start and _plain(block.words[start - 1].text) in {"sub", "net", "with"}:
                continue
            yield _Anchor(block, window, block.words[start + len(wanted) :], not fuzzy)


def _says(window: Sequence[ReadWord], wanted: Sequence[str], *, fuzzy: bool) -> bool:
    texts = [_plain(word.text) for word in window]
    if not fuzzy:
        return texts == list(wanted)
    read, label = " ".join(texts), " ".join(wanted)
    if len(label) < _FUZZY_MINIMUM or abs(len(read) - len(label)) > _FUZZY_LENGTH:
        return False
    return SequenceMatcher(None, read, label).ratio() >= _FUZZY


def _plain(text: str) -> str:
    return re.sub(r"[^\w]+", "", text).casefold()


# --- values -------------------------------------------------------------------------------------


def _form(name: str, spec: Mapping[str, Any]) -> str:
    kind = spec.get("type", "string")
    if kind in ("number", "integer"):
        return "amount" if kind == "number" else "integer"
    if spec.get("format") == "date":
        return "date"
    words = set(name.lower().split("_"))
    return "identifier" if words & {"number", "no", "id", "vin", "code"} else "name"


def _value_at(anchor: _Anchor, form: str, blocks: Sequence[Block]) -> Found | None:
    found = _read_value(form, anchor.rest)
    if found is not None:
        return _with_anchor(found, anchor, (anchor.block,))
    below = _below(anchor, blocks)
    if below is None and (next_line := _continued(anchor, blocks)) is not None:
        below = next_line, next_line.words
    if below is None or (form == "name" and _looks_like_label(below[1])):
        return None
    found = _read_value(form, below[1])
    if found is None:
        return None
    return _with_anchor(found, anchor, (anchor.block, below[0]))


def _with_anchor(
    found: tuple[str | float | int, tuple[ReadWord, ...]],
    anchor: _Anchor,
    blocks: tuple[Block, ...],
) -> Found:
    value, words = found
    if not anchor.exact:
        return Found(value, words, blocks, "fuzzy_match", 0.7)
    match = "id_match" if len(blocks) == 1 else "id_match_multiblock"
    return Found(value, words, blocks, match)


def _continued(anchor: _Anchor, blocks: Sequence[Block]) -> Block | None:
    """Return the line after one that ends with the label: a title may break there."""
    if anchor.rest:
        return None
    after = blocks.index(anchor.block) + 1
    if after == len(blocks) or blocks[after].page_index != anchor.block.page_index:
        return None
    gap = blocks[after].words[0].baseline - anchor.label[0].baseline
    return blocks[after] if 0 < gap <= _LINE_GAP * anchor.label[0].height else None


def _below(anchor: _Anchor, blocks: Sequence[Block]) -> tuple[Block, tuple[ReadWord, ...]] | None:
    """Return the next line on the page and its words under the label, if it is close enough."""
    left, right = anchor.label[0].x, anchor.label[-1].right
    height = max(word.height for word in anchor.label)
    for block in blocks:
        gap = block.words[0].baseline - anchor.label[0].baseline
        if block.page_index != anchor.block.page_index or not 0 < gap <= 3 * height + 6:
            continue
        under = tuple(w for w in block.words if w.x <= right + 4 * height and w.right >= left - 2)
        if under and abs(under[0].x - left) <= 4 * height:
            return block, under
    return None


def _looks_like_label(words: Sequence[ReadWord]) -> bool:
    return any(word.text.endswith(":") for word in words)


def _read_value(
    form: str, words: Sequence[ReadWord]
) -> tuple[str | float | int, tuple[ReadWord, ...]] | None:
    match form:
        case "amount":
            return _amount(words)
        case "integer":
            return _integer(words)
        case "date":
            return _date(words)
        case "identifier":
            return _identifier(words)
        case _:
            return _name(words)


_AMOUNT = re.compile(
    r"^\(?(?:usd|eur|gbp)?[$€£¢]?(-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?)\)?[.,;]?$"
)


def amount(text: str) -> float | None:
    """Return the number an amount word spells, None for anything else (percentages too)."""
    hit = _AMOUNT.match(text.casefold())
    return float(hit[1].replace(",", "")) if hit else None


def _amount(words: Sequence[ReadWord]) -> tuple[float, tuple[ReadWord, ...]] | None:
    hits = [(value, word) for word in words if (value := amount(word.text)) is not None]
    money = [hit for hit in hits if re.search(r"[$€£¢.]", hit[1].text)] or hits
    return (money[-1][0], (money[-1][1],)) if money else None


def _integer(words: Sequence[ReadWord]) -> tuple[int, tuple[ReadWord, ...]] | None:
    for word in words:
        if re.fullmatch(r"\d{1,9}", word.text):
            return int(word.text), (word,)
    return None


def _identifier(words: Sequence[ReadWord]) -> tuple[str, tuple[ReadWord, ...]] | None:
    for word in words:
        text = word.text.strip("#:,;.()")
        if any(c.isdigit() for c in text) and re.fullmatch(r"[\w][\w/.-]{2,}", text):
            return text, (word,)
        if _plain(word.text) not in _FILLER and _plain(word.text):
            return None
    return None


def _name(words: Sequence[ReadWord]) -> tuple[str, tuple[ReadWord, ...]] | None:
    kept: list[ReadWord] = []
    for word in words:
        if kept and _ends_name(kept[-1], word):
            break
        if re.fullmatch(r"[-\u2013\u2014|:#]+", word.text):
            if kept:
                break
            continue
        kept.append(word)
    text = " ".join(word.text for word in kept).strip(" ,.;:")
    return (text, tuple(kept)) if re.search(r"[^\W\d_]{2}", text) else None


def _ends_name(last: ReadWord, following: ReadWord) -> bool:
    wide_gap = following.x - last.right > _CELL_GAP * max(last.height, following.height)
    stop = last.text[-1] in ",;|" or (last.text[-1] == "." and following.text[0].isdigit())
    return wide_gap or stop


def _date(words: Sequence[ReadWord]) -> tuple[str, tuple[ReadWord, ...]] | None:
    for count in (1, 3):
        for start in range(len(words) - count + 1):
            window = tuple(words[start : start + count])
            value = _parse_date(" ".join(word.text for word in window))
            if value is not None:
                return value.isoformat(), window
    return None


def _parse_date(text: str) -> date | None:
    text = text.strip(" ,.;:").casefold()
    if hit := re.fullmatch(r"(\d{4})-(\d{1,2})-(\d{1,2})", text):
        return _safe_date(int(hit[1]), int(hit[2]), int(hit[3]))
    if hit := re.fullmatch(r"(\d{1,2})/(\d{1,2})/(\d{4})", text):
        return _safe_date(int(hit[3]), int(hit[1]), int(hit[2]))
    if hit := re.fullmatch(r"([a-z]{3})[a-z]*\.? (\d{1,2}),? (\d{4})", text):
        return _named_date(hit[1], hit[2], hit[3])
    if hit := re.fullmatch(r"(\d{1,2})\.? ([a-z]{3})[a-z]*\.? (\d{4})", text):
        return _named_date(hit[2], hit[1], hit[3])
    return None


def _named_date(month: str, day: str, year: str) -> date | None:
    return _safe_date(int(year), _MONTHS.index(month) + 1, int(day)) if month in _MONTHS else None


def _safe_date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


# --- table rows ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Row:
    block: Block
    text: tuple[ReadWord, ...]
    quantity: ReadWord
    amounts: tuple[ReadWord, ...]


def _rows(spec: Mapping[str, Any], blocks: Sequence[Block]) -> Iterator[FieldResult]:
    properties = spec.get("items", {}).get("properties", {})
    for block in blocks:
        row = _row(block)
        if row is not None:
            yield FieldResult(
                members={
                    name: FieldResult(found=_cell(name, inner, row))
                    for name, inner in properties.items()
                }
            )


def _row(block: Block) -> _Row | None:
    words = list(block.words)
    amounts: list[ReadWord] = []
    while words and len(amounts) < _MOST_AMOUNTS and re.search(r"\d[.,]\d\d\W*$", words[-1].text):
        if amount(words[-1].text) is None:
            return None
        amounts.insert(0, words.pop())
    if len(words) < _LEAST_CELLS or not amounts or not re.fullmatch(r"\d{1,6}", words[-1].text):
        return None
    quantity = words.pop()
    first = _plain(words[0].text)
    if first in {"subtotal", "total", "tax", "sub", "balance", "amount"}:
        return None
    return _Row(block, tuple(words), quantity, tuple(amounts))


def _cell(name: str, spec: Mapping[str, Any], row: _Row) -> Found | None:
    kind = spec.get("type", "string")
    blocks = (row.block,)
    if kind == "string":
        return Found(" ".join(word.text for word in row.text), row.text, blocks)
    if kind == "integer" or "quantity" in name or "qty" in name:
        return Found(int(row.quantity.text), (row.quantity,), blocks)
    wanted = row.amounts[-1] if {"total", "amount"} & set(name.split("_")) else row.amounts[0]
    value = amount(wanted.text)
    return None if value is None else Found(value, (wanted,), blocks)
