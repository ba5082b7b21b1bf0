"""Rules of `domain/instruction.py`: sentences with their whole payloads, and their bounds."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from no_undo.domain.errors import InvalidRequestError, UnresolvedRecipientError
from no_undo.domain.instruction import (
    Contact,
    Instruction,
    parse_contacts,
    parse_instruction,
)
from no_undo.domain.pii import KINDS
from no_undo.domain.recipients import Recipient

_FILE = Path(__file__).with_name("instruction_prompts.json")
_DATA: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
_CASES: list[dict[str, Any]] = _DATA["cases"]
NOW = datetime.fromisoformat(_DATA["now"])
UNSAID: dict[str, object] = {
    "redaction": "unmentioned",
    "redact": [],
    "undetectable": [],
    "redact_values": [],
    "unresolved": [],
    "questions": [],
    "remarks": [],
    "document_source": "unspecified",
    "ordered": False,
    "approvers": [],
    "quorum": None,
    "deadline": None,
}


def _mailboxes(texts: list[str]) -> list[tuple[str, str]]:
    return [(name, email) for name, _, email in (text[:-1].partition(" <") for text in texts)]


CONTACTS = tuple(Contact(name, email) for name, email in _mailboxes(_DATA["contacts"]))


def parse(
    prompt: object,
    request: list[str] | None = None,
    *,
    contacts: bool = False,
    now: datetime = NOW,
) -> Instruction:
    recipients = [
        Recipient(name, email, order)
        for order, (name, email) in enumerate(_mailboxes(request or []), start=1)
    ]
    return parse_instruction(
        prompt, now=now, recipients=recipients, contacts=CONTACTS if contacts else ()
    )


def _shown(recipient: dict[str, Any]) -> str:
    if not recipient["resolved"]:
        return f"{recipient['name']} ?"
    return f"{recipient['name']} <{recipient['email']}> ({recipient['source']})"


@pytest.mark.parametrize("case", _CASES, ids=[case["name"] for case in _CASES])
def test_a_sentence_gives_exactly_this_payload(case: dict[str, Any]) -> None:
    def read() -> Instruction:
        return parse(case["prompt"], case.get("request"), contacts=case.get("contacts", False))

    if "refused" in case:
        with pytest.raises(InvalidRequestError) as refusal:
            read()
        assert refusal.value.field == case["refused"]
        return

    payload = read().as_json()

    expected = {**UNSAID, **case["expect"], "instructions": " ".join(case["prompt"].split())}
    recipients: Any = payload.pop("recipients")
    assert [_shown(recipient) for recipient in recipients] == expected.pop("recipients")
    assert [recipient["order"] for recipient in recipients] == [*range(1, len(recipients) + 1)]
    assert payload == expected


def test_there_are_at_least_sixty_sentences_ten_of_them_hostile() -> None:
    hostile = [case for case in _CASES if case["name"].startswith("adversarial")]

    assert len(_CASES) >= 60
    assert len(hostile) >= 10
    assert len({case["name"] for case in _CASES}) == len(_CASES)


def test_signers_are_the_resolved_recipients() -> None:
    read = parse("Send it to Bob, then Alice.", contacts=True)

    assert read.signers() == (
        Recipient("Bob Ruiz", "bob@example.com", 1, "contacts"),
        Recipient("Alice Chen", "alice@example.com", 2, "contacts"),
    )


def test_an_open_question_stops_the_signers_and_is_the_message() -> None:
    read = parse("Send it to Alice and Zoe.", contacts=True)

    with pytest.raises(UnresolvedRecipientError, match='Which address belongs to "Zoe"'):
        read.signers()


@pytest.mark.parametrize("prompt", [None, 7, "", "x" * 10_001, "Send it to Alice. " * 600])
def test_what_is_no_sentence_of_reasonable_length_is_refused(prompt: object) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        parse(prompt)

    assert refusal.value.field == "prompt"


def test_the_longest_sentence_is_read() -> None:
    prompt = "Send it to Alice." + " please" * 1426 + "."

    assert len(prompt) == 10_000
    assert [one.name for one in parse(prompt, contacts=True).recipients] == ["Alice Chen"]


def test_a_crowd_in_a_sentence_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="at most 100 people"):
        parse("Send it to " + ", ".join(f"p{n}@example.com" for n in range(101)))


def test_a_refusal_never_repeats_what_was_written() -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        parse("Send it to secret@nowhere")

    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("said", "moment"),
    [
        ("by 2026-08-20", "2026-08-20T23:59:00+02:00"),
        ("by 2026-08-20 17:30", "2026-08-20T17:30:00+02:00"),
        ("by 2026-08-20T17:30 utc", "2026-08-20T17:30:00+00:00"),
        ("before Friday", "2026-08-21T00:00:00+02:00"),
        ("by Friday at 5pm", "2026-08-21T17:00:00+02:00"),
        ("by Wednesday", "2026-08-19T23:59:00+02:00"),
        ("no later than next Wednesday at noon", "2026-08-26T12:00:00+02:00"),
        ("by tonight", "2026-08-19T23:59:00+02:00"),
        ("by close of business", "2026-08-19T17:00:00+02:00"),
        ("by the end of the week", "2026-08-23T23:59:00+02:00"),
        ("by the end of the month", "2026-08-31T23:59:00+02:00"),
        ("deadline: 3rd of September", "2026-09-03T23:59:00+02:00"),
        ("until Jan 5, 2027 at 12:15 am", "2027-01-05T00:15:00+02:00"),
        ("by 1 August", "2027-08-01T23:59:00+02:00"),
        ("within 48 hours", "2026-08-21T12:00:00+02:00"),
        ("within two weeks", "2026-09-02T12:00:00+02:00"),
        ("in the next 3 days", "2026-08-22T12:00:00+02:00"),
        ("within 5 business days", "2026-08-26T12:00:00+02:00"),
    ],
)
def test_a_deadline_is_read_in_the_caller_s_zone(said: str, moment: str) -> None:
    now = datetime(2026, 8, 19, 12, 0, tzinfo=timezone(timedelta(hours=2)))

    read = parse(f"Send it to Alice {said}.", contacts=True, now=now)

    assert read.questions == ()
    assert read.deadline == datetime.fromisoformat(moment)


@pytest.mark.parametrize(
    "said",
    [
        "by 09/10/2026",
        "by 2026-02-30",
        "by 31 June",
        "by Friday 5pm EST",
        "by 2026-08-01",
        "by today 13pm",
        "by 5 October 0000",
    ],
)
def test_a_deadline_that_cannot_be_relied_on_is_a_question(said: str) -> None:
    read = parse(f"Send it to Alice {said}.", contacts=True)

    assert read.deadline is None
    assert len(read.questions) == 1
    assert "deadline" in read.questions[0]


def test_hours_are_elapsed_time_in_utc() -> None:
    read = parse("Alice signs within 1 hour.", contacts=True, now=datetime(2026, 1, 1, tzinfo=UTC))

    assert read.deadline == datetime(2026, 1, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        [{"name": "Alice", "email": "alice@example.com"}],
        {"Alice": "alice@example.com"},
    ],
)
def test_a_contact_list_may_be_a_list_or_a_table(value: object) -> None:
    assert parse_contacts(value) == (Contact("Alice", "alice@example.com"),)


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ("alice@example.com", "contacts"),
        (["alice@example.com"], "contacts[0]"),
        ([{"name": "Alice"}], "contacts[0].email"),
        ([{"name": "Al\u202eice", "email": "alice@example.com"}], "contacts[0].name"),
        ([{"name": "Alice", "email": "a@b.example", "role": "x"}], "contacts[0]"),
        ({"Alice": "alice"}, "contacts[0].email"),
    ],
)
def test_a_bad_contact_list_is_refused_naming_the_entry(value: object, field: str) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        parse_contacts(value)

    assert refusal.value.field == field


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("emails", "email"),
        ("e-mail addresses", "email"),
        ("phone numbers", "phone"),
        ("mobile numbers", "phone"),
        ("VINs", "vin"),
        ("vehicle identification numbers", "vin"),
        ("IBANs", "iban"),
        ("bank details", "iban"),
        ("credit card numbers", "payment_card"),
        ("social security numbers", "ssn"),
        ("EINs", "ein"),
        ("passport numbers", "passport"),
    ],
)
def test_every_detectable_kind_can_be_asked_for_by_its_usual_names(said: str, kind: str) -> None:
    assert kind in KINDS
    assert parse(f"Remove all {said} and send it to Bob.", contacts=True).redact == (kind,)


def test_all_personal_data_means_every_kind_that_is_detected() -> None:
    for said in ("Redact it", "Mask the personal data", "Black out all sensitive information"):
        assert parse(f"{said}, then send it to Bob.", contacts=True).redact == KINDS
