"""Real death on the emulator: whatever is killed, repeated or lost, one send (P1, P2, P4, P11)."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from local.demo.people import approve, wait_for
from local.stack.aws import error_code
from no_undo.cli.api import ApiError
from tests.e2e.site import Site

if TYPE_CHECKING:
    from collections.abc import Generator

TIMED_OUT = "timed out"
DUPLICATES = 50
PLANS_AT_ONCE = 20


@pytest.fixture(scope="module", autouse=True)
def doubted(site: Site) -> dict[str, str]:
    """Requests whose send is in doubt, by why; their leases end while other tests run."""
    links = site.prepared({"Before": {}, "After": {}, "Retried": {}, "Claimed": {}})
    before, after, retried, claimed = links
    kill_sender(site, before, links[before], "before_effect")
    kill_sender(site, after, links[after], "after_effect")
    kill_retried_sender(site, retried, links[retried])
    calls, folder = site.vendor.calls("sendDraftFolder"), site.folder_id(claimed)
    with site.vendor.misbehaving("sendDraftFolder", "success_without_effect", folder=folder):
        approve(links[claimed])
        wait_for(lambda: site.vendor.calls("sendDraftFolder") > calls or None, "the call")
    names = ("killed before", "killed after", "killed and retried", "claimed")
    return dict(zip(names, links, strict=True))


def kill_sender(site: Site, request_id: str, link: str, point: str) -> None:
    """Approve, and kill the sender right before or right after the vendor's effect."""
    hold = site.vendor.hold("sendDraftFolder", point, site.folder_id(request_id))
    approve(link)
    site.kill_in_call(hold, "SendEnvelope")


def kill_retried_sender(site: Site, request_id: str, link: str) -> None:
    """The same in a state machine with the usual retry block, which ours does not have."""
    machines = site.running.aws.client("stepfunctions")
    machines.stop_execution(executionArn=site.execution_arn(request_id))
    hold = site.vendor.hold("sendDraftFolder", "after_effect", site.folder_id(request_id))
    approve(link)
    ours = machines.describe_state_machine(stateMachineArn=site.running.outputs["StateMachineArn"])
    send = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Parameters": {
            "FunctionName": site.running.outputs["SendEnvelopeFunctionName"],
            "Payload": {"requestId": request_id},
        },
        "Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 3}],
        "End": True,
    }
    machine = machines.create_state_machine(
        name="usual-retry",
        definition=json.dumps({"StartAt": "Send", "States": {"Send": send}}),
        roleArn=ours["roleArn"],
    )["stateMachineArn"]
    execution = machines.start_execution(stateMachineArn=machine, input="{}")["executionArn"]
    site.kill_in_call(hold, "SendEnvelope")

    def output() -> dict[str, Any] | None:
        found = machines.describe_execution(executionArn=execution)
        return None if found["status"] == "RUNNING" else json.loads(found["output"])

    assert wait_for(output, "the repeated invocation")["Payload"]["outcome"] == "unsettled"


def in_doubt(site: Site, request_id: str) -> dict[str, Any]:
    """Wait until everybody can see that it is not known whether a request was sent."""
    return wait_for(lambda: v if (v := site.view(request_id))["in_doubt"] else None, "the doubt")


@pytest.mark.parametrize("why", ["killed before", "killed after", "killed and retried"])
def test_p4_a_sender_killed_in_its_call_leaves_a_doubt_that_everybody_can_see(
    site: Site, doubted: dict[str, str], why: str
) -> None:
    """No answer is on record, so the death really came inside the call."""
    view = in_doubt(site, doubted[why])

    kinds = site.kinds(doubted[why])
    assert (view["state"], view["attempts"]) == ("SENDING", 1)
    assert "plan.begun" in kinds
    assert "attempt.answered" not in kinds
    with pytest.raises(ApiError) as refused:
        site.api.post(f"/requests/{doubted[why]}/withdraw", {})
    assert refused.value.status == 409


