"""The sweep: settles by the system of record alone, expires, follows up, restarts (design 8.6)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from no_undo.domain.envelope import ActivityHistory, EnvelopeStatus
from no_undo.domain.errors import StaleError, TransientError, VendorContractError
from no_undo.domain.ledger import LedgerState
from no_undo.domain.plan import DueKind, FollowUp, PlanState
from no_undo.domain.request import RequestState
from no_undo.lab.fake_esign import LANDS_BEYOND, LANDS_WITHIN, Behaviour
from no_undo.lab.life import deliver_stream, live
from no_undo.lab.pipeline import ProcessDiedError
from no_undo.lab.world import INVOCATION, World
from no_undo.use_cases.close_request import Closing
from no_undo.use_cases.gate import LONGEST_PAUSE
from no_undo.use_cases.reconcile_sends import BATCH, LATE_PAUSE, LATE_WATCH, SILENT_AFTER
from tests.fakes.worlds import (
    MOMENT,
    OPERATOR_DECIDES,
    At,
    a_world,
    approved,
    change_plan,
    details,
    entry_of,
    failing,
    in_doubt,
    kinds,
    plan_of,
    proposed,
    released,
    request_of,
)


def test_nobody_asks_the_vendor_before_the_lease_is_over() -> None:
    at = At()
    world = a_world(Behaviour.REQUEST_LOST, watcher=at)
    world.send(approved(world))
    change_plan(world, due_at=world.clock.now())
    at.seen.clear()

    counts = world.sweep()

    assert counts["waiting"] == 1
    assert "esign.read_envelope" not in at.seen
    assert plan_of(world).due_at == entry_of(world).attempt.lease_expires_at


def test_p3_done_confirms_after_the_lease() -> None:
    world = a_world(Behaviour.LANDS_WITHIN)
    in_doubt(world)
    world.clock.advance(LANDS_WITHIN)

    counts = world.sweep()

    assert counts["confirmed"] == 1
    assert plan_of(world).state is PlanState.EXECUTED
    assert entry_of(world).evidence[-1].says == "status SENT"


@pytest.mark.parametrize("status", [EnvelopeStatus.CANCELLED, EnvelopeStatus.DECLINED])
def test_an_envelope_that_ended_after_it_was_sent_was_sent(status: EnvelopeStatus) -> None:
    world = a_world(Behaviour.LANDS_WITHIN)
    world.esign.ends_as = status
    in_doubt(world)
    world.clock.advance(LANDS_WITHIN + timedelta(hours=1))

    assert world.sweep()["confirmed"] == 1


@pytest.mark.parametrize(
    "status",
    [
        EnvelopeStatus.CANCELLED,
        EnvelopeStatus.DECLINED,
        EnvelopeStatus.EXPIRED,
        EnvelopeStatus.UNKNOWN,
    ],
)
def test_p4_a_status_without_a_sent_date_neither_confirms_nor_releases(
    status: EnvelopeStatus,
) -> None:
    world = a_world(Behaviour.REQUEST_LOST)
    in_doubt(world)
    world.esign.change("1001", status=status)

    for _ in range(5):
        world.sweep()
        world.clock.advance(world.settings.settle_time)

    assert entry_of(world).state is LedgerState.EXECUTING
    assert entry_of(world).first_draft_at is None


def test_the_first_not_done_is_noted_and_the_second_releases_one_settle_time_later() -> None:
    world = a_world(Behaviour.REQUEST_LOST)
    in_doubt(world)
    noted_at = world.clock.now()

    first = world.sweep()
    world.clock.set(noted_at + world.settings.settle_time - MOMENT)
    between = world.sweep()
    world.clock.advance(MOMENT)
    second = world.sweep()

    assert first["noted_not_done"] == 1
    assert "released" not in between
    assert second["released"] == 1
    assert entry_of(world).state is LedgerState.RELEASED
    assert plan_of(world).state is PlanState.RELEASED
    assert kinds(world).count("plan.not_done_noted") == 1
    assert kinds(world)[-1] == "plan.released"


def test_an_early_second_look_releases_nothing() -> None:
    world = a_world(Behaviour.REQUEST_LOST)
    in_doubt(world)
    world.sweep()
    world.clock.advance(world.settings.settle_time - MOMENT)
    change_plan(world, due_at=world.clock.now())

    assert world.sweep()["waiting"] == 1
    assert entry_of(world).state is LedgerState.EXECUTING


def test_a_slow_answer_counts_as_old_as_its_question() -> None:
    at = At()
    world = a_world(Behaviour.REQUEST_LOST, watcher=at)
    in_doubt(world)
    world.sweep()
    world.clock.advance(world.settings.settle_time - timedelta(seconds=5))
    change_plan(world, due_at=world.clock.now())
    at.after("esign.read_envelope", lambda: world.clock.advance(timedelta(seconds=10)))

    world.sweep()

    assert entry_of(world).state is LedgerState.EXECUTING


def test_p2_a_request_that_lands_within_the_settle_time_is_never_released() -> None:
    world = a_world(Behaviour.LANDS_WITHIN)
    in_doubt(world)
    world.sweep()
    world.clock.advance(world.settings.settle_time)

    world.sweep()

    assert entry_of(world).state is LedgerState.EXECUTED


def test_p4_a_contradicting_activity_log_keeps_the_attempt_open() -> None:
    world = a_world(Behaviour.REQUEST_LOST)
    world.esign.history = ActivityHistory.SHARED
    in_doubt(world)

    for _ in range(5):
        world.sweep()
        world.clock.advance(world.settings.settle_time)

    assert entry_of(world).state is LedgerState.EXECUTING


def test_p4_an_outage_between_two_looks_changes_nothing() -> None:
    world = a_world(Behaviour.REQUEST_LOST)
    in_doubt(world)
    world.sweep()
    world.esign.odd_reads = world.clock.now() + 2 * world.settings.settle_time

    for _ in range(3):
        world.clock.advance(world.settings.settle_time / 2)
        change_plan(world, due_at=world.clock.now())
        world.sweep()
        assert entry_of(world).state is LedgerState.EXECUTING
    world.clock.advance(world.settings.settle_time)
    change_plan(world, due_at=world.clock.now())

    assert world.sweep()["released"] == 1


def test_p4_an_unknown_outcome_is_looked_at_ever_more_politely_and_never_given_up() -> None:
    at = At()
    world = a_world(Behaviour.UNKNOWN_STATUS, watcher=at)
    in_doubt(world)
    looks: list[datetime] = []
    for _ in range(40):
        due_at = plan_of(world).due_at
        assert due_at is not None
        looks.append(due_at)
        world.clock.set(due_at)
        world.sweep()

    pauses = [later - earlier for earlier, later in pairwise(looks)]
    assert min(pauses) >= world.settings.poll_interval
    assert max(pauses) <= timedelta(minutes=15)
    assert pauses == sorted(pauses)
    assert entry_of(world).state is LedgerState.EXECUTING


def test_a_release_that_lost_a_race_writes_nothing() -> None:
    at = At()
    world = a_world(Behaviour.REQUEST_LOST, watcher=at)
    in_doubt(world)
    world.sweep()
    world.clock.advance(world.settings.settle_time)
    at.before("store.commit plan.released", failing(StaleError("moved")))

    assert world.sweep()["moved"] == 1
    assert entry_of(world).state is LedgerState.EXECUTING
    assert world.sweep()["released"] == 1


def test_overlapping_sweeps_release_once() -> None:
    at = At()
    world = a_world(Behaviour.REQUEST_LOST, watcher=at)
    in_doubt(world)
    world.sweep()
    world.clock.advance(world.settings.settle_time)
    at.before("store.commit plan.released", world.sweep)

    world.sweep()

    assert kinds(world).count("plan.released") == 1


def test_a_refusal_is_released_and_then_waits_for_a_person() -> None:
    world = a_world(Behaviour.REFUSED)
    released(world)

    assert plan_of(world).state is PlanState.RELEASED
    assert entry_of(world).refused
    world.resume("r1#1")
    assert plan_of(world).due_kind is DueKind.EXPIRE


# Expiry


@pytest.mark.parametrize("bring", [proposed, approved], ids=["waiting", "approved"])
def test_an_unsent_plan_expires_at_its_deadline(bring: object) -> None:
    world = a_world()
    (proposed if bring is proposed else approved)(world)
    world.resume("r1#1")
    world.clock.set(plan_of(world).expires_at - MOMENT)
    early = world.sweep()
    world.clock.advance(MOMENT)

    late = world.sweep()

    assert "expired" not in early
    assert late["expired"] == 1
    assert plan_of(world).state is PlanState.EXPIRED


def test_p4_a_plan_in_doubt_does_not_expire() -> None:
    world = a_world(Behaviour.UNKNOWN_STATUS)
    in_doubt(world)
    world.clock.set(plan_of(world).expires_at + timedelta(hours=1))

    world.sweep()

    assert plan_of(world).state is PlanState.EXECUTING


def test_a_plan_due_for_expiry_before_its_deadline_waits_for_it() -> None:
    world = a_world()
    proposed(world)
    change_plan(world, due_at=world.clock.now())

    assert world.sweep() == {}
    assert plan_of(world).due_at == plan_of(world).expires_at


def test_p4_a_vendor_that_does_not_answer_settles_nothing() -> None:
    at = At()
    world = a_world(Behaviour.REQUEST_LOST, watcher=at)
    in_doubt(world)
    at.before("esign.read_envelope", failing(TransientError("throttled")))

    assert world.sweep() == {"waiting": 1}
    assert entry_of(world).first_draft_at is None


def test_a_plan_without_an_entry_that_is_due_for_settling_waits() -> None:
    world = a_world()
    approved(world)
    change_plan(world, due_kind=DueKind.SETTLE, due_at=world.clock.now())

    assert world.sweep() == {"waiting": 1}


def test_a_released_plan_is_looked_at_once_more_before_it_expires() -> None:
    world = a_world(Behaviour.LANDS_BEYOND, settings=OPERATOR_DECIDES)
    released(world)
    world.resume("r1#1")
    world.clock.set(plan_of(world).expires_at)

    counts = world.sweep()

    assert counts["confirmed"] == 1
    assert plan_of(world).state is PlanState.EXECUTED


def test_p2_an_expired_release_keeps_its_fence() -> None:
    world = a_world(Behaviour.REFUSED)
    released(world)
    world.clock.set(plan_of(world).expires_at)

    world.sweep()

    assert plan_of(world).state is PlanState.EXPIRED
    assert world.store.fence(plan_of(world).fence_key).holder == "r1#1"


def test_p4_a_released_plan_whose_record_says_nothing_at_the_deadline_is_not_called_unsent() -> (
    None
):
    at = At()
    world = a_world(Behaviour.REFUSED, settings=OPERATOR_DECIDES, watcher=at)
    released(world)
    world.resume("r1#1")
    world.clock.set(plan_of(world).expires_at)
    at.before("esign.read_envelope", failing(TransientError("throttled")))

    assert world.sweep()["waiting"] == 1
    assert plan_of(world).state is PlanState.RELEASED

    world.clock.advance(LONGEST_PAUSE)
    assert world.sweep()["expired"] == 1


# A late success


def closed_after_a_release(world: World) -> str:
    """Bring a request to WITHDRAWN after an attempt that the system of record said was not done."""
    plan_id = released(world)
    world.withdraw("r1")
    world.close("r1", Closing("withdrawn", "Await Settlement"))
    world.resume(plan_id)
    return plan_id


def test_a_late_success_of_a_closed_plan_is_found_and_its_request_is_opened_again() -> None:
    world = a_world(Behaviour.LANDS_BEYOND, settings=OPERATOR_DECIDES)
    plan_id = closed_after_a_release(world)
    assert request_of(world).state is RequestState.WITHDRAWN
    world.clock.advance(LANDS_BEYOND)

    assert world.sweep() == {"confirmed": 1}
    world.resume(plan_id)
    world.clock.advance(world.settings.poll_interval)
    assert world.sweep() == {"reopened": 1}

    assert plan_of(world).state is PlanState.EXECUTED
    assert request_of(world).state is RequestState.SENT_UNSIGNED
    assert request_of(world).abandoned_drafts == ()
    assert details(world, "request.reopened") == [{"ended": "WITHDRAWN"}]
    live(world)
    assert request_of(world).state is RequestState.COMPLETED
    assert len(world.esign.effects) == 1


def test_a_closed_plan_is_looked_at_ever_more_seldom_and_not_for_ever() -> None:
    world = a_world(Behaviour.REFUSED, settings=OPERATOR_DECIDES)
    closed_after_a_release(world)
    looks: list[datetime] = []
    while (due_at := plan_of(world).due_at) is not None:
        looks.append(due_at)
        world.clock.set(due_at)
        world.sweep()

    pauses = [later - earlier for earlier, later in pairwise(looks)]
    assert min(pauses) >= LONGEST_PAUSE
    assert max(pauses) <= LATE_PAUSE
    assert looks[-1] - looks[0] >= LATE_WATCH - LATE_PAUSE
    assert len(looks) < 200
    assert plan_of(world).state is PlanState.WITHDRAWN


def test_a_plan_closed_without_an_attempt_is_not_looked_at_again() -> None:
    world = a_world()
    plan_id = proposed(world)
    world.withdraw("r1")

    world.resume(plan_id)

    assert plan_of(world).due_kind is None


# Follow-up


def test_what_became_of_a_sent_envelope_is_polled_politely() -> None:
    world = a_world()
    world.esign.signs_after = None
    world.send(approved(world))
    world.resume("r1#1")
    looks: list[datetime] = []
    for _ in range(40):
        due_at = plan_of(world).due_at
        assert due_at is not None
        looks.append(due_at)
        world.clock.set(due_at)
        assert world.sweep()["waiting"] == 1

    pauses = [later - earlier for earlier, later in pairwise(looks)]
    assert min(pauses) >= world.settings.poll_interval
    assert max(pauses) <= timedelta(minutes=15)


@pytest.mark.parametrize(
    ("status", "became"),
    [
        (EnvelopeStatus.SIGNED, FollowUp.SIGNED),
        (EnvelopeStatus.DECLINED, FollowUp.DECLINED),
        (EnvelopeStatus.CANCELLED, FollowUp.CANCELLED),
        (EnvelopeStatus.EXPIRED, FollowUp.EXPIRED),
    ],
)
def test_an_ending_at_the_vendor_is_recorded_and_wakes_the_machine(
    status: EnvelopeStatus, became: FollowUp
) -> None:
    world = a_world()
    world.esign.ends_as = status
    world.send(approved(world))
    world.resume("r1#1")
    world.clock.advance(timedelta(minutes=10))

    assert world.sweep()["followed_up"] == 1
    assert plan_of(world).follow_up is became
    assert plan_of(world).due_kind is DueKind.RESUME


@pytest.mark.parametrize("error", [TransientError("throttled"), VendorContractError("HTML")])
def test_a_vendor_outage_does_not_keep_a_sent_plan_due(error: Exception) -> None:
    at = At()
    world = a_world(watcher=at)
    world.send(approved(world))
    world.resume("r1#1")
    world.clock.advance(timedelta(minutes=10))
    at.before("esign.read_envelope", failing(error))

    assert world.sweep() == {"waiting": 1}
    due_at = plan_of(world).due_at
    assert due_at is not None
    assert due_at > world.clock.now()


# One bad item


def test_one_plan_that_cannot_be_handled_does_not_stop_the_others() -> None:
    at = At()
    world = a_world(Behaviour.REQUEST_LOST, watcher=at)
    first = approved(world, "r1")
    world.send(first)
    second = approved(world, "r2", source=b"%PDF-1.7 another")
    at.after("esign.send_draft", failing(ProcessDiedError()))
    with pytest.raises(ProcessDiedError):
        world.send(second)
    world.clock.set(entry_of(world, second).attempt.lease_expires_at)
    at.before("store.entry", failing())

    counts = world.sweep()

    assert counts["failed"] == 1
    assert kinds(world, "r2")[-1] == "plan.executed"


def test_p11_a_row_that_breaks_the_sweep_is_put_off_and_stops_nobody() -> None:
    at = At()
    world = a_world(Behaviour.ALWAYS_LOST, watcher=at)
    first, second = approved(world, "r1"), approved(world, "r2", source=b"%PDF-1.7 another")
    world.send(first)
    world.send(second)
    world.clock.set(entry_of(world, second).attempt.lease_expires_at)
    at.before("store.entry", failing(ValueError("a row of another shape")))

    counts = world.sweep()

    assert (counts["failed"], counts["noted_not_done"]) == (1, 1)
    assert plan_of(world, first).due_at == world.clock.now() + LONGEST_PAUSE


def test_p10_what_a_foreign_error_says_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    at = At()
    world = a_world(Behaviour.REQUEST_LOST, watcher=at)
    in_doubt(world)
    at.before("store.entry", failing(ValueError("alice@example.com")))

    world.sweep()

    assert [one.levelname for one in caplog.records if "one item" in one.message] == ["ERROR"]
    assert "alice@example.com" not in caplog.text


def test_a_vendor_that_is_silent_is_asked_three_times_and_no_more_in_one_sweep() -> None:
    at = At()
    world = a_world(Behaviour.ALWAYS_LOST, watcher=at)
    plans = [approved(world, f"r{n}", source=b"%PDF-1.7 " + str(n).encode()) for n in range(6)]
    for plan_id in plans:
        world.send(plan_id)
    world.clock.set(entry_of(world, plans[-1]).attempt.lease_expires_at)
    at.forget()
    at.seen.clear()
    for nth in range(1, len(plans) + 1):
        at.before("esign.read_envelope", failing(TransientError("throttled")), nth)

    assert world.sweep()["waiting"] == len(plans)
    assert at.seen.count("esign.read_envelope") == SILENT_AFTER


def test_p11_a_vendor_that_hangs_starves_neither_the_restarts_nor_the_sweep() -> None:
    at = At()
    world = a_world(Behaviour.ALWAYS_LOST, watcher=at)
    plans = [approved(world, f"r{n}", source=b"%PDF-1.7 " + str(n).encode()) for n in range(3)]
    for plan_id in plans:
        world.send(plan_id)
    world.submit("r9", start=False, source=b"%PDF-1.7 nine")
    world.clock.set(entry_of(world, plans[-1]).attempt.lease_expires_at)
    world.clock.advance(world.settings.driver_interval)
    at.before("esign.read_envelope", lambda: world.clock.advance(INVOCATION))

    counts = world.sweep()

    assert counts["restarted"] == 4
    assert counts["left"] == len(plans) - 1
    assert world.sweep().get("left") is None


def test_a_sweep_looks_at_a_bounded_number_of_plans() -> None:
    world = a_world()
    for number in range(BATCH + 1):
        proposed(world, f"r{number}", source=b"%PDF-1.7 " + str(number).encode())
    world.clock.set(plan_of(world, "r0#1").expires_at)

    assert world.sweep()["expired"] == BATCH
    deliver_stream(world)
    assert world.sweep()["expired"] == 1


def test_a_resumption_that_cannot_be_asked_for_does_not_undo_what_was_found() -> None:
    at = At()
    world = a_world(Behaviour.LANDS_WITHIN, watcher=at)
    in_doubt(world)
    world.clock.advance(LANDS_WITHIN)
    at.before("resumer.resume", failing())

    assert world.sweep()["confirmed"] == 1
    assert plan_of(world).due_kind is DueKind.RESUME
    assert world.sweep()["resumed"] == 1


# Drivers


def test_p11_an_open_request_whose_execution_is_gone_gets_a_recovery_execution() -> None:
    world = a_world()
    world.submit()
    world.pipeline.stop("r1")
    world.clock.advance(world.settings.driver_interval)

    assert world.sweep()["restarted"] == 1
    assert world.pipeline.is_running("r1-r1")
    assert details(world, "execution.restarted") == [{"execution": "r1-r1"}]


def test_a_request_that_is_driven_is_left_alone() -> None:
    world = a_world()
    world.submit()
    world.clock.advance(world.settings.driver_interval)

    assert world.sweep() == {"driven": 1}
    assert list(world.pipeline.executions) == ["r1"]
    assert request_of(world).check_at == world.clock.now() + world.settings.driver_interval


def test_p11_a_restart_that_died_before_the_start_is_made_good_by_the_next_one() -> None:
    at = At()
    world = a_world(watcher=at)
    world.submit()
    world.pipeline.stop("r1")
    world.clock.advance(world.settings.driver_interval)
    at.before("executions.start", failing(ProcessDiedError()))
    with pytest.raises(ProcessDiedError):
        world.sweep()
    world.clock.advance(world.settings.driver_interval)

    assert world.sweep()["restarted"] == 1
    assert world.pipeline.is_running("r1-r2")


def test_two_sweeps_that_overlap_start_one_recovery() -> None:
    at = At()
    world = a_world(watcher=at)
    world.submit()
    world.pipeline.stop("r1")
    world.clock.advance(world.settings.driver_interval)
    at.before("store.commit execution.restarted", world.sweep)

    counts = world.sweep()

    assert counts == {"moved": 1}
    assert list(world.pipeline.executions) == ["r1", "r1-r1"]


def test_an_ended_request_is_never_driven_again() -> None:
    world = a_world()
    proposed(world)
    world.close("r1", Closing("failed", "Create Draft", "vendor_refused"))
    world.clock.advance(timedelta(days=1))

    world.sweep()

    assert request_of(world).state is RequestState.FAILED
    assert world.pipeline.executions == {}
    assert request_of(world).check_at is None


def test_a_late_hint_about_an_ended_request_is_cleared() -> None:
    world = a_world()
    world.submit(start=False)
    ended = replace(request_of(world), state=RequestState.FAILED)
    world.store.plant(ended)  # an index that lags
    world.clock.advance(world.settings.driver_interval)

    assert world.sweep() == {}
    assert request_of(world).check_at is None
