"""The template's resources on an account in memory (moto), under their logical ids."""

from __future__ import annotations

import json
from typing import Any, Final

import boto3

from tests.infrastructure.template import properties, resources
from tests.statemachine.deployment import ACCOUNT, PARAMETERS, physical

_ANY_CLIENT: Any = getattr(boto3, "client")  # noqa: B009 - the stubs know some services only

APPROVER_POLICY: Final = {
    "tenants": {
        ACCOUNT: {
            "eligible": ["@example.com"],
            "default_approvers": ["dave@example.com", "erin@example.com"],
            "callers": {f"arn:aws:iam::{ACCOUNT}:user/carol": "carol@example.com"},
        }
    }
}
HINT_SECRET: Final = "between the vendor and us"
_TABLE_KEYS: Final = (
    "AttributeDefinitions",
    "KeySchema",
    "GlobalSecondaryIndexes",
    "BillingMode",
)


def client(service: str) -> Any:  # noqa: ANN401 - a client of any service
    """Return a client on the account."""
    return _ANY_CLIENT(service)


def create_resources() -> str:
    """Make everything that the functions use; return the id of the hash key."""
    dynamodb, s3 = client("dynamodb"), client("s3")
    for name in resources("AWS::DynamoDB::Table"):
        table = properties(name)
        known = {key: table[key] for key in _TABLE_KEYS if key in table}
        dynamodb.create_table(TableName=name, **known)
    for name in resources("AWS::S3::Bucket"):
        place = {"LocationConstraint": s3.meta.region_name}
        s3.create_bucket(Bucket=physical(name), CreateBucketConfiguration=place)
        s3.put_bucket_versioning(
            Bucket=physical(name), VersioningConfiguration={"Status": "Enabled"}
        )
    for name in resources("AWS::SecretsManager::Secret"):
        secret = {"client_id": "id", "client_secret": "x", "api_key": "key", "secret": HINT_SECRET}
        client("secretsmanager").create_secret(Name=name, SecretString=json.dumps(secret))
    client("ssm").put_parameter(
        Name="ApproverPolicyParameter", Type="String", Value=json.dumps(APPROVER_POLICY)
    )
    client("sesv2").create_email_identity(EmailIdentity=PARAMETERS["MailFrom"])
    client("sesv2").create_configuration_set(ConfigurationSetName="MailEvents")
    key = client("kms").create_key(KeySpec="HMAC_256", KeyUsage="GENERATE_VERIFY_MAC")
    return str(key["KeyMetadata"]["KeyId"])