def test_p3_an_answer_that_claims_success_is_no_evidence(
    site: Site, doubted: dict[str, str]
) -> None:
    """The vendor says 200 and success, and has sent nothing."""
    request_id = doubted["claimed"]
    in_doubt(site, request_id)

    told = wait_for(lambda: answered(site, request_id), "the answer on record")

    assert told["details"]["answer"] == "ACCEPTED"
    assert "plan.executed" not in site.kinds(request_id)
    assert site.sends(request_id) == 0


def answered(site: Site, request_id: str) -> dict[str, Any] | None:
    chain = site.chain(request_id)
    return next((one for one in chain if one["kind"] == "attempt.answered"), None)


def test_the_fence_refuses_the_same_document_to_the_same_people_and_names_the_holder(
    site: Site, doubted: dict[str, str]
) -> None:
    """Also while it is not known whether the holder's effect has happened."""
    holder = doubted["killed after"]
    assert site.view(holder)["in_doubt"]

    second = site.submit("After")

    view = site.ended(second)
    assert (view["state"], view["ending"]["code"]) == ("FAILED", "fence_held")
    assert f"{holder}#1" in view["ending"]["reason"]
    assert site.vendor.folder_of(second) is None


def test_a_drafting_killed_after_the_vendors_effect_finds_its_own_draft(site: Site) -> None:
    hold = site.vendor.hold("createfolder", "after_effect")
    calls = site.vendor.calls("createfolder")
    request_id = site.submit("Drafted")
    site.kill_in_call(hold, "CreateDraft")

    assert site.link(request_id)

    told = site.chain(request_id)
    created = next(one for one in told if one["kind"] == "draft.created")
    assert site.vendor.calls("createfolder") == calls + 1
    assert created["details"]["envelope"] == str(site.folder_id(request_id))
    assert created["details"]["abandoned"] == []
    site.api.post(f"/requests/{request_id}/withdraw", {})


def test_p2_fifty_duplicate_invocations_at_once_send_once(site: Site) -> None:
    """Nothing else drives the plan: its execution is stopped before it is approved.

    Afterwards the sweep finds the request without a driver and starts a recovery execution.
    """
    [(request_id, link)] = site.prepared({"Duplicated": {}}).items()
    machines = site.running.aws.client("stepfunctions")
    machines.stop_execution(executionArn=site.execution_arn(request_id))
    approve(link)

    with ThreadPoolExecutor(DUPLICATES) as callers:
        answers = list(callers.map(partial(send_envelope, site), [request_id] * DUPLICATES))

    outcomes = [answer["outcome"] for answer in answers]
    assert set(outcomes) <= {"executed", "unsettled", TIMED_OUT}
    assert {"executed", TIMED_OUT} & set(outcomes)
    assert site.sends(request_id) == 1
    assert site.kinds(request_id).count("plan.begun") == 1
    view = site.wait(request_id, "AWAITING_SIGNATURE")
    assert view["attempts"] == 1
    wait_for(lambda: driven(site, f"{request_id}-r1"), "the recovery execution")
    site.signed(request_id)
    assert site.sends(request_id) == 1
    assert site.execution(request_id) == "ABORTED"


def test_p2_a_second_execution_for_the_same_plan_does_not_send_again(site: Site) -> None:
    [(request_id, link)] = site.prepared({"Twice": {}}).items()
    site.running.aws.client("stepfunctions").start_execution(
        stateMachineArn=site.running.outputs["StateMachineArn"],
        name=f"{request_id}-twin",
        input=json.dumps({"requestId": request_id}),
    )
    wait_for(lambda: site.kinds(request_id).count("wait.stored") > 1 or None, "the twin's wait")

    approve(link)

    site.wait(request_id, "AWAITING_SIGNATURE")
    site.signed(request_id)
    assert site.sends(request_id) == 1
    assert site.kinds(request_id).count("plan.begun") == 1


def test_p3_an_envelope_that_somebody_else_sent_is_an_incident_and_no_success(site: Site) -> None:
    [(request_id, link)] = site.prepared({"Outside": {}}).items()
    site.vendor.send_outside(site.folder_id(request_id))

    approve(link)

    view = site.ended(request_id)
    assert (view["state"], view["ending"]["code"]) == ("FAILED", "sent_outside_gate")
    kinds = site.kinds(request_id)
    assert "plan.sent_outside_gate" in kinds
    assert not {"plan.begun", "plan.executed"} & set(kinds)
    assert site.sends(request_id) == 1


