"""Common ways to send once, in the crash lab; and the document that shows them beside No Undo."""

from __future__ import annotations

from datetime import timedelta

import pytest

from no_undo.lab.crash_lab import Killer, Recorder, Setting, Takes, When, deaths, run
from no_undo.lab.fake_esign import Behaviour, SecondSend
from no_undo.lab.fixed_clock import EPOCH
from tests.crash.document import DOCUMENT, block, matrix, with_block
from tests.crash.peers import (
    OURS,
    PEERS,
    End,
    RowsPersistence,
    Site,
    Tally,
    Word,
    peer_end,
    powertools_idempotent,
    tables,
    tallies,
)

LATER = EPOCH + timedelta(hours=1)


def at(behaviour: Behaviour, second_send: SecondSend = SecondSend.MAILS_AGAIN) -> Setting:
    return Setting(behaviour, second_send, automatic=True)


def died(way: str, call: str, when: When, setting: Setting) -> End:
    """Let one program die at its first such call."""
    recorder = Recorder()
    peer_end(PEERS[way], setting, recorder, None)
    death = next(
        one
        for one in deaths(recorder.calls)
        if (one.call, one.when, one.takes) == (call, when, Takes.NOTHING)
    )
    return peer_end(PEERS[way], setting, Killer(death), death)


def test_the_document_shows_what_the_peers_do_today() -> None:
    """Stale? `make crash-doc` measures again."""
    found = tallies()

    assert block(DOCUMENT.read_text(encoding="utf-8"), "peers") == tables(found)
    ours = found["No Undo, `RetryAfterRelease=operator`"].values()
    assert not any(one.duplicates or one.lost or one.false_claims for one in ours)


@pytest.mark.long
def test_the_document_shows_what_the_crash_lab_counts_today() -> None:
    assert block(DOCUMENT.read_text(encoding="utf-8"), "matrix") == matrix(run())


@pytest.mark.parametrize("way", PEERS)
def test_every_way_sends_once_where_nothing_goes_wrong(way: str) -> None:
    end = peer_end(PEERS[way], at(Behaviour.NORMAL), Recorder(), None)

    assert end == End((EPOCH,), Word.SENT, EPOCH)


@pytest.mark.parametrize("way", PEERS)
def test_a_claimed_success_is_believed_by_every_way_but_ours(way: str) -> None:
    end = peer_end(PEERS[way], at(Behaviour.CLAIMED), Recorder(), None)

    assert end.lost
    assert end.false_claim


@pytest.mark.parametrize("way", ["Powertools `@idempotent`", "call, then mark"])
def test_a_death_between_call_and_record_sends_again(way: str) -> None:
    end = died(way, "esign.send_draft", When.AFTER, at(Behaviour.NORMAL))

    assert end.duplicate


def test_a_death_between_mark_and_call_loses_the_send() -> None:
    end = died("mark, then call", "store.commit", When.AFTER, at(Behaviour.NORMAL))

    assert end.lost


def test_powertools_forgets_its_record_when_the_reply_was_lost_and_sends_again() -> None:
    end = peer_end(powertools_idempotent, at(Behaviour.REPLY_LOST), Recorder(), None)

    assert end.duplicate
    assert end.word is Word.SENT


def test_at_a_vendor_that_refuses_a_second_send_powertools_calls_a_sent_envelope_failed() -> None:
    setting = at(Behaviour.REPLY_LOST, SecondSend.REFUSES)

    end = peer_end(powertools_idempotent, setting, Recorder(), None)

    assert not end.duplicate
    assert end.word is Word.NOT_SENT
    assert end.false_claim


def test_powertools_is_the_library_and_keeps_its_records_as_on_dynamodb() -> None:
    """A finished record answers a repeated call; a lock refuses until the invocation is over."""
    site = Site(powertools_idempotent, at(Behaviour.NORMAL), Recorder())
    send = powertools_idempotent(site)
    assert send({"requestId": "r1"}) == send({"requestId": "r1"}) == {"sent": True}
    assert len(site.vendor.sends) == 1
    assert RowsPersistence.__mro__[1].__module__.startswith("aws_lambda_powertools.")

    site.clock.advance(timedelta(hours=1, seconds=1))  # its records expire after an hour
    send({"requestId": "r1"})
    assert len(site.vendor.sends) == 2


@pytest.mark.parametrize(
    ("end", "duplicate", "lost", "false_claim"),
    [
        (End((EPOCH,), Word.SENT, EPOCH), False, False, False),
        (End((EPOCH, LATER), Word.SENT, LATER), True, False, False),
        (End((), Word.SENT, EPOCH), False, True, True),
        (End((LATER,), Word.SENT, EPOCH), False, False, True),
        (End((), Word.NOT_SENT), False, False, False),
        (End((EPOCH,), Word.NOT_SENT), False, False, True),
        (End((EPOCH,), Word.OPEN), False, False, False),
    ],
)
def test_what_counts_as_bad(end: End, duplicate: bool, lost: bool, false_claim: bool) -> None:  # noqa: FBT001
    assert (end.duplicate, end.lost, end.false_claim) == (duplicate, lost, false_claim)


def test_a_good_end_is_counted_once_and_a_bad_one_never_as_good() -> None:
    found = Tally()
    for effects, word, said_at in (
        ((EPOCH,), Word.SENT, EPOCH),
        ((), Word.NOT_SENT, None),
        ((EPOCH, LATER), Word.SENT, LATER),
        ((), Word.SENT, EPOCH),
    ):
        found.count(End(effects, word, said_at, asked=word is Word.NOT_SENT))

    assert found == Tally(lives=4, once=1, unsent=1, asked=1, duplicates=1, lost=1, false_claims=1)


def test_a_block_of_the_document_is_replaced_and_a_missing_one_is_named() -> None:
    text = "before\n<!-- measured: a -->\n\nold\n\n<!-- end: a -->\nafter\n"

    assert block(with_block(text, "a", "new"), "a") == "new"
    assert with_block(text, "a", "old") == text
    with pytest.raises(ValueError, match="no block b"):
        block(text, "b")


def test_only_ours_is_run_under_two_policies() -> None:
    assert set(OURS.values()) == {True, False}
    assert not set(OURS) & set(PEERS)
