"""What the template says is what is deployed."""

import json
from pathlib import Path

import httpx
import pytest
from botocore.exceptions import ClientError

from local.stack.build import runtime
from local.stack.deploy import DeployError, deploy
from tests.e2e.conftest import Emulator
from tests.e2e.emulator.conftest import STACK_NAME, Probe


def test_the_table_expires_rows_recovers_and_is_encrypted(probe: Probe) -> None:
    client, name = probe.aws.client("dynamodb"), probe.outputs["ProbeTable"]

    expiry = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    backups = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    table = client.describe_table(TableName=name)["Table"]

    assert expiry == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires_at"}
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
    assert table["SSEDescription"]["Status"] == "ENABLED"


def test_the_evidence_bucket_locks_every_version(probe: Probe) -> None:
    client, bucket = probe.aws.client("s3"), probe.outputs["EvidenceBucket"]
    version = client.put_object(Bucket=bucket, Key="evidence", Body=b"kept")["VersionId"]

    lock = client.get_object_lock_configuration(Bucket=bucket)["ObjectLockConfiguration"]
    with pytest.raises(ClientError, match="AccessDenied"):
        client.delete_object(
            Bucket=bucket, Key="evidence", VersionId=version, BypassGovernanceRetention=True
        )

    assert lock["Rule"]["DefaultRetention"] == {"Mode": "COMPLIANCE", "Days": 1}


def test_an_object_is_created_once(probe: Probe) -> None:
    client, bucket = probe.aws.client("s3"), probe.outputs["EvidenceBucket"]
    client.put_object(Bucket=bucket, Key="once", Body=b"first", IfNoneMatch="*")

    with pytest.raises(ClientError, match="PreconditionFailed"):
        client.put_object(Bucket=bucket, Key="once", Body=b"second", IfNoneMatch="*")


def test_the_function_has_its_dead_letter_queue_and_its_reserved_concurrency(probe: Probe) -> None:
    client = probe.aws.client("lambda")

    function = client.get_function_configuration(FunctionName=probe.outputs["ProbeFunction"])
    serial = client.get_function_concurrency(FunctionName=probe.outputs["SerialFunction"])

    assert function["DeadLetterConfig"]["TargetArn"].endswith(
        probe.outputs["FailedEventsUrl"].rsplit("/", 1)[-1]
    )
    assert serial["ReservedConcurrentExecutions"] == 1


def test_a_reference_to_a_secret_is_its_arn_and_opens_it(probe: Probe) -> None:
    secret = probe.outputs["ProbeSecret"]

    value = probe.aws.client("secretsmanager").get_secret_value(SecretId=secret)

    assert secret.startswith("arn:aws:secretsmanager:")
    assert value["SecretString"] == '{"api_key": "example"}'


def test_a_parameter_is_readable(probe: Probe) -> None:
    found = probe.aws.client("ssm").get_parameter(Name=probe.outputs["ProbeParameter"])

    assert found["Parameter"]["Value"] == '{"tenants": {}}'


def test_an_update_keeps_what_the_template_still_says(probe: Probe, built: Path) -> None:
    deploy(
        built,
        client=probe.aws.client,
        stack_name=STACK_NAME,
        parameters={"Runtime": runtime(), "Greeting": "changed"},
    )

    seen = probe.invoke({"action": "environment"})["Payload"]
    function = probe.aws.client("lambda").get_function_configuration(
        FunctionName=probe.outputs["ProbeFunction"]
    )
    secret = probe.aws.client("secretsmanager").get_secret_value(
        SecretId=probe.outputs["ProbeSecret"]
    )
    assert seen["GREETING"] == "changed"
    assert "DeadLetterConfig" in function
    assert secret["ARN"] == probe.outputs["ProbeSecret"]


def test_an_http_api_with_a_body_is_refused_instead_of_losing_its_routes(
    emulator: Emulator, tmp_path: Path
) -> None:
    body = {"openapi": "3.0.1", "info": {"title": "api", "version": "1"}, "paths": {}}
    template = tmp_path / "template.json"
    api = {"Type": "AWS::ApiGatewayV2::Api", "Properties": {"Body": body}}
    template.write_text(json.dumps({"Resources": {"TheApi": api}}))

    with pytest.raises(DeployError) as caught:
        deploy(template, client=emulator.aws.client, stack_name="refused")

    assert "TheApi (AWS::ApiGatewayV2::Api): The emulator ignores" in str(caught.value)


def test_a_presigned_address_takes_and_gives_an_object(probe: Probe) -> None:
    client, bucket = probe.aws.client("s3"), probe.outputs["EvidenceBucket"]
    target = {"Bucket": bucket, "Key": "uploads/invoice.pdf"}

    put = httpx.put(client.generate_presigned_url("put_object", target), content=b"%PDF-")
    got = httpx.get(client.generate_presigned_url("get_object", target))

    assert put.status_code == 200
    assert got.content == b"%PDF-"
    assert put.headers["x-amz-version-id"] == got.headers["x-amz-version-id"]
