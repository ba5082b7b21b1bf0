"""Which wait is answered when."""

from __future__ import annotations

from dataclasses import replace

import pytest

from no_undo.domain.plan import CLOSED_UNSENT, FollowUp, PlanState
from no_undo.domain.waiting import WaitKind, answer_for
from tests.fakes.rows import a_plan

OPEN = [one for one in PlanState if one not in CLOSED_UNSENT]


@pytest.mark.parametrize("kind", WaitKind)
@pytest.mark.parametrize("state", sorted(CLOSED_UNSENT))
def test_a_closed_plan_answers_every_wait_with_how_it_was_closed(
    kind: WaitKind, state: PlanState
) -> None:
    answer = answer_for(kind, a_plan(state=state), may_begin_again=True)

    assert answer == state.value.lower()


@pytest.mark.parametrize("state", OPEN)
def test_an_approval_wait_is_answered_once_the_quorum_is_complete(state: PlanState) -> None:
    answer = answer_for(WaitKind.APPROVAL, a_plan(state=state), may_begin_again=False)

    assert answer == (None if state is PlanState.AWAITING_APPROVAL else "approved")


@pytest.mark.parametrize("state", OPEN)
@pytest.mark.parametrize("may_begin_again", [True, False])
def test_p4_a_settlement_wait_goes_on_while_the_attempt_is_in_doubt(
    state: PlanState, *, may_begin_again: bool
) -> None:
    answer = answer_for(WaitKind.SETTLEMENT, a_plan(state=state), may_begin_again=may_begin_again)

    again = "begin_again" if may_begin_again else None
    expected = {
        PlanState.AWAITING_APPROVAL: None,
        PlanState.APPROVED: again,
        PlanState.RELEASED: again,
        PlanState.EXECUTING: None,
        PlanState.EXECUTED: "executed",
    }
    assert answer == expected[state]


@pytest.mark.parametrize("became", FollowUp)
def test_a_signature_wait_is_answered_with_what_became_of_the_envelope(became: FollowUp) -> None:
    plan = replace(a_plan(state=PlanState.EXECUTED), follow_up=became)

    answer = answer_for(WaitKind.SIGNATURE, plan, may_begin_again=True)

    assert answer == (became.value.lower() or None)
