"""The caller's sentence as a typed payload: who signs, in which order, what is removed, until when.

Rules:
1. The only inputs are the sentence, the recipients given with the request, the contact list and
   the time. The document's text is none of them, so no document can add a recipient.
2. Nothing in a sentence can approve, skip approval or send: the payload has no place to say so.
3. A name resolves among the request's recipients first, then among the people the sentence
   itself gives an address, then in the contact list. One match resolves it. None or several
   leave it unresolved, with the question to answer; so does a name that has one address in the
   sentence and another in the request.
4. Recipients given with the request are signers, also when the sentence does not name them.
   They stand in the request's order unless the sentence states an order, whose people then come
   first.
5. One person is listed once, however often and however spelled.
6. What was read but cannot be done (a copy to somebody) is a remark, never silently dropped.
7. The same inputs give the same payload.

The grammar lives in `sentence_people`, `sentence_wishes` and `sentence_deadline`.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from no_undo.domain.addresses import check_address, check_display_name, person_key
from no_undo.domain.errors import InvalidRequestError, UnresolvedRecipientError
from no_undo.domain.json_object import JsonObject
from no_undo.domain.recipients import MAX_RECIPIENTS, Recipient, check_recipients
from no_undo.domain.sentence import readable_prompt
from no_undo.domain.sentence_deadline import deadline_in
from no_undo.domain.sentence_people import Person, Role, people_in, states_order
from no_undo.domain.sentence_wishes import (
    DocumentSource,
    Redaction,
    document_source_in,
    folder_name_in,
    quorum_in,
    redaction_wish,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

MAX_CONTACTS = 10_000

_TITLES = frozenset({"mr", "mrs", "ms", "dr", "prof", "the", "our", "my", "their", "your"})
_LAST = 1_000_000


@dataclass(frozen=True, slots=True)
class Contact:
    """One entry of the contact list; several may have one name."""

    name: str
    email: str


@dataclass(frozen=True, slots=True)
class ParsedRecipient:
    """One signer as far as the sentence tells.

    Attributes:
        name: As written; the address where no name is known.
        email: Checked address, None while unresolved.
        order: 1-based signing order.
        source: Where the address came from: `request`, `instruction`, `contacts`, or empty
            while unresolved.
    """

    name: str
    email: str | None
    order: int
    source: str

    @property
    def resolved(self) -> bool:
        """True when the address is known."""
        return self.email is not None


@dataclass(frozen=True, slots=True)
class Instruction:
    """What a sentence says.

    Attributes:
        folder_name: The envelope's name, at most 100 characters.
        recipients: Signers in signing order, unresolved ones included.
        instructions: The sentence on one line, as the approver reads it.
        redaction: Whether redaction was asked for, declined, or not mentioned.
        redact: Kinds to remove (`pii.KINDS`).
        undetectable: Kinds asked for that no detector finds, such as `person_name`: list values.
        redact_values: Names and addresses the sentence itself asks to remove.
        unresolved: Names without one address, in reading order.
        questions: What the caller has to answer before anything may be drafted; empty when clear.
        remarks: What was read and is not acted on, for the card.
        document_source: What the sentence says the document is made from.
        ordered: True when the sentence states a signing order.
        approvers: Addresses the sentence names as approvers; the policy decides about them.
        quorum: How many approvals the sentence asks for, None when it does not say.
        deadline: Aware moment, None when the sentence names none.
    """

    folder_name: str
    recipients: tuple[ParsedRecipient, ...]
    instructions: str
    redaction: Redaction
    redact: tuple[str, ...]
    undetectable: tuple[str, ...]
    redact_values: tuple[str, ...]
    unresolved: tuple[str, ...]
    questions: tuple[str, ...]
    remarks: tuple[str, ...]
    document_source: DocumentSource
    ordered: bool
    approvers: tuple[str, ...]
    quorum: int | None
    deadline: datetime | None

    def signers(self) -> tuple[Recipient, ...]:
        """Return the recipients, every one resolved and checked.

        Raises:
            UnresolvedRecipientError: Something has to be answered first; the message asks it.
            InvalidRequestError: The recipients could not be sent to (`recipients.py`).
        """
        if self.questions:
            raise UnresolvedRecipientError(" ".join(self.questions))
        return check_recipients(
            [
                Recipient(person.name, person.email, person.order, person.source)
                for person in self.recipients
                if person.email is not None
            ]
        )

    def as_json(self) -> dict[str, object]:
        """Return the payload in the shape `no-undo parse` prints."""
        return {
            "folder_name": self.folder_name,
            "recipients": [
                {
                    "name": person.name,
                    "email": person.email,
                    "resolved": person.resolved,
                    "order": person.order,
                    "source": person.source,
                }
                for person in self.recipients
            ],
            "instructions": self.instructions,
            "redaction": self.redaction.value,
            "redact": list(self.redact),
            "undetectable": list(self.undetectable),
            "redact_values": list(self.redact_values),
            "unresolved": list(self.unresolved),
            "questions": list(self.questions),
            "remarks": list(self.remarks),
            "document_source": self.document_source.value,
            "ordered": self.ordered,
            "approvers": list(self.approvers),
            "quorum": self.quorum,
            "deadline": self.deadline.isoformat() if self.deadline else None,
        }


def parse_instruction(
    prompt: object,
    *,
    now: datetime,
    recipients: Sequence[Recipient] = (),
    contacts: Sequence[Contact] = (),
) -> Instruction:
    """Read a caller's sentence.

    Args:
        prompt: The sentence, 1 to 10,000 characters.
        now: Aware; relative deadlines count from it, weekdays are those of its zone.
        recipients: Given with the request, names and addresses checked.
        contacts: The tenant's contact list, checked (`parse_contacts`).

    Raises:
        InvalidRequestError: The sentence is empty, too long or hides something, an address in it
            is malformed or imitates another, or it names too many people; `field` is `prompt`.
    """
    text = readable_prompt(prompt)
    book = _AddressBook(recipients, contacts)
    people = people_in(text, book.names)
    book = _AddressBook(recipients, contacts, people)
    cast = _Cast.of(people, book, ordered=states_order(text))
    wish = redaction_wish(text)
    deadline = deadline_in(text, now)
    asked = (wish.question, deadline.question, *cast.questions)
    return Instruction(
        folder_name=folder_name_in(text),
        recipients=cast.signers,
        instructions=" ".join(text.split()),
        redaction=wish.redaction,
        redact=wish.kinds,
        undetectable=wish.undetectable,
        redact_values=cast.removed,
        unresolved=cast.unresolved,
        questions=tuple(question for question in asked if question),
        remarks=cast.remarks,
        document_source=document_source_in(text),
        ordered=cast.ordered,
        approvers=cast.approvers,
        quorum=quorum_in(text),
        deadline=deadline.moment,
    )


_CONTACT_KEYS = frozenset({"name", "email"})


def parse_contacts(value: object, *, field: str = "contacts") -> tuple[Contact, ...]:
    """Read a contact list: a list of `{"name", "email"}`, or an object of name to address.

    Raises:
        InvalidRequestError: Another shape, or a bad name or address; `field` names the entry.
    """
    node = JsonObject({field: value}, "")
    if isinstance(value, list):
        entries = [
            JsonObject.of(entry, f"{field}[{index}]", _CONTACT_KEYS).values
            for index, entry in enumerate(node.items(field, most=MAX_CONTACTS))
        ]
    else:
        entries = [{"name": name, "email": email} for name, email in node.table(field).items()]
    return tuple(_contact(entry, f"{field}[{index}]") for index, entry in enumerate(entries))


def _contact(entry: Mapping[str, object], path: str) -> Contact:
    email = check_address(entry.get("email"), field=f"{path}.email")
    return Contact(
        check_display_name(entry.get("name"), address=email, field=f"{path}.name"), email
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """One person an address book knows."""

    name: str
    email: str
    source: str


class _AddressBook:
    """Who the request, the sentence and the contact list know (rule 3)."""

    def __init__(
        self,
        recipients: Sequence[Recipient],
        contacts: Sequence[Contact],
        people: Sequence[Person] = (),
    ) -> None:
        self.requested = tuple(
            _Found(one.name, one.email, one.source)
            for one in sorted(recipients, key=lambda recipient: recipient.order)
        )
        self._introduced = tuple(
            _Found(one.name or _local_words(one.email), one.email, "instruction")
            for one in people
            if one.email
        )
        self._contacts = tuple(_Found(one.name, one.email, "contacts") for one in contacts)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(_folded(one.name) for one in (*self.requested, *self._contacts))

    def by_name(self, name: str) -> tuple[_Found, ...]:
        """Return the people of this name, from the first of the three that knows any."""
        return (
            _matches(name, self.requested)
            or _matches(name, self._introduced)
            or _matches(name, self._contacts)
        )

    def by_address(self, email: str) -> _Found | None:
        key = person_key(email)
        everyone = (*self.requested, *self._contacts)
        return next((one for one in everyone if person_key(one.email) == key), None)


def _local_words(email: str) -> str:
    return " ".join(re.split(r"[._+-]+", email.partition("@")[0]))


def _matches(name: str, people: Iterable[_Found]) -> tuple[_Found, ...]:
    """Return distinct people with this full name, or failing that with these words in theirs."""
    wanted = _folded(name)
    everyone = tuple(people)
    full = [one for one in everyone if _folded(one.name) == wanted]
    words = set(wanted.split())
    part = [one for one in everyone if words and words <= set(_folded(one.name).split())]
    distinct = {person_key(one.email): one for one in reversed(full or part)}
    return tuple(distinct.values())


def _folded(name: str) -> str:
    words = unicodedata.normalize("NFKC", name).casefold().replace(",", " ").split()
    return " ".join(word for word in words if word.rstrip(".") not in _TITLES) or name.casefold()


@dataclass(frozen=True, slots=True)
class _Signer:
    """A signer while the order is being worked out; `email` is empty while unresolved."""

    name: str
    email: str
    source: str
    rank: int = 0

    @property
    def key(self) -> str:
        return person_key(self.email) if self.email else f"name {_folded(self.name)}"


@dataclass(frozen=True, slots=True)
class _Cast:
    """Everybody in the sentence, by what they are there for."""

    signers: tuple[ParsedRecipient, ...]
    ordered: bool
    approvers: tuple[str, ...]
    removed: tuple[str, ...]
    unresolved: tuple[str, ...]
    questions: tuple[str, ...]
    remarks: tuple[str, ...]

    @classmethod
    def of(cls, people: Sequence[Person], book: _AddressBook, *, ordered: bool) -> _Cast:
        people = _with_lone_addresses(people)
        ordered = ordered or any(
            one.role is Role.SIGNER and (one.rank or one.after is not None) for one in people
        )
        questions: dict[str, str] = {}
        signers = _merged(_signers(people, book, questions), book, ordered=ordered)
        _ask_about_the_excluded(people, book, signers, questions)
        approvers = _approvers(people, book, questions)
        if not signers:
            questions[""] = "Who should sign? Name at least one person."
        return cls(
            signers=tuple(
                ParsedRecipient(one.name, one.email or None, order, one.source)
                for order, one in enumerate(signers, start=1)
            ),
            ordered=ordered,
            approvers=approvers,
            removed=tuple(
                dict.fromkeys(one.name or one.email for one in people if one.role is Role.REMOVED)
            ),
            unresolved=tuple(name for name in questions if name),
            questions=tuple(questions.values()),
            remarks=_remarks(people),
        )


def _with_lone_addresses(people: Sequence[Person]) -> tuple[Person, ...]:
    """Take unplaced addresses for signers when the sentence names no signer otherwise."""
    if any(one.role is Role.SIGNER for one in people):
        return tuple(people)
    return tuple(
        replace(one, role=Role.SIGNER) if one.role is Role.UNPLACED and one.email else one
        for one in people
    )


def _signers(
    people: Sequence[Person], book: _AddressBook, questions: dict[str, str]
) -> list[_Signer]:
    """Return the sentence's signers in the order it states, and ask what is unclear."""
    named: dict[str, _Signer] = {}
    for person in people:
        if person.role is Role.SIGNER:
            signer = _resolved(person, book, questions)
            known = named.get(signer.key)
            named[signer.key] = replace(known or signer, rank=person.rank or (known or signer).rank)
        elif person.role is Role.UNPLACED and person.email:
            questions[person.email] = f"What is {person.email} in the instruction for?"
    return _after_one_another(_ranked([*named.values()]), people, book)


