"""Breaks each safety rule once and shows that the tests named beside it notice.

    python -m tests.crash.mutations [--only TEXT] [--workers N]

Each mutation changes one place in a copy of the package; the working tree is never touched. The
named tests first run against an unchanged copy: a test that fails there proves nothing. Exit code 0
when every mutation is caught, 1 when one survives, 2 when one could not be judged.
"""

# ruff: noqa: T201 - a command prints

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = Path("layers", "core", "python")
_FAILED: Final = 1
"""Pytest's exit code for "tests ran and some failed"; other codes mean that they did not run."""
_TIMEOUT_SECONDS: Final = 300

_LEDGER: Final = "no_undo/domain/ledger.py"
_FENCE: Final = "no_undo/domain/fence.py"
_APPROVAL: Final = "no_undo/domain/approval.py"
_DECIDE: Final = "no_undo/use_cases/record_decision.py"
_ASKING: Final = "no_undo/domain/asking.py"
_ANSWERS: Final = "no_undo/domain/field_answers.py"
_REQUEST: Final = "no_undo/domain/request.py"
_ASK: Final = "no_undo/use_cases/request_approval.py"
_SETTLE: Final = "no_undo/domain/reconciliation.py"
_SEND: Final = "no_undo/use_cases/send_envelope.py"
_GATE: Final = "no_undo/use_cases/gate.py"
_SWEEP: Final = "no_undo/use_cases/reconcile_sends.py"
_RESUME: Final = "no_undo/use_cases/resume_execution.py"
_RESTART: Final = "no_undo/use_cases/resume_request.py"
_DRAFTS: Final = "no_undo/use_cases/watch_drafts.py"
_ACTION: Final = "no_undo/actions/esign_send.py"
_MACHINE: Final = "statemachine/signing_pipeline.asl.json"

_T_LEDGER: Final = "tests/unit/domain/test_ledger.py"
_T_SEND: Final = "tests/unit/use_cases/test_send_envelope.py"
_T_SWEEP: Final = "tests/unit/use_cases/test_reconcile_sends.py"
_T_WAITS: Final = "tests/unit/use_cases/test_waits.py"
_T_OPERATOR: Final = "tests/unit/use_cases/test_settle_plan.py"
_T_DECIDE: Final = "tests/unit/use_cases/test_record_decision.py"
_T_CORRECT: Final = "tests/unit/use_cases/test_correction_round.py"
_T_ASK: Final = "tests/unit/use_cases/test_request_approval.py"
_T_REMIND: Final = "tests/unit/use_cases/test_send_reminders.py"
_T_ASKING: Final = "tests/unit/domain/test_asking.py"
_T_DRAFT: Final = "tests/unit/use_cases/test_create_draft.py"
_T_CLOSE: Final = "tests/unit/use_cases/test_close_request.py"
_T_RESTART: Final = "tests/unit/use_cases/test_resume_request.py"
_T_ABANDONED: Final = "tests/unit/domain/test_abandoned_drafts.py"
_T_WATCH: Final = "tests/unit/use_cases/test_watch_drafts.py"
_T_LAB: Final = "tests/crash/test_crash_lab.py"
_T_ORDERS: Final = "tests/crash/test_interleavings.py"
_T_POLICY: Final = "tests/unit/domain/test_approver_policy.py"
_T_CHAIN: Final = "tests/unit/domain/test_audit_chain.py"
_LAB_LANDS_WITHIN: Final = (
    f"{_T_LAB}::test_every_promise_holds_around_the_send_under_every_behaviour"
    "[lands within the settle time]"
)
_LAB_AGAIN: Final = f"{_T_LAB}::test_p2_a_document_submitted_again_is_sent_at_most_once"
_LAB_EVERYWHERE: Final = f"{_T_LAB}::test_every_promise_holds_wherever_the_process_dies"


@dataclass(frozen=True, slots=True)
class Mutation:
    """One rule, broken.

    Attributes:
        rule: The rule that no longer holds, as a sentence.
        file: Below the package's folder, or the state machine.
        old: Text that occurs exactly once in the file.
        new: What stands in its place.
        tests: Node ids, each of which alone must fail.
    """

    rule: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


