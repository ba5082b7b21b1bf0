"""Searches the bytes of a PDF without any PDF library; child process only.

What no object refers to any more is still in the file: orphans, earlier revisions, data after the
end. Every Flate stream is found by its signature, whether or not a cross-reference names it.
"""

from __future__ import annotations

import platform
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from no_undo.adapters.redaction_reports import ReaderReport, to_json
from no_undo.domain.redaction import (
    SHORTEST_SQUASHED,
    ChannelResult,
    ChannelVerdict,
    Sighting,
    is_one_word,
    judge,
    squash,
)

READER: Final = f"bytes (zlib, Python {platform.python_version()})"

_CHANNEL: Final = "raw_bytes"
_FLATE: Final = re.compile(rb"\x78[\x01\x5e\x9c\xda]")
_MOST_INFLATED: Final = 256 * 1024 * 1024
_MOST_PER_STREAM: Final = 64 * 1024 * 1024
_PROBE: Final = 64
_LITERAL_STRING: Final = re.compile(rb"\(((?:\\.|[^\\()]){1,4096})\)", re.DOTALL)
_END: Final = b"%%EOF"
_DROPPED: Final = bytes(
    code for code in range(0x80) if not chr(code).isalnum()
)  # the bytes' counterpart of squash; NUL goes too, so UTF-16 of ASCII reads as ASCII


class TooMuchDataError(Exception):
    """The streams inflate to more than is searched."""


def search_bytes(
    arguments: Mapping[str, Any], documents: Sequence[bytes]
) -> tuple[dict[str, Any], Sequence[bytes]]:
    """Look for values in the bytes and inflated streams of two PDFs.

    Args:
        arguments: `values`, value to kind.
        documents: The original and the redacted PDF.
    """
    values: Mapping[str, str] = arguments["values"]
    before, after = documents
    search = _ByteSearch(list(values))
    control = tuple(sorted(search.counts(before)))
    rows = (_raw_row(search, after, list(values.values())), _trailing_row(after))
    return to_json(ReaderReport(READER, rows, control)), ()


class _ByteSearch:
    """Values as the byte patterns they may be written in."""

    def __init__(self, values: Sequence[str]) -> None:
        self._patterns = {
            index: _patterns(value)
            for index, value in enumerate(values)
            if len(squash(value)) >= SHORTEST_SQUASHED
        }
        self._words = {index for index in self._patterns if is_one_word(values[index])}

    def counts(self, document: bytes) -> dict[int, int]:
        """Return value index to how often it stands in the bytes or inflated streams."""
        found: dict[int, int] = {}
        for data in (document, *inflated_streams(document)):
            everything = _squashed(data)
            strings = _squashed(b"".join(_LITERAL_STRING.findall(data)))
            for index, patterns in self._patterns.items():
                hay = strings if index in self._words else everything
                count = max(hay.count(pattern) for pattern in patterns)
                if count:
                    found[index] = found.get(index, 0) + count
        return found


def _patterns(value: str) -> tuple[bytes, ...]:
    """Return a value's letters and digits in the encodings that PDFs use, both ways round."""
    letters = "".join(char for char in value if char.isalnum())
    readings = {squash(value), letters, letters.upper(), letters.lower(), quote(value, safe="")}
    encoded = {
        _squashed(text.encode(encoding, errors="ignore"))
        for reading in readings
        for text in (reading, reading[::-1])
        for encoding in ("utf-8", "utf-16-be", "cp1252")
    }
    return tuple(pattern for pattern in encoded if len(pattern) >= SHORTEST_SQUASHED)


def _squashed(data: bytes) -> bytes:
    return data.translate(None, _DROPPED).lower()


def inflated_streams(document: bytes) -> Iterator[bytes]:
    """Yield every Flate stream in the bytes, damaged tails included.

    Raises:
        TooMuchDataError: They inflate to more than 256 MiB in all, or 64 MiB in one.
    """
    at, budget = 0, _MOST_INFLATED
    while match := _FLATE.search(document, at):
        data, consumed = _inflate(document, match.start())
        budget -= len(data)
        if budget < 0 or len(data) >= _MOST_PER_STREAM:
            raise TooMuchDataError
        if data:
            yield data
        at = match.start() + max(consumed, 2)


def _inflate(document: bytes, start: int) -> tuple[bytes, int]:
    """Return what inflates from here and how many bytes of the file that took."""
    inflater = zlib.decompressobj()
    view = memoryview(document)[start:]
    try:
        inflater.decompress(view[:_PROBE], 1)
    except zlib.error:
        return b"", 0
    return _inflate_all(view)


def _inflate_all(view: memoryview) -> tuple[bytes, int]:
    inflater = zlib.decompressobj()
    parts: list[bytes] = []
    size = at = 0
    step = 4096
    try:
        while at < len(view) and not inflater.eof and size < _MOST_PER_STREAM:
            piece = inflater.decompress(
                inflater.unconsumed_tail + bytes(view[at : at + step]), _MOST_PER_STREAM - size
            )
            at += step
            parts.append(piece)
            size += len(piece)
    except zlib.error:
        return b"".join(parts), 2
    return b"".join(parts), min(at, len(view)) - len(inflater.unused_data)


def _raw_row(search: _ByteSearch, after: bytes, kinds: Sequence[str]) -> ChannelVerdict:
    try:
        counts = search.counts(after)
    except TooMuchDataError:
        return ChannelVerdict(
            _CHANNEL, READER, ChannelResult.NOT_PROVEN, "its streams inflate to too much data"
        )
    sightings = [
        Sighting(index, _CHANNEL, None, count, whole=True) for index, count in counts.items()
    ]
    return judge((_CHANNEL,), READER, kinds, sightings)[0]


def _trailing_row(after: bytes) -> ChannelVerdict:
    """Refuse data behind the end of the document: no reader of PDFs would look at it."""
    _, _, rest = after.rpartition(_END)
    trailing = len(rest.strip(b"\x00\t\n\x0c\r ")) if _END in after else len(after)
    if trailing:
        return ChannelVerdict(
            "trailing_bytes",
            READER,
            ChannelResult.NOT_PROVEN,
            f"{trailing} bytes follow the end of the document",
        )
    return ChannelVerdict("trailing_bytes", READER, ChannelResult.GONE, "nothing follows the end")
