"""What each reader of the redaction verifier answers, and how it crosses the process border."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from no_undo.domain.redaction import (
    ChannelResult,
    ChannelVerdict,
    Passage,
    ValueSearch,
    judge,
)


@dataclass(frozen=True, slots=True)
class ReaderReport:
    """One reader's answer about one pair of documents.

    Attributes:
        reader: Name and version.
        rows: One per channel.
        control: Indexes of the values it saw in the original.
        facts: Counts the verifier compares, such as pages and signature tags.
    """

    reader: str
    rows: tuple[ChannelVerdict, ...]
    control: tuple[int, ...]
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])


def compare_passages(  # noqa: PLR0913 - the two documents and how to judge them
    reader: str,
    values: Mapping[str, str],
    before: Sequence[Passage],
    after: Sequence[Passage],
    *,
    channels: Sequence[str],
    fragment_channels: Sequence[str] = (),
    look_alikes: bool = False,
) -> ReaderReport:
    """Search both documents' passages and judge every channel.

    Args:
        reader: Name and version.
        values: Value to its kind.
        before: What the reader saw in the original.
        after: What it sees in the redacted document.
        channels: Every channel the reader covers, seen or not.
        fragment_channels: Those whose text is clean enough to look for parts of values.
        look_alikes: Whether the reader is OCR.
    """
    search = ValueSearch(list(values), look_alikes=look_alikes)
    parts = search.remains(
        [passage for passage in before if passage.channel in fragment_channels],
        [passage for passage in after if passage.channel in fragment_channels],
    )
    whole = search.whole(after)
    places = {(seen.value_index, seen.channel, seen.page_index) for seen in whole}
    parts = tuple(
        part for part in parts if (part.value_index, part.channel, part.page_index) not in places
    )
    rows = judge(channels, reader, list(values.values()), whole + parts)
    control = sorted({sighting.value_index for sighting in search.whole(before)})
    return ReaderReport(reader, rows, tuple(control))


def to_json(report: ReaderReport) -> dict[str, Any]:
    """Return the report as JSON types."""
    return asdict(report)


def from_json(answer: Mapping[str, Any]) -> ReaderReport:
    """Undo `to_json`."""
    rows = tuple(
        ChannelVerdict(
            channel=row["channel"],
            reader=row["reader"],
            result=ChannelResult(row["result"]),
            detail=row["detail"],
            pages=tuple(row["pages"]),
            warning=row["warning"],
        )
        for row in answer["rows"]
    )
    return ReaderReport(answer["reader"], rows, tuple(answer["control"]), answer["facts"])
