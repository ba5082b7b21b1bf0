"""P10: after whole runs, no secret and no personal value stands where people read along."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from local.demo.checks import personal_data
from local.sandbox.nutrient.routes import EXTRACTION_KEY, PROCESSOR_KEY
from local.sandbox.state import Credentials
from local.stack.inbox import messages
from local.stack.parameters import APPROVER
from no_undo.cli.api import ApiError
from tests.e2e.conftest import WholeJob
from tests.e2e.site import NAMES, Site, people


@dataclass(frozen=True)
class Secrets:
    """What must stay inside, by kind.

    Attributes:
        tokens: The approver's link secret and the state machine's task tokens.
        keys: The vendors' keys.
        values: Names, numbers and addresses in the document.
        recipients: Addresses of the signers.
    """

    tokens: frozenset[str]
    keys: frozenset[str]
    values: frozenset[str]
    recipients: frozenset[str]

    @property
    def of_every_kind(self) -> frozenset[str]:
        return self.tokens | self.keys | self.values | self.recipients


@pytest.fixture(scope="module")
def secrets(whole_job: WholeJob) -> Secrets:
    assert whole_job.task_tokens
    return Secrets(
        tokens=whole_job.task_tokens | {whole_job.approval_token},
        keys=frozenset({Credentials().client_secret, EXTRACTION_KEY, PROCESSOR_KEY}),
        values=frozenset({*personal_data(), *NAMES}),
        recipients=frozenset(one["email"] for one in people("Upload")),
    )


def found(text: str, wanted: frozenset[str]) -> set[str]:
    """Return what of the wanted stands in a text, whole or as JSON would write it."""
    low = text.casefold()
    return {one for one in wanted if one.casefold() in low}


def logged(site: Site) -> Iterator[str]:
    """Return everything in every log group, group by group."""
    logs = site.running.aws.client("logs")
    for page in logs.get_paginator("describe_log_groups").paginate():
        for group in page["logGroups"]:
            pages = logs.get_paginator("filter_log_events").paginate(
                logGroupName=group["logGroupName"]
            )
            yield "\n".join(event["message"] for one in pages for event in one["events"])


def told_by_executions(site: Site) -> Iterator[str]:
    """Return inputs and outputs of every state of every execution there was."""
    machines = site.running.aws.client("stepfunctions")
    arn = site.running.outputs["StateMachineArn"]
    for page in machines.get_paginator("list_executions").paginate(stateMachineArn=arn):
        for one in page["executions"]:
            history = machines.get_paginator("get_execution_history")
            for events in history.paginate(executionArn=one["executionArn"]):
                yield json.dumps(events["events"], default=str)


def test_p10_no_log_group_holds_a_secret_or_a_value(site: Site, secrets: Secrets) -> None:
    groups = list(logged(site))

    assert sum(bool(group) for group in groups) > 10, "the functions log"
    assert [found(group, secrets.of_every_kind) for group in groups if group] == [
        set() for group in groups if group
    ]


def test_p10_no_input_or_output_of_a_state_holds_a_secret_or_a_value(
    site: Site, secrets: Secrets
) -> None:
    histories = list(told_by_executions(site))

    assert histories
    assert set[str]().union(*(found(one, secrets.of_every_kind) for one in histories)) == set()


def test_p10_no_audit_record_holds_a_secret_a_value_or_a_recipient(
    site: Site, whole_job: WholeJob, secrets: Secrets
) -> None:
    """Approvers stand there in clear, on purpose: an auditor must see who decided."""
    lines = "\n".join(row["line"]["S"] for row in site.rows("Audit"))

    assert whole_job.request_id in lines
    assert APPROVER in lines
    assert found(lines, secrets.of_every_kind) == set()


def test_p10_no_answer_of_the_api_holds_a_secret_or_a_value(
    whole_job: WholeJob, secrets: Secrets
) -> None:
    assert whole_job.request_id in whole_job.answers
    assert found(whole_job.answers, secrets.of_every_kind) == set()


def test_p10_a_refusal_does_not_repeat_what_it_refuses(site: Site, secrets: Secrets) -> None:
    body = site.body("Repeated", redact=True, recipients=[{"name": "A", "email": "not an@address"}])

    with pytest.raises(ApiError) as refused:
        site.api.post("/requests", body)

    assert "not an@address" not in str(refused.value)
    assert found(str(refused.value), secrets.of_every_kind) == set()


def test_p10_the_link_is_mailed_to_its_approver_and_to_nobody_else(
    site: Site, whole_job: WholeJob
) -> None:
    mailed = messages(site.running.url("emulator"))
    holders = [one["To"] for one in mailed if whole_job.approval_token in json.dumps(one)]

    assert holders == [[APPROVER]]


def test_p10_the_link_is_stored_as_a_hash_alone(site: Site, whole_job: WholeJob) -> None:
    for table in ("Approvals", "Plans", "Requests", "Audit"):
        assert whole_job.approval_token not in json.dumps(site.rows(table))