def _resolved(person: Person, book: _AddressBook, questions: dict[str, str]) -> _Signer:
    matches = book.by_name(person.name) if person.name else ()
    if person.email:
        return _written_out(person, matches, book, questions)
    if len(matches) == 1:
        known = book.by_address(matches[0].email)
        return _Signer(known.name if known else person.name, matches[0].email, matches[0].source)
    questions[person.name] = (
        f'Which "{person.name}" is meant? {len(matches)} people have this name.'
        if matches
        else f'Which address belongs to "{person.name}"?'
    )
    return _Signer(person.name, "", "")


def _written_out(
    person: Person, matches: Sequence[_Found], book: _AddressBook, questions: dict[str, str]
) -> _Signer:
    """An address in the sentence; the request may contradict it, the contact list may not."""
    requested = [one for one in matches if one in book.requested]
    if requested and person_key(person.email) not in {person_key(one.email) for one in requested}:
        questions[person.name] = (
            f'Which address belongs to "{person.name}"? The instruction and the request differ.'
        )
        return _Signer(person.name, "", "")
    known = book.by_address(person.email)
    name = person.name or (known.name if known else person.email)
    source = "request" if known in book.requested else "instruction"
    return _Signer(name, person.email, source)


def _ranked(signers: list[_Signer]) -> list[_Signer]:
    """Put people with a stated place there; the others keep their reading order."""
    line = [one for one in signers if one.rank == 0]
    placed = [one for one in signers if one.rank != 0]
    for one in sorted(placed, key=lambda signer: signer.rank if signer.rank > 0 else _LAST):
        line.insert(one.rank - 1 if one.rank > 0 else len(line), one)
    return line


