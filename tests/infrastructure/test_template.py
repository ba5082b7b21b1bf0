"""What the template promises beside the roles: evidence is kept, times fit, logs hold no tokens."""

from __future__ import annotations

import re
from typing import Any

import pytest

from no_undo.entrypoint.request_routes import SUBMISSION_SECONDS
from tests.infrastructure.template import (
    Json,
    function_of_route,
    functions,
    named,
    parameter_default,
    properties,
    resources,
    routes,
    template,
)
from tests.statemachine.definition import states

EVIDENCE = sorted(set(resources("AWS::DynamoDB::Table")) - {"IdempotencyTable"})
FUNCTIONS = sorted(functions())
OPENS_DOCUMENTS = {
    "submit_request",
    "extract_fields",
    "assemble_document",
    "redact_document",
    "verify_redaction",
    "archive_signed_document",
}


def test_the_layers_are_built_for_the_default_runtime() -> None:
    """`BuildMethod` takes no parameter, so it can only be held to the parameter's default."""
    layers = resources("AWS::Serverless::LayerVersion")

    methods = {one["Metadata"]["BuildMethod"] for one in layers.values()}
    assert methods == {parameter_default("Runtime")}


def test_the_tables_of_the_design_are_there() -> None:
    assert set(EVIDENCE) == {
        "RequestsTable",
        "PlansTable",
        "LedgerTable",
        "FenceTable",
        "ApprovalsTable",
        "WaitsTable",
        "AuditTable",
        "AuditHeadsTable",
        "AuditOutboxTable",
        "AuditExportTable",
    }


@pytest.mark.parametrize(
    "name", [*EVIDENCE, "DocumentsBucket", "AuditBucket", "HashKey", "AuditKey"]
)
def test_evidence_outlives_the_stack_without_a_fixed_name(name: str) -> None:
    resource = resources()[name]

    assert resource["DeletionPolicy"] == "Retain"
    assert resource["UpdateReplacePolicy"] == "Retain"
    assert not {"TableName", "BucketName"} & set(resource["Properties"])


@pytest.mark.parametrize("name", EVIDENCE)
def test_an_evidence_table_is_recoverable_encrypted_and_forgets_nothing(name: str) -> None:
    table = properties(name)

    recovery = table["PointInTimeRecoverySpecification"]
    assert recovery == {"PointInTimeRecoveryEnabled": True}
    assert table["SSESpecification"]["SSEEnabled"] is True
    assert "TimeToLiveSpecification" not in table


def test_task_tokens_are_encrypted_under_a_key_of_their_own() -> None:
    encryption = properties("WaitsTable")["SSESpecification"]

    assert encryption["SSEType"] == "KMS"
    assert named(encryption["KMSMasterKeyId"]) == "WaitsKey"
    assert not [
        name
        for name in resources("AWS::DynamoDB::Table")
        if name != "WaitsTable" and "WaitsKey" in str(properties(name))
    ]


def test_a_stream_tells_keys_and_nothing_else() -> None:
    for name in resources("AWS::DynamoDB::Table"):
        stream = properties(name).get("StreamSpecification", {"StreamViewType": "KEYS_ONLY"})
        assert stream == {"StreamViewType": "KEYS_ONLY"}


