"""Cleans what is not drawn: strings and names in every object, metadata, files, scripts, forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pikepdf
from pikepdf import Name

from local.sandbox.nutrient.content import name_of
from local.sandbox.nutrient.matching import (
    SQUASH_MINIMUM,
    Target,
    literal_spans,
    normalise,
    squash,
    squashed_spans,
)

_DROPPED_EVERYWHERE = ("/Metadata", "/PieceInfo", "/Thumb", "/JS", "/LastModified")
_DROPPED_IN_ROOT = ("/Metadata", "/PieceInfo", "/Collection", "/SpiderInfo")
_MAX_NESTING = 60
_SHORTEST = 3

#: Strings that are not text but parts of the file's machinery; cutting them breaks the file.
_MACHINERY = frozenset(
    ("/ID", "/DA", "/Lang", "/Registry", "/Ordering", "/CheckSum", "/Cert", "/CharSet", "/Panose")
)


def strings_of(pdf: pikepdf.Pdf) -> Iterator[str]:
    """Yield every text string of every object, for the patterns to run over."""
    for holder in _holders(pdf):
        for _, value in _entries(holder):
            if isinstance(value, pikepdf.String):
                yield normalise(unquote(str(value)))


def operand_strings(instructions: list[Any]) -> Iterator[str]:
    """Yield the strings in marked-content dictionaries, ActualText among them."""
    for instruction in instructions:
        if isinstance(instruction, pikepdf.ContentStreamInlineImage):
            continue
        for operand in instruction.operands:
            if isinstance(operand, pikepdf.Dictionary):
                for value in operand.values():
                    if isinstance(value, pikepdf.String):
                        yield normalise(str(value))


class Scrubber:
    """Says what is left of a text once the values are taken out.

    Values of one or two characters are left alone here: they are in every string there is. Names
    are touched only for values no name of the PDF language can contain.
    """

    def __init__(self, values: Iterable[tuple[str, Target]]) -> None:
        self._values = [
            _Value(normalise(value), squash(value), target.case_sensitive)
            for value, target in values
            if len(normalise(value)) >= _SHORTEST
        ]
        self._names: dict[str, str] = {}

    def hits(self, text: str) -> bool:
        """Return True when any value is in the text, plain, squashed or percent-encoded."""
        return any(_in(value, form) for form in _forms(text) for value in self._values)

    def hits_name(self, name: str) -> bool:
        """Return True when a value is in a name."""
        values = [value for value in self._values if not value.plain.isalpha()]
        return any(_in(value, form) for form in _forms(name[1:]) for value in values)

    def text(self, text: str) -> str:
        """Return the text without the values; nothing of it where the parts cannot be told."""
        left = normalise(text)
        for value in self._values:
            for spans in (literal_spans, squashed_spans):
                found = list(spans(value.plain, left, case_sensitive=value.case_sensitive))
                for start, end in reversed(found):
                    left = left[:start] + left[end:]
        return "" if self.hits(left) else left

    def name(self, name: str) -> str:
        """Return a stand-in for a name that carries a value, the same one each time."""
        return self._names.setdefault(name, f"/Removed{len(self._names) + 1}")


@dataclass(frozen=True, slots=True)
class _Value:
    plain: str
    squashed: str
    case_sensitive: bool


def _forms(text: str) -> set[str]:
    return {normalise(text), normalise(unquote(text))} if "%" in text else {normalise(text)}


def _in(value: _Value, text: str) -> bool:
    if value.case_sensitive:
        return value.plain in text
    if value.plain.casefold() in text.casefold():
        return True
    return len(value.squashed) >= SQUASH_MINIMUM and value.squashed in squash(text)


def scrub(pdf: pikepdf.Pdf, scrubber: Scrubber, *, annotations: bool = True) -> None:
    """Take values out of every object's strings and names, and drop whole carriers."""
    _drop_carriers(pdf)
    for holder in _holders(pdf):
        if not annotations and _is_annotation(holder):
            continue
        _drop_keys(holder)
        _scrub_holder(holder, scrubber)


def _is_annotation(holder: Any) -> bool:  # noqa: ANN401 - PDF values
    return isinstance(holder, pikepdf.Dictionary) and holder.get(Name.Type) == Name.Annot


