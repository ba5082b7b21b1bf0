"""Whether a value has the form that was asked for, and the currency that the page is in.

Rules:
1. It can only disagree: a wrong value may have a perfect form.
2. A value of another type than the schema asks for disagrees, and so does a sum of the invoice with
   more decimals than its currency has. A unit price may have more.
3. The page's currency is the one mark that most marked amounts carry, at least two. A value that is
   printed only with another mark disagrees: where an engine read a cent sign for a dollar sign it
   misread the digits beside it too (recorded: the tax, 5.27 for $5.87).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from no_undo.domain.field_routing import ExtractedField, Scalar, WitnessSays
from no_undo.domain.field_witnesses import AMOUNT, ArithmeticPaths, amount_of, as_decimal, folded

_MARKS: Final[Mapping[str, str]] = {
    "$": "$",
    "usd": "$",
    "\u20ac": "\u20ac",
    "eur": "\u20ac",
    "\u00a3": "\u00a3",
    "gbp": "\u00a3",
    "\u00a5": "\u00a5",
    "jpy": "\u00a5",
    "chf": "chf",
    "\u00a2": "\u00a2",
}
_MARK: Final = "|".join(re.escape(mark) for mark in _MARKS)
_MARKED: Final = re.compile(
    rf"(?<![a-z])(?P<before>{_MARK}) ?(?P<first>{AMOUNT})"
    rf"|(?P<second>{AMOUNT}) ?(?P<after>{_MARK})(?![a-z])",
    re.ASCII,
)
_FEWEST_MARKED: Final = 2


@dataclass(frozen=True, slots=True)
class FormWitness:
    """Checks types, decimals and currency.

    Attributes:
        page_texts: Text of every page by any reader, one printed row per line; may be empty.
        paths: Which fields are sums of the invoice.
        minor_digits: Decimals of the currency.
    """

    page_texts: tuple[str, ...] = ()
    paths: ArithmeticPaths = field(default_factory=ArithmeticPaths)
    minor_digits: int = 2
    name: str = "form and currency"

    def testify(self, fields: Sequence[ExtractedField]) -> Mapping[str, WitnessSays]:
        """Return DISAGREES for values of another form or in another currency."""
        marks = _marks_by_amount(self.page_texts)
        main = _main(mark for found in marks.values() for mark in found.elements())
        return {
            one.path: WitnessSays.DISAGREES
            for one in fields
            if one.value is not None
            and (self._misshapen(one) or _in_other_currency(one.value, marks, main))
        }

    def _misshapen(self, one: ExtractedField) -> bool:
        if one.asked_type and not _is_of(one.asked_type, one.value):
            return True
        sums = (self.paths.total, self.paths.tax, self.paths.subtotal)
        number = as_decimal(one.value) if one.path in sums else None
        return number is not None and number != round(number, self.minor_digits)


def _is_of(asked: str, value: Scalar) -> bool:
    number = as_decimal(value)
    match asked:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return number is not None and number == number.to_integral_value()
        case "number":
            return number is not None
        case _:
            return True


def _marks_by_amount(page_texts: Iterable[str]) -> Mapping[Decimal, Counter[str]]:
    found: defaultdict[Decimal, Counter[str]] = defaultdict(Counter)
    for text in page_texts:
        for match in _MARKED.finditer(folded(text)):
            mark = _MARKS[match["before"] or match["after"]]
            found[amount_of(match["first"] or match["second"])][mark] += 1
    return found


def _main(marks: Iterable[str]) -> str | None:
    counts = Counter(marks)
    for mark, count in counts.most_common(1):
        if count >= _FEWEST_MARKED and count * 2 > counts.total():
            return mark
    return None


def _in_other_currency(
    value: Scalar, marks: Mapping[Decimal, Counter[str]], main: str | None
) -> bool:
    number = as_decimal(value)
    printed = marks.get(number) if number is not None else None
    return main is not None and printed is not None and main not in printed
