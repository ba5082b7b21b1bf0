"""What shall be removed from a document, and how removal is judged.

Rules:
1. A target is a kind (a detector finds the values), a literal value, or a pattern.
2. Gone means: every reader ran, and none found it. A reader that failed means not proven (P8).
3. Values never leave this module's callers: verdicts carry kinds, counts and keyed hashes (P10).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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


@dataclass(frozen=True, slots=True)
class ChannelVerdict:
    """One reader's finding in one channel.

    Attributes:
        channel: For example `page_text`, `annotations`, `metadata`, `earlier_revisions`.
        reader: Name and version, for example `pdfium 5.15.2`.
        result: The finding.
        detail: Kind, page and count of what was found, or why it could not be measured; no values.
    """

    channel: str
    reader: str
    result: ChannelResult
    detail: str


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
