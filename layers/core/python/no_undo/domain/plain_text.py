"""Text that is safe to show on a card, in a mail or in a document.

Rules:
1. One line of text holds no control, format, bidirectional or unassigned characters, and no line
   or paragraph separators: nothing that hides text, reorders it or starts a mail header.
2. Surrounding white space is dropped; what is left is 1 to `max_length` characters.
3. A refusal names the field and the rule, never the value (P10).
"""

from __future__ import annotations

import unicodedata

from no_undo.domain.errors import InvalidRequestError

# Unicode general categories: control, format (bidirectional marks, zero-width characters),
# surrogate, private use, unassigned, line separator, paragraph separator.
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def has_unsafe_characters(text: str) -> bool:
    """Return True when the text holds a character that could hide, reorder or break a line."""
    return any(unicodedata.category(character) in _UNSAFE_CATEGORIES for character in text)


def plain_line(value: object, *, field: str, max_length: int = 200) -> str:
    """Return one line of plain text, without surrounding white space.

    Args:
        value: What the caller sent; anything but text is refused.
        field: Path of the field, for the refusal.
        max_length: Longest text allowed, in characters.

    Raises:
        InvalidRequestError: Not text, empty, too long, or with characters of rule 1.
    """
    if not isinstance(value, str):
        raise InvalidRequestError(f"{field} must be text.", field=field)
    # Only blanks are dropped: str.strip() would also swallow control characters.
    text = value.strip(" ")
    if not text or text.isspace():
        raise InvalidRequestError(f"{field} must not be empty.", field=field)
    if len(text) > max_length:
        raise InvalidRequestError(
            f"{field} must be at most {max_length} characters long.", field=field
        )
    if has_unsafe_characters(text):
        raise InvalidRequestError(
            f"{field} must not contain control, invisible or text-direction characters.",
            field=field,
        )
    return text
