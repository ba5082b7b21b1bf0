"""Witnesses to extracted values that need no further vendor call.

Rules:
1. A witness speaks only about what it can check. Everything else it cannot say; silence never
   counts as agreement.
2. The text layer agrees only with a value that stands there by itself, behind its own field's label
   on the same line: a shortened or run-together value ("Parcel" or "Parcel1" for "Parcel 1"), a
   number too short to be there by anything but chance, and a name that stands on another field's
   line (the payer's, answered as the vendor's) get no agreement.
3. The text layer disagrees only where it is known to hold the whole page (a born-digital document).
   A missing value on a scan proves nothing.
4. Printed arithmetic works from figures that are printed but were not asked for: line totals, the
   subtotal, the tax rate. Line items plus tax equal to the total proves nothing, because one
   misreading can repeat in both (recorded on 3 September 2026: a wrong tax and a wrong total that
   add up).
5. A second reading agrees only if another reader read it (`independent`): one mode repeats its
   mistakes (`understand` gave one content on 20 August, twice, and on 29 August 2026). Two modes
   of one reader may contradict each other; they never confirm each other.
6. The engine's confidence in its own words is no evidence for a value: it is the opinion of who is
   judged. It can speak against one (`word_witness`).
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeVar

from no_undo.domain.field_labels import Labels
from no_undo.domain.field_routing import ExtractedField, Scalar, WitnessSays, extracted_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

FEWEST_DIGITS = 3
"""A shorter number is on most pages by chance."""
FEWEST_CHARACTERS = 4
"""A shorter text is on most pages by chance."""
_FIGURES_OF_A_ROW = 3  # quantity, unit price, total

# 14.50, 1,234.50, 1.234,50, 1'234.50, 1234; not the digits of a longer word or number. A blank
# separates figures ("2 100.00" is a quantity and a price), never thousands.
AMOUNT = r"(?<![\w.,])-?(?:\d{1,3}(?:[.,']\d{3})+|\d+)(?:[.,]\d{1,4})?(?!\w|[.,']\d)"
_AMOUNT = re.compile(AMOUNT, re.ASCII)
_PERCENT = re.compile(r"(\d{1,3}(?:[.,]\d{1,4})?) ?%")


def as_decimal(value: Scalar) -> Decimal | None:
    """Return a finite JSON number exactly as written."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    return number if number.is_finite() else None


def amounts_in(text: str) -> list[Decimal]:
    """Return the numbers printed in a text, thousands separators and decimal commas understood."""
    return [amount_of(match.group()) for match in _AMOUNT.finditer(text)]


def _placed_amounts(line: str) -> Iterable[tuple[Decimal, int]]:
    return ((amount_of(match.group()), match.start()) for match in _AMOUNT.finditer(line))


def amount_of(printed: str) -> Decimal:
    """Return a printed amount, matched by `AMOUNT`, as a number."""
    plain = printed.replace("'", "")
    separators = [mark for mark in plain if mark in ".,"]
    if separators:
        last = separators[-1]
        # A separator that comes once with one, two or four digits behind, or after another kind,
        # is the decimal point; "1,234" and "1.234.567" are thousands.
        behind = len(plain) - plain.rindex(last) - 1
        thousands = separators.count(last) > 1 or (behind == 3 and len(set(separators)) == 1)  # noqa: PLR2004 - digits of a group
        other = "," if last == "." else "."
        plain = plain.replace(other, "")
        plain = plain.replace(last, "" if thousands else ".")
    return Decimal(plain)


def folded(text: str) -> str:
    """Return text for comparing: compatibility forms and case folded, blanks kept apart."""
    return unicodedata.normalize("NFKC", text).casefold()