def _after_one_another(
    line: list[_Signer], people: Sequence[Person], book: _AddressBook
) -> list[_Signer]:
    for person in people:
        if person.after is None:
            continue
        later = _place(line, person, book)
        earlier = _place(line, people[person.after], book)
        if later is not None and earlier is not None and later < earlier:
            line.insert(earlier, line.pop(later))
    return line


def _place(line: list[_Signer], person: Person, book: _AddressBook) -> int | None:
    key = _resolved(person, book, {}).key
    return next((index for index, one in enumerate(line) if one.key == key), None)


def _merged(line: list[_Signer], book: _AddressBook, *, ordered: bool) -> list[_Signer]:
    """Join the sentence's signers with the request's (rule 4)."""
    by_key = {one.key: one for one in line}
    requested = {
        signer.key: by_key.get(signer.key, signer)
        for signer in (_Signer(one.name, one.email, one.source) for one in book.requested)
    }
    first, second = (by_key, requested) if ordered else (requested, by_key)
    merged = [*{**first, **second}.values()]
    if len(merged) > MAX_RECIPIENTS:
        raise InvalidRequestError(
            f"recipients must have at most {MAX_RECIPIENTS} entries, those in the prompt included.",
            field="recipients",
        )
    return merged


def _ask_about_the_excluded(
    people: Sequence[Person],
    book: _AddressBook,
    signers: Sequence[_Signer],
    questions: dict[str, str],
) -> None:
    keys = {one.key for one in signers}
    for person in people:
        if person.role is Role.EXCLUDED and _resolved(person, book, {}).key in keys:
            shown = person.name or person.email
            questions[shown] = f"Should {shown} sign? The instruction says both."


def _approvers(
    people: Sequence[Person], book: _AddressBook, questions: dict[str, str]
) -> tuple[str, ...]:
    found = [
        _resolved(person, book, questions) for person in people if person.role is Role.APPROVER
    ]
    return tuple(dict.fromkeys(one.email for one in found if one.email))


def _remarks(people: Sequence[Person]) -> tuple[str, ...]:
    if any(one.role is Role.COPY for one in people):
        return ("The instruction asks for copies to people who do not sign; none are sent.",)
    return ()