MUTATIONS: Final = (
    Mutation(
        "P1: the entry is stored before the call leaves",
        _SEND,
        "            gate.store.commit(_begin_change(begun, found.pause, prepared))\n",
        "            _begin_change(begun, found.pause, prepared)\n",
        (f"{_T_SEND}::test_p1_the_entry_of_this_attempt_is_stored_when_the_call_leaves",),
    ),
    Mutation(
        "P1: nothing is sent when the entry could not be stored",
        _SEND,
        "        except (StaleError, InDoubtError):\n            # An SDK",
        "        except NoUndoError:\n            return begun\n            # An SDK",
        (f"{_T_SEND}::test_p1_nothing_is_sent_when_the_entry_cannot_be_stored",),
    ),
    Mutation(
        "A failed condition is read back: it may hide our own write",
        _SEND,
        "            if not _is_ours(gate.store.entry(plan_id), attempt_id):\n",
        "            if True:\n",
        (
            f"{_T_SEND}::test_a_begin_whose_answer_was_lost_recognises_its_own_write_and_sends_once",
            f"{_T_SEND}::test_a_begin_reported_as_failed_although_it_was_stored_recognises_its_own_write",
        ),
    ),
    Mutation(
        "P2: only this attempt's id makes a stored entry ours",
        _SEND,
        "        and entry.attempt.attempt_id == attempt_id\n",
        "",
        (
            f"{_T_SEND}::test_p2_another_senders_entry_is_not_taken_for_our_own",
            f"{_T_ORDERS}::test_every_promise_holds_in_every_schedule[two senders, reply lost]",
        ),
    ),
    Mutation(
        "P2: whoever finds EXECUTING does not call",
        _LEDGER,
        "entry is not None and entry.state is LedgerState.EXECUTING:",
        "False:",
        (
            f"{_T_SEND}::test_p2_a_second_invocation_that_finds_executing_does_not_call",
            f"{_T_LEDGER}::test_rule_6_each_flaw_is_refused_by_its_own_class",
        ),
    ),
    Mutation(
        "P2: whoever finds EXECUTED does not call",
        _LEDGER,
        '        raise AlreadyExecutedError("the effect has already happened")\n',
        "        pass\n",
        (f"{_T_LEDGER}::test_rule_6_each_flaw_is_refused_by_its_own_class",),
    ),
    Mutation(
        "P2: the call is made once, whatever its answer",
        _SEND,
        '        says, refused = "no usable answer", False\n',
        "        action.execute(plan, attempt)\n"
        '        says, refused = "no usable answer", False\n',
        (_LAB_EVERYWHERE,),
    ),
    Mutation(
        "P2: the state machine never repeats the send",
        _MACHINE,
        '      "Resource": "${SendEnvelopeFunctionArn}",\n',
        '      "Resource": "${SendEnvelopeFunctionArn}",\n      "Retry": [{"ErrorEquals": '
        '["States.ALL"], "IntervalSeconds": 1, "BackoffRate": 1, "MaxAttempts": 3, '
        '"MaxDelaySeconds": 60}],\n',
        ("tests/crash/test_pipeline.py::test_the_send_is_never_retried_by_the_machine",),
    ),
    Mutation(
        "P3: a vendor's claim is no evidence",
        _SEND,
        "            if action.look_up(plan).says is LookUp.DONE:\n",
        "            if True:\n",
        (f"{_T_SEND}::test_p3_a_claimed_success_is_no_evidence", _LAB_EVERYWHERE),
    ),
    Mutation(
        "P3: only done confirms; unknown does not",
        _SEND,
        "says is LookUp.DONE",
        "says is not LookUp.NOT_DONE",
        (f"{_T_SEND}::test_p4_a_status_nobody_knows_confirms_nothing",),
    ),
    Mutation(
        "P3: what was sent outside the gate is never our success",
        _SEND,
        "    if found.entry is None:\n        plan = close_unsent",
        "    if False:\n        plan = close_unsent",
        (
            f"{_T_SEND}::test_p3_an_envelope_sent_outside_the_gate_is_an_incident_and_never_our_success",
        ),
    ),
    Mutation(
        "P2: a late success is recorded instead of sent again",
        _SEND,
        "        if prepared.taken_effect:\n",
        "        if False:\n",
        (f"{_T_SEND}::test_p2_a_late_success_is_recorded_at_the_next_begin_without_a_call",),
    ),
    Mutation(
        "A sender confirms only its own attempt",
        _SEND,
        "        if found.entry.attempt.attempt_id != attempt.attempt_id:\n",
        "        if False:\n",
        (f"{_T_SEND}::test_a_zombie_leaves_a_newer_attempt_alone",),
    ),
    Mutation(
        "P4: an outcome in doubt is not released by its sender",
        _SEND,
        "    except NothingSentError:\n",
        "    except (NothingSentError, InDoubtError):\n",
        (
            f"{_T_SEND}::test_p4_a_send_without_a_usable_answer_stays_executing",
            _LAB_LANDS_WITHIN,
        ),
    ),
    Mutation(
        "Too little time refuses before anything is written",
        _SEND,
        "        if not _enough_time(gate, remaining_seconds):\n            raise",
        "        if False:\n            raise",
        (f"{_T_SEND}::test_too_little_time_refuses_before_anything_is_written",),
    ),
    Mutation(
        "Too little time after the write releases instead of calling",
        _SEND,
        "    if not _enough_time(gate, remaining_seconds):\n        _release_own",
        "    if False:\n        _release_own",
        (f"{_T_SEND}::test_too_little_time_after_the_write_releases_the_own_attempt_at_once",),
    ),
    Mutation(
        "A pause is a condition of the begin's write",
        _SEND,
        '            Unchanged(Pause, "#pause", 0 if pause is None else pause.revision),\n',
        "",
        (f"{_T_SEND}::test_a_pause_between_looking_and_writing_stops_the_begin",),
    ),
    Mutation(
        "A withdrawal is a condition of the begin's write",
        _SEND,
        "            NotWithdrawn(begun.plan.request_id),\n",
        "",
        (f"{_T_SEND}::test_the_mark_of_a_withdrawal_alone_stops_the_begin",),
    ),
    Mutation(
        "The fence is written with every transition of an attempt",
        _GATE,
        "    return Save(rows.plan), Save(rows.entry), Save(rows.fence)",
        "    return Save(rows.plan), Save(rows.entry)  # type: ignore",
        (
            f"{_T_SEND}::test_p2_a_second_request_for_the_same_effect_is_refused_and_told_who_holds_it",
            f"{_T_ORDERS}::test_every_promise_holds_in_every_schedule[one effect, two requests]",
        ),
    ),
    Mutation(
        "The entry is written with every transition of an attempt",
        _GATE,
        "    return Save(rows.plan), Save(rows.entry), Save(rows.fence)",
        "    return Save(rows.plan), Save(rows.fence)  # type: ignore",
        (f"{_T_SEND}::test_p1_the_entry_of_this_attempt_is_stored_when_the_call_leaves",),
    ),
    Mutation(
        "P7: the plan that is sent has the digest that was approved",
        _LEDGER,
        "    if digest_of(plan) != plan.digest:\n",
        "    if False:\n",
        (f"{_T_SEND}::test_p7_a_plan_edited_after_approval_is_not_sent",),
    ),
    Mutation(
        "P7: the document that is sent is the one that was approved",
        _LEDGER,
        "    if prepared.document_sha256 != plan.document.sha256:\n",
        "    if False:\n",
        (f"{_T_SEND}::test_p7_a_stored_document_that_changed_is_not_sent",),
    ),
    Mutation(
        "P7: the vendor's draft is what was approved",
        _LEDGER,
        "    if prepared.differences:\n",
        "    if False:\n",
        (f"{_T_SEND}::test_p7_a_draft_that_differs_from_the_plan_is_not_sent",),
    ),
    Mutation(
        "P5: a begin needs a quorum",
        _LEDGER,
        " or len(good) < plan.quorum:",
        ":",
        (f"{_T_LEDGER}::test_p5_two_approvals_of_one_person_are_not_a_quorum",),
    ),
    Mutation(
        "P5: eligibility is asked again at begin",
        _LEDGER,
        " if rules.counts(plan, one.approver)]",
        "]",
        (f"{_T_SEND}::test_p5_an_approver_whom_the_policy_dropped_no_longer_counts",),
    ),
    Mutation(
        "An approval expires",
        _LEDGER,
        "    if rules.now >= plan.expires_at:\n",
        "    if False:\n",
        (f"{_T_SEND}::test_an_expired_plan_is_left_for_the_sweep_to_close",),
    ),
    Mutation(
        "A paused gate begins nothing",
        _LEDGER,
        "    if holdings.pause is not None and holdings.pause.paused:\n",
        "    if False:\n",
        (f"{_T_SEND}::test_a_pause_stops_every_begin_and_ends",),
    ),
    Mutation(
        "P2: attempts are bounded",
        _LEDGER,
        " and len(entry.attempts) < max_attempts\n",
        "\n",
        (f"{_T_SEND}::test_p2_attempts_are_bounded_and_then_a_person_decides",),
    ),
    Mutation(
        "P2: where neither vendor fact is accepted, only a person starts another attempt",
        _LEDGER,
        "    return retry_after_release and not entry.refused",
        "    return not entry.refused",
        (
            f"{_T_SEND}::test_p2_where_only_a_person_may_retry_no_attempt_follows_another_by_itself",
            f"{_T_LAB}::test_the_one_permitted_second_effect_is_shown_and_is_clean_where_a_person_retries",
        ),
    ),
    Mutation(
        "After a refusal only a person starts another attempt",
        _LEDGER,
        "    return retry_after_release and not entry.refused and ",
        "    return retry_after_release and ",
        (f"{_T_SEND}::test_a_refused_send_is_not_repeated_without_a_person",),
    ),
    Mutation(
        "P2: a held fence refuses another plan at begin",
        _LEDGER,
        "    check_fence(holdings.fence, plan.plan_id, plan.repeat_of)\n",
        "",
        (f"{_T_SEND}::test_p2_a_second_request_is_refused_for_good_after_the_first_was_sent",),
    ),
    Mutation(
        "P2: an executed fence refuses for good",
        _FENCE,
        '    if fence.last_executed not in ("", plan_id, repeat_of):\n',
        "    if False:\n",
        (f"{_T_SEND}::test_p2_a_second_request_is_refused_for_good_after_the_first_was_sent",),
    ),
    Mutation(
        "A late success leaves another plan's hold on the fence",
        _FENCE,
        "    return replace(free(fence, plan_id), last_executed=plan_id)",
        '    return replace(fence, holder="", last_executed=plan_id)',
        (f"{_T_LEDGER}::test_a_late_success_leaves_another_plans_hold_on_the_fence",),
    ),
    Mutation(
        "P2: the deadline of a released plan does not free its fence",
        _SWEEP,
        "    gate.store.commit(Change(plan.request_id, event, (Save(closed),)))\n",
        '    fence = replace(gate.store.fence(plan.fence_key), holder="")\n'
        "    gate.store.commit(Change(plan.request_id, event, (Save(closed), Save(fence))))\n",
        (f"{_LAB_AGAIN}[again after the deadline]",),
    ),
    Mutation(
        "P2: the withdrawal of a released plan does not free its fence",
        "no_undo/use_cases/withdraw_request.py",
        "        return (Save(close_unsent(plan, PlanState.WITHDRAWN, gate.clock.now())),)\n",
        '        fence = replace(gate.store.fence(plan.fence_key), holder="")\n'
        "        closed = close_unsent(plan, PlanState.WITHDRAWN, gate.clock.now())\n"
        "        return (Save(closed), Save(fence))\n",
        (f"{_LAB_AGAIN}[again after a withdrawal]",),
    ),
    Mutation(
        "P2: no draft is made while another plan holds the effect",
        "no_undo/use_cases/create_draft.py",
        "    check_fence(fence, plan_id_of(request_id, request.round), request.repeat_of)\n",
        "",
        (f"{_T_DRAFT}::test_p2_no_draft_is_made_while_another_plan_holds_the_effect",),
    ),
    Mutation(
        "The request says that a draft may exist before it is asked for",
        "no_undo/use_cases/create_draft.py",
        "        noted = _note_begun(request, stages)\n",
        "        noted = request\n",
        (
            f"{_T_DRAFT}::test_a_draft_whose_answer_was_lost_is_found_and_not_made_again",
            f"{_T_DRAFT}::test_p11_a_crash_around_the_draft_leaves_one_that_is_found",
        ),
    ),
    Mutation(
        "P2: nobody asks the system of record before the lease is over",
        _SETTLE,
        "entry.state is LedgerState.EXECUTING and now >= entry.attempt.lease_expires_at",
        "entry.state is LedgerState.EXECUTING",
        (f"{_T_SWEEP}::test_nobody_asks_the_vendor_before_the_lease_is_over",),
    ),
    Mutation(
        "P2: one settle time lies between two answers that release",
        _SETTLE,
        "            if now - entry.first_draft_at < settle_time:\n",
        "            if False:\n",
        (f"{_T_SWEEP}::test_an_early_second_look_releases_nothing",),
    ),
    Mutation(
        "P2: one answer releases nothing",
        _SETTLE,
        "                return Settlement.NOTE_NOT_DONE\n",
        "                return Settlement.RELEASE\n",
        (
            f"{_T_SWEEP}::test_p2_a_request_that_lands_within_the_settle_time_is_never_released",
            f"{_T_SWEEP}::test_the_first_not_done_is_noted_and_the_second_releases_one_settle_time_later",
        ),
    ),
    Mutation(
        "P4: unknown settles nothing",
        _SETTLE,
        "        case LookUp.UNKNOWN:\n            return Settlement.WAIT\n",
        "        case LookUp.UNKNOWN:\n            return Settlement.RELEASE\n",
        (f"{_T_SWEEP}::test_p4_a_status_without_a_sent_date_neither_confirms_nor_releases",),
    ),
    Mutation(
        "P4: a status that nobody knows is not a draft",
        _ACTION,
        "        if envelope.status is not EnvelopeStatus.DRAFT or envelope.sent_at is not None:\n",
        "        if envelope.sent_at is not None:\n",
        (f"{_T_SWEEP}::test_p4_a_status_without_a_sent_date_neither_confirms_nor_releases",),
    ),
    Mutation(
        "P4: an envelope that ended without a sent date was not sent for certain",
        _ACTION,
        "    return envelope.status in _ENDED_UNSIGNED and envelope.sent_at is not None",
        "    return envelope.status in _ENDED_UNSIGNED",
        (f"{_T_SWEEP}::test_p4_a_status_without_a_sent_date_neither_confirms_nor_releases",),
    ),
    Mutation(
        "P4: the second oracle can contradict a draft",
        _ACTION,
        "        if self._history(plan) is ActivityHistory.SHARED:\n",
        "        if False:\n",
        (f"{_T_SWEEP}::test_p4_a_contradicting_activity_log_keeps_the_attempt_open",),
    ),
    Mutation(
        "An answer counts from when it was asked for",
        _SWEEP,
        "    match settle(entry, answer, now, gate.settings.settle_time):\n",
        "    match settle(entry, answer, gate.clock.now(), gate.settings.settle_time):\n",
        (f"{_T_SWEEP}::test_a_slow_answer_counts_as_old_as_its_question",),
    ),
    Mutation(
        "A released plan is looked at once more before it expires",
        _SWEEP,
        "        if answer.says is LookUp.DONE:\n            return _confirm",
        "        if False:\n            return _confirm",
        (f"{_T_SWEEP}::test_a_released_plan_is_looked_at_once_more_before_it_expires",),
    ),
    Mutation(
        "A vendor outage keeps no plan due",
        _SWEEP,
        "            self._unanswered += 1\n",
        "            raise\n",
        (f"{_T_SWEEP}::test_a_vendor_outage_does_not_keep_a_sent_plan_due",),
    ),
    Mutation(
        "P4: what the record cannot say at the deadline is not unsent",
        _SWEEP,
        "        if answer.says is LookUp.UNKNOWN:  # it",
        "        if False:  # it",
        (
            f"{_T_SWEEP}::test_p4_a_released_plan_whose_record_says_nothing_at_the_deadline_is_not_called_unsent",
        ),
    ),
    Mutation(
        "A closed plan that had an attempt is watched for its late success",
        _RESUME,
        "    if plan.state in CLOSED_UNSENT and entry is not None:",
        "    if False:",
        (
            f"{_T_SWEEP}::test_a_late_success_of_a_closed_plan_is_found_and_its_request_is_opened_again",
        ),
    ),
    Mutation(
        "After the effect no ending is called unsent",
        _SWEEP,
        "    if _reopen(plan, gate):",
        "    if False:",
        (
            f"{_T_SWEEP}::test_a_late_success_of_a_closed_plan_is_found_and_its_request_is_opened_again",
        ),
    ),
    Mutation(
        "P11: one broken row stops nobody",
        _SWEEP,
        "    try:\n        put_off()",
        "    raise RuntimeError\n    try:\n        put_off()",
        (f"{_T_SWEEP}::test_p11_a_row_that_breaks_the_sweep_is_put_off_and_stops_nobody",),
    ),
    Mutation(
        "P11: a sweep ends before its time does",
        _SWEEP,
        "        if remaining_seconds() < gate.settings.look_budget.total_seconds():",
        "        if False:",
        (f"{_T_SWEEP}::test_p11_a_vendor_that_hangs_starves_neither_the_restarts_nor_the_sweep",),
    ),
    Mutation(
        "P3: nobody says not done against the system of record",
        "no_undo/use_cases/settle_plan.py",
        "        if outcome is Outcome.NOT_DONE and _seen_done(found.plan, action):",
        "        if False:",
        (f"{_T_OPERATOR}::test_p3_an_operator_cannot_say_not_done_against_the_system_of_record",),
    ),
    Mutation(
        "P2: an operator's not done frees the fence, and nothing else does",
        "no_undo/use_cases/settle_plan.py",
        "    fence = Save(free(found.fence, plan.plan_id))",
        "    fence = Save(found.fence)",
        (
            f"{_T_OPERATOR}::test_p2_a_plan_that_ended_after_an_attempt_holds_its_fence_until_an_operator_frees_it",
        ),
    ),
    Mutation(
        "P11: a request without a driver gets one",
        _RESTART,
        "    executions.start(name, request.request_id)\n",
        "",
        (
            f"{_T_SWEEP}::test_p11_an_open_request_whose_execution_is_gone_gets_a_recovery_execution",
            _LAB_EVERYWHERE,
        ),
    ),
    Mutation(
        "an operator starts no second driver",
        _RESTART,
        "if executions.is_running(driver):",
        "if False:",
        (f"{_T_RESTART}::test_a_request_that_is_driven_is_refused_and_the_driver_named",),
    ),
    Mutation(
        "an abandoned draft that is seen sent is an incident",
        _DRAFTS,
        "if one.says is LookUp.DONE}",
        "if False}",
        (f"{_T_WATCH}::test_an_abandoned_draft_that_was_sent_is_an_incident_once",),
    ),
    Mutation(
        "one status read per envelope: a draft is not asked about while its plan is",
        _DRAFTS,
        " and plan.target == draft and plan.due_at is not None",
        " and False",
        (f"{_T_WATCH}::test_a_draft_is_not_asked_about_twice_while_its_plan_is_looked_at",),
    ),
    Mutation(
        "abandoned drafts are looked at ever more rarely",
        "no_undo/domain/abandoned_drafts.py",
        "max(shortest_pause, age / 2)",
        "shortest_pause",
        (f"{_T_ABANDONED}::test_rule_2_looks_come_ever_more_rarely_within_their_bounds",),
    ),
    Mutation(
        "P4: a plan in doubt cannot be closed",
        _LEDGER,
        "    if plan.state is PlanState.EXECUTING:\n",
        "    if False:\n",
        (
            f"{_T_CLOSE}::test_p4_a_request_in_doubt_cannot_be_closed",
            f"{_T_CLOSE}::test_p4_it_is_too_late_to_withdraw_what_is_in_doubt_or_sent",
        ),
    ),
    Mutation(
        "After the effect no ending is called failed",
        "no_undo/use_cases/close_request.py",
        '        raise AlreadyExecutedError("the effect has happened; it cannot end as unsent")\n',
        "        return state\n",
        (f"{_T_CLOSE}::test_after_the_effect_no_ending_is_called_failed",),
    ),
    Mutation(
        "P4: an operator waits for the lease too",
        "no_undo/use_cases/settle_plan.py",
        "    if executing and gate.clock.now() < entry.attempt.lease_expires_at:",
        "    if False:",
        (f"{_T_OPERATOR}::test_nothing_is_settled_while_the_sender_may_still_be_calling",),
    ),
    Mutation(
        "P11: a wait stores its token before it looks",
        _RESUME,
        "    waits.put(wait)\n    for _ in range(MAX_ROUNDS):\n",
        "    for _ in range(MAX_ROUNDS):\n",
        (f"{_T_WAITS}::test_a_token_is_stored_before_anything_is_looked_at",),
    ),
    Mutation(
        "P11: a wait that can be answered makes its plan due",
        _RESUME,
        "    if outcome is None and not _held_by_pause(plan, gate):\n",
        "    if True:\n",
        (f"{_T_WAITS}::test_a_wait_stored_after_the_decision_is_answered_at_once",),
    ),
    Mutation(
        "A paused plan is looked at again",
        _RESUME,
        "    return plan.state in MAY_BEGIN and gate.paused()",
        "    return False",
        (f"{_T_WAITS}::test_a_paused_plan_goes_on_by_itself_after_the_pause",),
    ),
    Mutation(
        "P5: one decision for each person",
        "no_undo/use_cases/show_approval.py",
        "    if own is not None:\n",
        "    if False:\n",
        (f"{_T_DECIDE}::test_a_repeated_post_gets_the_first_answer",),
    ),
    Mutation(
        "P5: a decision is bound to the digest of the card",
        _APPROVAL,
        "    if decision.plan_digest != plan.digest:\n",
        "    if False:\n",
        (f"{_T_DECIDE}::test_p7_a_decision_about_another_digest_decides_nothing_and_is_recorded",),
    ),
    Mutation(
        "P5: only an eligible person of the plan decides",
        _APPROVAL,
        "    if decision.approver not in deciders_of(plan) or not eligible:\n",
        "    if False:\n",
        (
            f"{_T_DECIDE}::test_p5_a_person_who_is_no_longer_eligible_decides_nothing",
            f"{_T_DECIDE}::test_p5_the_requester_is_never_an_approver_even_with_a_link",
        ),
    ),
    Mutation(
        "P5: distinct people make a quorum",
        "no_undo/domain/plan.py",
        "            counted.setdefault(person_key(one.approver), one)\n",
        "            counted[str(len(counted))] = one\n",
        (
            f"{_T_LEDGER}::test_p5_two_approvals_of_one_person_are_not_a_quorum",
            f"{_T_LEDGER}::test_p5_two_spellings_of_one_person_are_not_a_quorum",
        ),
    ),
    Mutation(
        "A link that is no longer on its plan is dead",
        "no_undo/use_cases/show_approval.py",
        "    if link.state is not LinkState.LIVE or not current or ",
        "    if link.state is not LinkState.LIVE or ",
        (
            f"{_T_REMIND}::test_reassigning_gives_the_place_and_kills_the_old_link_in_the_same_write",
        ),
    ),
    Mutation(
        "P5: nobody takes a second place",
        _ASKING,
        "    if any(same_person(stand_in.approver, one) for one in deciders_of(plan)):\n",
        "    if False:\n",
        (f"{_T_REMIND}::test_p5_two_of_three_refuses_every_false_second_person",),
    ),
    Mutation(
        "P5: a place goes to an eligible person only",
        _ASKING,
        "    if not eligible:\n",
        "    if False:\n",
        (
            f"{_T_REMIND}::test_p5_a_place_goes_only_to_another_eligible_person",
            f"{_T_REMIND}::test_p5_a_hand_over_goes_only_to_another_eligible_person",
        ),
    ),
    Mutation(
        "Everybody is reminded once",
        _ASKING,
        "mailed is not None and mailed < at <= now\n",
        "mailed is not None and at <= now\n",
        (f"{_T_ASKING}::test_rule_6_everybody_is_asked_once_and_reminded_once",),
    ),
    Mutation(
        "P5: an undelivered mail is no consent and escalates",
        _ASKING,
        "    return replace(told, escalate_at=at, mail_at=at)\n",
        "    return told\n",
        (f"{_T_REMIND}::test_an_undelivered_request_escalates_at_once_and_is_no_consent",),
    ),
    Mutation(
        "P12: an approval counts only if the row of its link attests it",
        _GATE,
        "        return attests(link, plan, approver) and self.eligible(plan, approver)",
        "        return self.eligible(plan, approver)",
        (
            f"{_T_SEND}::test_p12_an_approval_that_no_used_link_attests_is_none",
            f"{_T_SEND}::test_p12_real_approvals_do_not_carry_over_to_a_plan_that_was_rewritten",
            f"{_T_SEND}::test_p12_links_of_another_plan_attest_nothing",
        ),
    ),
    Mutation(
        "P12: a link attests the digest that its person saw",
        _APPROVAL,
        "        and link.decided_digest == plan.digest\n",
        "",
        (f"{_T_SEND}::test_p12_real_approvals_do_not_carry_over_to_a_plan_that_was_rewritten",),
    ),
    Mutation(
        "P5: who the requester is follows from the policy too, not from the plan alone",
        _GATE,
        'policy.person_behind(plan.requester) or ""}',
        "plan.requester_email}",
        (f"{_T_SEND}::test_p12_a_rewritten_requester_does_not_make_the_requester_an_approver",),
    ),
    Mutation(
        "P5: a caller that the policy does not list is refused",
        "no_undo/domain/approver_policy.py",
        "    requester = policy.person_behind(caller)\n    if requester is None:\n",
        '    requester = policy.person_behind(caller) or ""\n    if False:\n',
        (f"{_T_POLICY}::test_rule_6_a_caller_that_the_policy_does_not_list_is_refused",),
    ),
    Mutation(
        "P6: nonsense never locks a person out",
        "no_undo/use_cases/record_decision.py",
        "    if FormInput.CONFIRMATION in errors and form.confirmation.strip():\n",
        "    if form.confirmation.strip():\n",
        (f"{_T_DECIDE}::test_p6_a_robot_that_posts_nonsense_never_locks_the_person_out",),
    ),
    Mutation(
        "One rejection ends the plan",
        _APPROVAL,
        "    if decision.verdict is Verdict.REJECT:\n",
        "    if False:\n",
        (f"{_T_DECIDE}::test_one_rejection_ends_the_plan_and_needs_a_reason",),
    ),
    Mutation(
        "P7: a decision is about the card that was shown",
        _DECIDE,
        "    if form.card_digest != card.digest and form.plan_digest == opened.plan.digest:\n",
        "    if False:\n",
        (f"{_T_DECIDE}::test_p7_a_card_that_says_something_else_by_now_decides_nothing",),
    ),
    Mutation(
        "A correction ends the plan it was made on",
        _APPROVAL,
        "    if decision.verdict is Verdict.CORRECT:\n",
        "    if False:\n",
        (f"{_T_CORRECT}::test_a_correction_starts_the_next_round_in_one_write",),
    ),
    Mutation(
        "A correction starts the next round in the same write",
        _DECIDE,
        "    return Save(next_round(request, corrections, deciders_of(plan)))\n",
        "    return NotWithdrawn(request.request_id) if corrections else Save(request)\n",
        (f"{_T_CORRECT}::test_a_correction_starts_the_next_round_in_one_write",),
    ),
    Mutation(
        "The draft of a corrected round is recorded as abandoned",
        _REQUEST,
        "    abandoned = dict.fromkeys((*request.abandoned_drafts, request.envelope_id))\n",
        "    abandoned = dict.fromkeys(request.abandoned_drafts)\n",
        (f"{_T_CORRECT}::test_a_correction_starts_the_next_round_in_one_write",),
    ),
    Mutation(
        "What was made from wrong values is made again",
        _REQUEST,
        "name: ref for name, ref in request.artefacts.items() if name not in _MADE_EACH_ROUND",
        "name: ref for name, ref in request.artefacts.items()",
        (f"{_T_CORRECT}::test_the_next_round_has_another_document_draft_digest_and_links",),
    ),
    Mutation(
        "P11: asking again after a correction answers the round that was asked about",
        _ASK,
        "    asked = request.round if request.stage is Stage.APPROVE else ",
        "    asked = request.round if True else ",
        (f"{_T_CORRECT}::test_asking_again_after_a_correction_answers_the_round_before",),
    ),
    Mutation(
        "A slow stage of the round before stores nothing in this one",
        "no_undo/use_cases/stage.py",
        "        if round_number is not None and current.round != round_number:\n",
        "        if False:\n",
        (f"{_T_CORRECT}::test_a_slow_stage_of_the_round_before_stores_nothing_in_this_one",),
    ),
    Mutation(
        "A draft of the round before that comes late is abandoned",
        "no_undo/use_cases/create_draft.py",
        "    if request.round != round_number:\n",
        "    if False:\n",
        (f"{_T_CORRECT}::test_a_draft_of_the_round_before_that_comes_late_is_abandoned",),
    ),
    Mutation(
        "Nobody approves a document that they say is wrong",
        _ANSWERS,
        "        return {FormInput.DECISION: CHOOSE_CORRECT} if said.corrected else {}\n",
        "        return {}\n",
        (f"{_T_CORRECT}::test_a_form_that_says_two_things_decides_nothing",),
    ),
    Mutation(
        "With attach nothing can be corrected",
        _ANSWERS,
        "    if Choice.CORRECT not in card.choices:\n",
        "    if False:\n",
        (f"{_T_CORRECT}::test_with_attach_nothing_can_be_corrected_and_the_page_says_so",),
    ),
    Mutation(
        "Everybody confirms a corrected value",
        "no_undo/domain/card.py",
        "        return self.disputed or self.corrected is not None\n",
        "        return self.disputed\n",
        (f"{_T_CORRECT}::test_a_corrected_value_is_shown_and_confirmed_by_everybody",),
    ),
    Mutation(
        "A disputed field blocks Approve until it is answered",
        _ANSWERS,
        "        elif one.to_answer and decision == Verdict.APPROVE:\n",
        "        elif False:\n",
        (f"{_T_DECIDE}::test_a_disputed_field_blocks_approve_until_it_is_answered",),
    ),
    Mutation(
        "P6: only the two words that a reader knows decide",
        _DECIDE,
        "    if not matches(form.confirmation, plan.digest, card.approver):\n",
        "    if False:\n",
        (f"{_T_DECIDE}::test_p6_wrong_words_are_counted_decide_nothing_and_never_use_the_link_up",),
    ),
    Mutation(
        "A mailed link is never mailed again",
        "no_undo/use_cases/request_approval.py",
        "    return not (mailed or decided)",
        "    return not decided",
        (f"{_T_ASK}::test_a_repeated_step_finds_its_plan_and_mails_nobody_again",),
    ),
    Mutation(
        "P9: each record holds the hash of the one before",
        "no_undo/domain/audit_chain.py",
        '        ("prev", link.prev, head.hash),\n',
        "",
        (f"{_T_CHAIN}::test_p9_a_rewritten_record_breaks_the_one_that_follows",),
    ),
    Mutation(
        "P9: a line has the hash that is stored with it",
        "no_undo/domain/audit_chain.py",
        "    if after.hash != record.hash:\n",
        "    if False:\n",
        (f"{_T_CHAIN}::test_p9_an_edited_line_is_named",),
    ),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one mutation.

    Attributes:
        mutation: Which one.
        survived: Tests that did not notice.
        broken: Tests that did not run, with pytest's exit code.
    """

    mutation: Mutation
    survived: tuple[str, ...]
    broken: tuple[str, ...]


def copy_of_the_package(folder: Path) -> Path:
    """Copy what is shipped into a folder; return the folder to import it from."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / PACKAGE / "no_undo", folder / PACKAGE / "no_undo", ignore=ignored)
    shutil.copytree(ROOT / "statemachine", folder / "statemachine")
    return folder / PACKAGE


def mutate(folder: Path, mutation: Mutation) -> None:
    """Break one rule in a copy.

    Raises:
        ValueError: The old text does not occur exactly once: the list is out of date.
    """
    base = folder if mutation.file.startswith("statemachine") else folder / PACKAGE
    path = base / mutation.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutation.old) != 1:
        raise ValueError(f"{mutation.file}: the text of {mutation.rule!r} does not occur once")
    path.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")