@dataclass(frozen=True, slots=True)
class TextLayerWitness:
    """Looks for each value in the document's own text layer.

    Attributes:
        page_texts: Visible text of every page, one printed row per line.
        complete: True when the text layer is known to hold everything the pages show.
    """

    page_texts: tuple[str, ...]
    complete: bool = False
    name: str = "text layer"

    def testify(self, fields: Sequence[ExtractedField]) -> Mapping[str, WitnessSays]:
        """Return what it says by path."""
        layer = _TextLayer.of(self.page_texts)
        if not layer.squeezed:
            return {}
        labels = Labels.of(fields)
        return {
            field.path: self._says(field, layer, labels)
            for field in fields
            if field.value is not None
        }

    def _says(self, field: ExtractedField, layer: _TextLayer, labels: Labels) -> WitnessSays:
        number = as_decimal(field.value)
        if number is not None:
            enough = digits_of(number) >= FEWEST_DIGITS
            spots = layer.numbers.get(number, ()) if enough else ()
            return self._verdict(
                agrees=layer.labelled(spots, field, labels),
                absent=enough and number not in layer.numbers,
            )
        if not isinstance(field.value, str):
            return WitnessSays.CANNOT_SAY
        if field.is_date:
            day = iso_date(field.value)
            spots = layer.dates.get(day, ()) if day else ()
            return self._verdict(agrees=layer.labelled(spots, field, labels), absent=False)
        words = folded(field.value).split()
        enough = len("".join(words)) >= FEWEST_CHARACTERS
        spots = layer.standing_alone(" ".join(words)) if enough and labels.known(field) else ()
        return self._verdict(
            agrees=layer.labelled(spots, field, labels),
            absent=enough and "".join(words) not in layer.squeezed,
        )

    def _verdict(self, *, agrees: bool, absent: bool) -> WitnessSays:
        if agrees:
            return WitnessSays.AGREES
        # Rule 3.
        return WitnessSays.DISAGREES if absent and self.complete else WitnessSays.CANNOT_SAY


def digits_of(number: Decimal) -> int:
    """Return how many digits a printed amount shows, cents included where there are any."""
    digits = len(str(abs(int(number))))
    return digits if number == number.to_integral_value() else digits + 2


# What may stand right before and after a value that stands by itself: the line's edge, wide
# blanks, or punctuation that sets it apart.
_SET_OFF_BEFORE = re.compile(r"(?:\A|\n|[:#(\[\"]|[:#,;|] |  |\t| [-\u2013\u2014|] ) *\Z")
_SET_OFF_AFTER = re.compile(
    r" *(?:$|[,;)\]|\"]|[.](?:\s|$)|  |\t| [-\u2013\u2014|(] ?)", re.MULTILINE
)
_MOST_BLANKS = 8


def announced_in(line: str, field: ExtractedField, labels: Labels) -> bool:
    """Say whether a folded line holds a field's value, by itself, right behind its label."""
    return any(labels.announce(field, line[:start]) for start in _starts_of(field, line))


def _starts_of(field: ExtractedField, line: str) -> Iterable[int]:
    number = as_decimal(field.value)
    if number is not None:
        return [start for amount, start in _placed_amounts(line) if amount == number]
    if field.is_date:
        return [start for day, start in _placed_dates(line) if day == iso_date(str(field.value))]
    return _starts(" ".join(folded(str(field.value)).split()), line)


_Spot = tuple[int, int]
"""Line, and the place in it where a value starts."""


@dataclass(frozen=True, slots=True)
class _TextLayer:
    """What is printed, prepared once for all fields; every value with the spots where it stands."""

    lines: tuple[str, ...]
    squeezed: str
    numbers: Mapping[Decimal, tuple[_Spot, ...]]
    dates: Mapping[date, tuple[_Spot, ...]]

    @classmethod
    def of(cls, page_texts: Sequence[str]) -> _TextLayer:
        lines = tuple(
            line for text in page_texts for line in folded(text).replace("\r", "").split("\n")
        )
        return cls(
            lines,
            "".join("".join(lines).split()),
            _spots(lines, _placed_amounts),
            _spots(lines, _placed_dates),
        )

    def standing_alone(self, wanted: str) -> tuple[_Spot, ...]:
        return tuple(
            (number, start)
            for number, line in enumerate(self.lines)
            if wanted in line
            for start in _starts(wanted, line)
        )

    def labelled(self, spots: Iterable[_Spot], field: ExtractedField, labels: Labels) -> bool:
        """Say whether a value stands behind its field's own label somewhere (rule 2)."""
        return any(labels.announce(field, self.lines[number][:start]) for number, start in spots)


