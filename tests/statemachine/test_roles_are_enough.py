"""Every call that a function makes is allowed by its own role, and every grant is needed.

The handlers run on the product's own AWS adapters; each call they make is held against the
statements of their role. A missing grant would show as a refusal in production, an unneeded one as
a path that nobody walks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Final

import pytest
from moto import mock_aws

from no_undo.domain.canary import Expectation, ReadField
from no_undo.domain.card import correction_input_name, field_input_name
from no_undo.domain.extraction_schema import FREIGHT_INVOICE
from no_undo.domain.link_opens import MAX_RECORDED_OPENS
from no_undo.domain.plan import PlanState
from no_undo.domain.request import RequestState, Stage
from no_undo.lab.fake_esign import Behaviour
from tests.infrastructure.template import functions
from tests.statemachine.account import client
from tests.statemachine.aws_machine import AwsMachine
from tests.statemachine.definition import Json
from tests.statemachine.deployment import ACCOUNT, REGION
from tests.statemachine.machine import APPROVERS, a_submission
from tests.statemachine.permissions import Call, allowed, unused

BY_DYNAMODB: Final = "DynamoDB uses the key on the function's behalf"
BY_LAMBDA: Final = "Lambda reads the stream, and keeps what failed, with the function's role"
NONE: Final = (None, None, None)
EXPORTED: Final = "a receipt needs an export: tests/e2e/test_audit_export.py and the demo"
VENDOR: Final = "the vendor is a stand-in here"

ELSEWHERE: Final = {
    "export_audit": "under its role on the emulator: tests/e2e/test_audit_export.py"
}
"""Functions that are not driven here, and where they are."""

DRIVEN: Final = set(functions()) - set(ELSEWHERE)

UNSEEN: Final[Mapping[str, str]] = {
    "kms:Decrypt on WaitsKey": BY_DYNAMODB,
    "kms:DescribeKey on WaitsKey": BY_DYNAMODB,
    "kms:Encrypt on WaitsKey": BY_DYNAMODB,
    "kms:GenerateDataKey on WaitsKey": BY_DYNAMODB,
    "kms:ReEncryptFrom on WaitsKey": BY_DYNAMODB,
    "kms:ReEncryptTo on WaitsKey": BY_DYNAMODB,
    "dynamodb:DescribeStream on PlansTable.StreamArn": BY_LAMBDA,
    "dynamodb:GetRecords on PlansTable.StreamArn": BY_LAMBDA,
    "dynamodb:GetShardIterator on PlansTable.StreamArn": BY_LAMBDA,
    "dynamodb:ListStreams on *": BY_LAMBDA,
    "sqs:SendMessage on ResumeFailures": BY_LAMBDA,
    "secretsmanager:GetSecretValue on ESignSecret": VENDOR,
    "secretsmanager:GetSecretValue on PdfServicesSecret": VENDOR,
    "secretsmanager:GetSecretValue on ExtractionSecret": VENDOR,
    "secretsmanager:GetSecretValue on RedactionSecret": VENDOR,
    "s3:ListBucket on DocumentsBucket": "S3 looks at it when an upload is missing",
    "s3:GetObject on DocumentsBucket/requests/*": "S3 asks for it beside the version's own action",
    "dynamodb:GetItem on IdempotencyTable": "Powertools, where a failed write returns no row",
}
"""Grants that no call in this process shows, and who needs them."""

UNSEEN_OF: Final[Mapping[str, Mapping[str, str]]] = {
    "extract_fields": {
        "s3:GetObjectVersion on DocumentsBucket/requests/*": VENDOR,
        "s3:PutObject on DocumentsBucket/requests/*": VENDOR,
        "ssm:GetParameter on parameter/${AWS::StackName}/thresholds": VENDOR,
        "s3:GetObject on DocumentsBucket/drift/*": VENDOR,
    },
    "get_request": {
        "dynamodb:Query on AuditTable": EXPORTED,
        "dynamodb:GetItem on AuditExportTable": EXPORTED,
    },
    "record_decision": {
        "kms:GenerateMac on HashKey": "only where fields are disputed, and nothing is read here",
    },
}
"""The same, of one function."""


def signed(machine: AwsMachine) -> str:
    """Take a request through to its end; look at everything on the way."""
    client("s3").put_object(Bucket="documentsbucket", Key=f"contacts/{ACCOUNT}.json", Body=b"[]")
    body = a_submission()
    headers = {"idempotency-key": "order-4711"}
    first, again = (
        machine.ask("submit_request", "POST /requests", body=body, headers=headers)
        for _ in range(2)
    )
    assert first["body"] == again["body"]
    request_id = machine.submit()
    machine.run()
    look_at_the_card(machine)
    machine.approve()
    machine.run()
    machine.hint(machine.plan(request_id).plan_id)
    machine.wait(timedelta(minutes=20), sweeps=8)
    assert machine.request(request_id).state is RequestState.COMPLETED
    machine.call("get_request", "GET /requests")
    machine.call("get_request", "GET /requests/{id}", id=request_id)
    answer = machine.ask("get_request", "GET /requests/{id}/document", {"id": request_id})
    assert answer["statusCode"] == 303
    return request_id


def look_at_the_card(machine: AwsMachine) -> None:
    """Open a link more often than is recorded, and what lies behind it."""
    behind = {"token": machine.tokens_of(APPROVERS[0])[-1], "page": "1"}
    opened = [
        machine.ask("show_approval", "GET /approvals/{token}", behind)
        for _ in range(MAX_RECORDED_OPENS + 2)
    ]
    page = machine.ask("show_approval", "GET /approvals/{token}/pages/{page}", behind)
    document = machine.ask("show_approval", "GET /approvals/{token}/document", behind)
    assert {one["statusCode"] for one in opened} == {200}
    assert [page["statusCode"], document["statusCode"]] == [200, 303]


def corrected_and_withdrawn(machine: AwsMachine) -> None:
    """Correct a value that was read, and take the request back in its second round."""
    request_id = uploaded(machine, extraction="auto", assembly="rebuild")
    machine.run()
    total = list(FREIGHT_INVOICE.get("properties", {})).index("total_amount")
    answer = {field_input_name(total): "corrected", correction_input_name(total): "86.86"}
    assert machine.decide(APPROVERS[0], "correct", **answer)["statusCode"] == 200
    machine.run()
    request = machine.request(request_id)
    assert (request.round, request.stage, len(request.abandoned_drafts)) == (2, Stage.APPROVE, 1)
    machine.withdraw(request_id)
    machine.wait(timedelta(hours=1))
    assert machine.request(request_id).state is RequestState.WITHDRAWN


def uploaded(machine: AwsMachine, **changes: object) -> str:
    """Submit a document that was uploaded."""
    upload = machine.call("submit_request", "POST /uploads")
    key = f"uploads/{ACCOUNT}/{upload['upload_id']}"
    body = b"%PDF-1.7 4711 " + upload["upload_id"].encode()  # another effect each time
    client("s3").put_object(Bucket="documentsbucket", Key=key, Body=body)
    document = {"upload_id": upload["upload_id"]}
    return machine.submit(**{"document": document, "extraction": "none", **changes})


def redacted_and_withdrawn(machine: AwsMachine) -> None:
    """Redact an upload, then take the request back while people decide."""
    request_id = uploaded(
        machine,
        prompt="Redact 4711, then send this to Alice and Bob for signature.",
        redact_values=["4711"],
    )
    machine.run()
    machine.decide(APPROVERS[0])
    machine.withdraw(request_id)
    machine.run()
    assert machine.request(request_id).state is RequestState.WITHDRAWN


def settled_by_the_sweep(machine: AwsMachine) -> None:
    """Send without an answer, and let the sweep find out."""
    machine.esign.behaviour = Behaviour.LAGS
    request_id = approved(machine)
    machine.wait(timedelta(hours=1), sweeps=8)
    assert machine.request(request_id).state is RequestState.COMPLETED
    machine.esign.behaviour = Behaviour.NORMAL


def restarted_after_signing(machine: AwsMachine) -> None:
    """Lose an execution that waits for a signature; its successor finds the answer there."""
    request_id = approved(machine)
    machine.pipeline.stop(request_id)
    machine.wait(timedelta(minutes=30), sweeps=6)
    assert machine.request(request_id).state is RequestState.COMPLETED


def settled_by_an_operator(machine: AwsMachine) -> None:
    """Lose a send, find that nothing happened, then repeat it knowingly and void it."""
    machine.esign.behaviour = Behaviour.ALWAYS_LOST
    request_id = approved(machine)
    machine.clock.advance(timedelta(minutes=5))
    plan_id = machine.plan(request_id).plan_id
    machine.call("settle_plan", "GET /operations/drafts")
    machine.settle(plan_id, "not-done")
    machine.run()
    machine.esign.behaviour = Behaviour.NORMAL
    statement: Json = {"reason": "Maintenance."}
    machine.call("settle_plan", "POST /operations/pause", body=statement)
    machine.call("settle_plan", "GET /operations/in-doubt")
    machine.call("settle_plan", "POST /operations/unpause", body=statement)
    sent = machine.plan(approved(machine, repeat_of=plan_id)).plan_id
    machine.call("settle_plan", "POST /operations/plans/{id}/void", body=statement, id=sent)


def released_then_withdrawn(machine: AwsMachine) -> None:
    """Fail to connect, and take the request back before it is tried again."""
    machine.esign.behaviour = Behaviour.NOT_SENT
    machine.esign.sends.clear()
    request_id = approved(machine)
    assert machine.plan(request_id).state is PlanState.RELEASED
    machine.withdraw(request_id)
    machine.run()
    assert machine.request(request_id).state is RequestState.WITHDRAWN
    machine.esign.behaviour = Behaviour.NORMAL


def released_then_refused(machine: AwsMachine) -> None:
    """Fail to connect; meanwhile somebody changes the draft."""
    machine.esign.behaviour = Behaviour.NOT_SENT
    machine.esign.sends.clear()
    request_id = approved(machine)
    machine.esign.change(machine.request(request_id).envelope_id, document_count=2)
    machine.wait(timedelta(minutes=10))
    assert machine.ended(request_id) == ("FAILED", "Send Envelope", "read_back_differs")
    machine.esign.behaviour = Behaviour.NORMAL


def expired_and_restarted(machine: AwsMachine) -> None:
    """Lose an execution, restart it twice, by hand and not, and let the deadline pass."""
    request_id = uploaded(machine)
    machine.run()
    machine.pipeline.stop(request_id)
    resume: Json = {"reason": "Maintenance is over."}
    machine.call("settle_plan", "POST /operations/requests/{id}/resume", body=resume, id=request_id)
    machine.pipeline.stop(f"{request_id}-r1")
    machine.wait(timedelta(hours=80), sweeps=8)
    assert machine.request(request_id).state is RequestState.EXPIRED


def mailed_late(machine: AwsMachine) -> None:
    """Crash between storing a link and mailing it: the next run supersedes it."""
    machine.log.lose_mails = 1
    request_id = uploaded(machine)
    machine.run()
    assert machine.execution(request_id).state == "Request Approval"
    machine.withdraw(request_id)
    machine.run()


def asked_around(machine: AwsMachine) -> None:
    """Reassign, hand over, ask, remind and escalate, then withdraw."""
    request_id = uploaded(machine)
    machine.run()
    reassigned = {"approver": APPROVERS[0], "to": "frank@example.com", "reason": "On holiday."}
    machine.call(
        "reassign_approver", "POST /requests/{id}/reassign", body=reassigned, id=request_id
    )
    machine.remind()
    [secret] = machine.tokens_of("frank@example.com")
    machine.mail_event("bounce", request_id, secret)
    machine.mail_event("bounce_requester", request_id)
    machine.clock.advance(timedelta(hours=70))
    machine.remind()
    assert len(machine.tokens_of(APPROVERS[1])) > 1
    machine.withdraw(request_id)
    machine.run()


def a_canary_sings(machine: AwsMachine) -> None:
    """Read a known document again; the vendor answers differently than expected."""
    expected = Expectation("understand", "engine=1", {"total_amount": ReadField(2.0, None, NONE)})
    for name, body in (("json", json.dumps(expected.as_json()).encode()), ("pdf", b"%PDF-1.7")):
        key = f"canaries/invoice/page.{name}"
        client("s3").put_object(Bucket="documentsbucket", Key=key, Body=body)
    for _ in range(2):
        assert machine.invoke("check_canaries", {}) == {"checked": 1, "drifted": 1, "failed": 0}


def refused_at_the_door(machine: AwsMachine) -> None:
    """Hand in what cannot be understood, with a key."""
    answer = machine.ask(
        "submit_request",
        "POST /requests",
        body=a_submission(recipients=[], prompt="Have it signed."),
        headers={"idempotency-key": "order-4712"},
    )
    assert answer["statusCode"] == 400


def approved(machine: AwsMachine, **changes: object) -> str:
    """Take an upload to its send."""
    request_id = uploaded(machine, **changes)
    machine.run()
    machine.approve()
    machine.run()
    return request_id


STORIES: Final[tuple[Callable[[AwsMachine], object], ...]] = (
    signed,
    refused_at_the_door,
    redacted_and_withdrawn,
    corrected_and_withdrawn,
    settled_by_the_sweep,
    restarted_after_signing,
    settled_by_an_operator,
    released_then_withdrawn,
    released_then_refused,
    expired_and_restarted,
    mailed_late,
    asked_around,
    a_canary_sings,
)


@pytest.fixture(scope="module")
def calls() -> Iterator[dict[str, set[Call]]]:
    """What every function asked AWS for while requests went their ways."""
    with mock_aws(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_DEFAULT_REGION", REGION)
        machine = AwsMachine(patch)
        for story in STORIES:
            story(machine)
        yield machine.log.calls


def test_every_function_was_seen(calls: dict[str, set[Call]]) -> None:
    assert set(calls) == DRIVEN


@pytest.mark.parametrize("function", sorted(DRIVEN))
def test_every_call_of_a_function_is_allowed_by_its_role(
    calls: dict[str, set[Call]], function: str
) -> None:
    assert {one for one in calls[function] if not allowed(function, one)} == set()


@pytest.mark.parametrize("function", sorted(DRIVEN))
def test_every_grant_of_a_role_is_needed(calls: dict[str, set[Call]], function: str) -> None:
    unseen = {*UNSEEN, *UNSEEN_OF.get(function, {})}

    assert unused(function, calls[function]) - unseen == set()
