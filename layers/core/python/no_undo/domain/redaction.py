"""What shall be removed from a document, and how removal is judged.

Rules:
1. A target is a kind (a detector finds the values), a literal value, or a pattern.
2. Gone means: every reader ran, and none found it. A reader that failed means not proven (P8).
3. Values never leave this module's callers: verdicts carry kinds, counts and keyed hashes (P10).
4. Texts are compared by letters and digits only, in Unicode terms, after NFKC and case folding;
   invisible characters do not count, and the reverse of a value is looked for too.
5. A value with fewer than six letters and digits must match as whole words.
6. A run of five letters or digits of a longer value is a remain, where the page shows the run more
   often than the original did outside the values.
7. Removal is proven only for a value that at least two readers saw in the original.
8. Nothing to verify is not success.
9. Where words of the file format itself stand (names, syntax), a value that is a single word of
   letters is not looked for: it would be confused with them.
10. In text that OCR read, whole values are also compared with look-alikes folded: O and 0, l and 1.
11. What our own detector still sees in the output blocks where the request named its kind, and is
    shown to the approvers otherwise; a request may make it block always, or only be shown.
12. What the request wants kept, and the recipients' own names, are neither removed nor residue.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final
from urllib.parse import unquote

SHORTEST_SQUASHED: Final = 6
FRAGMENT_LENGTH: Final = 5
READERS_REQUIRED: Final = 2

EVALUATION_NOTICE: Final = "evaluation_notice"
"""The channel that says whether a trial of the redaction service left its mark."""

_SEPARATORS: Final = re.compile(r"[\W_]+")
_PRESENTATION_FORMS: Final = re.compile("[\ufb1d-\ufdff\ufe70-\ufefc]")
_LOOK_ALIKES: Final = str.maketrans("oilsbzgq|", "011582991")
_CUT: Final = "\x00"


class TargetType(StrEnum):
    """How a target names what to remove."""

    KIND = "kind"
    LITERAL = "literal"
    PATTERN = "pattern"


@dataclass(frozen=True, slots=True)
class RedactionTarget:
    """One thing to remove.

    Attributes:
        type: How `value` is to be read.
        value: A PII kind such as `email`, the literal text, or a regular expression.
        kind: The PII kind this belongs to, for the card; `literal` for a caller's literal value.
    """

    type: TargetType
    value: str
    kind: str


class ChannelResult(StrEnum):
    """What one reader says about one channel of a document."""

    GONE = "gone"
    FOUND = "found"
    NOT_PROVEN = "not_proven"


class OnResidual(StrEnum):
    """What becomes of personal data that is found and not removed (rule 11)."""

    BLOCK = "block"
    SHOW = "show"


def residual_blocks(kind: str, asked: Container[str], wish: OnResidual | None) -> bool:
    """Say whether what is left of a kind stops the run (rule 11).

    Args:
        kind: What was seen.
        asked: The kinds that the request named.
        wish: What the request says about all kinds, or None for the default.
    """
    if wish is None:
        return kind in asked
    return wish is OnResidual.BLOCK


@dataclass(frozen=True, slots=True)
class ChannelVerdict:
    """One reader's finding in one channel.

    Attributes:
        channel: For example `page_text`, `annotations`, `metadata`, `earlier_revisions`.
        reader: Name and version, for example `pdfium 5.15.2`.
        result: The finding.
        detail: Kind, page and count of what was found, or why it could not be measured; no values.
        pages: The pages, from 1, that a finding or a gap is on; empty: none in particular.
        warning: A sentence for the approvers about what the result does not say; often empty.
    """

    channel: str
    reader: str
    result: ChannelResult
    detail: str
    pages: tuple[int, ...] = ()
    warning: str = ""


@dataclass(frozen=True, slots=True)
class RedactionVerdict:
    """Whether every value is provably gone.

    Attributes:
        channels: One row per channel and reader.
    """

    channels: tuple[ChannelVerdict, ...]

    @property
    def proven(self) -> bool:
        """True only when something was checked and every row says gone."""
        return bool(self.channels) and all(
            row.result is ChannelResult.GONE for row in self.channels
        )


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of text that one reader saw in one place.

    Attributes:
        channel: Where, as in `ChannelVerdict`.
        text: The text as read.
        page_index: From 0, or None where the place belongs to no page.
        syntax: True where words of the file format stand between the text (rule 9).
    """

    channel: str
    text: str
    page_index: int | None = None
    syntax: bool = False


@dataclass(frozen=True, slots=True)
class Sighting:
    """A value, or a part of one, seen where it should be gone.

    Attributes:
        value_index: Which of the searched values.
        channel: Where.
        page_index: From 0, or None.
        count: How often, at least 1.
        whole: False for a fragment (rule 6).
    """

    value_index: int
    channel: str
    page_index: int | None
    count: int
    whole: bool