def test_p11_a_callback_that_the_stream_never_delivered_is_delivered_by_the_sweep(
    site: Site,
) -> None:
    """As after a crash between the deciding transaction and the wake-up of the machine."""
    [(request_id, link)] = site.prepared({"Unheard": {}}).items()

    with no_stream(site):
        approve(link)
        assert site.view(request_id)["state"] == "SENDING"
        assert "wait.answered" not in site.kinds(request_id)

        site.wait(request_id, "AWAITING_SIGNATURE")

    assert site.sends(request_id) == 1
    assert site.execution(request_id) == "RUNNING"


def test_p2_twenty_plans_at_once_are_sent_once_each(site: Site) -> None:
    links = site.prepared({f"Plan{number}": {} for number in range(PLANS_AT_ONCE)})

    site.approve_all(links.values())
    for request_id in links:
        site.wait(request_id, "AWAITING_SIGNATURE")

    assert [site.sends(request_id) for request_id in links] == [1] * PLANS_AT_ONCE
    for request_id in links:
        site.vendor.end(site.folder_id(request_id), "decline")


def test_p11_a_killed_emulator_costs_no_request_and_no_second_send(spare_site: Site) -> None:
    """Waiting executions do not survive it; the sweep drives every request again."""
    site = spare_site
    links = site.prepared({"Unapproved": {}, "Sent": {}})
    unapproved, sent = links
    approve(links[sent])
    site.wait(sent, "AWAITING_SIGNATURE")

    site.kill_emulator()

    assert site.execution(sent) == "FAILED"
    approve(links[unapproved])
    site.wait(unapproved, "AWAITING_SIGNATURE")
    for request_id in links:
        site.signed(request_id)
        assert site.sends(request_id) == 1
        assert site.execution(f"{request_id}-r1") == "SUCCEEDED"


@pytest.mark.parametrize(
    ("why", "attempts"),
    [("killed before", 2), ("killed after", 1), ("killed and retried", 1), ("claimed", 2)],
)
def test_p2_what_was_in_doubt_has_been_sent_once_in_the_end(
    site: Site, doubted: dict[str, str], why: str, attempts: int
) -> None:
    """The sweep asks the system of record after the lease; only what is not done begins again."""
    request_id = doubted[why]

    view = site.wait(request_id, "AWAITING_SIGNATURE")

    assert view["attempts"] == attempts
    assert site.sends(request_id) == 1
    assert site.kinds(request_id).count("plan.begun") == attempts
    assert site.signed(request_id)["state"] == "COMPLETED"
    assert site.sends(request_id) == 1


def send_envelope(site: Site, request_id: str) -> dict[str, Any]:
    """Invoke the function directly, as often as the account is full."""

    def invoke() -> dict[str, Any] | None:
        try:
            answer = site.running.aws.client("lambda").invoke(
                FunctionName=site.running.outputs["SendEnvelopeFunctionName"],
                Payload=json.dumps({"requestId": request_id}),
            )
        except ClientError as error:
            if error_code(error) == "TooManyRequestsException":
                return None
            raise
        decoded: dict[str, Any] = json.loads(answer["Payload"].read())
        if "FunctionError" in answer and "timed out" in decoded["errorMessage"]:
            return {"outcome": TIMED_OUT}  # on a busy machine; the promise is the same
        assert "FunctionError" not in answer, decoded["errorMessage"]
        return decoded

    return wait_for(invoke, "room for one more invocation")


def driven(site: Site, execution: str) -> bool | None:
    """Sweep until an execution of this name runs."""
    site.sweep()
    return True if site.execution(execution) == "RUNNING" else None


@contextmanager
def no_stream(site: Site) -> Generator[None]:
    """Take the stream of plans from the function that answers waits, while the block runs."""
    functions = site.running.aws.client("lambda")
    name = site.function("ResumeExecution")["FunctionName"]
    [mapping] = functions.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    try:
        yield
    finally:
        functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)
