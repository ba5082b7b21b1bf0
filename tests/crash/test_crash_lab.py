"""The crash lab finds what it is for, and finds nothing in what we ship."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from unittest.mock import ANY

import pytest

from no_undo.domain.ledger import Attempt
from no_undo.domain.plan import Plan
from no_undo.domain.request import RequestState
from no_undo.lab.crash_lab import (
    CrashReport,
    Resubmission,
    Setting,
    Takes,
    When,
    deaths,
    live_through,
    matrix_text,
    run,
    run_column,
    settings,
)
from no_undo.lab.fake_esign import Behaviour, SecondSend
from no_undo.lab.life import AGAIN as AGAIN_ID
from no_undo.lab.world import SETTINGS, RecordingAction, World

WORST = SecondSend.MAILS_AGAIN
BEYOND = Setting(Behaviour.LANDS_BEYOND, WORST, automatic=True)


@pytest.mark.parametrize(
    "setting",
    [
        Setting(Behaviour.NORMAL, WORST, automatic=True),
        Setting(Behaviour.REPLY_LOST, WORST, automatic=True),
        Setting(Behaviour.REQUEST_LOST, WORST, automatic=False),
        Setting(Behaviour.NORMAL, WORST, automatic=True, corrects=True),
    ],
    ids=lambda one: f"{one.behaviour.value}{', corrected' if one.corrects else ''}",
)
def test_every_promise_holds_wherever_the_process_dies(setting: Setting) -> None:
    column = run_column(setting)

    assert column.found == []
    assert column.permitted.total() == 0
    assert len(column.points) > 150


@pytest.mark.parametrize("behaviour", Behaviour, ids=lambda one: one.value)
def test_every_promise_holds_around_the_send_under_every_behaviour(behaviour: Behaviour) -> None:
    for setting in settings():
        if setting.behaviour is behaviour:
            assert run_column(setting, points="send_envelope: store.commit").found == []
            assert run_column(setting, points="send_envelope: esign.send_draft").found == []


@pytest.mark.long
@pytest.mark.parametrize("setting", settings(), ids=str)
def test_every_promise_holds_at_every_point_under_every_behaviour(setting: Setting) -> None:
    assert run_column(setting).found == []


def test_the_one_permitted_second_effect_is_shown_and_is_clean_where_a_person_retries() -> None:
    automatic = run_column(BEYOND, points="plan.begun")
    operator = run_column(replace(BEYOND, automatic=False), points="plan.begun")
    refusing = run_column(replace(BEYOND, second_send=SecondSend.REFUSES), points="plan.begun")

    assert automatic.permitted["no death"] == 1
    assert automatic.found == []
    for clean in (operator, refusing):
        assert clean.permitted.total() == 0
        assert clean.found == []


AGAIN = tuple(one for one in settings() if one.again is not Resubmission.NONE)


@pytest.mark.parametrize("setting", AGAIN, ids=lambda one: one.again.value)
def test_p2_a_document_submitted_again_is_sent_at_most_once(
    setting: Setting,
) -> None:
    """F1 alone: the first request lands long after the second one was refused (ADR 0014)."""
    column = run_column(setting, points="store.commit")

    assert not setting.permits_second_effect
    assert column.found == []
    assert "create_draft: store.commit draft.begun" in column.lives
    assert "reconcile_sends: store.commit plan.executed" in column.lives


@pytest.mark.parametrize("setting", AGAIN, ids=lambda one: one.again.value)
def test_a_document_submitted_again_is_refused_by_the_held_fence_and_lands_once(
    setting: Setting,
) -> None:
    world = World(
        behaviour=setting.behaviour,
        second_send=setting.second_send,
        settings=replace(SETTINGS, retry_after_release=setting.automatic),
    )

    live_through(world, setting)

    refused = world.store.request(AGAIN_ID)
    assert refused is not None
    assert refused.ending is not None
    assert (refused.state, refused.ending.code) == (RequestState.FAILED, "FenceHeldError")
    assert [one.envelope_id for one in world.esign.effects] == ["1001"]
    assert world.store.fence(world.store.rows(Plan)[0].fence_key).last_executed == "r1#1"


def test_no_other_setting_permits_a_second_effect() -> None:
    assert [one for one in settings() if one.permits_second_effect] == [BEYOND]


def test_every_behaviour_meets_both_vendors() -> None:
    met = {(one.behaviour, one.second_send) for one in settings()}

    assert met == {(behaviour, second) for behaviour in Behaviour for second in SecondSend}


def test_every_call_gets_every_death() -> None:
    calls = [("send_envelope", "store.plan"), ("reconcile_sends", "store.commit plan.released")]

    found = [(one.number, one.when, one.takes) for one in deaths(calls)]

    assert found == [
        (0, When.BEFORE, Takes.NOTHING),
        (0, When.AFTER, Takes.NOTHING),
        (0, When.AFTER, Takes.EXECUTION),
        (1, When.BEFORE, Takes.NOTHING),
        (1, When.AFTER, Takes.NOTHING),
        (1, When.THROTTLED, Takes.NOTHING),
        (1, When.ANSWER_LOST, Takes.NOTHING),
    ]


def test_the_same_seed_gives_the_same_column() -> None:
    setting = Setting(Behaviour.LAGS, WORST, automatic=True)

    assert run_column(setting, points="plan.begun", seed=3) == run_column(
        setting, points="plan.begun", seed=3
    )


def test_the_report_has_the_shape_of_the_command_line() -> None:
    report = run(points="plan.begun", columns=(BEYOND,), workers=1)

    assert report.to_json() == {
        "violations": [],
        "cells": 11,
        "points": 4,
        "behaviours": 1,
        "schedules": 0,
        "permitted_second_effects": ANY,
        "seed": 0,
        "seconds": ANY,
    }
    assert json.loads(json.dumps(report.to_json())) == report.to_json()


def test_the_matrix_shows_points_down_and_behaviours_across() -> None:
    text = matrix_text(run(points="plan.begun", columns=(BEYOND,), workers=1))

    assert "A  lands far beyond it" in text
    assert "send_envelope: store.commit plan.begun  2" in text
    assert "0 violations." in text


def test_processes_give_the_same_report_as_one() -> None:
    columns = settings()[:2]

    alone = run(points="plan.begun", columns=columns, workers=1)
    together = run(points="plan.begun", columns=columns, workers=2)

    assert replace(together, seconds=0) == replace(alone, seconds=0)


# A lab that finds nothing proves nothing: each promise is broken once, and it has to see that.


def a_broken_run(setting: Setting, points: str = "send_envelope") -> CrashReport:
    return run(points=points, columns=(setting,), workers=1)


def _sends_twice(send: Callable[..., str]) -> Callable[..., str]:
    def execute(self: RecordingAction, plan: Plan, attempt: Attempt) -> str:
        send(self, plan, attempt)
        return send(self, plan, attempt)

    return execute


def test_a_second_call_of_one_attempt_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecordingAction, "execute", _sends_twice(RecordingAction.execute))

    found = a_broken_run(Setting(Behaviour.NORMAL, WORST, automatic=True), "plan.begun")

    whats = {one["what"] for one in found.violations}
    assert {"2 effects where 1 is allowed", "one attempt sent twice"} <= whats
    assert "X" in matrix_text(found)


def test_a_violation_says_how_to_reproduce_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecordingAction, "execute", _sends_twice(RecordingAction.execute))

    found = a_broken_run(Setting(Behaviour.NORMAL, WORST, automatic=True), "plan.begun")

    shown = found.violations[-1]
    assert shown["behaviour"] == "normal"
    assert shown["point"].startswith("send_envelope: store.commit plan.begun")
    assert shown["steps"][-1] == "send_envelope: store.commit plan.begun"
    assert shown["seed"] == 0


def test_a_request_that_wedges_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_sweep(_world: World) -> dict[str, int]:
        return {}

    monkeypatch.setattr(World, "sweep", no_sweep)

    found = a_broken_run(Setting(Behaviour.REQUEST_LOST, WORST, automatic=True), "plan.begun")

    assert any("wedged" in one["what"] for one in found.violations)