def normalise(text: str) -> str:
    """Fold compatibility forms and case, and drop invisible characters (rule 4)."""
    if text.isascii():
        return text.casefold()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(char for char in folded if unicodedata.category(char) != "Cf")


def squash(text: str) -> str:
    """Return only the letters and digits of a text, folded (rule 4)."""
    return _SEPARATORS.sub("", normalise(text))


def alike(text: str) -> str:
    """Return what `squash` does, with the letters that OCR takes for digits folded (rule 10)."""
    return squash(_look_alike(text))


def is_one_word(value: str) -> bool:
    """Say whether a value is a single word of letters, like the names that PDF itself uses."""
    return normalise(value).strip().isalpha()


class ValueSearch:
    """Looks for a fixed list of values in passages (rules 4 to 6)."""

    def __init__(self, values: Sequence[str], *, look_alikes: bool = False) -> None:
        """Prepare the search.

        Args:
            values: What to look for; sightings name values by index.
            look_alikes: Whether the text comes from OCR (rule 10).
        """
        self._squashed = tuple(squash(value) for value in values)
        self._words = tuple(_as_words(value) for value in values)
        folded = [_look_alike(value) for value in values]
        self._look_alikes = ValueSearch(folded) if look_alikes else None
        self._in_syntax = tuple(not is_one_word(value) for value in values)

    @property
    def unmeasurable(self) -> tuple[int, ...]:
        """Indexes of values without any letter or digit: they would match everything."""
        return tuple(index for index, value in enumerate(self._squashed) if not value)

    def whole(self, passages: Sequence[Passage]) -> tuple[Sighting, ...]:
        """Return where whole values stand, also across the passages of one channel."""
        sightings = self._exact(passages)
        if self._look_alikes is None:
            return sightings
        folded = [replace(passage, text=_look_alike(passage.text)) for passage in passages]
        places = {_place(sighting) for sighting in sightings}
        alike = self._look_alikes.whole(folded)
        return sightings + tuple(each for each in alike if _place(each) not in places)

    def _exact(self, passages: Sequence[Passage]) -> tuple[Sighting, ...]:
        sightings: list[Sighting] = []
        joined: defaultdict[str, list[str]] = defaultdict(list)
        for passage in passages:
            readings = _readings(passage.text)
            if not passage.syntax:
                joined[passage.channel].append(squash(passage.text))
            sightings += self._in_readings(readings, passage)
        seen = {(sighting.value_index, sighting.channel) for sighting in sightings}
        for channel, parts in joined.items():
            sightings += self._across(channel, "".join(parts), seen)
        return tuple(sightings)

    def remains(self, before: Sequence[Passage], after: Sequence[Passage]) -> tuple[Sighting, ...]:
        """Return fragments that the output shows more often than the original did elsewhere."""
        ambient = {place: self._cut_out(text) for place, text in _by_place(before).items()}
        sightings: list[Sighting] = []
        for (channel, page_index), text in _by_place(after).items():
            shown = _fragment_counts(text)
            elsewhere = _fragment_counts(ambient.get((channel, page_index), ""))
            extra = shown - elsewhere
            for index, value in enumerate(self._squashed):
                if len(value) >= SHORTEST_SQUASHED and not extra.keys().isdisjoint(
                    _fragments(value)
                ):
                    sightings.append(Sighting(index, channel, page_index, 1, whole=False))
        return tuple(sightings)

    def _in_readings(self, readings: Sequence[str], passage: Passage) -> list[Sighting]:
        squashed = [squash(reading) for reading in readings]
        worded = [_as_words(reading) for reading in readings]
        found: list[Sighting] = []
        for index, in_syntax in enumerate(self._in_syntax):
            if passage.syntax and not in_syntax:
                continue
            count = max(
                self._count(index, text, words)
                for text, words in zip(squashed, worded, strict=True)
            )
            if count:
                found.append(
                    Sighting(index, passage.channel, passage.page_index, count, whole=True)
                )
        return found

    def _count(self, index: int, squashed: str, words: str) -> int:
        value = self._squashed[index]
        if not value:
            return 0
        if len(value) < SHORTEST_SQUASHED:
            return words.count(self._words[index])
        backwards = value[::-1]
        return squashed.count(value) + (squashed.count(backwards) if backwards != value else 0)

    def _across(self, channel: str, squashed: str, seen: set[tuple[int, str]]) -> list[Sighting]:
        return [
            Sighting(index, channel, None, 1, whole=True)
            for index, value in enumerate(self._squashed)
            if len(value) >= SHORTEST_SQUASHED
            and (index, channel) not in seen
            and (value in squashed or value[::-1] in squashed)
        ]

    def _cut_out(self, squashed: str) -> str:
        """Take the values out of a text, the longest first, leaving a mark that joins nothing."""
        for value in sorted(self._squashed, key=len, reverse=True):
            if len(value) >= SHORTEST_SQUASHED:
                squashed = squashed.replace(value, _CUT).replace(value[::-1], _CUT)
        return squashed


