"""Which printed words announce which field.

A value on a page vouches for itself, not for the field it was answered for: the payer's name is
on the page too when it was answered as the vendor's. The label in front of it tells.

Rules:
1. A field's labels are the words of its own name and what the trade prints for them, less the words
   that name no thing (`number`, `amount`).
2. A value is announced when one of its field's labels stands right before it on its line (marks, a
   rate in percent and words that name no thing may stand between) and no label of another field
   of the same form stands anywhere before it.
3. Cells of a table have no label on their line; nothing announces them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from no_undo.domain.field_routing import ExtractedField

_NO_THING: Final = frozenset({"number", "name", "amount", "date", "no", "id", "value", "text"})
_TRADE: Final[Mapping[str, frozenset[str]]] = {
    "total": frozenset({"due", "balance"}),
    "tax": frozenset({"vat", "gst", "hst", "mwst", "tva", "iva"}),
    "vendor": frozenset({"seller", "supplier", "carrier", "from"}),
    "payer": frozenset({"bill", "billed", "customer", "buyer"}),
    "po": frozenset({"purchase"}),
}
_WORD: Final = re.compile(r"[^\W\d_]+")
_WORD_OR_FIGURE: Final = re.compile(r"\w+")
_PERCENT: Final = re.compile(r"\d{1,3}(?:[.,]\d{1,4})? ?%")
_BETWEEN: Final = _NO_THING | {
    "is",
    "of",
    "the",
    "to",
    "nr",
    "num",
    "payable",
    "usd",
    "eur",
    "gbp",
    "chf",
}
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
# "Subtotal" is one word; these are not, and would read as a total.
_OTHER_TOTAL: Final = re.compile(r"\b(?:sub[- ]total|total net|net total|before tax|excl)")


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of the fields that were asked for together.

    Attributes:
        of_path: Labels by path, none for cells.
        of_form: By label, the paths of each form that it may announce.
    """

    of_path: Mapping[str, frozenset[str]]
    of_form: Mapping[tuple[str, str], frozenset[str]]

    @classmethod
    def of(cls, fields: Sequence[ExtractedField]) -> Labels:
        """Work out the labels of all fields of one answer."""
        by_path = {field.path: _labels(field.path) for field in fields}
        by_form: dict[tuple[str, str], set[str]] = {}
        for field in fields:
            for label in by_path[field.path]:
                by_form.setdefault((_form(field), label), set()).add(field.path)
        return cls(by_path, {key: frozenset(paths) for key, paths in by_form.items()})

    def known(self, field: ExtractedField) -> bool:
        """Say whether any label could announce a field."""
        return bool(self.of_path.get(field.path))

    def announce(self, field: ExtractedField, before: str) -> bool:
        """Say whether the text before a value on its line announces this field (rule 2).

        Args:
            field: One of the fields that were asked for.
            before: The line up to the value, case folded.
        """
        if not self.known(field) or _OTHER_TOTAL.search(before):
            return False
        announced: set[str] = set()
        behind = 0
        for word in _WORD.finditer(before):
            named = self.of_form.get((_form(field), word.group()), frozenset())
            announced |= named
            behind = word.end() if named else behind
        between = set(_WORD_OR_FIGURE.findall(_PERCENT.sub(" ", before[behind:])))
        return announced == {field.path} and between <= _BETWEEN


def _labels(path: str) -> frozenset[str]:
    if "[" in path:
        return frozenset()
    words = [word.casefold() for word in _WORD.findall(_CAMEL.sub(" ", path.rpartition(".")[2]))]
    telling = [word for word in words if word not in _NO_THING] or words
    return frozenset(telling).union(*(_TRADE.get(word, frozenset()) for word in telling))


def _form(field: ExtractedField) -> str:
    if field.is_date:
        return "date"
    if field.value is None:
        return "number" if field.asked_type in {"number", "integer"} else "text"
    return "text" if isinstance(field.value, str) else "number"