def run_tests(importable: Path, tests: tuple[str, ...]) -> int:
    """Run tests against the package in a folder; return pytest's exit code."""
    done = subprocess.run(  # noqa: S603 - our own interpreter and our own test ids
        [
            *(sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"),
            *("-o", f"pythonpath=. {importable}", *tests),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(importable)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=_TIMEOUT_SECONDS,
        check=False,
    )
    return done.returncode


def judge(mutation: Mutation) -> Verdict:
    """Break one rule and run each test named beside it on its own."""
    survived: list[str] = []
    broken: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        importable = copy_of_the_package(Path(name))
        mutate(Path(name), mutation)
        for test in mutation.tests:
            code = run_tests(importable, (test,))
            if code == 0:
                survived.append(test)
            elif code != _FAILED:
                broken.append(f"{test} (exit code {code})")
    return Verdict(mutation, tuple(survived), tuple(broken))


def unchanged_passes(mutations: tuple[Mutation, ...]) -> bool:
    """Run all named tests against an unchanged copy."""
    tests = tuple(dict.fromkeys(test for one in mutations for test in one.tests))
    with tempfile.TemporaryDirectory() as name:
        return run_tests(copy_of_the_package(Path(name)), tests) == 0


def main(arguments: list[str] | None = None) -> int:
    """Judge all mutations, or those whose rule contains a text; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.mutations", description=__doc__)
    parser.add_argument("--only", default="", help="text that the rule contains")
    parser.add_argument("--workers", type=int, default=2, help="how many at once")
    options = parser.parse_args(arguments)
    chosen = tuple(one for one in MUTATIONS if options.only in one.rule)
    if not chosen or not unchanged_passes(chosen):
        print("nothing to judge, or a named test fails without a mutation", file=sys.stderr)
        return 2
    with ThreadPoolExecutor(options.workers) as pool:
        verdicts = list(pool.map(judge, chosen))
    for one in verdicts:
        word = "SURVIVED" if one.survived else "BROKEN" if one.broken else "caught"
        print(f"{word:8}  {one.mutation.rule}")
        for test in (*one.survived, *one.broken):
            print(f"          {test}")
    caught = sum(1 for one in verdicts if not one.survived and not one.broken)
    print(f"{caught} of {len(verdicts)} mutations caught")
    if any(one.broken for one in verdicts):
        return 2
    return 1 if any(one.survived for one in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