def _drop_carriers(pdf: pikepdf.Pdf) -> None:
    if "/Info" in pdf.trailer:
        del pdf.trailer["/Info"]
    root = pdf.Root
    for key in _DROPPED_IN_ROOT:
        if key in root:
            del root[key]
    for key in ("/JavaScript", "/EmbeddedFiles"):
        if "/Names" in root and key in root.Names:
            del root.Names[key]
    if "/AF" in root:
        del root["/AF"]
    if "/AcroForm" in root and "/XFA" in root.AcroForm:
        del root.AcroForm["/XFA"]
    action = root.get("/OpenAction")
    if isinstance(action, pikepdf.Dictionary) and action.get("/S") == Name.JavaScript:
        del root["/OpenAction"]


def _drop_keys(holder: Any) -> None:  # noqa: ANN401 - PDF values
    if isinstance(holder, pikepdf.Array):
        return
    for key in _DROPPED_EVERYWHERE:
        if key in holder:
            del holder[key]
    if holder.get("/Type") == Name.Filespec and "/EF" in holder:
        del holder["/EF"]


def _holders(pdf: pikepdf.Pdf) -> Iterator[Any]:
    """Yield every dictionary, array and stream, indirect or nested, and the trailer."""
    pending: list[tuple[Any, int]] = [(pdf.trailer, 0)]
    pending.extend((candidate, 0) for candidate in pdf.objects)
    while pending:
        node, depth = pending.pop()
        if not isinstance(node, (pikepdf.Dictionary, pikepdf.Array, pikepdf.Stream)):
            continue
        yield node
        if depth > _MAX_NESTING:
            continue
        for _, value in _entries(node):
            if isinstance(value, (pikepdf.Dictionary, pikepdf.Array)) and not value.is_indirect:
                pending.append((value, depth + 1))


def _entries(holder: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401 - PDF values
    if isinstance(holder, pikepdf.Array):
        return list(enumerate(holder))
    return list(holder.items())


def _scrub_holder(holder: Any, scrubber: Scrubber) -> None:  # noqa: ANN401
    for key, value in _entries(holder):
        if isinstance(value, pikepdf.String):
            text = str(value)
            if key not in _MACHINERY and scrubber.hits(text):
                holder[key] = pikepdf.String(scrubber.text(text))
        elif isinstance(value, pikepdf.Name) and scrubber.hits_name(name_of(value)):
            holder[key] = Name(scrubber.name(name_of(value)))
        if isinstance(key, str) and scrubber.hits_name(key):
            _rename(holder, key, scrubber.name(key))


def _rename(holder: Any, key: str, name: str) -> None:  # noqa: ANN401 - PDF values
    value = holder[key]
    del holder[key]
    holder[name] = value


def scrub_operands(instructions: list[Any], scrubber: Scrubber) -> bool:
    """Take values out of marked-content operands (ActualText and the like) and names.

    Returns:
        True when something changed.
    """
    changed = False
    for index, instruction in enumerate(instructions):
        if isinstance(instruction, pikepdf.ContentStreamInlineImage):
            continue
        if name_of(instruction.operator) in ("Tj", "TJ", "'", '"'):
            continue
        operands = list(instruction.operands)
        cleaned = [_clean_operand(operand, scrubber) for operand in operands]
        if any(new is not old for new, old in zip(cleaned, operands, strict=True)):
            instructions[index] = pikepdf.ContentStreamInstruction(cleaned, instruction.operator)
            changed = True
    return changed


def _clean_operand(operand: Any, scrubber: Scrubber) -> Any:  # noqa: ANN401 - PDF values
    if isinstance(operand, pikepdf.Name) and scrubber.hits_name(name_of(operand)):
        return Name(scrubber.name(name_of(operand)))
    if isinstance(operand, pikepdf.Dictionary):
        return _clean_dictionary(operand, scrubber)
    return operand


def _clean_dictionary(operand: pikepdf.Dictionary, scrubber: Scrubber) -> pikepdf.Dictionary:
    dirty = {
        key: scrubber.text(str(value))
        for key, value in operand.items()
        if isinstance(value, pikepdf.String) and scrubber.hits(str(value))
    }
    if not dirty:
        return operand
    kept = {key: value for key, value in operand.items() if key not in dirty}
    return pikepdf.Dictionary(kept)
