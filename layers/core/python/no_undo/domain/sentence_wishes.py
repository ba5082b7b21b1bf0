"""Reads what a caller's sentence wants done with the document, people aside.

Rules:
1. The envelope's name comes from the sentence: a name the caller gives it, else the kind of
   document in title case, with the number written beside it.
2. Redaction is asked for, declined, or not mentioned. Asking without saying what means every kind
   a detector knows; asking and declining in one sentence is a question, never a guess.
3. Kinds that no detector finds (people's names, postal addresses) are named as such: a wish
   that cannot be proven done must not look done (P8).
4. A quorum is read as asked for, zero included: refusing it is the approver policy's affair.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from no_undo.domain.pii import KINDS
from no_undo.domain.plain_text import has_unsafe_characters

MAX_FOLDER_NAME_CHARACTERS = 100
DEFAULT_FOLDER_NAME = "Document for Signature"

UNDETECTABLE_KINDS = ("person_name", "postal_address")
_KIND_WORDS = {
    "email": r"e-?mails?(?: address(?:es)?)?",
    "phone": r"(?:tele)?phones?(?: numbers?)?|(?:mobile|cell|fax|contact) numbers?",
    "vin": r"vins?|vehicle(?: identification)? numbers?|chassis numbers?",
    "iban": r"ibans?|bank (?:account|details?)(?: numbers?)?|account numbers?",
    "payment_card": r"(?:credit |debit |payment )?card(?: numbers?|s)|credit cards?",
    "ssn": r"ssns?|social security(?: numbers?)?",
    "ein": r"eins?|employer identification numbers?",
    "passport": r"passports?(?: numbers?)?",
    "person_name": r"(?:people's |personal |first |last |driver |contact )?names?",
    "postal_address": r"(?:postal|home|street|mailing)? ?address(?:es)?",
}
_KIND = re.compile(
    "|".join(rf"(?P<{kind}>(?<![\w-])(?:{words})\b)" for kind, words in _KIND_WORDS.items())
)
_ALL_PII = re.compile(
    r"\b(?:pii|personally identif\w+|(?:personal|private|sensitive|confidential|contact)"
    r" (?:data|information|info|details?)|everything (?:personal|private|sensitive))\b"
)
_DECLINED = re.compile(
    r"\b(?:(?:without|no) (?:any )?(?:redact\w*|masking)"
    r"|(?:do not|don't|dont|never|needn't|need not) (?:need to )?(?:redact|mask|black out|censor)"
    r"|redact nothing|nothing (?:to|needs to be) (?:redact|be redacted|redacted)"
    r"|unredacted|un-redacted|leave everything (?:in|as))\b"
)
_REDACT = re.compile(
    r"\b(?P<strong>redact(?:ed|ing|ion|ions)?|mask(?:ed|ing)?|black(?:en|ed|ing)?[ -]?out|censor\w*"
    r"|anonymi[sz]\w*|de-?identif\w*|saniti[sz]\w*)\b"
    r"|\b(?P<weak>remov(?:e|ed|ing)|strip(?:ped|ping)?|scrub(?:bed|bing)?|hid(?:e|den|ing)|delet\w+"
    r"|blank(?:ed|ing)?|obscur\w+|tak(?:e|ing) out|cut out|eras\w+)\b"
)
_KEEP = re.compile(
    r"\b(?:except|but (?:not|keep|leave)|other than|apart from|excluding|not the|keep(?:ing)?"
    r"|leav(?:e|ing))\b"
)
# How far around a verb its objects are looked for, in characters: keeps the time linear.
_REACH = 300
# Where the wish about the document ends and the sending begins.
_WISH_END = re.compile(
    r"[.!?;\n]|\b(?:send|route|forward|e-?mail(?= (?:it|this|the))|deliver|circulate)\b"
)


class Redaction(StrEnum):
    """What the sentence says about redaction."""

    ASKED = "asked"
    DECLINED = "declined"
    UNMENTIONED = "unmentioned"


@dataclass(frozen=True, slots=True)
class RedactionWish:
    """What to remove.

    Attributes:
        redaction: Asked for, declined or not mentioned.
        kinds: Of `pii.KINDS`, in their order.
        undetectable: Kinds asked for that no detector finds (rule 3).
        question: What the caller has to clear up, or empty.
    """

    redaction: Redaction
    kinds: tuple[str, ...] = ()
    undetectable: tuple[str, ...] = ()
    question: str = ""


def redaction_wish(text: str) -> RedactionWish:
    """Return what a readable sentence wants removed from the document."""
    low = text.casefold()
    declined = _DECLINED.search(low)
    kinds = _wanted(_DECLINED.sub(" ", low))
    if declined and kinds:
        return RedactionWish(
            Redaction.DECLINED, question="Shall anything be redacted? The instruction says both."
        )
    if kinds:
        return RedactionWish(
            Redaction.ASKED,
            tuple(kind for kind in KINDS if kind in kinds),
            tuple(kind for kind in UNDETECTABLE_KINDS if kind in kinds),
        )
    return RedactionWish(Redaction.DECLINED if declined else Redaction.UNMENTIONED)


def _wanted(low: str) -> frozenset[str]:
    wanted: set[str] = set()
    for verb in _REDACT.finditer(low):
        ahead = _WISH_END.split(low[verb.end() : verb.end() + _REACH], maxsplit=1)[0]
        # A passive wish has its object in front: "emails must be redacted".
        behind = re.split(r"[.!?;\n]", low[max(0, verb.start() - _REACH) : verb.start()])[-1]
        wanted |= _kinds(ahead) or _kinds(_passive_object(behind)) or _everything(verb)
    return frozenset(wanted)


def _passive_object(behind: str) -> str:
    return behind if re.search(r"\b(?:be|is|are|been|get|with|want|need)\b[\w ]*$", behind) else ""


def _everything(verb: re.Match[str]) -> frozenset[str]:
    # "Redact it" means personal data; "remove it" may mean anything and is left alone.
    return frozenset(KINDS if verb["strong"] else ())


def _kinds(phrase: str) -> frozenset[str]:
    keep = _KEEP.search(phrase)
    wanted, kept = (phrase[: keep.start()], phrase[keep.end() :]) if keep else (phrase, "")
    named = _named_kinds(wanted)
    if _ALL_PII.search(wanted) or (keep and not named and "everything" in wanted):
        named |= frozenset(KINDS)
    return named - _named_kinds(kept)


def _named_kinds(phrase: str) -> frozenset[str]:
    return frozenset(match.lastgroup or "" for match in _KIND.finditer(phrase))


_COUNTS = {
    "no": 0,
    "zero": 0,
    "single": 1,
    "both": 2,
    "dual": 2,
    "two-person": 2,
    "four-eyes": 2,
} | {
    word: number
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), start=1
    )
}
_COUNT = rf"(?P<count>\d{{1,2}}|{'|'.join(_COUNTS)})"
_QUORUM = (
    re.compile(r"\bquorum(?: size)?(?: is| of| to|:| =|=)? ?" + _COUNT + r"\b"),
    re.compile(
        rf"\b(?:at least |minimum (?:of )?)?{_COUNT}(?:[ -]of[ -]\d{{1,2}})?"
        r"(?: (?:distinct|different|separate|independent|other|more|eligible))*[ -]"
        r"(?:approv(?:als?|ers?)\b|sign-?offs?\b|people (?:must|should|have to|need to|to) approve)"
    ),
    re.compile(rf"\bapprov(?:ed|al)(?: (?:by|from))(?: at least)? {_COUNT}\b(?! (?:on|o'clock))"),
    re.compile(r"\b(?P<count>four-eyes|two-person)\b"),
)


def quorum_in(text: str) -> int | None:
    """Return how many approvals the sentence asks for, None when it does not say."""
    low = " ".join(text.casefold().split())
    for pattern in _QUORUM:
        found = pattern.search(low)
        if found:
            count = found["count"]
            return int(count) if count.isdigit() else _COUNTS[count]
    return None


_PHRASES = (
    "bill of lading",
    "statement of work",
    "letter of intent",
    "letter of authority",
    "power of attorney",
    "proof of delivery",
    "certificate of origin",
    "memorandum of understanding",
    "deed of sale",
    "terms of service",
)
_NOUNS = frozenset(
    """
    invoice contract agreement nda msa sow mou lease quote quotation order waiver letter proposal
    receipt policy addendum amendment deed offer manifest certificate release timesheet estimate
    authorization authorisation statement report note form bill consent resolution affidavit
    license licence
    """.split()  # noqa: SIM905 - a list of words is for reading
)
# Nouns that mean a document only with a word in front: "purchase order", not "in that order".
_NEEDS_MODIFIER = frozenset({"order", "note", "form", "bill", "report", "release", "statement"})
_GENERIC_NOUNS = frozenset({"document", "pdf", "file", "paper", "papers", "paperwork", "packet"})
_NO_MODIFIER = frozenset(
    """
    a an the this that these those my our your his her its their take use get have send sign please
    attached attach uploaded enclosed following above below new signed unsigned final finished
    redacted and or of for from to in on with by at as into via per through it is are be was not no
    some any each every all both also then first last copy version prepare create generate make
    build draft fill render redact mask forward route mail email e-mail ask let need needs want
    wants here hereby kindly review process handle issue approve submit me us i we you they so
    which who whose when same about regarding re complete completed circulate share deliver give
    turn scan read remove strip clean out up sent routed signing signature reverse right
    """.split()  # noqa: SIM905 - a list of words is for reading
)
_NUMBER_AFTER = re.compile(r"#?[A-Za-z]{0,6}[-/]?\d[\w/-]*", re.ASCII)
_NAMED = re.compile(
    r"\b(?:call(?:ed)?(?: (?:it|this|the (?:envelope|folder)))?|named?(?: it)?|titled?(?: it)?|"
    r"(?:folder|envelope)(?: name)?(?: is|:)?|under the (?:name|title)|subject(?: is|:)?|as)"
    r' ?"(?P<name>[^"\n]{1,100})"',
    re.IGNORECASE,
)
_WORDS = re.compile(r"#?[^\W_](?:[\w'/-]*[^\W_])?")


def folder_name_in(text: str) -> str:
    """Return the envelope's name (rule 1): at most 100 characters of plain text.

    Examples: `Freight Invoice`, `Purchase Order 4411`, `NDA`, `Bill of Lading`.
    """
    named = _NAMED.search(text)
    if named and named["name"].strip() and not has_unsafe_characters(named["name"]):
        return named["name"].strip()
    return (_phrase_title(text) or _noun_title(text) or DEFAULT_FOLDER_NAME)[
        :MAX_FOLDER_NAME_CHARACTERS
    ]


def _phrase_title(text: str) -> str:
    low = " ".join(text.casefold().split())
    found = [(low.index(phrase), phrase) for phrase in _PHRASES if phrase in low]
    return min(found)[1].title().replace(" Of ", " of ") if found else ""


def _noun_title(text: str) -> str:
    words = _WORDS.findall(text)
    for index, word in enumerate(words):
        modifiers = _modifiers(words, index)
        noun = _singular(word)
        if noun in _NOUNS and (modifiers or noun not in _NEEDS_MODIFIER):
            last = index + 1 + (_singular("".join(words[index + 1 : index + 2])) in _NOUNS)
            title = " ".join(_title_word(part) for part in [*modifiers, *words[index:last]])
            return f"{title} {number}" if (number := _number(words, last)) else title
    return "Document" if any(_singular(word) in _GENERIC_NOUNS for word in words) else ""


def _singular(word: str) -> str:
    low = word.casefold()
    return low[:-1] if low.endswith("s") and low[:-1] in _NOUNS else low


def _modifiers(words: list[str], index: int) -> list[str]:
    """Return up to three describing words right before a document noun."""
    modifiers: list[str] = []
    for word in reversed(words[max(0, index - 3) : index]):
        if word.casefold() in _NO_MODIFIER or not word.replace("-", "").isalpha():
            break
        modifiers.insert(0, word)
    return modifiers


def _title_word(word: str) -> str:
    if word.casefold() in {"nda", "msa", "sow", "mou"}:
        return word.upper()
    if word.isupper() and len(word) > 4:  # noqa: PLR2004 - longer than the usual acronym
        return word.capitalize()
    return word[:1].upper() + word[1:]


def _number(words: list[str], index: int) -> str:
    if index < len(words) and words[index].casefold() in {"no", "number", "nr"}:
        index += 1
    if index < len(words) and _NUMBER_AFTER.fullmatch(words[index]):
        return words[index].lstrip("#")
    return ""


class DocumentSource(StrEnum):
    """What the sentence says the document is made from."""

    UPLOAD = "upload"
    INVOICE = "invoice"
    UNSPECIFIED = "unspecified"


_FROM_DATA = re.compile(
    r"\b(?:creat|generat|mak|build|render|fill|draft|produc|prepar)\w*\b[^.!?\n]{0,60}\binvoice\b"
    r"|\bfrom (?:the|this|these|our|my|structured|invoice) ?(?:\w+ )?(?:data|fields|json|figures)\b"
)
_HANDED_IN = re.compile(
    r"\b(?:this|attached|enclosed|uploaded|the (?:pdf|document|file|scan|attachment))\b|\.pdf\b"
)


def document_source_in(text: str) -> DocumentSource:
    """Return what the sentence says the document is made from."""
    low = " ".join(text.casefold().split())
    if _FROM_DATA.search(low):
        return DocumentSource.INVOICE
    return DocumentSource.UPLOAD if _HANDED_IN.search(low) else DocumentSource.UNSPECIFIED
