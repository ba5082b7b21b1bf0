"""Every ending in one place; after the effect none is called failed. Withdrawals and archiving."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from no_undo.domain.errors import (
    AlreadyExecutedError,
    AlreadyExecutingError,
    ConflictError,
    NotFoundError,
    PlanUnknownError,
    StaleError,
    TamperedError,
    TransientError,
    VendorRefusedError,
)
from no_undo.domain.plan import PlanState
from no_undo.domain.request import RequestState, Stage
from no_undo.lab.fake_esign import Behaviour
from no_undo.lab.world import CALLER, REQUESTER, SETTINGS, TENANT, World
from no_undo.use_cases.close_request import Closing
from no_undo.use_cases.gate import GateSettings
from no_undo.use_cases.withdraw_request import withdraw_request
from tests.fakes.worlds import (
    OPERATOR_DECIDES,
    At,
    a_world,
    approved,
    change_plan,
    details,
    failing,
    in_doubt,
    kinds,
    plan_of,
    proposed,
    released,
    request_of,
)


def sent(world: World) -> str:
    plan_id = approved(world)
    world.send(plan_id)
    return plan_id


def signed(world: World) -> str:
    plan_id = sent(world)
    signs_after = world.esign.signs_after
    assert signs_after is not None
    world.clock.advance(signs_after)
    return plan_id


@pytest.mark.parametrize(
    ("outcome", "request_state", "plan_state"),
    [
        ("failed", RequestState.FAILED, PlanState.ABANDONED),
        ("withdrawn", RequestState.WITHDRAWN, PlanState.WITHDRAWN),
        ("abandoned", RequestState.FAILED, PlanState.ABANDONED),
        ("expired", RequestState.EXPIRED, PlanState.ABANDONED),
        ("something new", RequestState.FAILED, PlanState.ABANDONED),
    ],
)
def test_an_ending_before_the_effect_closes_the_plan_and_abandons_the_draft(
    outcome: str, request_state: RequestState, plan_state: PlanState
) -> None:
    world = a_world()
    approved(world)

    state = world.close("r1", Closing(outcome, "Send Envelope", "some_code", "Because."))

    request = request_of(world)
    assert state is request.state is request_state
    assert plan_of(world).state is plan_state
    assert request.abandoned_drafts == ("1001",)
    assert request.stage is Stage.CLOSED
    assert request.check_at is None
    assert request.ending is not None
    assert (request.ending.stage, request.ending.code) == ("Send Envelope", "some_code")


def test_a_request_without_a_plan_ends_too() -> None:
    world = a_world()
    world.submit(start=False)

    assert world.close("r1", Closing("failed", "Create Draft")) is RequestState.FAILED
    assert details(world, "request.closed")[0]["abandonedDrafts"] == []


def test_p4_a_request_in_doubt_cannot_be_closed() -> None:
    world = a_world(Behaviour.REQUEST_LOST)
    in_doubt(world)

    with pytest.raises(AlreadyExecutingError):
        world.close("r1", Closing("failed", "Send Envelope"))

    assert request_of(world).ending is None


@pytest.mark.parametrize("outcome", ["failed", "rejected", "withdrawn", "abandoned", "odd"])
def test_after_the_effect_no_ending_is_called_failed(outcome: str) -> None:
    world = a_world()
    sent(world)

    with pytest.raises(AlreadyExecutedError):
        world.close("r1", Closing(outcome, "Send Envelope"))

    assert request_of(world).ending is None


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        ("declined", RequestState.DECLINED),
        ("cancelled", RequestState.CANCELLED),
        ("expired", RequestState.SIGNATURE_EXPIRED),
    ],
)
def test_an_envelope_that_ended_unsigned_ends_as_what_it_is(
    outcome: str, expected: RequestState
) -> None:
    world = a_world()
    sent(world)

    assert world.close("r1", Closing(outcome, "Await Signature")) is expected
    assert plan_of(world).state is PlanState.EXECUTED
    assert request_of(world).abandoned_drafts == ()


def test_an_archive_that_failed_stays_open_and_due() -> None:
    world = a_world()
    signed(world)

    state = world.close("r1", Closing("not_archived", "Archive Signed Document"))

    assert state is RequestState.SIGNED_NOT_ARCHIVED
    assert request_of(world).stage is Stage.APPROVE
    assert request_of(world).check_at == world.clock.now() + world.settings.driver_interval


def test_an_ending_is_written_once() -> None:
    world = a_world()
    approved(world)
    world.close("r1", Closing("withdrawn", "Withdraw Request"))

    again = world.close("r1", Closing("failed", "Send Envelope"))

    assert again is RequestState.WITHDRAWN
    assert kinds(world).count("request.closed") == 1


def test_an_unknown_request_cannot_be_closed() -> None:
    with pytest.raises(NotFoundError):
        a_world().close("r9", Closing("failed", "Create Draft"))


def test_a_close_that_lost_a_race_looks_again() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    at.before("store.commit request.closed", lambda: world.send(plan_id))

    with pytest.raises(AlreadyExecutedError):
        world.close("r1", Closing("failed", "Send Envelope"))

    for nth in range(1, 5):
        at.before("store.commit request.closed", failing(StaleError("moved")), nth)
    with pytest.raises(StaleError):
        world.close("r1", Closing("declined", "Await Signature"))


@pytest.mark.parametrize("settings", [SETTINGS, OPERATOR_DECIDES])
def test_p2_closing_a_released_plan_keeps_its_fence_whatever_the_settings(
    settings: GateSettings,
) -> None:
    """A next request would get another envelope, for which the vendor promises nothing."""
    world = a_world(Behaviour.REFUSED, settings=settings)
    released(world)

    world.close("r1", Closing("failed", "Send Envelope"))

    assert world.store.fence(plan_of(world).fence_key).holder == "r1#1"


# Telling


def _rejected(world: World) -> str:
    proposed(world)
    world.decide(world.tokens_mailed_to("dave@example.com")[-1], "reject", "No.")
    return "rejected"


def _expired(world: World) -> str:
    proposed(world)
    world.clock.set(plan_of(world).expires_at)
    world.sweep()
    return "expired"


def _failed(world: World) -> str:
    approved(world)
    return "failed"


def _completed(world: World) -> str:
    signed(world)
    world.archive("r1")
    return "completed"


@pytest.mark.parametrize("bring", [_rejected, _expired, _failed, _completed])
def test_the_requester_is_told_how_it_ended(bring: Callable[[World], str]) -> None:
    world = a_world()
    outcome = bring(world)
    before = len(world.mailer.sent)

    world.close("r1", Closing(outcome, "Some Stage"))

    told = world.mailer.sent[before:]
    assert [one.to for one in told] == [REQUESTER]


def test_a_withdrawal_is_no_news_to_who_withdrew() -> None:
    world = a_world()
    world.submit(start=False)
    world.withdraw("r1")

    world.close("r1", Closing("withdrawn", "Withdraw Request"))

    assert world.mailer.sent == []


@pytest.mark.parametrize("error", [TransientError("throttled"), VendorRefusedError("bad")])
def test_a_mail_that_cannot_be_sent_does_not_reopen_the_ending(error: Exception) -> None:
    at = At()
    world = a_world(watcher=at)
    approved(world)
    at.before("mailer.send", failing(error))

    assert world.close("r1", Closing("failed", "Send Envelope")) is RequestState.FAILED


# Withdrawing


def test_a_withdrawal_closes_a_plan_that_waits_or_is_approved() -> None:
    for bring in (proposed, approved):
        world = a_world()
        bring(world)

        world.withdraw("r1")

        assert plan_of(world).state is PlanState.WITHDRAWN
        assert request_of(world).withdrawn


def test_a_second_withdrawal_changes_nothing() -> None:
    world = a_world()
    proposed(world)
    world.withdraw("r1")

    world.withdraw("r1")

    assert kinds(world).count("request.withdrawn") == 1


@pytest.mark.parametrize("bring", [in_doubt, sent])
def test_p4_it_is_too_late_to_withdraw_what_is_in_doubt_or_sent(
    bring: Callable[[World], str],
) -> None:
    world = a_world(Behaviour.REQUEST_LOST if bring is in_doubt else Behaviour.NORMAL)
    bring(world)

    with pytest.raises(ConflictError, match="too late"):
        world.withdraw("r1")

    assert not request_of(world).withdrawn


def test_a_withdrawal_that_lost_a_race_with_begin_is_told_so() -> None:
    at = At()
    world = a_world(watcher=at)
    plan_id = approved(world)
    at.before("store.commit request.withdrawn", lambda: world.send(plan_id))

    with pytest.raises(ConflictError, match="too late"):
        world.withdraw("r1")

    assert plan_of(world).state is PlanState.EXECUTED


def test_p2_a_released_plan_can_be_withdrawn_and_keeps_its_fence() -> None:
    world = a_world(Behaviour.REFUSED)
    released(world)

    world.withdraw("r1")

    assert plan_of(world).state is PlanState.WITHDRAWN
    assert world.store.fence(plan_of(world).fence_key).holder == "r1#1"


def test_only_the_caller_withdraws_and_only_while_it_is_open() -> None:
    world = a_world()
    world.submit(start=False)
    with pytest.raises(NotFoundError):
        withdraw_request("r1", TENANT, "somebody else", world.gate, world.resumer)
    with pytest.raises(NotFoundError):
        withdraw_request("r1", "other", CALLER, world.gate, world.resumer)
    world.close("r1", Closing("failed", "Create Draft"))
    with pytest.raises(ConflictError, match="ended"):
        world.withdraw("r1")


def test_a_withdrawal_that_keeps_losing_races_is_left_to_the_caller() -> None:
    at = At()
    world = a_world(watcher=at)
    world.submit(start=False)
    for nth in range(1, 5):
        at.before("store.commit request.withdrawn", failing(StaleError("moved")), nth)

    with pytest.raises(StaleError):
        world.withdraw("r1")


# Archiving


def test_the_signed_document_is_stored_once() -> None:
    world = a_world()
    signed(world)

    world.archive("r1")
    world.archive("r1")

    assert kinds(world).count("signed_document.archived") == 1
    stored = request_of(world).artefacts["signed"]
    assert world.documents.get(stored).startswith(b"%PDF")


def test_a_document_that_is_not_signed_yet_is_fetched_again() -> None:
    world = a_world()
    sent(world)

    with pytest.raises(TransientError):
        world.archive("r1")


def test_p7_a_signed_document_that_does_not_verify_is_refused_and_recorded() -> None:
    world = a_world()
    signed(world)
    world.validator.problems = ("the signature is broken",)

    with pytest.raises(TamperedError):
        world.archive("r1")

    assert request_of(world).state is RequestState.SIGNED_NOT_ARCHIVED
    assert details(world, "signed_document.refused")[0]["problems"] == ["the signature is broken"]
    world.validator.problems = ()
    world.archive("r1")
    assert "signed" in request_of(world).artefacts


def test_nothing_is_archived_for_a_request_without_a_plan() -> None:
    world = a_world()
    world.submit(start=False)

    with pytest.raises(PlanUnknownError):
        world.archive("r1")


@pytest.mark.parametrize(
    ("plan_state", "ends_as"),
    [
        (PlanState.WITHDRAWN, RequestState.WITHDRAWN),
        (PlanState.EXPIRED, RequestState.EXPIRED),
        (PlanState.SUPERSEDED, RequestState.FAILED),
    ],
)
def test_a_send_refused_because_its_plan_had_ended_ends_as_the_plan_did(
    plan_state: PlanState, ends_as: RequestState
) -> None:
    world = a_world()
    approved(world)
    change_plan(world, state=plan_state)

    assert world.close("r1", Closing("failed", "Send Envelope", "plan_closed")) is ends_as
    assert request_of(world).ending is not None
