"""What a deployment on a laptop sets: parameters, vendor keys, and who may approve.

Only this module and the stack's addresses differ from a deployment on AWS; product code does not
know where it runs.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from local.sandbox.nutrient.routes import EXTRACTION_KEY, PROCESSOR_KEY
from local.sandbox.state import Credentials
from local.stack.aws import Aws
from local.stack.build import runtime
from local.stack.deploy import read_template
from local.stack.stack import RunningStack

ACCOUNT_ID = "000000000000"
MAIL_FROM = "no-undo@example.com"
ROOT_CALLER = f"arn:aws:iam::{ACCOUNT_ID}:root"
REQUESTER = "requester@example.com"

APPROVER = "approver@example.com"
ESCALATION = "escalation@example.com"

# Anybody at example.com may approve, except the requester and the recipients.
_APPROVER_POLICY = {
    "tenants": {
        ACCOUNT_ID: {
            "eligible": ["@example.com"],
            "default_approvers": [APPROVER],
            "escalation": [ESCALATION],
            "callers": {ROOT_CALLER: REQUESTER},
        },
    }
}


def local_parameters(
    built_template: Path, running: RunningStack, chosen: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return a value for each parameter of the template that differs from its default here.

    Args:
        built_template: The template that is going to be deployed.
        running: The stack it is deployed into.
        chosen: Values that go before the ones from here, such as short times for a test.
    """
    known = {
        "Runtime": runtime(),
        "ApproverPolicy": json.dumps(_APPROVER_POLICY),
        "MailFrom": MAIL_FROM,
        "ApiUrlPrefix": f"{running.url('emulator')}/_aws/execute-api/",
        "ApiUrlSuffix": "/$default",
        "RetryAfterRelease": "automatic",
        "SettleSeconds": "2",
        "PollSeconds": "1",
        "DriverCheckSeconds": "10",
        "AuditRetentionDays": "1",
        "SendTimeoutSeconds": "25",
        "VendorTimeoutSeconds": "5",
    }
    if "sandbox" in running.ports:
        vendors = running.url("sandbox")
        known |= {
            "ESignBaseUrl": vendors,
            "PdfServicesBaseUrl": vendors,
            "ExtractionBaseUrl": vendors,
            "RedactionBaseUrl": vendors,
        }
    declared = read_template(built_template).get("Parameters", {})
    wanted = known | dict(chosen or {})
    return {name: value for name, value in wanted.items() if name in declared}


def store_vendor_keys(aws: Aws, outputs: Mapping[str, str]) -> None:
    """Put the sandbox's keys into the secrets that the template made.

    Args:
        aws: Clients of the emulator.
        outputs: The template's outputs, which name the secrets.
    """
    pair = Credentials()
    foxit = {"client_id": pair.client_id, "client_secret": pair.client_secret}
    keys = {
        "ESignSecretArn": foxit,
        "PdfServicesSecretArn": foxit,
        "ExtractionSecretArn": {"api_key": EXTRACTION_KEY},
        "RedactionSecretArn": {"api_key": PROCESSOR_KEY},
    }
    for output, value in keys.items():
        aws.client("secretsmanager").put_secret_value(
            SecretId=outputs[output], SecretString=json.dumps(value)
        )
