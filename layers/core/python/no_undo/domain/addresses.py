"""Mail addresses at the door, and when two of them are one person.

Rules:
1. An address is `local@domain`: a dot-atom before the one `@` (RFC 5322 3.4.1; no quoted text, no
   comments, US-ASCII only), a host name of at least two labels after it (RFC 5321 2.3.5; no
   address literals), at most 64 octets before, 254 in all (RFC 5321 4.5.3.1 and erratum 1690).
2. An international domain (RFC 3490) is kept in its ASCII form, so that a card shows what a
   look-alike is made of. A label that mixes scripts, or that consists of look-alikes of Latin
   letters alone, is refused in both forms.
3. Two addresses are one person when they are equal after: compatibility normalisation (NFKC) and
   case folding; dropping a plus-tag; dropping dots where the domain ignores them; replacing
   look-alikes by the Latin letters they imitate. The error is on the safe side: two people may
   be taken for one and be refused, never one person for two.
4. A display name is one plain line, 1 to 200 characters; none of its words mixes scripts; an `@`
   stands in it only when the name is the address itself.
5. Which scripts may stand together follows the "highly restrictive" level of Unicode UTS 39 5.2.
"""

from __future__ import annotations

import re
import unicodedata

from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.plain_text import plain_line

MAX_LOCAL_OCTETS = 64
MAX_ADDRESS_OCTETS = 254
MAX_NAME_CHARACTERS = 200

_ATEXT = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LOCAL = re.compile(rf"{_ATEXT}(\.{_ATEXT})*", re.ASCII)
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?", re.ASCII)
_ACE_PREFIX = "xn--"

# Domains whose mailboxes ignore dots, and the name they are all known by.
_DOTS_IGNORED_BY = frozenset({"gmail.com"})
_SAME_DOMAIN = {"googlemail.com": "gmail.com"}

# Scripts that may stand beside each other (rule 5); any script may stand alone.
_SCRIPTS_TOGETHER = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
)
_SCRIPT_OF_NAME_PREFIX = {"IDEOGRAPHIC": "CJK", "MODIFIER": "", "MICRO": "GREEK"}

# Letters that look like Latin ones, after NFKC and case folding; the frequent part of
# Unicode's confusables.txt (UTS 39 4) for the scripts that are used to imitate Latin.
_LOOK_ALIKE_RUNS = (
    # Cyrillic
    ("\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455", "aeopcyxijs"),
    ("\u0501\u04bb\u051b\u051d\u04cf\u043a\u0433\u044c\u0475\u0461", "dhqwlkrbvw"),
    # Greek
    ("\u03bf\u03b1\u03bd\u03c1\u03c5\u03b9\u03ba\u03c4\u03b3\u03c7", "oavpuiktyx"),
    ("\u03b7\u03f2\u03f3\u03c3\u03c9", "ncjow"),
    # Armenian
    ("\u0585\u057d\u0570\u0578\u0581\u0566", "ouhngq"),
    # Latin letters that imitate others
    ("\u0251\u0261\u0131\u0237\u0269\u028b", "agijiv"),
)
_LOOK_ALIKES = {
    ord(imitation): letter
    for imitations, letters in _LOOK_ALIKE_RUNS
    for imitation, letter in zip(imitations, letters, strict=True)
} | {0x0307: ""}  # the dot that case folding leaves of a capital dotted I


def check_address(value: object, *, field: str) -> str:
    """Return an address that may be mailed to, its domain in ASCII form.

    Args:
        value: What the caller wrote; blanks around it are dropped.
        field: Path of the field, for the refusal.

    Raises:
        InvalidRequestError: Rule 1 or 2 does not hold; says which, never repeats the address.
    """
    text = plain_line(value, field=field, max_length=MAX_ADDRESS_OCTETS)
    local, separator, domain = text.rpartition("@")
    if not separator or "@" in local:
        raise _refusal(field, "must have the form name@domain with exactly one @")
    if len(local) > MAX_LOCAL_OCTETS or not _LOCAL.fullmatch(local):
        raise _refusal(
            field,
            f"must have 1 to {MAX_LOCAL_OCTETS} plain characters before the @: unaccented "
            "letters, digits and punctuation, no spaces, quotes or brackets",
        )
    address = f"{local}@{_check_domain(domain, field)}"
    if len(address) > MAX_ADDRESS_OCTETS:
        raise _refusal(field, f"must be at most {MAX_ADDRESS_OCTETS} characters long")
    return address


