"""P12: what the roles in the template forbid is refused when it is really tried.

Each function's role is assumed and the call is made. It is the emulator that evaluates the
policies here: this shows that they forbid what they should, not how AWS would put it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from local.stack.aws import REGION, error_code
from no_undo.cli.api import ApiError
from tests.e2e.conftest import WholeJob
from tests.e2e.site import Site

FUNCTIONS = (
    "SubmitRequest",
    "GetRequest",
    "WithdrawRequest",
    "ParseRequest",
    "ExtractFields",
    "AssembleDocument",
    "RedactDocument",
    "VerifyRedaction",
    "CreateDraft",
    "RequestApproval",
    "ShowApproval",
    "RecordDecision",
    "SendEnvelope",
    "AwaitSettlement",
    "AwaitSignature",
    "ArchiveSignedDocument",
    "CloseRequest",
    "ResumeExecution",
    "ReconcileSends",
    "SettlePlan",
    "ReceiveWebhook",
    "ExportAudit",
    "CheckCanaries",
    "ReassignApprover",
    "RecordMailEvent",
    "SendReminders",
)
DENIED = frozenset({"AccessDeniedException", "AccessDenied"})

Client = Callable[[str], Any]


def read_esign_secret(client: Client, site: Site) -> None:
    secret = site.running.outputs["ESignSecretArn"]
    client("secretsmanager").get_secret_value(SecretId=secret)


def write_the_ledger(client: Client, site: Site) -> None:
    """Its condition never holds, so that whoever may write changes nothing."""
    client("dynamodb").put_item(
        TableName=site.tables["Ledger"],
        Item={"plan_id": {"S": "nothing#1"}},
        ConditionExpression="attribute_exists(plan_id)",
    )


def resume_the_machine(client: Client, site: Site) -> None:
    token = site.running.outputs["StateMachineArn"]  # of the right kind, and no task's
    client("stepfunctions").send_task_success(taskToken=token, output="{}")


def read_task_tokens(client: Client, site: Site) -> None:
    key = {"wait_id": {"S": "nothing#1#approval"}}
    client("dynamodb").get_item(TableName=site.tables["Waits"], Key=key)


def invoke_the_sender(client: Client, site: Site) -> None:
    name = site.running.outputs["SendEnvelopeFunctionName"]
    client("lambda").invoke(FunctionName=name, Payload=json.dumps({"requestId": "nothing"}))


def change_the_audit(client: Client, site: Site) -> None:
    key = {"chain_id": {"S": "nothing"}, "seq": {"N": "1"}}
    client("dynamodb").delete_item(TableName=site.tables["Audit"], Key=key)


def empty_the_outbox(client: Client, site: Site) -> None:
    key = {"chain_seq": {"S": "nothing#000000000001"}}
    client("dynamodb").delete_item(TableName=site.tables["AuditOutbox"], Key=key)


def sign_a_checkpoint(client: Client, site: Site) -> None:
    client("kms").sign(
        KeyId=site.running.outputs["AuditKeyArn"],
        Message=b"a forged checkpoint",
        MessageType="RAW",
        SigningAlgorithm="ED25519_SHA_512",
    )


def overwrite_an_exported_file(client: Client, site: Site) -> None:
    bucket = site.running.outputs["AuditBucketName"]
    client("s3").put_object(Bucket=bucket, Key="checkpoints/000000000001", Body=b"")


def delete_an_exported_file(client: Client, site: Site) -> None:
    bucket = site.running.outputs["AuditBucketName"]
    client("s3").delete_object(Bucket=bucket, Key="checkpoints/000000000001")


ALLOWED: dict[Callable[[Client, Site], None], set[str]] = {
    read_esign_secret: {
        "CreateDraft",
        "SendEnvelope",
        "ArchiveSignedDocument",
        "ReconcileSends",
        "SettlePlan",
    },
    write_the_ledger: {"SendEnvelope", "ReconcileSends", "SettlePlan"},
    resume_the_machine: {"ResumeExecution"},
    read_task_tokens: {"ResumeExecution"},
    invoke_the_sender: set(),
    change_the_audit: set(),
    empty_the_outbox: {"ExportAudit"},
    sign_a_checkpoint: {"ExportAudit"},
    overwrite_an_exported_file: set(),
    delete_an_exported_file: set(),
}


@pytest.fixture(scope="module")
def in_the_role_of(site: Site) -> Callable[[str], Client]:
    """Return a maker of clients that act in a function's role."""
    sessions = site.running.aws.client("sts")

    @cache
    def session(function: str) -> boto3.Session:
        role = site.function(function)["Role"]
        given = sessions.assume_role(RoleArn=role, RoleSessionName="end-to-end")["Credentials"]
        return boto3.Session(
            given["AccessKeyId"],
            given["SecretAccessKey"],
            given["SessionToken"],
            region_name=REGION,
        )

    def clients(function: str) -> Client:
        made: Any = session(function)  # its stubs know a fixed list of services
        return lambda service: made.client(service, endpoint_url=site.running.aws.endpoint_url)

    return clients


