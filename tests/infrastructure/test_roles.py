"""Who may do what: the roles in the template keep the boundaries of the design (P6, P10, P12)."""

from __future__ import annotations

import re

import pytest

from no_undo.domain.link_opens import opens_chain_of
from tests.infrastructure.reviewed_roles import ANY_RESOURCE, REVIEWED, WAITS_KEY
from tests.infrastructure.template import (
    function_of_route,
    functions,
    grants,
    listed,
    named,
    properties,
    resources,
    routes,
    statements,
    statements_of,
)

FUNCTIONS = sorted(functions())

LEDGER_WRITERS = {"send_envelope", "reconcile_sends", "settle_plan"}
TALK_TO_ESIGN = {
    "create_draft",
    "send_envelope",
    "archive_signed_document",
    "reconcile_sends",
    "settle_plan",
}
DOCUMENT_STAGES = {
    "parse_request",
    "extract_fields",
    "assemble_document",
    "redact_document",
    "verify_redaction",
}
OPERATIONS = "settle_plan"

_WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "PartiQL", "PutObject")


def holders(pattern: str) -> set[str]:
    """Return the functions with a grant that matches a pattern."""
    found = re.compile(pattern)
    return {one for one in FUNCTIONS if any(found.search(grant) for grant in grants(one))}


def writes(function: str) -> set[str]:
    """Return the grants of a function that change something stored."""
    return {
        grant
        for grant in grants(function)
        if grant.partition(" on ")[0].partition(":")[2].startswith(_WRITES)
    }


def reachable_functions() -> set[str]:
    """Return the functions that the internet can reach by a route."""
    return {function_of_route(route) for route in routes().values()}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_role_grants_what_was_reviewed_and_nothing_else(function: str) -> None:
    assert function in REVIEWED, f"nobody reviewed the role of {function}"
    granted, reviewed = grants(function), REVIEWED[function]
    assert granted - reviewed == set(), "granted and not reviewed"
    assert reviewed - granted == set(), "reviewed and not granted"


def test_the_review_knows_no_function_that_is_gone() -> None:
    assert set(REVIEWED) == set(FUNCTIONS)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_role_only_allows_and_names_every_action(function: str) -> None:
    for one in statements(function):
        assert set(one) <= {"Sid", "Effect", "Action", "Resource", "Condition"}
        assert one["Effect"] == "Allow"
        assert not [action for action in listed(one["Action"]) if "*" in action]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_statement_says_its_purpose_once(function: str) -> None:
    sids = [one["Sid"] for one in statements(function)]

    assert all(re.fullmatch(r"[A-Z][A-Za-z]{5,}", sid) for sid in sids)
    assert len(set(sids)) == len(sids)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_any_resource_stands_only_beside_actions_that_take_no_other(function: str) -> None:
    for one in statements(function):
        if "*" in [named(resource) for resource in listed(one["Resource"])]:
            assert set(listed(one["Action"])) <= set(ANY_RESOURCE)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_has_a_role_of_its_own_made_of_written_statements(function: str) -> None:
    shared = {"AppendAuditPolicy", "UseWaitsKeyPolicy"}

    assert "Role" not in functions()[function]
    for policy in functions()[function]["Policies"]:
        assert set(policy) == {"Version", "Statement"} or policy.get("Ref") in shared


def test_only_three_roles_write_the_ledger() -> None:
    assert holders(r"^dynamodb:(Put|Update|Delete|BatchWrite)\w* on LedgerTable") == LEDGER_WRITERS


def test_only_one_role_resumes_the_state_machine() -> None:
    assert holders(r"^states:SendTask") == {"resume_execution"}


def test_only_one_role_reads_parked_task_tokens() -> None:
    assert holders(r"^dynamodb:(Get|Query|Scan|Batch)\w* on WaitsTable") == {"resume_execution"}


def test_whoever_may_use_the_waits_table_may_use_its_key_and_nobody_else_may() -> None:
    assert holders(r" on WaitsTable") == holders(r" on WaitsKey")
    assert all(grants(one) >= WAITS_KEY for one in holders(r" on WaitsTable"))


def test_only_functions_that_talk_to_esign_read_its_secret() -> None:
    assert holders(r" on ESignSecret") == TALK_TO_ESIGN


def test_each_vendor_secret_is_read_for_its_own_purpose() -> None:
    assert holders(r" on PdfServicesSecret") == {"assemble_document"}
    assert holders(r" on ExtractionSecret") == {"extract_fields", "check_canaries"}
    assert holders(r" on RedactionSecret") == {"redact_document"}
    assert holders(r" on WebhookSecret") == {"receive_webhook"}


def test_the_door_and_the_document_stages_have_no_path_to_the_esign_secret() -> None:
    for function in {"submit_request", *DOCUMENT_STAGES}:
        assert not re.search("ESign", " ".join(grants(function)))
        assert "ESIGN_SECRET_ARN" not in _own_environment(function)


def test_a_secret_is_named_only_to_functions_that_may_read_it() -> None:
    for function in FUNCTIONS:
        for variable, value in _own_environment(function).items():
            if variable.endswith("_SECRET_ARN"):
                assert f"secretsmanager:GetSecretValue on {named(value)}" in grants(function)


