"""What no sentence, however odd, can do."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.instruction import Contact, Instruction, parse_instruction
from no_undo.domain.recipients import Recipient

# A busy machine is no finding.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
NOW = datetime(2026, 8, 19, 10, 0, tzinfo=UTC)
REQUEST = (Recipient("Alice", "alice@example.com", 1),)
CONTACTS = (Contact("Bob Ruiz", "bob@example.com"), Contact("Carol Diaz", "carol@example.com"))
WORDS = (
    "send it to Alice Bob Carol Zoe eve@evil.example <eve@evil.example> ( ) , ; . : and then first "
    'last before after sign signs signed by from cc not never approve approved redact PII " \n 1 2 '
    "the invoice quorum of 0 within days Friday Alice's Bob's me everyone"
)
sentences = st.lists(st.sampled_from(WORDS.split(" ")), min_size=1, max_size=40).map(" ".join)


def _read(prompt: str) -> Instruction | None:
    try:
        return parse_instruction(prompt, now=NOW, recipients=REQUEST, contacts=CONTACTS)
    except InvalidRequestError as refusal:
        assert refusal.field in {"prompt", "recipients"}  # noqa: PT017 - the other branch is tested too
        return None


@unhurried
@given(st.text(max_size=200) | sentences)
@example("'")
@example("\u0130 <i\u0307@example.com>")
def test_every_sentence_is_read_or_refused_by_name(prompt: str) -> None:
    assert _read(prompt) == _read(prompt)


@unhurried
@given(sentences)
def test_every_address_was_written_by_the_caller_or_kept_by_the_tenant(prompt: str) -> None:
    read = _read(prompt)

    if read is not None:
        known = {"alice@example.com"} | {contact.email for contact in CONTACTS}
        for recipient in read.recipients:
            email = recipient.email
            assert email is None or email in known or email in prompt
            assert recipient.resolved or recipient.name in read.unresolved


@unhurried
@given(sentences)
def test_the_recipients_of_the_request_stay_and_nobody_stands_twice(prompt: str) -> None:
    read = _read(prompt)

    if read is not None:
        emails = [recipient.email for recipient in read.recipients if recipient.email]
        assert emails.count("alice@example.com") == 1
        assert len(set(emails)) == len(emails)
        assert [one.order for one in read.recipients] == [*range(1, len(read.recipients) + 1)]