def allowed(attempt: Callable[[], object]) -> bool:
    """Tell whether a call got past the role, whatever became of it then."""
    try:
        attempt()
    except ClientError as error:
        return error_code(error) not in DENIED
    return True


def test_every_function_of_the_deployment_is_tried(site: Site) -> None:
    pages = site.running.aws.client("lambda").get_paginator("list_functions").paginate()
    names = {one["FunctionName"].split("-")[-2] for page in pages for one in page["Functions"]}

    assert names == {f"{function}Function" for function in FUNCTIONS}


@pytest.mark.parametrize("attempt", ALLOWED, ids=lambda attempt: attempt.__name__)
def test_p12_only_the_roles_that_need_it_get_through(
    site: Site,
    in_the_role_of: Callable[[str], Client],
    attempt: Callable[[Client, Site], None],
) -> None:
    through = {
        function
        for function in FUNCTIONS
        if allowed(partial(attempt, in_the_role_of(function), site))
    }

    assert through == ALLOWED[attempt]


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("Plans", {"plan_id": "nothing#1"}),
        ("Approvals", {"token_sha256": "nothing"}),
        ("Requests", {"request_id": "nothing"}),
        ("Ledger", {"plan_id": "nothing#1"}),
        ("Fence", {"fence_key": "nothing"}),
    ],
)
def test_p6_showing_a_card_can_write_nothing_that_decides(
    site: Site, in_the_role_of: Callable[[str], Client], table: str, key: dict[str, str]
) -> None:
    """That it appends to the chain of opens alone hangs on a condition the emulator ignores."""
    rows = in_the_role_of("ShowApproval")("dynamodb")
    item = {name: {"S": value} for name, value in key.items()}

    assert not allowed(lambda: rows.put_item(TableName=site.tables[table], Item=item))
    assert not allowed(lambda: rows.delete_item(TableName=site.tables[table], Key=item))


def user(site: Site, name: str, *, may_call: bool) -> tuple[str, str]:
    """Make an IAM user of this account; return its key."""
    people = site.running.aws.client("iam")
    people.create_user(UserName=name)
    if may_call:
        statement = {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        people.put_user_policy(UserName=name, PolicyName="call", PolicyDocument=policy)
    key = people.create_access_key(UserName=name)["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]


def test_a_caller_sees_its_own_requests_and_nobody_elses(site: Site, whole_job: WholeJob) -> None:
    other = site.as_caller(*user(site, "other-caller", may_call=True))

    assert other.get("/requests") == {"requests": []}
    for path in ("", "/document"):
        with pytest.raises(ApiError) as refused:
            other.get(f"/requests/{whole_job.request_id}{path}")
        assert refused.value.status == 404
    with pytest.raises(ApiError) as refused:
        other.post(f"/requests/{whole_job.request_id}/withdraw", {})
    assert refused.value.status == 404
    mine = site.api.get("/requests")["requests"]
    assert whole_job.request_id in {one["request_id"] for one in mine}


def test_p5_a_caller_that_the_policy_does_not_list_is_refused(site: Site) -> None:
    agent = site.as_caller(*user(site, "an-agent", may_call=True))

    for approvers in ([], ["bob@example.com"]):
        with pytest.raises(ApiError) as refused:
            agent.post("/requests", site.body("Agent", approvers=approvers))
        assert refused.value.status == 409


def test_a_user_without_the_permission_to_call_is_refused(site: Site) -> None:
    stranger = site.as_caller(*user(site, "stranger", may_call=False))

    for path in ("/requests", "/operations/in-doubt"):
        with pytest.raises(ApiError) as refused:
            stranger.get(path)
        assert refused.value.status == 403