_V = TypeVar("_V", Decimal, date)


def _spots(
    lines: Sequence[str], placed: Callable[[str], Iterable[tuple[_V, int]]]
) -> Mapping[_V, tuple[_Spot, ...]]:
    found: defaultdict[_V, list[_Spot]] = defaultdict(list)
    for number, line in enumerate(lines):
        for value, start in placed(line):
            found[value].append((number, start))
    return {value: tuple(spots) for value, spots in found.items()}


def _starts(wanted: str, line: str) -> Iterable[int]:
    """Yield where a value stands by itself in a line."""
    start = line.find(wanted)
    while start >= 0:
        before = line[max(0, start - _MOST_BLANKS) : start]
        # What was cut off is not the start of the line.
        before = before if start <= _MOST_BLANKS else f"\0{before}"
        if _SET_OFF_BEFORE.search(before) and _SET_OFF_AFTER.match(line, start + len(wanted)):
            yield start
        start = line.find(wanted, start + 1)


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_MONTH = rf"({'|'.join(_MONTHS)})[a-z]*\.?"
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\.? {_MONTH},? (\d{{4}})\b")
_MONTH_FIRST = re.compile(rf"\b{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})\b")


def iso_date(value: str) -> date | None:
    """Return a date written as the vendor is asked to write it, None for anything else."""
    match = _ISO.fullmatch(value)
    return _date(*match.groups()) if match else None


