"""What the emulator never does by itself: conflicts, throttling, lost answers, a lagging index.

Each request lives to its end under one kind of disturbance, and is sent once (P1, P2, P9, P11).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from local.demo.people import approve, wait_for
from tests.e2e.site import Disturbance, Site
from tests.e2e.test_exactly_once import no_stream

TOLD = (
    "draft.begun",
    "draft.created",
    "plan.proposed",
    "link.issued",
    "approval.asked",
    "plan.approved",
    "plan.begun",
    "attempt.answered",
    "plan.executed",
    "wait.answered",
    "plan.followed_up",
    "signed_document.archived",
    "request.closed",
)
"""A record of each step from the draft to the end; each is one transaction."""
BEYOND_THE_BOUND = 6
"""The store offers one content this often."""

Fault = dict[str, object]


def transaction(kind: str, request_id: str, record: str, **how: object) -> Fault:
    """Return a fault for the transaction that stores one record of a request."""
    names = {"operation": "TransactWriteItems", "containing": [request_id, record]}
    return {"kind": kind, **names, **how}


def conflict(request_id: str, record: str, times: int = 1) -> Fault:
    return transaction(
        "transaction_cancelled", request_id, record, code="TransactionConflict", times=times
    )


def throttled(request_id: str, record: str) -> Fault:
    code = "ProvisionedThroughputExceededException"
    return transaction("refused", request_id, record, code=code)


def throttled_inside(request_id: str, record: str) -> Fault:
    return transaction("transaction_cancelled", request_id, record, code="ThrottlingError")


def reply_dropped(request_id: str, record: str, times: int = 1) -> Fault:
    return transaction("reply_dropped", request_id, record, times=times)


def lived_once(site: Site, request_id: str, attempts: int = 1) -> list[str]:
    """Let everybody sign, and return what the chain of the ended request tells."""
    site.wait(request_id, "AWAITING_SIGNATURE")
    site.signed(request_id)
    return ended_once(site, request_id, attempts)


def ended_once(site: Site, request_id: str, attempts: int = 1) -> list[str]:
    """The request ended well, was sent once, and nothing of it is left to do."""
    view = site.wait(request_id, "COMPLETED")
    assert site.sends(request_id) == 1
    assert view["attempts"] == attempts
    assert not view["in_doubt"]
    kinds = site.kinds(request_id)  # verifies the chain
    assert kinds.count("plan.begun") == attempts
    assert kinds.count("plan.executed") == 1
    [plan] = [one for one in site.rows("Plans") if one["request_id"]["S"] == request_id]
    [entry] = [one for one in site.rows("Ledger") if request_id in one["plan_id"]["S"]]
    assert entry["state"]["S"] == "EXECUTED"
    wait_for(lambda: due(site, plan["plan_id"]["S"]) == "" or None, "a plan at rest")
    return kinds


def held(site: Site, faults: Disturbance, number: int) -> bool | None:
    """Return True while a fault holds a call; else sweep, and return None."""
    if faults.holds(number):
        return True
    site.sweep()
    return None


def due(site: Site, plan_id: str) -> str:
    """Sweep, and return what is still due for a plan."""
    site.sweep()
    [plan] = [one for one in site.rows("Plans") if one["plan_id"]["S"] == plan_id]
    return str(plan.get("due_kind", {}).get("S", ""))


def test_p9_each_transition_of_a_life_fails_in_every_passing_way_and_is_stored_once(
    site: Site,
) -> None:
    """A conflict, two ways to be throttled and a lost answer, one after the other, each time."""
    request_id = site.submit("Disturbed")
    kinds_of_fault = (conflict, throttled, throttled_inside, reply_dropped)
    faults = [fault(request_id, record) for record in TOLD for fault in kinds_of_fault]

    with site.disturbed(*faults) as disturbance:
        approve(site.link(request_id))
        kinds = lived_once(site, request_id)

        assert set(disturbance.hits()) == {1}
    assert [kinds.count(record) for record in TOLD if record != "wait.answered"] == [1] * 12


def test_p1_a_begin_that_cannot_be_stored_sends_nothing_and_is_begun_later(site: Site) -> None:
    [(request_id, link)] = site.prepared({"Unstorable": {}}).items()
    calls = site.vendor.calls("sendDraftFolder")

    with site.disturbed(conflict(request_id, "plan.begun", BEYOND_THE_BOUND)) as faults:
        approve(link)
        wait_for(lambda: faults.hits() == [BEYOND_THE_BOUND] or None, "the refused begin")
        assert site.vendor.calls("sendDraftFolder") == calls
        lived_once(site, request_id)


def test_p2_a_begin_whose_every_answer_is_lost_is_recognised_by_its_attempt_id(site: Site) -> None:
    [(request_id, link)] = site.prepared({"Unanswered": {}}).items()

    with site.disturbed(reply_dropped(request_id, "plan.begun", BEYOND_THE_BOUND)) as faults:
        approve(link)
        lived_once(site, request_id)

        assert faults.hits() == [BEYOND_THE_BOUND]


def test_p2_a_lagging_index_shows_old_news_and_hides_new_and_harms_nobody(site: Site) -> None:
    """The sweep reads every row again: it does not act on what the index tells."""
    [(request_id, link)] = site.prepared({"Lagging": {}}).items()
    lag: Fault = {"kind": "stale", "operation": "Query", "index": "DueIndex", "times": None}

    with no_stream(site):
        with site.disturbed(lag):
            site.sweep()  # from here on the index tells what was due before the approval
            approve(link)
            site.sweep()
            assert site.view(request_id)["state"] == "SENDING"
            assert "wait.answered" not in site.kinds(request_id)
        with site.disturbed(lag) as faults:
            site.sweep()  # from here on it tells that the plan is to be resumed
            wait_for(lambda: site.sends(request_id) or None, "the send")
            for _ in range(3):
                site.sweep()
            assert faults.hits()[0] >= 4
    lived_once(site, request_id)


def test_mail_that_cannot_be_handed_over_is_tried_again_and_nobody_is_asked_twice(
    site: Site,
) -> None:
    """The approver's mail fails more often than the SDK repeats; the requester's is refused."""
    busy: Fault = {
        "kind": "refused",
        "service": "ses",
        "operation": "SendEmail",
        "code": "TooManyRequestsException",
        "status": 429,
        "times": 4,
    }
    request_id = site.submit("Unmailed")
    with site.disturbed({**busy, "containing": [request_id]}) as faults:
        link = site.link(request_id)
        assert faults.hits() == [4]
    kinds = site.kinds(request_id)
    assert kinds.count("approval.asked") == 1
    assert kinds.count("plan.proposed") == 1

    no: Fault = {**busy, "code": "MessageRejected", "status": 400, "times": None}
    with site.disturbed({**no, "containing": [request_id]}) as faults:
        approve(link)
        lived_once(site, request_id)
        assert faults.hits() == [1]


def test_p11_processes_killed_between_any_two_steps_cost_no_request_and_no_second_send(
    site: Site,
) -> None:
    """One request; five processes die, each at the next step, four right after their commit."""
    [(request_id, link)] = site.prepared({"Mortal": {}}).items()
    parked: Fault = {
        "kind": "held_before",
        "operation": "DeleteItem",
        "table": "WaitsTable",
        "containing": [request_id],
    }
    deaths: dict[str, Fault] = {
        "RecordDecision": transaction("held_after", request_id, "plan.approved"),
        "ResumeExecution": parked,
        "SendEnvelope": transaction("held_after", request_id, "plan.executed"),
        "AwaitSettlement": transaction("held_after", request_id, "wait.stored"),
        "CloseRequest": transaction("held_after", request_id, "request.closed"),
    }
    with site.disturbed(*deaths.values()) as faults, ThreadPoolExecutor(1) as approver:
        approver.submit(approve, link)  # its answer is lost
        for number, capability in enumerate(deaths):
            if capability == "CloseRequest":
                site.wait(request_id, "AWAITING_SIGNATURE")
                site.vendor.sign_all(site.folder_id(request_id))
            wait_for(partial(held, site, faults, number), f"{capability} to be held")
            site.kill(capability)
        assert faults.hits() == [1] * len(deaths)

    wait_for(lambda: site.execution(request_id) == "SUCCEEDED" or None, "the end")
    ended_once(site, request_id)