@pytest.mark.parametrize("name", sorted(resources("AWS::S3::Bucket")))
def test_a_bucket_is_private_encrypted_and_versioned(name: str) -> None:
    bucket = properties(name)

    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert bucket["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}


def test_exported_audit_files_are_locked_in_compliance_mode() -> None:
    bucket = properties("AuditBucket")

    assert bucket["ObjectLockEnabled"] is True
    rule = bucket["ObjectLockConfiguration"]["Rule"]["DefaultRetention"]
    assert rule == {"Mode": "COMPLIANCE", "Days": {"Ref": "AuditRetentionDays"}}
    assert parameter_default("AuditRetentionDays") >= 3650
    assert "LifecycleConfiguration" not in bucket


def test_checkpoints_are_signed_by_a_key_of_their_own() -> None:
    key = properties("AuditKey")

    assert (key["KeySpec"], key["KeyUsage"]) == ("ECC_NIST_EDWARDS25519", "SIGN_VERIFY")


def test_an_export_that_lags_or_is_silent_is_an_alarm() -> None:
    alarm = properties("AuditExportLagAlarm")

    assert alarm["MetricName"] == "AuditExportLagSeconds"
    assert alarm["TreatMissingData"] == "breaching"


def test_only_uploads_that_no_request_took_are_forgotten() -> None:
    rules = properties("DocumentsBucket")["LifecycleConfiguration"]["Rules"]

    assert [rule["Prefix"] for rule in rules] == ["uploads/"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_has_a_timeout_of_its_own(function: str) -> None:
    assert "Timeout" in functions()[function]
    assert "Timeout" not in template()["Globals"]["Function"]


def test_the_sender_runs_as_long_as_the_lease_was_computed_from() -> None:
    assert functions()["send_envelope"]["Timeout"] == {"Ref": "SendTimeoutSeconds"}
    variables = template()["Globals"]["Function"]["Environment"]["Variables"]
    assert variables["SEND_TIMEOUT_SECONDS"] == {"Ref": "SendTimeoutSeconds"}


def test_the_state_outlasts_every_timeout_that_the_sender_can_be_given() -> None:
    limits = template()["Parameters"]["SendTimeoutSeconds"]

    assert limits["Default"] <= limits["MaxValue"]
    assert limits["MaxValue"] < states()["Send Envelope"]["TimeoutSeconds"]


def test_canaries_are_read_only_where_a_schedule_was_given() -> None:
    """They cost vendor credits, so the parameter is empty and the rule conditional."""
    assert parameter_default("CanarySchedule") == ""
    assert resources()["CanaryRule"]["Condition"] == "ReadsCanaries"
    assert "Events" not in functions()["check_canaries"]


def test_every_state_outlasts_its_function() -> None:
    substitutions = properties("SigningPipeline")["DefinitionSubstitutions"]
    for name, state in states().items():
        resource = str(state.get("Resource", ""))
        if not resource.startswith("${"):
            continue
        function = named(substitutions[resource.strip("${}")]).removesuffix("Function")
        timeout = properties(f"{function}Function")["Timeout"]
        if not isinstance(timeout, int):
            timeout = parameter_default(named(timeout))
        assert state["TimeoutSeconds"] > timeout, name


def test_a_submission_is_under_way_no_longer_than_its_function_runs() -> None:
    assert functions()["submit_request"]["Timeout"] == SUBMISSION_SECONDS


@pytest.mark.parametrize("function", ["send_envelope", "reconcile_sends"])
def test_lambda_itself_never_repeats_a_function_that_talks_about_sends(function: str) -> None:
    assert functions()[function]["EventInvokeConfig"] == {"MaximumRetryAttempts": 0}


def test_the_sender_has_no_trigger_of_its_own() -> None:
    assert "Events" not in functions()["send_envelope"]
    assert "send_envelope" not in {function_of_route(route) for route in routes().values()}


def test_the_stream_reports_single_failures_and_keeps_what_failed() -> None:
    stream = functions()["resume_execution"]["Events"]["PlanChanged"]["Properties"]

    assert stream["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert named(stream["DestinationConfig"]["OnFailure"]["Destination"]) == "ResumeFailures"


def test_document_libraries_go_only_to_functions_that_open_documents() -> None:
    found = {one for one in FUNCTIONS if {"Ref": "DocumentsLayer"} in _own_layers(one)}

    assert found == OPENS_DOCUMENTS


def test_links_and_signed_webhooks_are_their_own_credential_every_other_route_is_authorised() -> (
    None
):
    for key, route in routes().items():
        _method, path = key.split(" ")
        if path.startswith("/webhooks/") or key == "OPTIONS /approvals/{token}":
            assert route["AuthorizationType"] == "NONE", key
        elif path.startswith("/approvals/{token}"):
            # The link alone, or the link and the approver's own token.
            assert route["AuthorizationType"] == {"Fn::If": ["ApproversSignIn", "JWT", "NONE"]}, key
            signs_in = ["ApproversSignIn", {"Ref": "ApproverAuthorizer"}]
            assert route["AuthorizerId"]["Fn::If"][:2] == signs_in, key
        else:
            assert route["AuthorizationType"] == {"Fn::If": ["UseJwt", "JWT", "AWS_IAM"]}, key
            assert route["AuthorizerId"]["Fn::If"][:2] == ["UseJwt", {"Ref": "JwtAuthorizer"}], key


def test_a_callers_token_is_not_enough_for_the_operators_routes() -> None:
    for key, route in routes().items():
        scopes = route.get("AuthorizationScopes")
        if "/operations/" in key:
            assert scopes is not None, key
            assert scopes["Fn::If"][:2] == ["UseJwt", [{"Ref": "JwtOperatorScope"}]], key
        else:
            assert scopes is None, key


def test_no_route_catches_what_nobody_wrote_down() -> None:
    assert "$default" not in routes()
    assert not [key for key in routes() if key.startswith("ANY ") or "+}" in key]


def test_only_looking_is_offered_to_the_function_that_shows_cards() -> None:
    methods = {
        key.split(" ")[0]
        for key, route in routes().items()
        if function_of_route(route) == "show_approval"
    }

    assert methods == {"GET", "HEAD", "OPTIONS"}


def test_the_gateway_may_call_every_function_that_has_a_route() -> None:
    allowed = {
        named(one["Properties"]["FunctionName"])
        for one in resources("AWS::Lambda::Permission").values()
        if one["Properties"]["Principal"] == "apigateway.amazonaws.com"
    }
    called = {
        named(one["Properties"]["IntegrationUri"])
        for one in resources("AWS::ApiGatewayV2::Integration").values()
    }

    assert allowed == called


def test_access_logs_name_the_route_and_never_the_path() -> None:
    [stage] = resources("AWS::ApiGatewayV2::Stage").values()
    logged = set(
        re.findall(r"\$context\.(\w+)", stage["Properties"]["AccessLogSettings"]["Format"])
    )

    assert "routeKey" in logged
    assert logged <= {"requestId", "requestTime", "routeKey", "status", "responseLatency"}


def test_the_state_machine_logs_no_data() -> None:
    logging = properties("SigningPipeline")["Logging"]

    assert logging["IncludeExecutionData"] is False
    assert logging["Level"] == "ALL"
    assert properties("SigningPipeline")["Type"] == "STANDARD"


def test_no_default_of_a_parameter_makes_the_deployment_less_careful() -> None:
    assert parameter_default("RetryAfterRelease") == "operator"
    assert parameter_default("ApproverPolicy") == '{"tenants": {}}'
    assert parameter_default("SettleSeconds") >= 1800
    for name in ("ESignBaseUrl", "PdfServicesBaseUrl", "ExtractionBaseUrl", "RedactionBaseUrl"):
        assert parameter_default(name).startswith("https://")


def test_no_secret_stands_in_the_template() -> None:
    for name in resources("AWS::SecretsManager::Secret"):
        assert not {"SecretString", "GenerateSecretString"} & set(properties(name))
    assert "resolve:secretsmanager" not in str(template())


def test_nothing_is_named_so_that_two_stacks_would_collide() -> None:
    for name, resource in resources().items():
        given = {key: value for key, value in _properties_of(resource).items() if key == "Name"}
        assert all(_says_the_stack(value) for value in given.values()), name


def test_partition_region_and_account_are_never_typed_in() -> None:
    text = str(template()["Resources"])

    assert "arn:aws:" not in text
    assert not re.search(r"\b\d{12}\b", text)
    assert not re.search(r"\b(us|eu|ap)-[a-z]+-\d\b", text)


def _own_layers(function: str) -> list[Json]:
    layers: list[Json] = functions()[function].get("Layers", [])
    return layers


def _properties_of(resource: Json) -> Json:
    found: Json = resource.get("Properties", {})
    return found


def _says_the_stack(value: Any) -> bool:  # noqa: ANN401 - an intrinsic or text
    # Names inside one API belong to that API.
    return value == "jwt" or "${AWS::StackName}" in str(value)
