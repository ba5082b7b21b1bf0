"""Template properties that the emulator's CloudFormation drops without a word.

Gap: S3 Object Lock; the dead-letter queue and the reserved concurrency of a function; the time to
    live, point-in-time recovery and encryption of a table are ignored. ``Ref`` of a secret is its
    name. The OpenAPI ``Body`` of an HTTP API (so every SAM ``HttpApi`` event) is ignored.
AWS: CloudFormation applies them, and ``Ref`` of a secret is its ARN (CloudFormation resource
    reference of each type).
Correction: the properties are applied on create and on update. ``Body`` is refused, because a
    template that relies on it would deploy without its routes.
"""

# ruff: noqa: SLF001 -- corrections reach into private parts of the emulator; pins guard them

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

from local.emulator import pins

Json = dict[str, Any]
Applied = tuple[str, Json]


def lock_configuration(properties: Json) -> bytes | None:
    """Return the S3 request body that a bucket's Object Lock properties stand for, if any."""
    if not properties.get("ObjectLockEnabled"):
        return None
    root = ET.Element("ObjectLockConfiguration")
    ET.SubElement(root, "ObjectLockEnabled").text = "Enabled"
    rule = properties.get("ObjectLockConfiguration", {}).get("Rule", {})
    retention = rule.get("DefaultRetention")
    if retention:
        default = ET.SubElement(ET.SubElement(root, "Rule"), "DefaultRetention")
        for name in ("Mode", "Days", "Years"):
            if name in retention:
                ET.SubElement(default, name).text = str(retention[name])
    return ET.tostring(root)


class _Properties:
    """Applies dropped properties through the emulator's own services."""

    def __init__(self) -> None:
        self._functions = pins.module("services.lambda_svc")
        self._buckets = pins.module("services.s3")
        self._tables = pins.module("services.dynamodb")
        pins.pinned(self._buckets, "_put_object_lock_configuration", "596d4a42de3b")
        pins.pinned(self._tables, "_update_ttl", "e8243a4fbbb8")
        pins.pinned(self._tables, "_update_continuous_backups", "4d306deca0a2")
        pins.pinned(self._tables, "_sse_description_from_spec", "190b59f83f13")

    def function(self, name: str, properties: Json) -> None:
        record = self._functions._functions[name]
        record["concurrency"] = properties.get("ReservedConcurrentExecutions")
        if "DeadLetterConfig" in properties:
            record["config"]["DeadLetterConfig"] = properties["DeadLetterConfig"]
        else:
            record["config"].pop("DeadLetterConfig", None)

    def bucket(self, name: str, properties: Json) -> None:
        body = lock_configuration(properties)
        if body is not None:
            _check(self._buckets._put_object_lock_configuration(name, body), "ObjectLock")

    def table(self, name: str, properties: Json) -> None:
        service = self._tables
        expiry = properties.get("TimeToLiveSpecification")
        if expiry:
            request = {"TableName": name, "TimeToLiveSpecification": expiry}
            _check(service._update_ttl(request), "TimeToLiveSpecification")
        recovery = properties.get("PointInTimeRecoverySpecification")
        if recovery:
            request = {"TableName": name, "PointInTimeRecoverySpecification": recovery}
            answer = service._update_continuous_backups(request)
            _check(answer, "PointInTimeRecoverySpecification")
        encryption = properties.get("SSESpecification")
        if encryption:
            # CloudFormation says SSEEnabled where the DynamoDB API says Enabled.
            spec = encryption | {"Enabled": encryption.get("SSEEnabled", False)}
            service._tables[name]["SSEDescription"] = service._sse_description_from_spec(spec)

    def http_api(self, _name: str, properties: Json) -> None:
        if "Body" in properties or "BodyS3Location" in properties:
            raise ValueError(
                "The emulator ignores the OpenAPI Body of an HTTP API, so its routes would be "
                "missing; use AWS::ApiGatewayV2::Route and ::Integration resources."
            )


def _check(answer: tuple[int, Json, bytes], property_name: str) -> None:
    """Fail the resource when a service refuses a property."""
    status, _, body = answer
    if status >= 400:  # noqa: PLR2004 HTTP
        raise ValueError(f"{property_name} was refused: {body.decode()}")


def _apply_after(handlers: Json, kind: str, apply: Callable[[str, Json], None]) -> None:
    """Run ``apply`` after the emulator's create and update handlers of a resource type."""
    create, update = handlers[kind]["create"], handlers[kind]["update"]

    def created(logical_id: str, properties: Json, stack: str) -> Applied:
        physical_id, attributes = create(logical_id, properties, stack)
        apply(physical_id, properties)
        return physical_id, attributes

    def updated(physical_id: str, old: Json, new: Json, *rest: str) -> Applied:
        new_id, attributes = update(physical_id, old, new, *rest)
        apply(new_id, new)
        return new_id, attributes

    handlers[kind] = handlers[kind] | {"create": created, "update": updated}


def _secret_name(physical_id: str) -> str:
    """Return the name in a secret's ARN, whose last six characters are random."""
    if not physical_id.startswith("arn:"):
        return physical_id
    return physical_id.split(":secret:", 1)[1].rsplit("-", 1)[0]


def _refer_to_secrets_by_arn(handlers: Json) -> None:
    """Make the physical id of a secret, and so its ``Ref``, its ARN."""
    secret = handlers["AWS::SecretsManager::Secret"]
    create, update, delete = secret["create"], secret["update"], secret["delete"]

    def created(logical_id: str, properties: Json, stack: str) -> Applied:
        _, attributes = create(logical_id, properties, stack)
        return attributes["Arn"], attributes

    def updated(physical_id: str, old: Json, new: Json, *rest: str) -> Applied:
        _, attributes = update(_secret_name(physical_id), old, new, *rest)
        return attributes["Arn"], attributes

    def deleted(physical_id: str, properties: Json) -> None:
        delete(_secret_name(physical_id), properties)

    secret.update({"create": created, "update": updated, "delete": deleted})


def install() -> None:
    """Apply what CloudFormation templates say."""
    provisioners = pins.module("services.cloudformation.provisioners")
    properties = _Properties()
    handlers: Json = provisioners._RESOURCE_HANDLERS
    _apply_after(handlers, "AWS::Lambda::Function", properties.function)
    _apply_after(handlers, "AWS::S3::Bucket", properties.bucket)
    _apply_after(handlers, "AWS::DynamoDB::Table", properties.table)
    _apply_after(handlers, "AWS::ApiGatewayV2::Api", properties.http_api)
    _refer_to_secrets_by_arn(handlers)
