"""Function code sees its own environment and the reserved variables, nothing of the launcher."""

import pytest

from tests.e2e.emulator.conftest import Probe

RESERVED = {
    "AWS_ACCESS_KEY_ID",
    "AWS_DEFAULT_REGION",
    "AWS_EXECUTION_ENV",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
    "AWS_LAMBDA_FUNCTION_NAME",
    "AWS_LAMBDA_FUNCTION_VERSION",
    "AWS_LAMBDA_LOG_STREAM_NAME",
    "AWS_REGION",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "LAMBDA_TASK_ROOT",
    "LANG",
    "PATH",
    "TZ",
}
FROM_THE_TEMPLATE = {"GREETING", "PROBE_TABLE_NAME", "PUBLIC_URL", "SECRET_ARN"}
# How the emulator works inside; AWS has other names for the same.
FROM_THE_EMULATOR = {
    "AWS_DISABLE_HOST_PREFIX_INJECTION",
    "AWS_ENDPOINT_URL",
    "LC_CTYPE",
    "TMPDIR",
    "_LAMBDA_FUNCTION_ARN",
    "_LAMBDA_LAYERS_DIRS",
    "_LAMBDA_TIMEOUT",
    "_MINISTACK_INVOKE_DEPTH",
}


def test_a_function_sees_only_what_it_was_given(probe: Probe) -> None:
    seen = set(probe.invoke({"action": "environment"})["Payload"])

    assert seen - FROM_THE_EMULATOR == RESERVED | FROM_THE_TEMPLATE


def test_a_function_runs_with_the_keys_of_its_role_and_not_with_the_root_key(probe: Probe) -> None:
    seen = probe.invoke({"action": "environment"})["Payload"]

    assert seen["AWS_ACCESS_KEY_ID"].startswith("ASIA")
    assert seen["TZ"] == ":UTC"


def test_a_layer_is_importable(probe: Probe) -> None:
    assert probe.invoke({"action": "layer"})["Payload"] == "hello from the layer"


def test_a_function_may_do_what_its_role_allows(probe: Probe) -> None:
    answer = probe.invoke({"action": "count", "id": "allowed"})

    assert "FunctionError" not in answer
    assert probe.item("allowed") is not None


def test_a_function_may_not_do_what_its_role_does_not_allow(probe: Probe) -> None:
    answer = probe.invoke({"action": "delete-table"})

    assert answer["Payload"]["errorType"] == "ClientError"
    assert "AccessDenied" in answer["Payload"]["errorMessage"]


@pytest.mark.parametrize(
    ("operation", "allowed"),
    [("Put", True), ("Update", True), ("Delete", False), ("ConditionCheck", False)],
)
def test_each_item_of_a_transaction_needs_the_permission_of_its_own_action(
    probe: Probe, operation: str, *, allowed: bool
) -> None:
    table, key = probe.outputs["ProbeTable"], {"id": {"S": f"transact-{operation}"}}
    request = {
        "Put": {"TableName": table, "Item": key},
        "Update": {
            "TableName": table,
            "Key": key,
            "UpdateExpression": "SET a = :a",
            "ExpressionAttributeValues": {":a": {"S": "1"}},
        },
        "Delete": {"TableName": table, "Key": key},
        "ConditionCheck": {
            "TableName": table,
            "Key": key,
            "ConditionExpression": "attribute_not_exists(id)",
        },
    }[operation]

    answer = probe.invoke({"action": "transact", "items": [{operation: request}]})

    assert ("FunctionError" not in answer) is allowed
    if not allowed:
        assert f"dynamodb:{operation}Item" in answer["Payload"]["errorMessage"]