def check_display_name(value: object, *, address: str, field: str) -> str:
    """Return a name that may stand beside an address (rule 4).

    Args:
        value: What the caller wrote; blanks around it are dropped.
        address: The address it stands beside.
        field: Path of the field, for the refusal.

    Raises:
        InvalidRequestError: Not one plain line, mixed scripts, or an address that is not this one.
    """
    name = plain_line(value, field=field, max_length=MAX_NAME_CHARACTERS)
    if "@" in name and name.casefold() != address.casefold():
        raise _refusal(field, "must not contain an @ unless it is the address itself")
    if any(mixes_scripts(word) for word in name.split()):
        raise _refusal(field, "must not mix letters of different alphabets in one word")
    return name


def domain_of(address: str) -> str:
    """Return the domain after the last `@`, lower case, in ASCII form where it has one."""
    return _to_ascii(address.rpartition("@")[2].casefold())


def person_key(address: str) -> str:
    """Return what identifies the person behind an address (rule 3).

    Never raises: an address that the door would refuse gets a key too, so that stored addresses
    stay comparable. A key is for comparing, never for mailing.
    """
    folded = unicodedata.normalize("NFKC", address).strip().casefold()
    local, _, domain = folded.rpartition("@")
    domain = _to_unicode(domain.rstrip(".")).translate(_LOOK_ALIKES)
    domain = _SAME_DOMAIN.get(domain, domain)
    # A leading plus is part of the name, not the start of a tag.
    local = local[:1] + local[1:].partition("+")[0]
    if domain in _DOTS_IGNORED_BY:
        local = local.replace(".", "")
    return f"{local.translate(_LOOK_ALIKES)}@{domain}"


def same_person(one: str, other: str) -> bool:
    """Return True when two addresses belong to one person as far as anybody can tell."""
    return person_key(one) == person_key(other)


def mixes_scripts(text: str) -> bool:
    """Return True when the letters come from scripts that do not belong together (rule 5)."""
    scripts = {_script(character) for character in text if character.isalpha()} - {""}
    return len(scripts) > 1 and not any(scripts <= group for group in _SCRIPTS_TOGETHER)


def _script(letter: str) -> str:
    # Unicode names start with the script; FULLWIDTH and other compatibility forms are folded away.
    name = unicodedata.name(unicodedata.normalize("NFKC", letter)[0], "UNKNOWN")
    prefix = name.split()[0].split("-")[0]
    return _SCRIPT_OF_NAME_PREFIX.get(prefix, prefix)


def _check_domain(domain: str, field: str) -> str:
    ascii_domain = _to_ascii(domain)
    if any(_imitates(label) for label in _to_unicode(ascii_domain).split(".")):
        raise _refusal(field, "has a domain that mixes alphabets or imitates Latin letters")
    labels = ascii_domain.split(".")
    if len(labels) < 2 or not all(_LABEL.fullmatch(label) for label in labels):  # noqa: PLR2004 - a host and its parent
        raise _refusal(field, "must have a host name of at least two parts after the @")
    if labels[-1].isdigit():
        raise _refusal(field, "must have a host name after the @, not a network address")
    return ascii_domain


def _imitates(label: str) -> bool:
    """Return True for mixed scripts and for a label made of look-alikes alone (rule 2)."""
    if label.isascii():
        # Still in its ASCII form: it does not decode, so nobody can say what it shows.
        return label.lower().startswith(_ACE_PREFIX)
    return mixes_scripts(label) or label.translate(_LOOK_ALIKES).isascii()


def _to_ascii(domain: str) -> str:
    if domain.isascii():
        return domain
    try:
        return domain.encode("idna").decode("ascii")
    except UnicodeError:
        return domain


def _to_unicode(domain: str) -> str:
    return ".".join(_label_to_unicode(label) for label in domain.split("."))


def _label_to_unicode(label: str) -> str:
    if not label.isascii() or not label.lower().startswith(_ACE_PREFIX):
        return label
    try:
        return label.lower().encode("ascii").decode("idna")
    except UnicodeError:
        return label


def _refusal(field: str, rule: str) -> InvalidRequestError:
    return InvalidRequestError(f"{field} {rule}.", field=field)
