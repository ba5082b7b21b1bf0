"""The draft: one that counts, found again after a crash (design 8, Drafts)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from no_undo.domain.audit_chain import AuditEvent
from no_undo.domain.errors import (
    FenceHeldError,
    InDoubtError,
    TransientError,
    VendorContractError,
    VendorRefusedError,
    WithdrawnError,
)
from no_undo.domain.request import Stage
from no_undo.lab.fake_esign import Behaviour
from no_undo.lab.pipeline import ProcessDiedError
from no_undo.lab.world import RECIPIENTS, World
from no_undo.ports import Change, EnvelopeDraft, Save
from no_undo.use_cases.create_draft import MOST_READ, envelope_name
from tests.fakes.worlds import At, a_world, approved, details, failing, request_of


def a_submitted_world(at: At | None = None) -> World:
    world = a_world(watcher=at)
    world.submit(start=False)
    return world


def drafts(world: World) -> list[str]:
    today = world.clock.now().date()
    return list(world.esign.find_envelopes(today, today))


def test_the_draft_carries_the_plan_id_in_its_name_and_the_recipients_in_order() -> None:
    world = a_submitted_world()

    world.create_draft("r1")

    held = world.esign.truth("1001")
    assert held.name == "Freight invoice [r1#1]"
    assert [(one.email, one.order) for one in held.recipients or ()] == [
        (one.email, one.order) for one in RECIPIENTS
    ]
    assert request_of(world).envelope_id == "1001"
    assert request_of(world).stage is Stage.APPROVE


def test_a_repeated_step_keeps_its_draft() -> None:
    world = a_submitted_world()
    world.create_draft("r1")

    world.create_draft("r1")

    assert drafts(world) == ["1001"]


def test_a_draft_whose_answer_was_lost_is_found_and_not_made_again() -> None:
    world = a_submitted_world()
    world.esign.lost_create_replies = 1
    with pytest.raises(InDoubtError):
        world.create_draft("r1")

    world.create_draft("r1")

    assert drafts(world) == ["1001"]
    assert request_of(world).envelope_id == "1001"


@pytest.mark.parametrize("call", ["esign.create_draft", "store.commit draft.created"])
def test_p11_a_crash_around_the_draft_leaves_one_that_is_found(call: str) -> None:
    at = At()
    world = a_submitted_world(at)
    hook = at.after if call.startswith("esign") else at.before
    hook(call, failing(ProcessDiedError()))
    with pytest.raises(ProcessDiedError):
        world.create_draft("r1")

    world.create_draft("r1")

    assert drafts(world) == ["1001"]
    assert request_of(world).envelope_id == "1001"


def test_a_crash_before_the_draft_leaves_none_and_the_next_run_makes_it() -> None:
    at = At()
    world = a_submitted_world(at)
    at.before("esign.create_draft", failing(ProcessDiedError()))
    with pytest.raises(ProcessDiedError):
        world.create_draft("r1")

    world.create_draft("r1")

    assert drafts(world) == ["1001"]


def test_a_foreign_draft_that_cannot_be_read_is_passed_over() -> None:
    at = At()
    world = a_submitted_world(at)
    foreign = EnvelopeDraft("Theirs", "theirs.pdf", RECIPIENTS)
    world.esign.create_draft(foreign, b"%PDF-1.7")
    world.esign.lost_create_replies = 1
    with pytest.raises(InDoubtError):
        world.create_draft("r1")
    at.before("esign.read_envelope", failing(VendorContractError("no folder")))

    world.create_draft("r1")

    assert request_of(world).envelope_id == "1002"
    assert len(drafts(world)) == 2


def test_our_draft_is_found_among_many_newer_and_older_ones() -> None:
    at = At()
    world = a_submitted_world(at)
    foreign = EnvelopeDraft("Theirs", "theirs.pdf", RECIPIENTS)
    for _ in range(MOST_READ):
        world.esign.create_draft(foreign, b"%PDF-1.7")
    world.esign.lost_create_replies = 1
    with pytest.raises(InDoubtError):
        world.create_draft("r1")
    for _ in range(MOST_READ - 1):
        world.esign.create_draft(foreign, b"%PDF-1.7")
    at.seen.clear()

    world.create_draft("r1")

    assert request_of(world).envelope_id == str(1001 + MOST_READ)
    assert at.seen.count("esign.read_envelope") == MOST_READ


def test_of_two_own_drafts_the_lowest_is_used_and_the_other_recorded_as_abandoned() -> None:
    world = a_submitted_world()
    world.esign.lost_create_replies = 1
    with pytest.raises(InDoubtError):
        world.create_draft("r1")
    # The slow first call lands as well, after the second run has looked.
    name = envelope_name(request_of(world))
    world.esign.create_draft(EnvelopeDraft(name, "Freight invoice.pdf", RECIPIENTS), b"%PDF")

    world.create_draft("r1")

    assert request_of(world).envelope_id == "1001"
    assert request_of(world).abandoned_drafts == ("1002",)
    assert details(world, "draft.created")[0]["abandoned"] == ["1002"]


def test_lowest_means_by_number_and_not_by_text() -> None:
    world = a_submitted_world()
    world.esign.lost_create_replies = 1
    with pytest.raises(InDoubtError):
        world.create_draft("r1")
    name = envelope_name(request_of(world))
    world.esign.add_draft("99999", EnvelopeDraft(name, "x.pdf", RECIPIENTS))
    world.esign.add_draft("101", EnvelopeDraft(name, "x.pdf", RECIPIENTS))

    world.create_draft("r1")

    assert request_of(world).envelope_id == "101"
    assert request_of(world).abandoned_drafts == ("1001", "99999")


def test_two_overlapping_runs_agree_on_one_draft_and_abandon_the_other() -> None:
    at = At()
    world = a_submitted_world(at)
    # The first run has looked and not yet created when a second one starts and finishes.
    at.before("esign.create_draft", lambda: world.create_draft("r1"))

    world.create_draft("r1")

    request = request_of(world)
    assert request.envelope_id == "1001"
    assert request.abandoned_drafts == ("1002",)


def test_the_draft_of_somebody_else_is_not_taken() -> None:
    world = a_submitted_world()
    world.esign.lost_create_replies = 1
    world.esign.add_draft("7", EnvelopeDraft("Freight invoice [r9#1]", "x.pdf", RECIPIENTS))
    with pytest.raises(InDoubtError):
        world.create_draft("r1")

    world.create_draft("r1")

    assert request_of(world).envelope_id != "7"


def test_a_draft_recorded_as_abandoned_is_not_used_again() -> None:
    world = a_submitted_world()
    world.esign.lost_create_replies = 1
    with pytest.raises(InDoubtError):
        world.create_draft("r1")
    abandoned = replace(request_of(world), abandoned_drafts=("1001",))
    event = AuditEvent("test.changed", "test", world.clock.now())
    world.store.commit(Change("r1", event, (Save(abandoned),)))

    with pytest.raises(TransientError):
        world.create_draft("r1")


def test_a_withdrawal_that_commits_first_stops_the_draft_from_counting() -> None:
    at = At()
    world = a_submitted_world(at)
    at.before("store.commit draft.created", lambda: world.withdraw("r1"))

    with pytest.raises(WithdrawnError):
        world.create_draft("r1")

    assert request_of(world).envelope_id == ""


def test_p2_no_draft_is_made_while_another_plan_holds_the_effect() -> None:
    world = a_world(Behaviour.REQUEST_LOST)
    world.send(approved(world, "r1"))
    world.submit("r2", start=False)

    with pytest.raises(FenceHeldError) as caught:
        world.create_draft("r2")

    assert caught.value.holder_plan_id == "r1#1"
    assert drafts(world) == ["1001"]


def test_p2_no_draft_is_made_for_what_was_sent_unless_the_request_says_so() -> None:
    world = a_world()
    world.send(approved(world, "r1"))
    world.submit("r2", start=False)
    world.submit("r3", start=False, repeat_of="r1#1")

    with pytest.raises(FenceHeldError):
        world.create_draft("r2")
    world.create_draft("r3")

    assert request_of(world, "r3").envelope_id == "1002"


def test_a_vendors_refusal_goes_to_the_machine() -> None:
    at = At()
    world = a_submitted_world(at)
    at.before("esign.create_draft", failing(VendorRefusedError("no credits")))

    with pytest.raises(VendorRefusedError):
        world.create_draft("r1")