def judge(
    channels: Sequence[str], reader: str, kinds: Sequence[str], sightings: Sequence[Sighting]
) -> tuple[ChannelVerdict, ...]:
    """Return one row per channel: found where there is a sighting, gone elsewhere.

    Args:
        channels: Every channel the reader looked into.
        reader: Name and version.
        kinds: The kind of each searched value, by index.
        sightings: What was seen in the output.
    """
    by_channel: defaultdict[str, list[Sighting]] = defaultdict(list)
    for sighting in sightings:
        by_channel[sighting.channel].append(sighting)
    return tuple(
        ChannelVerdict(
            channel,
            reader,
            ChannelResult.FOUND,
            _describe(kinds, by_channel[channel]),
            _page_numbers(by_channel[channel]),
        )
        if by_channel[channel]
        else ChannelVerdict(channel, reader, ChannelResult.GONE, "no value was seen")
        for channel in channels
    )


def judge_control(
    values: Mapping[str, str], seen_by: Mapping[str, Iterable[int]]
) -> ChannelVerdict:
    """Say whether enough readers saw every value in the original (rules 7 and 8).

    Args:
        values: Value to its kind.
        seen_by: Reader to the indexes of the values it saw in the original.
    """
    readers = ", ".join(sorted(seen_by)) or "none"
    row = ("positive_control", readers)
    if not values:
        return ChannelVerdict(*row, ChannelResult.NOT_PROVEN, "there was no value to look for")
    times = Counter(index for indexes in seen_by.values() for index in set(indexes))
    unproven = Counter(
        kind for index, kind in enumerate(values.values()) if times[index] < READERS_REQUIRED
    )
    if not unproven:
        detail = f"each of {len(values)} values was seen in the original by two or more readers"
        return ChannelVerdict(*row, ChannelResult.GONE, detail)
    missing = ", ".join(f"{kind}: {count}" for kind, count in sorted(unproven.items()))
    return ChannelVerdict(
        *row,
        ChannelResult.NOT_PROVEN,
        f"not seen in the original by two readers, so its removal proves nothing ({missing})",
    )


def _describe(kinds: Sequence[str], sightings: Sequence[Sighting]) -> str:
    """Say kind, count and pages of what was seen; never the value."""
    grouped: defaultdict[tuple[str, bool], list[Sighting]] = defaultdict(list)
    for sighting in sightings:
        grouped[kinds[sighting.value_index], sighting.whole].append(sighting)
    return "; ".join(
        f"{kind}: {_times(group, whole=whole)}{_pages(group)}"
        for (kind, whole), group in sorted(grouped.items())
    )


def _times(group: Sequence[Sighting], *, whole: bool) -> str:
    if not whole:
        return "a part of a value"
    count = sum(sighting.count for sighting in group)
    return "once" if count == 1 else f"{count} times"


def _pages(group: Sequence[Sighting]) -> str:
    pages = _page_numbers(group)
    if not pages:
        return ""
    return f" on page{'s' if len(pages) > 1 else ''} {', '.join(map(str, pages))}"


def _page_numbers(group: Sequence[Sighting]) -> tuple[int, ...]:
    return tuple(sorted({s.page_index + 1 for s in group if s.page_index is not None}))


def _place(sighting: Sighting) -> tuple[int, str, int | None]:
    return sighting.value_index, sighting.channel, sighting.page_index


def _look_alike(text: str) -> str:
    """Fold the letters that OCR takes for digits."""
    return normalise(text).translate(_LOOK_ALIKES)


def _as_words(text: str) -> str:
    """Return the words of a text, each with one space on either side."""
    return f" {' '.join(filter(None, _SEPARATORS.split(normalise(text))))} "


def _readings(text: str) -> tuple[str, ...]:
    """Return the text, and what it means when percent or character references are resolved.

    Right-to-left text drawn with ligatures is also read backwards before they are taken apart:
    afterwards the letters of a ligature would stand in the wrong order.
    """
    backwards = text[::-1] if _PRESENTATION_FORMS.search(text) else text
    return tuple(dict.fromkeys((text, unquote(text), html.unescape(text), backwards)))


def _by_place(passages: Iterable[Passage]) -> dict[tuple[str, int | None], str]:
    places: defaultdict[tuple[str, int | None], list[str]] = defaultdict(list)
    for passage in passages:
        places[passage.channel, passage.page_index].append(squash(passage.text))
    return {place: _CUT.join(texts) for place, texts in places.items()}


def _fragments(squashed: str) -> set[str]:
    return {
        squashed[at : at + FRAGMENT_LENGTH] for at in range(len(squashed) - FRAGMENT_LENGTH + 1)
    }


def _fragment_counts(squashed: str) -> Counter[str]:
    return Counter(
        fragment
        for at in range(len(squashed) - FRAGMENT_LENGTH + 1)
        if _CUT not in (fragment := squashed[at : at + FRAGMENT_LENGTH])
    )