def test_no_function_that_the_internet_reaches_can_resume_settle_or_send() -> None:
    for function in reachable_functions() - {OPERATIONS}:
        granted = " ".join(sorted(grants(function)))
        assert "states:SendTask" not in granted
        assert "ESignSecret" not in granted
        assert not [one for one in writes(function) if " on LedgerTable" in one]


def test_the_operators_function_cannot_resume_the_state_machine_itself() -> None:
    assert "states:SendTask" not in " ".join(grants(OPERATIONS))


def test_no_function_that_a_caller_reaches_can_write_approval_links() -> None:
    by_link = {"show_approval", "record_decision"}

    for function in reachable_functions() - by_link:
        assert not [one for one in writes(function) if " on ApprovalsTable" in one]


def test_p12_what_shows_that_somebody_approved_is_written_by_the_approval_side_alone() -> None:
    """Begin counts an approval only if the row of its link attests it."""
    assert holders(r"^dynamodb:(Put|Update|Delete|BatchWrite)\w* on ApprovalsTable") == {
        "request_approval",
        "record_decision",
        "send_reminders",
    }


def test_nobody_but_the_state_machine_invokes_a_stage() -> None:
    resume_or_sweep = r"^lambda:InvokeFunction on (?!(ResumeExecution|ReconcileSends)Function$)"

    assert holders(resume_or_sweep) == set()


def test_showing_a_card_writes_only_the_chain_of_opens() -> None:
    written = writes("show_approval")

    assert {one.partition(" on ")[2].partition(" ")[0] for one in written} == {
        "AuditTable",
        "AuditHeadsTable",
        "AuditOutboxTable",
    }
    assert all("dynamodb:LeadingKeys" in one for one in written)


@pytest.mark.parametrize(
    ("table", "allowed", "refused"),
    [
        ("AuditTable", ["{chain}"], ["r1", "r1#1", "{chain}#more", "#operations"]),
        ("AuditHeadsTable", ["{chain}", "{chain}#dave@example.com"], ["r1", "{chain}more"]),
        ("AuditOutboxTable", ["{chain}#000000000001"], ["r1#000000000001", "{chain}"]),
    ],
)
def test_the_keys_of_the_chain_of_opens_match_and_no_others(
    table: str, allowed: list[str], refused: list[str]
) -> None:
    chain = opens_chain_of("r1")
    [statement] = [
        one
        for one in statements("show_approval")
        if table in [named(resource) for resource in listed(one["Resource"])]
    ]
    patterns = statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]

    def matches(key: str) -> bool:
        text = key.format(chain=chain)
        return any(re.fullmatch(one.replace("*", ".*"), text) for one in patterns)

    assert all(matches(key) for key in allowed)
    assert not any(matches(key) for key in refused)


def test_every_role_may_only_add_to_the_audit() -> None:
    assert holders(r"^dynamodb:(?!PutItem |BatchGetItem |Query )\S+ on AuditTable") == set()
    assert holders(r"^dynamodb:BatchGetItem on AuditTable") == {"export_audit"}
    assert holders(r"^dynamodb:Query on AuditTable") == {"get_request"}


def test_only_the_export_empties_the_outbox_moves_its_head_and_signs() -> None:
    assert holders(r"^dynamodb:(Update|Delete)\w* on AuditOutboxTable") == {"export_audit"}
    assert holders(r"^dynamodb:(Put|Update|Delete)\w* on AuditExportTable") == {"export_audit"}
    assert holders(r" on AuditKey") == {"export_audit"}


def test_exported_files_can_be_put_once_and_not_deleted_or_overwritten() -> None:
    assert holders(r"^s3:\w+ on AuditBucket") == {"export_audit"}
    assert {one for one in grants("export_audit") if one.startswith("s3:Put")} == {
        "s3:PutObject on AuditBucket/* where s3:if-none-match Null false"
    }
    assert holders(r"^s3:(Delete|Bypass)\w* on AuditBucket") == set()
    assert holders(r"^s3:PutObject(Retention|LegalHold)") == set()


def test_nobody_deletes_evidence() -> None:
    kept = r" on (Requests|Plans|Ledger|Fence|Approvals|Audit|AuditHeads|AuditExport)Table"

    assert holders(r"^dynamodb:Delete\w*" + kept) == set()
    assert holders(r"^s3:Delete\w* on DocumentsBucket/(?!uploads/)") == set()
    assert holders(r"^s3:DeleteObjectVersion") == set()


def test_the_machine_role_invokes_stages_and_reads_stages_and_nothing_else() -> None:
    granted = {
        f"{action} on {named(resource)}"
        for one in statements_of(properties("SigningPipeline")["Policies"])
        if one["Sid"] != "WriteLogs"
        for action in one["Action"]
        for resource in listed(one["Resource"])
    }
    substituted = {
        named(value)
        for name, value in properties("SigningPipeline")["DefinitionSubstitutions"].items()
        if name.endswith("FunctionArn")
    }

    assert granted == {
        "dynamodb:GetItem on RequestsTable",
        *(f"lambda:InvokeFunction on {function}" for function in substituted),
    }


def test_a_key_policy_leaves_the_decision_to_the_account() -> None:
    for key in resources("AWS::KMS::Key"):
        [statement] = properties(key)["KeyPolicy"]["Statement"]
        assert statement["Principal"] == {
            "AWS": {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:root"}
        }


def _own_environment(function: str) -> dict[str, object]:
    found: dict[str, object] = functions()[function].get("Environment", {}).get("Variables", {})
    return found
