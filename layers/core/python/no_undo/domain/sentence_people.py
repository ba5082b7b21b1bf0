"""Finds the people in a caller's sentence and what each is there for.

Rules:
1. A person is written as a name, an address, or both: `Alice Chen`, `alice@example.com`,
   `Alice <alice@example.com>`, `Alice (alice@example.com)`, `Alice at alice@example.com`,
   `"Chen, Alice" <alice@example.com>`. A name written beside an address is kept.
2. Names start with a capital letter, unless they are known (from the request or the contact list)
   or stand where only a person can stand ("send it to accounting"). There, whatever is written
   is taken as a name: asking who that is beats dropping a signer.
3. The words around a list of people decide its role; the whole list has one. Nobody becomes a
   signer by being mentioned.
4. Whoever has no role is unplaced. An address there was written for a reason, so the caller is
   asked; a mere name is left alone. Whom to ask or to answer to is only mentioned.
5. An address is checked as at the door; one that is malformed or imitates another refuses the
   sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from no_undo.domain.addresses import check_address, check_display_name
from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.sentence import Token, TokenKind, tokens_of

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_PEOPLE = 100
_MAX_NAME_WORDS = 5
_MAX_UNKNOWN_WORDS = 4
_MAX_JOINING_WORDS = 4
# How far the words around a list are read, in tokens: keeps the time linear.
_REACH = 40


class Role(StrEnum):
    """What a person is mentioned for."""

    SIGNER = "signer"
    APPROVER = "approver"
    COPY = "copy"
    EXCLUDED = "excluded"
    REMOVED = "removed"
    UNPLACED = "unplaced"
    MENTIONED = "mentioned"


@dataclass(frozen=True, slots=True)
class Person:
    """One mention of a person.

    Attributes:
        name: As written, empty for a bare address.
        email: Checked address, empty for a bare name.
        role: What the words around say.
        rank: Explicit place in the signing order, 1-based; 0 when none, -1 for "last".
        after: Index of the person this one signs after ("then", "before", "after"), or None.
    """

    name: str
    email: str
    role: Role
    rank: int = 0
    after: int | None = None


def people_in(text: str, known_names: frozenset[str] = frozenset()) -> tuple[Person, ...]:
    """Return every person a readable sentence mentions, in reading order.

    Args:
        text: A readable sentence.
        known_names: Case-folded full names of the request's recipients and the contacts.

    Raises:
        InvalidRequestError: Rule 5, or more than 100 people; `field` is `prompt`.
    """
    tokens = tokens_of(text)
    mentions = _mentions(tokens, known_names)
    if len(mentions) > MAX_PEOPLE:
        raise InvalidRequestError(
            f"prompt must mention at most {MAX_PEOPLE} people.", field="prompt"
        )
    return _with_roles(tokens, _groups(tokens, mentions))


def states_order(text: str) -> bool:
    """Return True when a sentence says that people sign in the order it lists them."""
    return bool(_IN_ORDER.search(" ".join(text.casefold().split())))


# --- Words -----------------------------------------------------------------------------------


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A capitalised run that one of these ends is a document's title: "Master Services Agreement".
_DOCUMENT_WORDS = _words(
    """
    invoice invoices contract contracts agreement agreements lease leases quote quotes
    quotation waiver waivers letter proposal receipt policy addendum amendment deed offer
    manifest certificate release timesheet estimate authorization statement report form bill
    document documents file files paper paperwork packet order nda msa sow mou pdf
    """
)

# Words that start with a capital letter at the start of a sentence or in a title and are no name,
# and words that end a name which is not known.
_NO_NAME = (
    _words(
        """
    a an the this that these those my our your his her its their it them they we i you he she
    me us him himself herself myself themselves everyone everybody anyone someone all any both
    each either and or but nor not no yes so as if then than when while once after before
    until till by for from to in into on onto at of off out up over with without within via
    per through about regarding re is are was were be been being am do does did don't done can
    could may might must shall should will would won't have has had having let lets let's
    please kindly hi hello hey dear thanks thank cheers ok okay now here there also only just
    still again back next finally afterwards afterward lastly first second third fourth fifth
    last 1st 2nd 3rd 4th 5th firstly secondly thirdly plus take use get give send mail email
    e-mail route forward deliver circulate share pass submit return hand dispatch issue show
    ask request require requires required need needs needed want wants make makes made collect
    obtain gather find prepare create generate build draft fill render attach attached
    attaching upload uploaded enclosed add include including exclude excluding except redact
    redacted redacting mask masked remove removed strip scrub hide delete black blackout blank
    clean sanitize sanitise anonymize anonymise keep leave sign signs signed signing
    countersign countersigns countersigned e-sign esign execute approve approves approved
    approving approval approvals approver approvers authorize authorise signature signatures
    signer signers signatory signatories recipient recipients party parties order quorum
    deadline due review process handle run start go goes put set call called name named title
    titled notify inform tell cc bcc copy copies follow followed following subject contact
    contacts questions question note remember reply respond ignore disregard skip override
    bypass pretend system important urgent asap today tomorrow tonight eod cob eow noon
    midnight am pm utc gmt monday tuesday wednesday thursday friday saturday sunday january
    february march april june july august september october november december jan feb mar apr
    jun jul aug sep sept oct nov dec hour hours day days week weeks month business working pii
    pdf nda msa sow mou vin vins iban ssn ein usd eur gbp phone phones number numbers address
    addresses personal data information details info names everything nothing anything page
    pages folder envelope version scan who whom whose which what where why how that's
    """
    )
    | _DOCUMENT_WORDS
)
_PARTICLES = _words("van von der den de del della di da dos du la le bin ibn al ter ten y")
_TITLES = _words("mr mrs ms dr prof mr. mrs. ms. dr. prof.")
_DETERMINERS = _words("the our my their your his her a an")
_NOT_AFTER_A_LIST = _words("it them this that these those the a an all everything us me")

_SEND = (
    r"(?:send|sends|sent|sending|mail|e-?mail|route|routed|forward|forwarded|deliver|delivered|"
    r"circulate|share|pass|submit|return|hand|dispatch|issue|go|goes|get|give|put|take|bring|out|"
    r"addressed|release)"
)
_SIGN = (
    r"(?:(?:counter-?|e-?|co-?)?sign(?:s|ed|ing|atures?|[ -]?offs?)?"
    r"|execut(?:e|es|ed|ing|ion))"
)
# The signing verb with the person in front: "Bob signs", not "signed by Bob".
_SIGNS = (
    r"(?:(?:counter-?|e-?|co-?)?sign(?:s|ing)?|executes?"
    r"|(?:has|have) (?:counter-?|e-?|co-?)?signed)"
)
_MODAL = (
    r"(?:(?:who|both|all|each|also|then|please|first|finally|is|are|must|should|shall|has|"
    r"have|needs?|needed|required|will|would|can|may|to|be|as) )*"
)
_ORDINAL = r"(?:first|second|third|fourth|fifth|last|1st|2nd|3rd|4th|5th|firstly|secondly|lastly)"
_RANKS = {
    "first": 1, "1st": 1, "firstly": 1, "second": 2, "2nd": 2, "secondly": 2, "third": 3, "3rd": 3,
    "thirdly": 3, "fourth": 4, "4th": 4, "fifth": 5, "5th": 5, "last": -1, "lastly": -1,
    "finally": -1,
}  # fmt: skip
_CHAIN = _words(
    "then next afterwards afterward finally lastly last followed first second third fourth fifth"
)
_SEPARATORS = (
    _words(
        '" , ; & / + - * • and then also plus as well followed by next finally lastly afterwards'
    )
    | _words("first second third fourth fifth last both 1 2 3 4 5 6 7 8 9 10 ) ( . : to")
    | {"\n"}
)
# A bare bracket, colon, ordinal or "to" joins nothing.
_JOINS = _words(", ; & / + and then plus followed next finally lastly afterwards") | {"\n"}
_SENTENCE_ENDS = frozenset(".!?\n")


# --- Mentions --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Mention:
    """A person at tokens `start` up to, not including, `end`."""

    name: str
    email: str
    start: int
    end: int
    possessive: bool = False


def _mentions(tokens: Sequence[Token], known_names: frozenset[str]) -> list[_Mention]:
    longest_known = max((len(name.split()) for name in known_names), default=0)
    found: list[_Mention] = []
    index = 0
    while index < len(tokens):
        mention = (
            _quoted(tokens, index)
            or _bare_address(tokens, index)
            or _known(tokens, index, known_names, longest_known)
            or _named(tokens, index)
            or _expected(tokens, index, found)
        )
        if mention is None:
            index += 1
            continue
        found.append(mention)
        index = mention.end
    return found


def _quoted(tokens: Sequence[Token], index: int) -> _Mention | None:
    """A quoted display name right before an address in angle brackets (RFC 5322 3.4)."""
    if tokens[index].text != '"':
        return None
    for end in range(index + 1, min(index + 12, len(tokens) - 2)):
        token = tokens[end]
        if token.text == '"' and tokens[end + 1].text == "<" and _is_address(tokens, end + 2):
            words = (inner.text for inner in tokens[index + 1 : end] if inner.text != '"')
            return _addressed(tokens, " ".join(words).replace(" ,", ","), index, end + 1)
        if token.text in _NO_NAME:
            return None
    return None


def _bare_address(tokens: Sequence[Token], index: int) -> _Mention | None:
    if tokens[index].kind is not TokenKind.ADDRESS:
        return None
    address = _address(tokens[index])
    end = index + 1
    # alice@example.com (Alice Chen)
    if _texts(tokens, end, 1) == ["("]:
        stop = _name_end(tokens, end + 1)
        if stop > end + 1 and _texts(tokens, stop, 1) == [")"]:
            return _Mention(_spelled(tokens, end + 1, stop), address, index, stop + 1)
    if _texts(tokens, end, 1) == [">"]:
        end += 1
    return _Mention("", address, index, end)


def _known(
    tokens: Sequence[Token], index: int, names: frozenset[str], longest: int
) -> _Mention | None:
    """The longest known full name of two or more words, in any case."""
    for length in range(min(longest, len(tokens) - index), 1, -1):
        words = tokens[index : index + length]
        spelled = [*(token.low for token in words[:-1]), _without_s(words[-1].low)]
        if all(token.kind is TokenKind.WORD for token in words) and " ".join(spelled) in names:
            return _addressed(
                tokens, _spelled(tokens, index, index + length), index, index + length
            )
    return None


def _named(tokens: Sequence[Token], index: int) -> _Mention | None:
    end = _name_end(tokens, index)
    if end == index or (end < len(tokens) and tokens[end].low in _DOCUMENT_WORDS):
        return None
    # "Alice's assistant" is somebody else than Alice.
    if tokens[end - 1].low.endswith("'s") and end < len(tokens) and _is_unknown_word(tokens[end]):
        end += 1
    return _addressed(tokens, _spelled(tokens, index, end), index, end)


def _name_end(tokens: Sequence[Token], index: int) -> int:
    """Return where a capitalised name that starts here ends, or `index` when none does."""
    end = index
    for position in range(index, min(index + _MAX_NAME_WORDS, len(tokens))):
        token = tokens[position]
        if _is_name_word(token):
            end = position + 1
            if token.low.endswith("'s"):
                break
        elif position == index or token.low not in _PARTICLES:
            break
    # A title alone, or an initial alone, is no name.
    return (
        end if any(len(t.text) > 1 and t.low not in _TITLES for t in tokens[index:end]) else index
    )


def _is_name_word(token: Token) -> bool:
    if token.kind is not TokenKind.WORD or not token.text[0].isalpha():
        return False
    # Scripts without case count as capitals.
    return not token.text[0].islower() and _without_s(token.low) not in _NO_NAME


def _expected(tokens: Sequence[Token], index: int, found: list[_Mention]) -> _Mention | None:
    """A person that nothing but the place gives away (rule 2)."""
    if not (_person_is_due(tokens, index) or _list_goes_on(tokens, index, found)):
        return None
    start = end = index
    if tokens[end].low in _DETERMINERS:
        end += 1
    while end < min(index + _MAX_UNKNOWN_WORDS, len(tokens)) and _is_unknown_word(tokens[end]):
        end += 1
    if end == start or tokens[end - 1].low in _DETERMINERS:
        return _pronoun(tokens, index)
    return _addressed(tokens, _spelled(tokens, start, end), start, end)


def _is_unknown_word(token: Token) -> bool:
    return (
        token.kind is TokenKind.WORD
        and token.text[0].isalpha()
        and _without_s(token.low) not in _NO_NAME
    )


def _pronoun(tokens: Sequence[Token], index: int) -> _Mention | None:
    if tokens[index].low in {"me", "them", "him", "her", "us", "everyone", "everybody", "myself"}:
        return _Mention(tokens[index].text, "", index, index + 1)
    return None


def _person_is_due(tokens: Sequence[Token], index: int) -> bool:
    """True after "send ... to", and after "have", "let", "ask" when a signing verb follows."""
    before = _low(tokens[max(0, index - 12) : index])
    clause = re.split(r" [.!?\n] ", before)[-1]
    if re.search(rf"\b{_SEND}\b.* to(?: :)?$", clause) and not _NOT_A_RECIPIENT.search(clause):
        return True
    ahead = _low(tokens[index : index + 6])
    asked = re.search(r"\b(?:have|let|ask|get|make|need|want)$", before)
    return bool(asked and re.match(rf"(?:[\w'-]+ ){{1,4}}(?:to )?{_SIGN}\b", ahead))


def _list_goes_on(tokens: Sequence[Token], index: int, found: list[_Mention]) -> bool:
    """True for "bob" in "to alice and bob for signature", not for "shred" in "and shred it"."""
    if not found or index - found[-1].end > _MAX_JOINING_WORDS:
        return False
    if not _is_unknown_word(tokens[index]):
        return False
    between = [token.low for token in tokens[found[-1].end : index]]
    after = tokens[index + 1].low if index + 1 < len(tokens) else "."
    joined = bool(between) and all(word in _JOINS for word in between)
    listed = not found[-1].name[:1].isupper() or bool(found[-1].email)
    return joined and listed and after not in _NOT_AFTER_A_LIST


def _addressed(tokens: Sequence[Token], name: str, start: int, end: int) -> _Mention:
    """Join a name with the address written beside it, if there is one."""
    for opening in (["<"], ["("], ["["], ["at"], ["(", "at"], ["-"], [":"], []):
        at = end + len(opening)
        if _texts(tokens, end, len(opening)) == opening and _is_address(tokens, at):
            stop = at + 1
            if _texts(tokens, stop, 1) and tokens[stop].text in ">)]":
                stop += 1
            return _Mention(_without_s(name), _address(tokens[at]), start, stop)
    # "Alice Chen, alice@example.com": the address says whose it is, or it is another person's.
    if _texts(tokens, end, 1) == [","] and _is_address(tokens, end + 1):
        local = tokens[end + 1].low.partition("@")[0]
        if any(len(word) > 2 and word in local for word in name.casefold().split()):  # noqa: PLR2004 - an initial proves nothing
            return _Mention(name, _address(tokens[end + 1]), start, end + 2)
    bare = _without_s(name)
    if name.endswith(("s", "x", "z")) and _texts(tokens, end, 1) == ["'"]:
        return _Mention(bare, "", start, end + 1, possessive=True)
    return _Mention(bare, "", start, end, possessive=bare != name)


def _is_address(tokens: Sequence[Token], index: int) -> bool:
    return index < len(tokens) and tokens[index].kind is TokenKind.ADDRESS


def _address(token: Token) -> str:
    try:
        return check_address(token.text, field="it")
    except InvalidRequestError as error:
        raise InvalidRequestError(
            f"An address in the prompt cannot be used: {error}", field="prompt"
        ) from error


def _texts(tokens: Sequence[Token], index: int, count: int) -> list[str]:
    return [token.low for token in tokens[index : index + count]]


def _spelled(tokens: Sequence[Token], start: int, end: int) -> str:
    return " ".join(token.text for token in tokens[start:end])


def _low(tokens: Sequence[Token]) -> str:
    # Quotation marks around a name say nothing about its role.
    return " ".join(token.low for token in tokens if token.text != '"')


def _without_s(word: str) -> str:
    return word[:-2] if word.casefold().endswith("'s") else word


# --- Lists and their roles -------------------------------------------------------------------


@dataclass(slots=True)
class _Group:
    """People listed together; `start` and `end` are token positions of the whole list."""

    mentions: list[_Mention]
    start: int
    end: int
    chained: list[bool]


def _groups(tokens: Sequence[Token], mentions: list[_Mention]) -> list[_Group]:
    groups: list[_Group] = []
    for mention in mentions:
        between = tokens[groups[-1].end : mention.start] if groups else ()
        words = [token.low for token in between]
        if groups and _joined(words) and not _opens_clause(tokens, mention, words):
            groups[-1].mentions.append(mention)
            groups[-1].chained.append(any(word in _CHAIN or word.isdigit() for word in words))
            groups[-1].end = mention.end
        else:
            groups.append(_Group([mention], mention.start, mention.end, [False]))
    return groups


def _joined(words: list[str]) -> bool:
    if not all(word in _SEPARATORS for word in words):
        return False
    bullets = [i for i, word in enumerate(words) if word in {".", ")"} and words[i - 1].isdigit()]
    full_stops = words.count(".") - sum(words[i] == "." for i in bullets)
    return full_stops == 0 and (bool(bullets) or any(word in _JOINS for word in words))


def _opens_clause(tokens: Sequence[Token], mention: _Mention, words: list[str]) -> bool:
    """True for Dora in "to Alice, Dora approves": a verb for one person starts anew."""
    if not {",", ";", "\n"} & set(words):
        return False
    after = _low(tokens[mention.end : mention.end + 4])
    if ";" in words or "\n" in words:
        verbs = (_AFTER_SIGNER, _AFTER_APPROVER, _AFTER_RANK)
        return any(verb.match(after) for verb in verbs)
    return bool(re.match(r"(?:counter-?|e-?|co-?)?(?:signs|approves|goes)\b", after))


@dataclass(frozen=True, slots=True)
class _Context:
    """The words around a list, lower case, one blank between tokens.

    Attributes:
        before: From the sentence's start or the end of the list before, up to the list; without
            leading words of the list itself ("both", "then", a bullet).
        between: The same with them.
        sentence: From the sentence's start up to the list, people left out.
        after: Up to the next list or the sentence's end.
        signer_before: Whether the list before, in this or the sentence before, was of signers.
        possessive: Whether the list ends in 's.
        chained: Whether order words join the list.
    """

    before: str
    between: str
    sentence: str
    after: str
    signer_before: bool
    possessive: bool
    chained: bool


_NOT_A_RECIPIENT = re.compile(
    r"\b(?:according|thanks|related|pertaining|similar|due|belonging|references?|refers?|known|"
    r"addressed|reply|respond|next) to$"
)
_LEAD = re.compile(
    r"(?: (?:both|either|all of|each of|first|then|next|finally|lastly|also|:|-|\*|1 \.|1))+$"
)
_BEFORE_EXCLUDED = re.compile(
    r"\b(?:not|never|don't|dont)(?: (?!and\b|but\b|then\b)\w+){0,3} "
    rf"(?:{_SEND}|{_SIGN})\b[^,]*$"
    r"|\b(?:except|excluding|not|instead of|rather than)(?: (?:to|by|from|for))?$"
)
_BEFORE_COPY = re.compile(
    r"\b(?:b?cc|copy|copies|copying|notify|inform|tell|update|keep)(?: (?:to|for|with|on))?$"
)
_BEFORE_APPROVER = re.compile(
    r"\b(?:(?:approved|authori[sz]ed|approval|approvals) (?:by|from|of)"
    r"|approvers?(?: (?:is|are|should be|will be|must be))?)$"
)
_AFTER_APPROVER = re.compile(rf"{_MODAL}(?:approves?|authori[sz]es?)\b")
_AFTER_APPROVAL = re.compile(r"approvals?\b")
_BEFORE_CONTACT = re.compile(
    r"\b(?:contact|reach|call|questions? (?:to|for)|reply(?: |-)to|my (?:e-?mail|address)(?: is)?"
    r"|from|on behalf of|i am|i'm|me at|us at|regards ,?|thanks ,?)$"
)
_BEFORE_SIGNER = re.compile(
    r"\b(?:signers?|signator(?:y|ies)|recipients?|signing parties)"
    r"(?: (?:is|are|should be|will be))?(?: in order)?$"
    r"|\b(?:signing|signature|sign) order(?: (?:is|should be|will be))?$"
    rf"|\b{_SIGN}\b(?: (?!to\b)[\w'-]+){{0,6}} (?:by|from|of)$"
    rf"|\b{_SIGN}(?: (?:required|needed|requested|wanted))?(?: ,)?(?: and)?$"
    rf"|\b{_SIGN}(?: it| this)?(?: {_ORDINAL})? ,?(?: ?and)?(?: then)?$"
    rf"|\b{_SIGN}\b.* so (?:do|does|must|should|will)$"
    r"|^(?:then|next|finally|lastly|followed by)$"
)
_TO = re.compile(r"(?:^|\b)to$")
_WITH = re.compile(r"\b(?:share|shared|sharing)\b.* with$")
_BEFORE_OBJECT = re.compile(r"\b(?:send|e-?mail|mail|give|hand|forward|show)$")
_AFTER_OBJECT = re.compile(r"(?:the|this|that|these|a|an|our|my|it|attached)\b")
_AFTER_SIGNER = re.compile(
    rf"(?:and )?{_MODAL}{_SIGNS}\b"
    rf"|for (?:(?:a|an|his|her|their|the|final|wet|digital|electronic) )*{_SIGN}\b"
    rf"|{_MODAL}(?:the )?(?:{_ORDINAL} )?(?:signers?|signator(?:y|ies)|recipients?)\b"
)
_AFTER_TOO = re.compile(r"(?:too|as well|also|likewise)\b")
_AFTER_RANK = re.compile(rf"(?:goes |{_MODAL})?(?:the )?(?P<rank>{_ORDINAL})\b")
_AFTER_SIGN_RANK = re.compile(
    rf"{_MODAL}(?:{_SIGN}\b(?: it| this)?|(?:the )?) ?(?:the )?(?P<rank>{_ORDINAL})\b"
)
_REDACTING = re.compile(
    r"\b(?:redact\w*|mask\w*|remov\w+|strip\w*|scrub\w*|hid\w+|delet\w+|black(?:en)?(?: |-)?out"
    r"|blank\w*|anonymi[sz]\w*|censor\w*)\b"
)
_SIGNS_BEFORE = re.compile(rf"{_SIGN}(?: [\w'-]+){{0,5}} before$|^before$")
_SIGNS_AFTER = re.compile(rf"{_SIGN}(?: [\w'-]+){{0,5}} after$|^after$")
_SIGNING_ORDER = re.compile(r"\b(?:signing|signature|sign) order\b[^.]*$")
_CHAINED = re.compile(r"\b(?:then|after that|afterwards|next|followed)\b|\b(?:has|have) signed\b")
_IN_ORDER = re.compile(
    r"\bin (?:that|this|the (?:following|given|listed|same)) (?:order|sequence)\b|\bin sequence\b"
    r"|\bone after (?:the other|another)\b|\bsequentially\b"
)


def _with_roles(tokens: Sequence[Token], groups: list[_Group]) -> tuple[Person, ...]:
    people: list[Person] = []
    signer_before = False
    for number, group in enumerate(groups):
        context = _context(tokens, groups, number, signer_before=signer_before)
        role = _role(context)
        signer_before = role is Role.SIGNER or (signer_before and role is Role.UNPLACED)
        first = len(people)
        in_order = bool(_SIGNING_ORDER.search(context.before))
        for mention, chained in zip(group.mentions, group.chained, strict=True):
            follows = chained or (in_order and len(people) > first)
            people.append(_person(mention, role, after=len(people) - 1 if follows else None))
        if role is Role.SIGNER:
            _rank(people, first, context)
    return tuple(people)


def _person(mention: _Mention, role: Role, *, after: int | None) -> Person:
    name = mention.name
    if name:
        name = check_display_name(name, address=mention.email, field="prompt")
    return Person(name, mention.email, role, after=after)


def _context(
    tokens: Sequence[Token], groups: list[_Group], number: int, *, signer_before: bool
) -> _Context:
    group = groups[number]
    previous_end = groups[number - 1].end if number else 0
    start = _sentence_start(tokens, group.start)
    stop = groups[number + 1].start if number + 1 < len(groups) else len(tokens)
    inside = {i for other in groups[:number] for i in range(other.start, other.end)}
    sentence = [tokens[i] for i in range(start, group.start) if i not in inside]
    before = _low(tokens[max(start, previous_end, group.start - _REACH) : group.start])
    return _Context(
        before=_LEAD.sub("", f" {before}").strip(),
        between=before,
        sentence=_low(sentence[-_REACH:]),
        after=_until_sentence_end(tokens[group.end : min(stop, group.end + 12)]),
        signer_before=signer_before,
        possessive=group.mentions[-1].possessive,
        chained=any(group.chained),
    )


def _sentence_start(tokens: Sequence[Token], index: int) -> int:
    for position in range(index - 1, -1, -1):
        # A line break right after a colon starts a list, not a sentence.
        if tokens[position].low in _SENTENCE_ENDS and not _opens_list(tokens, position, index):
            return position + 1
    return 0


def _opens_list(tokens: Sequence[Token], position: int, index: int) -> bool:
    if tokens[position].low == "." and tokens[position - 1].low.isdigit():
        return position + 1 == index
    return tokens[position].low == "\n" and tokens[position - 1].low in {":", "to"}


def _until_sentence_end(tokens: Sequence[Token]) -> str:
    ends = (i for i, token in enumerate(tokens) if token.low in _SENTENCE_ENDS or token.low == ";")
    return _low(tokens[: next(ends, len(tokens))]).removeprefix(", ").removeprefix(") ")


def _role(context: _Context) -> Role:
    before = re.sub(r"(?: ?\n(?: [-*•])?)+$", "", context.before)
    before = _LEAD.sub("", " " + before).strip()
    if _BEFORE_EXCLUDED.search(before):
        return Role.EXCLUDED
    if _BEFORE_COPY.search(before):
        return Role.COPY
    if _approves(context, before):
        return Role.APPROVER
    if _signs(context, before):
        return Role.SIGNER
    if _BEFORE_CONTACT.search(before):
        return Role.MENTIONED
    return Role.REMOVED if _redacts(context) else Role.UNPLACED


def _approves(context: _Context, before: str) -> bool:
    if context.possessive:
        return bool(_AFTER_APPROVAL.match(context.after))
    return bool(_BEFORE_APPROVER.search(before) or _AFTER_APPROVER.match(context.after))


def _signs(context: _Context, before: str) -> bool:
    if context.possessive:
        return bool(re.match(rf"{_SIGN}\b", context.after))
    if _AFTER_SIGNER.match(context.after) or _BEFORE_SIGNER.search(before):
        return True
    if _SIGNS_BEFORE.search(before) or _SIGNS_AFTER.search(before) or _WITH.search(before):
        return True
    if _TO.search(before) and not _NOT_A_RECIPIENT.search(before):
        return before == "to" or bool(re.search(rf"\b{_SEND}\b", context.sentence))
    if _BEFORE_OBJECT.search(before) and _AFTER_OBJECT.match(context.after):
        return True
    joins_in = _AFTER_RANK.match(context.after) or _AFTER_TOO.match(context.after)
    # An ordered list of people that is nothing else is a signing order.
    return (context.signer_before and bool(joins_in)) or context.chained


def _redacts(context: _Context) -> bool:
    verbs = list(_REDACTING.finditer(context.sentence))
    if not verbs:
        return False
    return not re.search(rf"\b(?:{_SEND}|{_SIGN})\b", context.sentence[verbs[-1].end() :])


def _rank(people: list[Person], first: int, context: _Context) -> None:
    """Note what the words around a list of signers say about their order."""
    one = len(people) - first == 1
    ranked = _AFTER_SIGN_RANK.match(context.after)
    if ranked and one:
        people[first] = replace(people[first], rank=_RANKS[ranked["rank"]])
    led = re.search(rf"\b(?P<rank>{_ORDINAL}|finally)(?: to| ,| by)*$", context.sentence)
    if led and one and not ranked:
        people[first] = replace(people[first], rank=_RANKS[led["rank"]])
    signers = [i for i, person in enumerate(people[:first]) if person.role is Role.SIGNER]
    if not signers:
        return
    if _SIGNS_BEFORE.search(context.before):
        people[first] = replace(people[first], after=signers[-1])
    elif _SIGNS_AFTER.search(context.before):
        people[signers[-1]] = replace(people[signers[-1]], after=first)
    elif _CHAINED.search(context.between):
        people[first] = replace(people[first], after=signers[-1])
