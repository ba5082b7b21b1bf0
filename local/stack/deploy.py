"""Deploy a built template to the emulator: what ``sam deploy`` does, in about a second.

Local paths become uploads, the rest of the template stays as it is and goes through the emulator's
CloudFormation, which runs the same SAM translation as AWS.
"""

import hashlib
import io
import json
import time
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from botocore.exceptions import ClientError

ARTIFACTS_BUCKET = "no-undo-artifacts"
_LOCAL_PATHS = ("CodeUri", "ContentUri", "DefinitionUri")
_EPOCH = (1980, 1, 1, 0, 0, 0)
_DEPLOY_SECONDS = 120.0
_POLL_SECONDS = 0.1

Json = dict[str, Any]
ClientFactory = Callable[[str], Any]


class DeployError(Exception):
    """The stack did not come up; names every resource that failed and why."""


@dataclass(frozen=True, slots=True)
class Deployed:
    """A stack that is up.

    Attributes:
        name: Its name.
        outputs: The template's outputs.
        seconds: How long it took.
    """

    name: str
    outputs: dict[str, str]
    seconds: float


class _TemplateLoader(yaml.SafeLoader):
    """Reads CloudFormation's short tags."""


def _intrinsic(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Json:
    value: Any
    match node:
        case yaml.ScalarNode():
            value = loader.construct_scalar(node)
        case yaml.SequenceNode():
            value = loader.construct_sequence(node, deep=True)
        case _:
            value = loader.construct_mapping(node, deep=True)  # type: ignore[arg-type]  # no other kind
    if suffix in {"Ref", "Condition"}:
        return {suffix: value}
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {f"Fn::{suffix}": value}


_loader: Any = _TemplateLoader  # its stub leaves a type open
_loader.add_multi_constructor("!", _intrinsic)


def read_template(path: Path) -> Json:
    """Read a template with CloudFormation's short tags in their long form."""
    template: Json = yaml.load(path.read_text(), _TemplateLoader)  # noqa: S506 a SafeLoader
    return template


def package(path: Path) -> bytes:
    """Return a file's bytes, or a folder as a zip whose bytes depend on its contents only."""
    if path.is_file():
        return path.read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file in sorted(path.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                entry = zipfile.ZipInfo(file.relative_to(path).as_posix(), _EPOCH)
                entry.external_attr = (file.stat().st_mode & 0xFFFF) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, file.read_bytes())
    return buffer.getvalue()


class _Uploads:
    """Uploads local paths once per content."""

    def __init__(self, s3: Any) -> None:  # noqa: ANN401 a boto3 client
        self._s3 = s3
        self._uploaded: dict[Path, str] = {}

    def upload(self, path: Path) -> str:
        """Return the S3 address of a local path."""
        if path not in self._uploaded:
            body = package(path)
            key = hashlib.sha256(body).hexdigest()
            if not self._exists(key):
                self._s3.put_object(Bucket=ARTIFACTS_BUCKET, Key=key, Body=body)
            self._uploaded[path] = f"s3://{ARTIFACTS_BUCKET}/{key}"
        return self._uploaded[path]

    def _exists(self, key: str) -> bool:
        try:
            self._s3.head_object(Bucket=ARTIFACTS_BUCKET, Key=key)
        except ClientError:
            return False
        return True


def _ensure_bucket(s3: Any) -> None:  # noqa: ANN401 a boto3 client
    try:
        s3.head_bucket(Bucket=ARTIFACTS_BUCKET)
    except ClientError:
        s3.create_bucket(Bucket=ARTIFACTS_BUCKET)


def upload_local_paths(template: Json, folder: Path, upload: Callable[[Path], str]) -> Json:
    """Replace every local path of a template by the address of its upload, in place."""
    for resource in template["Resources"].values():
        properties = resource.get("Properties", {})
        for name in _LOCAL_PATHS:
            value = properties.get(name)
            if isinstance(value, str) and not value.startswith("s3://"):
                properties[name] = upload((folder / value).resolve())
    return template


def deploy(
    built_template: Path,
    *,
    client: ClientFactory,
    stack_name: str,
    parameters: Mapping[str, str] | None = None,
) -> Deployed:
    """Create or update a stack and wait for it.

    Args:
        built_template: The template that ``sam build`` wrote.
        client: Returns a boto3 client for a service name, such as ``cloudformation``.
        stack_name: Name of the stack.
        parameters: Template parameters by name.

    Raises:
        DeployError: A resource failed, or the stack was not up in two minutes.
    """
    started = time.monotonic()
    s3, cloudformation = client("s3"), client("cloudformation")
    _ensure_bucket(s3)
    template = read_template(built_template)
    upload_local_paths(template, built_template.parent, _Uploads(s3).upload)
    url = _upload_template(s3, template)
    _submit(cloudformation, stack_name, url, parameters or {})
    stack = _wait(cloudformation, stack_name)
    outputs = {item["OutputKey"]: item["OutputValue"] for item in stack.get("Outputs", [])}
    return Deployed(stack_name, outputs, time.monotonic() - started)


def _upload_template(s3: Any, template: Json) -> str:  # noqa: ANN401 a boto3 client
    """Upload the template: CloudFormation takes at most 51,200 bytes in the call itself."""
    body = json.dumps(template, default=str).encode("utf-8")
    key = f"{hashlib.sha256(body).hexdigest()}.template"
    s3.put_object(Bucket=ARTIFACTS_BUCKET, Key=key, Body=body)
    return f"{s3.meta.endpoint_url}/{ARTIFACTS_BUCKET}/{key}"


def _submit(
    cloudformation: Any,  # noqa: ANN401 a boto3 client
    stack_name: str,
    template_url: str,
    parameters: Mapping[str, str],
) -> None:
    request = {
        "StackName": stack_name,
        "TemplateURL": template_url,
        "Capabilities": ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        "Parameters": [
            {"ParameterKey": name, "ParameterValue": value} for name, value in parameters.items()
        ],
    }
    if not _exists(cloudformation, stack_name):
        cloudformation.create_stack(**request)
        return
    try:
        cloudformation.update_stack(**request)
    except ClientError as error:
        if "No updates are to be performed" not in str(error):
            raise DeployError(str(error)) from error


def _exists(cloudformation: Any, stack_name: str) -> bool:  # noqa: ANN401 a boto3 client
    try:
        stacks = cloudformation.describe_stacks(StackName=stack_name)["Stacks"]
    except ClientError:
        return False
    if stacks[0]["StackStatus"] in {"ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED"}:
        cloudformation.delete_stack(StackName=stack_name)
        return False
    return True


def _wait(cloudformation: Any, stack_name: str) -> Json:  # noqa: ANN401 a boto3 client
    deadline = time.monotonic() + _DEPLOY_SECONDS
    while time.monotonic() < deadline:
        stack: Json = cloudformation.describe_stacks(StackName=stack_name)["Stacks"][0]
        status = stack["StackStatus"]
        if status in {"CREATE_COMPLETE", "UPDATE_COMPLETE"}:
            return stack
        if status.endswith(("_COMPLETE", "_FAILED")):
            raise DeployError(_why(cloudformation, stack_name, status))
        time.sleep(_POLL_SECONDS)
    raise DeployError(f"Stack {stack_name} was not up after {_DEPLOY_SECONDS:.0f} seconds.")


def _why(cloudformation: Any, stack_name: str, status: str) -> str:  # noqa: ANN401 a boto3 client
    events = cloudformation.describe_stack_events(StackName=stack_name)["StackEvents"]
    failed = [
        f"  {event['LogicalResourceId']} ({event['ResourceType']}): "
        f"{event.get('ResourceStatusReason', 'no reason given')}"
        for event in reversed(events)
        if event["ResourceStatus"].endswith("_FAILED")
    ]
    return f"Stack {stack_name} ended as {status}:\n" + "\n".join(failed)
