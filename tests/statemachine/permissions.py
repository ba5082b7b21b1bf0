"""Whether a function's role allows the calls that its code makes.

Not a proof about AWS: it knows the actions and condition keys that the template uses, and refuses
what it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from tests.infrastructure.template import (
    Json,
    listed,
    named,
    properties,
    resources,
    statements,
)
from tests.statemachine.deployment import MACHINE_ARN, PARAMETERS, physical

Parameters = Mapping[str, Any]

_LOGICAL: Final = {physical(name): name for name in resources()}
_TRANSACTION: Final = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
_GRAMMAR: Final = frozenset(
    {"SET", "REMOVE", "ADD", "AND", "OR", "NOT", "attribute_not_exists", "attribute_exists"}
)
PIPELINE: Final = "stateMachine:${AWS::StackName}-signing-pipeline"


@dataclass(frozen=True, slots=True)
class Call:
    """One thing that AWS checks a role for.

    Attributes:
        action: For example `dynamodb:GetItem`.
        resource: As in `template.named`.
        key: First key of a table's item, empty elsewhere.
        attributes: Names of the attributes that an update touches or looks at.
    """

    action: str
    resource: str
    key: str = ""
    attributes: frozenset[str] = frozenset()


def allowed(function: str, call: Call) -> bool:
    """Return whether a statement of a function's role covers a call."""
    return any(_covers(one, call) for one in statements(function))


def unused(function: str, calls: set[Call]) -> set[str]:
    """Return the grants, without their conditions, that none of these calls needed."""
    return {
        f"{action} on {named(resource)}"
        for one in statements(function)
        for action in listed(one["Action"])
        for resource in listed(one["Resource"])
        if not any(_covers({**one, "Action": action, "Resource": resource}, call) for call in calls)
    }


def calls_of(service: str, operation: str, parameters: Parameters) -> Iterator[Call]:
    """Yield what AWS checks for one operation of a client.

    Args:
        service: As boto3 names it.
        operation: As the API names it.
        parameters: The operation's parameters.
    """
    check = _CHECKS[service]
    yield from check(operation, parameters)


def _covers(statement: Json, call: Call) -> bool:
    return (
        call.action in listed(statement["Action"])
        and any(fnmatchcase(call.resource, _named(one)) for one in listed(statement["Resource"]))
        and all(
            _holds(operator, key, listed(values), call)
            for operator, pairs in statement.get("Condition", {}).items()
            for key, values in pairs.items()
        )
    )


def _named(resource: Any) -> str:  # noqa: ANN401 - an intrinsic or text
    """Return a resource as text; the state machine has one name here, however it is written."""
    text = named(resource)
    return PIPELINE if text == "SigningPipeline" else text


def _holds(operator: str, condition_key: str, values: list[str], call: Call) -> bool:
    match condition_key, operator:
        case "dynamodb:LeadingKeys", "ForAllValues:StringLike":
            return any(fnmatchcase(call.key, one) for one in values)
        case "dynamodb:LeadingKeys", "ForAllValues:StringEquals":
            return call.key in values
        case "dynamodb:Attributes", "ForAllValues:StringEquals":
            return call.attributes <= set(values)
        case "s3:prefix", "StringLike":
            return any(fnmatchcase(call.key, one) for one in values)
        case _:
            raise ValueError(f"nobody taught this test about {operator} of {condition_key}")


def _dynamodb(operation: str, parameters: Parameters) -> Iterator[Call]:
    if operation == "TransactWriteItems":
        for element in parameters["TransactItems"]:
            [(kind, inner)] = element.items()
            yield _on_item(_TRANSACTION[kind], inner)
    elif operation == "Query":
        index = f"/index/{parameters['IndexName']}" if "IndexName" in parameters else ""
        yield Call("dynamodb:Query", parameters["TableName"] + index)
    else:
        yield _on_item(operation, parameters)


def _on_item(action: str, parameters: Parameters) -> Call:
    table = parameters["TableName"]
    item: Json = parameters.get("Item") or parameters["Key"]
    hash_key = properties(table)["KeySchema"][0]["AttributeName"]
    text = str(item[hash_key]["S"])
    touched = _attributes(parameters) if action == "UpdateItem" else frozenset[str]()
    return Call(f"dynamodb:{action}", table, text, touched)


def _attributes(parameters: Parameters) -> frozenset[str]:
    """Return the names in an update's expressions and key; placeholders are spelled out."""
    names: Mapping[str, str] = parameters.get("ExpressionAttributeNames", {})
    text = f"{parameters['UpdateExpression']} {parameters.get('ConditionExpression', '')}"
    words = set(re.findall(r"(?<![:\w#])#?[A-Za-z_]\w*", text)) - _GRAMMAR
    return frozenset(names.get(word, word) for word in words) | frozenset(parameters["Key"])


def _s3(operation: str, parameters: Parameters) -> Iterator[Call]:
    version = "Version" if "VersionId" in parameters and operation == "GetObject" else ""
    bucket = _LOGICAL[parameters["Bucket"]]
    if operation == "ListObjectsV2":
        yield Call("s3:ListBucket", bucket, key=parameters["Prefix"])
        return
    yield Call(f"s3:{operation}{version}", f"{bucket}/{parameters['Key']}")


def _secretsmanager(operation: str, parameters: Parameters) -> Iterator[Call]:
    yield Call(f"secretsmanager:{operation}", parameters["SecretId"])


def _ssm(operation: str, parameters: Parameters) -> Iterator[Call]:
    pattern = properties(parameters["Name"])["Name"]["Fn::Sub"]
    yield Call(f"ssm:{operation}", f"parameter{pattern}")


def _kms(operation: str, parameters: Parameters) -> Iterator[Call]:
    yield Call(f"kms:{operation}", "HashKey")


def _ses(operation: str, parameters: Parameters) -> Iterator[Call]:
    """Sending is checked against the sender's identity and the configuration set."""
    assert parameters["FromEmailAddress"].endswith(PARAMETERS["MailFrom"])
    yield Call(f"ses:{operation}", "identity/MailFrom")
    if "ConfigurationSetName" in parameters:
        yield Call(f"ses:{operation}", f"configuration-set/{parameters['ConfigurationSetName']}")


def _lambda(operation: str, parameters: Parameters) -> Iterator[Call]:
    yield Call(f"lambda:{operation}Function", parameters["FunctionName"])


def _states(operation: str, parameters: Parameters) -> Iterator[Call]:
    match operation:
        case "StartExecution":
            assert parameters["stateMachineArn"] == MACHINE_ARN
            yield Call("states:StartExecution", PIPELINE)
        case "DescribeExecution":
            name = parameters["executionArn"].rpartition(":")[2]
            yield Call(
                "states:DescribeExecution", "execution:${AWS::StackName}-signing-pipeline:" + name
            )
        case _:
            yield Call(f"states:{operation}", "*")


_CHECKS: Final[Mapping[str, Callable[[str, Parameters], Iterator[Call]]]] = {
    "dynamodb": _dynamodb,
    "s3": _s3,
    "secretsmanager": _secretsmanager,
    "ssm": _ssm,
    "kms": _kms,
    "sesv2": _ses,
    "lambda": _lambda,
    "stepfunctions": _states,
}
