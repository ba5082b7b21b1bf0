"""The text tags that mark where each recipient signs.

Rules:
1. A tag is `${signfield:<n>:y:____}`; n is the recipient's order, from 1. The short form
   `${s:<n>:____}` is read too. Grammar: the e-sign vendor's text tags.
2. Layout may break a tag over lines: white space and invisible characters inside it do not count.
3. A tag without its closing brace is no tag.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

_TAG: Final = re.compile(r"\$\{s(?:ignfield)?:([1-9][0-9]?):[^${}]*\}")


def signature_tag(order: int, *, underscores: int = 20) -> str:
    """Return the tag of one recipient; the vendor makes the field as wide as the underscores."""
    return f"${{signfield:{order}:y:{'_' * underscores}}}"


def find_signature_tags(text: str) -> tuple[int, ...]:
    """Return the recipient orders of the tags in one page's text, sorted, with repeats."""
    return tuple(sorted(int(match[1]) for match in _TAG.finditer(_joined(text))))


def tag_spans(chars: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return (first, last) index of each tag in a page's characters, in the order they stand."""
    kept = [(index, char) for index, single in enumerate(chars) for char in _joined(single)]
    text = "".join(char for _, char in kept)
    return tuple(
        (kept[match.start()][0], kept[match.end() - 1][0]) for match in _TAG.finditer(text)
    )


def _joined(text: str) -> str:
    """Drop white space and format characters (rule 2)."""
    return "".join(
        char
        for char in unicodedata.normalize("NFKC", text)
        if not char.isspace() and unicodedata.category(char) not in ("Cf", "Cc")
    )
