"""Reads a deadline out of a caller's sentence.

Rules:
1. A deadline is an aware moment after `now`; days and weekdays are those of `now`'s zone.
2. "By" a day means its last minute, "before" a day its first. A named time is taken as named.
3. "Friday" is the next Friday, today included; "next Friday" is the Friday of the next week,
   weeks starting on Monday.
4. A date without a year is its next occurrence. Business days skip Saturday and Sunday.
5. What can be read in two ways (09/10/2026, another zone's abbreviation, a day that does not
   exist, a moment already past) is a question, never a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

_NUMBER_WORDS = {
    word: number
    for number, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen".split(),  # noqa: SIM905 - a counting rhyme reads better than a list
        start=1,
    )
} | {"a": 1, "an": 1, "twenty": 20, "thirty": 30, "sixty": 60, "ninety": 90}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_MONTH = r"(?P<{0}>jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\.?"

_NUMBER = rf"(?P<number>\d{{1,3}}|{'|'.join(_NUMBER_WORDS)})"
_WITHIN = re.compile(
    rf"\b(?:within|in)(?: the)?(?: next)? {_NUMBER}[ -]"
    r"(?P<unit>hours?|days?|business days?|working days?|weeks?)\b"
)
_DATE_FORMS = (
    r"(?P<iso>\d{4}-\d{2}-\d{2})",
    (
        rf"(?P<day_first>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH.format('month_after')}"
        r"(?:,? (?P<year_after>\d{4}))?"
    ),
    (
        rf"{_MONTH.format('month_before')} (?P<day_last>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)"
        r"(?:,? (?P<year_before>\d{4}))?"
    ),
    rf"(?P<next>next |this |coming )?(?P<weekday>{'|'.join(_WEEKDAYS)})",
    r"(?P<today>today|tonight|(?:the )?end of (?:the )?day|eod)",
    r"(?P<business>close of business|cob)(?: today)?",
    r"(?P<tomorrow>tomorrow)",
    r"(?P<week>(?:the )?end of (?:the |this )?week|eow)",
    r"(?P<month_end>(?:the )?end of (?:the |this )?month)",
    r"(?P<unclear>\d{1,2}[/.]\d{1,2}[/.]\d{2,4})",
)
_TIME = (
    r"(?:(?:,|t| at| @)? ?(?:(?P<noon>noon)|(?P<hour12>\d{1,2})(?:[:.](?P<minute12>\d{2}))? ?"
    r"(?P<half>[ap])\.?m\b\.?|(?P<hour24>\d{1,2}):(?P<minute24>\d{2})(?::\d{2})?))?"
    r"(?: ?(?P<zone>utc|gmt|z|e[sd]?t|c[sd]t|m[sd]t|p[sd]?t|cest|cet|bst|ist|jst)\b)?"
)
_BY = re.compile(
    r"\b(?P<word>by|before|until|till|(?:no|not) later than|deadline(?: is| of)?:?|due(?: on)?:?)"
    rf" (?:the )?(?:{'|'.join(_DATE_FORMS)}){_TIME}"
)
_FIRST_MINUTE = time(0, 0)
_LAST_MINUTE = time(23, 59)
_CLOSE_OF_BUSINESS = time(17, 0)
_SUNDAY = 6


@dataclass(frozen=True, slots=True)
class Deadline:
    """What the sentence says about time; at most one of the two is set.

    Attributes:
        moment: Aware, in the zone of `now` (or UTC where the sentence says so).
        question: What the caller has to clear up, or empty.
    """

    moment: datetime | None = None
    question: str = ""


def deadline_in(text: str, now: datetime) -> Deadline:
    """Return the first deadline of a sentence, or an empty one.

    Args:
        text: A readable sentence.
        now: Aware; its zone is the caller's.
    """
    low = " ".join(text.casefold().split())
    within, by = _WITHIN.search(low), _BY.search(low)
    if within and (by is None or within.start() < by.start()):
        return Deadline(_after(within, now))
    return _checked(by, now) if by else Deadline()


def _after(match: re.Match[str], now: datetime) -> datetime:
    number = match["number"]
    count = int(number) if number.isdigit() else _NUMBER_WORDS[number]
    unit = match["unit"]
    if unit.startswith("hour"):
        # Elapsed time, also across a clock change.
        return (now.astimezone(UTC) + timedelta(hours=count)).astimezone(now.tzinfo)
    if unit.startswith("week"):
        count *= 7
    if unit.startswith(("day", "week")):
        return now + timedelta(days=count)
    moment = now
    while count > 0:
        moment += timedelta(days=1)
        count -= moment.weekday() < _SUNDAY - 1
    return moment


def _checked(match: re.Match[str], now: datetime) -> Deadline:
    if match["unclear"]:
        return Deadline(question="Which day is the deadline? Please write it as YYYY-MM-DD.")
    zone = _zone(match["zone"], now)
    if zone is None:
        return Deadline(
            question="Which UTC time is the deadline? Zone abbreviations are ambiguous."
        )
    try:
        moment = datetime.combine(_day(match, now.date()), _time(match), zone)
    except (ValueError, OverflowError):
        return Deadline(question="Which day is the deadline? The one written does not exist.")
    if moment <= now:
        return Deadline(question="Which day is the deadline? The one written is already past.")
    return Deadline(moment)


def _zone(word: str | None, now: datetime) -> tzinfo | None:
    if word is None:
        return now.tzinfo
    return UTC if word in {"utc", "gmt", "z"} else None


def _day(match: re.Match[str], today: date) -> date:
    if match["iso"]:
        return date.fromisoformat(match["iso"])
    if match["weekday"]:
        return _weekday(match, today)
    day, month = match["day_first"] or match["day_last"], match["month_after"]
    if day:
        year = match["year_after"] or match["year_before"]
        return _named_day(day, month or match["month_before"], year, today)
    return today + timedelta(days=_days_ahead(match, today))


def _days_ahead(match: re.Match[str], today: date) -> int:
    if match["tomorrow"]:
        return 1
    if match["week"]:
        return _SUNDAY - today.weekday()
    if match["month_end"]:
        first_of_next = (today.replace(day=28) + timedelta(days=4)).replace(day=1)
        return (first_of_next - today).days - 1
    return 0


def _weekday(match: re.Match[str], today: date) -> date:
    wanted = _WEEKDAYS.index(match["weekday"])
    if match["next"] == "next ":
        return today + timedelta(days=7 - today.weekday() + wanted)
    return today + timedelta(days=(wanted - today.weekday()) % 7)


def _named_day(day: str, month: str, year: str | None, today: date) -> date:
    number = next(n for n, name in enumerate(_MONTHS, start=1) if name.startswith(month[:3]))
    if year:
        return date(int(year), number, int(day))
    this_year = date(today.year, number, int(day))
    return this_year if this_year >= today else date(today.year + 1, number, int(day))


def _time(match: re.Match[str]) -> time:
    if match["noon"]:
        return time(12, 0)
    if match["hour24"]:
        return time(int(match["hour24"]), int(match["minute24"]))
    if match["hour12"]:
        hour = int(match["hour12"])
        if not 1 <= hour <= 12:  # noqa: PLR2004 - a clock face
            raise ValueError("no such hour on a clock face")
        return time(hour % 12 + (12 if match["half"] == "p" else 0), int(match["minute12"] or 0))
    if match["business"]:
        return _CLOSE_OF_BUSINESS
    return _FIRST_MINUTE if match["word"] == "before" else _LAST_MINUTE