def _date(year: str, month: str, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None


def _placed_dates(line: str) -> Iterable[tuple[date, int]]:
    """Yield dates printed in a form that reads one way only; 09/10/2026 reads two ways."""
    found = [(_date(*match.groups()), match.start()) for match in _ISO.finditer(line)]
    found += [
        (_date(match[3], str(_MONTHS.index(match[2]) + 1), match[1]), match.start())
        for match in _DAY_FIRST.finditer(line)
    ]
    found += [
        (_date(match[3], str(_MONTHS.index(match[1]) + 1), match[2]), match.start())
        for match in _MONTH_FIRST.finditer(line)
    ]
    return [(day, start) for day, start in found if day is not None]


@dataclass(frozen=True, slots=True)
class DateWitness:
    """Checks that dates are dates and stand in a possible order; can only disagree.

    Attributes:
        order: Paths of dates that must not come before the one in front of them.
    """

    order: tuple[str, ...] = ("issue_date", "due_date")
    name: str = "dates"

    def testify(self, fields: Sequence[ExtractedField]) -> Mapping[str, WitnessSays]:
        """Return DISAGREES for dates that are none, or that are out of order."""
        days: dict[str, date] = {}
        says: dict[str, WitnessSays] = {}
        for field in fields:
            if field.is_date and field.value is not None:
                day = iso_date(str(field.value))
                if day is None:
                    says[field.path] = WitnessSays.DISAGREES
                else:
                    days[field.path] = day
        line = [path for path in self.order if path in days]
        for earlier, later in pairwise(line):
            if days[later] < days[earlier]:
                says[earlier] = says[later] = WitnessSays.DISAGREES
        return says


_READERS: Final[Mapping[str, str]] = {
    "structure": "text recognition",
    "understand": "text recognition",
    "agentic": "vision model",
}
"""Who reads the characters in each mode, as the vendor describes the modes. `structure` and
`understand` differ in layout analysis, not in the reader: a digit that one misreads, the other may
misread too."""


def independent(mode: str, other: str) -> bool:
    """Say whether two modes are two readers; a mode that nobody knows is not."""
    one, two = _READERS.get(mode), _READERS.get(other)
    return one is not None and two is not None and one != two


@dataclass(frozen=True, slots=True)
class SecondReadingWitness:
    """Compares with what another mode read on the same page (rule 5).

    Attributes:
        mode: Mode of the answer that is judged.
        other_mode: Mode of the second answer.
        other: `output.data` of the second answer.
    """

    mode: str
    other_mode: str
    other: Mapping[str, object]
    name: str = "second reading"

    def testify(self, fields: Sequence[ExtractedField]) -> Mapping[str, WitnessSays]:
        """Return what it says by path: values are equal exactly, or they are not."""
        if self.mode == self.other_mode or not self.mode or not self.other_mode:
            return {}
        alike = (
            WitnessSays.AGREES
            if independent(self.mode, self.other_mode)
            else WitnessSays.CANNOT_SAY
        )
        second = {field.path: field.value for field in extracted_fields(self.other, {}, {})}
        return {
            field.path: alike
            if same_value(field.value, second[field.path])
            else WitnessSays.DISAGREES
            for field in fields
            if field.value is not None and second.get(field.path) is not None
        }


def same_value(one: Scalar, other: Scalar) -> bool:
    """Say whether two values are the very same: numbers by value, everything else exactly."""
    first, second = as_decimal(one), as_decimal(other)
    if first is not None or second is not None:
        return first == second
    return type(one) is type(other) and one == other


@dataclass(frozen=True, slots=True)
class ArithmeticPaths:
    """Where an invoice's figures stand in the answer."""

    total: str = "total_amount"
    tax: str = "tax_amount"
    subtotal: str = "subtotal_amount"
    lines: str = "line_items"
    quantity: str = "quantity"
    unit_price: str = "unit_price"


@dataclass(frozen=True, slots=True)
class PrintedArithmeticWitness:
    """Recomputes an invoice from figures that are printed on it (rule 4).

    A quantity and a unit price are confirmed by a printed row that also shows their product. The
    tax is confirmed by the printed rate on the printed subtotal (or, where none is printed, on the
    confirmed rows). The total is confirmed by subtotal plus that tax.

    Attributes:
        page_texts: Text of every page, one printed row per line. Text of a reader other than the
            one that is judged: its misreadings would confirm themselves.
        paths: Where the figures stand in the answer.
        minor_digits: Decimals of the currency.
    """

    page_texts: tuple[str, ...]
    paths: ArithmeticPaths = ArithmeticPaths()
    minor_digits: int = 2
    name: str = "printed arithmetic"

    def testify(self, fields: Sequence[ExtractedField]) -> Mapping[str, WitnessSays]:
        """Return what it says by path."""
        values = {field.path: as_decimal(field.value) for field in fields}
        page = _PrintedPage.of(self.page_texts)
        says, rows_sum = self._rows(values, page)
        subtotal = page.subtotal if page.subtotal is not None else rows_sum
        tax = self._tax(page, subtotal)
        due = {
            self.paths.subtotal: page.subtotal,
            self.paths.tax: tax,
            self.paths.total: self._total(page, subtotal, tax),
        }
        for path, figure in due.items():
            value = values.get(path)
            if value is not None and figure is not None:
                says[path] = _verdict(agrees=value == figure)
        return says

    def _rows(
        self, values: Mapping[str, Decimal | None], page: _PrintedPage
    ) -> tuple[dict[str, WitnessSays], Decimal | None]:
        """Judge every row; return also the sum of the products, None unless every row agrees."""
        says: dict[str, WitnessSays] = {}
        products: list[Decimal] = []
        index = 0
        while f"{self.paths.lines}[{index}].{self.paths.quantity}" in values:
            row = f"{self.paths.lines}[{index}]"
            paths = f"{row}.{self.paths.quantity}", f"{row}.{self.paths.unit_price}"
            quantity, price = values[paths[0]], values.get(paths[1])
            if quantity is not None and price is not None:
                product = self._rounded(quantity * price)
                verdict = page.row_shows(quantity, price, product)
                says |= dict.fromkeys(paths, verdict)
                products += [product] if verdict is WitnessSays.AGREES else []
            index += 1
        return says, sum(products, Decimal()) if products and len(products) == index else None

    def _tax(self, page: _PrintedPage, subtotal: Decimal | None) -> Decimal | None:
        if page.tax_rate is None or subtotal is None:
            return None
        return self._rounded(subtotal * page.tax_rate / 100)

    def _total(
        self, page: _PrintedPage, subtotal: Decimal | None, tax: Decimal | None
    ) -> Decimal | None:
        if page.has_other_charges or subtotal is None:
            return None
        tax = tax if tax is not None else page.tax
        return None if tax is None else subtotal + tax

    def _rounded(self, amount: Decimal) -> Decimal:
        return amount.quantize(Decimal(1).scaleb(-self.minor_digits), rounding=ROUND_HALF_UP)


def _verdict(*, agrees: bool) -> WitnessSays:
    return WitnessSays.AGREES if agrees else WitnessSays.DISAGREES


_SUBTOTAL = re.compile(r"\b(?:sub-? ?total|net (?:total|amount)|total net)\b")
_TOTAL = re.compile(r"total\b|\bnet amount\b")
_TAX = re.compile(r"\b(?:tax|vat|gst|hst|mwst|tva|iva)\b")
_OTHER_CHARGE = re.compile(
    r"^\W*(?:discount|shipping|surcharge|deposit|rounding|credit|less|prepaid|handling fee)\b"
)


@dataclass(frozen=True, slots=True)
class _PrintedPage:
    """Figures of a printed invoice, labelled ones None where none or several are printed.

    `rows` holds, by each of its figures, the figures of every printed row of three or more.
    """

    rows: Mapping[Decimal, tuple[tuple[Decimal, ...], ...]]
    subtotal: Decimal | None
    tax_rate: Decimal | None
    tax: Decimal | None
    has_other_charges: bool

    @classmethod
    def of(cls, page_texts: Sequence[str]) -> _PrintedPage:
        lines = [folded(line) for text in page_texts for line in text.splitlines()]
        subtotals = [amounts_in(line) for line in lines if _SUBTOTAL.search(line)]
        taxes = [line for line in lines if _TAX.search(line) and not _TOTAL.search(line)]
        rates = [amount_of(rate) for line in taxes for rate in _PERCENT.findall(line)]
        amounts = [amounts_in(_PERCENT.sub(" ", line)) for line in taxes]
        return cls(
            rows=_rows_by_figure(tuple(amounts_in(line)) for line in lines),
            subtotal=_only([found[-1] for found in subtotals if found]),
            tax_rate=_only(rates) if len(taxes) == 1 else None,
            tax=_only([found[-1] for found in amounts if found]),
            has_other_charges=any(_OTHER_CHARGE.search(line) for line in lines),
        )

    def row_shows(self, quantity: Decimal, price: Decimal, total: Decimal) -> WitnessSays:
        """Say whether a printed row holds quantity, price and product as three figures."""
        candidates = self.rows.get(price)
        if not candidates:
            return WitnessSays.CANNOT_SAY
        return _verdict(agrees=any(_holds(row, (quantity, price, total)) for row in candidates))


def _rows_by_figure(
    rows: Iterable[tuple[Decimal, ...]],
) -> Mapping[Decimal, tuple[tuple[Decimal, ...], ...]]:
    by_figure: defaultdict[Decimal, list[tuple[Decimal, ...]]] = defaultdict(list)
    for row in rows:
        if len(row) >= _FIGURES_OF_A_ROW:
            for figure in set(row):
                by_figure[figure].append(row)
    return {figure: tuple(found) for figure, found in by_figure.items()}


def _holds(row: Sequence[Decimal], figures: Sequence[Decimal]) -> bool:
    left = list(row)
    for figure in figures:
        if figure not in left:
            return False
        left.remove(figure)
    return True


def _only(found: Sequence[Decimal]) -> Decimal | None:
    return found[0] if len(set(found)) == 1 else None
