"""Splits a caller's sentence into tokens; knows no grammar and no meaning.

Rules:
1. The sentence is 1 to 10,000 characters of visible text. Line breaks and tabs are white space with
   a meaning (a line ends a clause); every other control, invisible or text-direction character is
   refused, because what a person reads would not be what is parsed.
2. Typographic quotation marks, dashes and blanks are read as their plain forms; letters are not
   touched: a look-alike stays a look-alike and is judged where an address is checked.
3. Every token keeps its spelling. Time and space are linear in the sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.plain_text import has_unsafe_characters

MAX_PROMPT_CHARACTERS = 10_000

_PLAIN = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u201e": '"',
        "\u2013": "-",
        "\u2014": "-",
        "\u00a0": " ",
        "\u202f": " ",
        "\t": " ",
    }
)
_TOKEN = re.compile(
    r"""
      (?P<address>[^\s<>()\[\],;:"@]+@[^\s<>()\[\],;:"]*)
    | (?P<file>[\w-]+\.(?:pdf|docx?|html?)\b)
    | (?P<word>(?:dr|mr|mrs|ms|prof|st|no)\.(?=\s)      # an abbreviation keeps its full stop
             | [^\W\d_]\.(?=\s*[^\W\d_]{2})             # so does an initial
             | \d+(?:[-:.,/]\d+)+%?                     # dates, times, amounts
             | \#?[^\W_](?:[\w'-]*[^\W_])?)
    | (?P<mark>\n|[^\s])
    """,
    re.VERBOSE | re.IGNORECASE,
)


class TokenKind(StrEnum):
    """What a token is, by its spelling alone."""

    ADDRESS = "address"
    FILE = "file"
    WORD = "word"
    MARK = "mark"


@dataclass(frozen=True, slots=True)
class Token:
    """One token.

    Attributes:
        kind: What it is.
        text: As spelled.
        low: Case folded.
    """

    kind: TokenKind
    text: str
    low: str


def readable_prompt(prompt: object) -> str:
    """Return the sentence with plain marks (rules 1 and 2).

    Raises:
        InvalidRequestError: Not text, empty, over 10,000 characters, or with hidden characters;
            `field` is `prompt`.
    """
    if not isinstance(prompt, str) or not prompt.strip():
        raise InvalidRequestError("prompt must be a sentence that says what to do.", field="prompt")
    if len(prompt) > MAX_PROMPT_CHARACTERS:
        raise InvalidRequestError(
            f"prompt must be at most {MAX_PROMPT_CHARACTERS} characters long.", field="prompt"
        )
    text = prompt.replace("\r\n", "\n").translate(_PLAIN)
    if has_unsafe_characters(text.replace("\n", " ")):
        raise InvalidRequestError(
            "prompt must not contain control, invisible or text-direction characters.",
            field="prompt",
        )
    return text.strip()


def tokens_of(text: str) -> tuple[Token, ...]:
    """Split a readable sentence into tokens."""
    return tuple(
        token
        for match in _TOKEN.finditer(text)
        for token in _split(TokenKind(match.lastgroup or "mark"), match.group())
    )


def _split(kind: TokenKind, text: str) -> tuple[Token, ...]:
    if kind is TokenKind.ADDRESS:
        # Marks around an address belong to the sentence: alice@example.com, 'bob@example.com'!
        bare = text.strip("'`*").rstrip(".!?'*")
        rest = text[len(text.rstrip(".!?'*")) :]
        marks = (Token(TokenKind.MARK, mark, mark) for mark in rest if mark in ".!?")
        return (Token(kind, bare, bare.casefold()), *marks)
    return (Token(kind, text, text.casefold()),)
