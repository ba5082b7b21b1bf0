"""The template as the tests read it: resources, functions and what each role may do.

A grant is one line, `ACTION on RESOURCE`, followed by ` where CONDITION` if the statement has one.
Resources are named by their logical id; the fixed head of an ARN is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

from local.stack.deploy import read_template

ROOT: Final = Path(__file__).parents[2]
Json = dict[str, Any]

_ARN_HEAD = re.compile(r"arn:\$\{AWS::Partition\}:\w+:\$\{AWS::Region\}:\$\{AWS::AccountId\}:")


@cache
def template() -> Json:
    """Return the whole template, short tags in their long form."""
    return read_template(ROOT / "template.yaml")


def resources(kind: str = "") -> dict[str, Json]:
    """Return the resources, all or of one type, by logical id."""
    found = cast("dict[str, Json]", template()["Resources"])
    return {name: one for name, one in found.items() if kind in ("", one["Type"])}


def properties(name: str) -> Json:
    """Return a resource's properties."""
    found: Json = resources()[name]["Properties"]
    return found


def parameter_default(name: str) -> Any:  # noqa: ANN401 - text or number
    """Return a parameter's default."""
    return template()["Parameters"][name]["Default"]


def folder_of(function: str) -> str:
    """Return the folder of a function's resource: `SendEnvelopeFunction` is `send_envelope`."""
    words = re.findall(r"[A-Z][a-z]*", function.removesuffix("Function"))
    return "_".join(words).lower()


@cache
def functions() -> dict[str, Json]:
    """Return every function's properties by its folder."""
    found = resources("AWS::Serverless::Function")
    return {folder_of(name): one["Properties"] for name, one in found.items()}


def named(value: Any) -> str:  # noqa: ANN401 - an intrinsic or text
    """Return a resource as text: `RequestsTable`, `DocumentsBucket/uploads/*`, `*`."""
    match value:
        case str():
            text = value
        case {"Ref": name}:
            text = str(name)
        case {"Fn::GetAtt": [name, "Arn"]}:
            text = str(name)
        case {"Fn::GetAtt": [name, attribute]}:
            text = f"{name}.{attribute}"
        case {"Fn::Sub": str() as pattern}:
            text = _ARN_HEAD.sub("", pattern)
            text = re.sub(r"\$\{(\w+)(\.Arn)?\}", r"\1", text)
        case _:
            raise ValueError(f"a resource is written in a way that nobody reviewed: {value}")
    return text


def listed(value: Any) -> list[Any]:  # noqa: ANN401 - JSON
    """Return a list; one value counts as a list of one."""
    return value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType] # JSON


def statements(function: str) -> Iterator[Json]:
    """Yield every statement of a function's role, those of shared policies too."""
    yield from statements_of(functions()[function].get("Policies", []))


def statements_of(policies: list[Json]) -> Iterator[Json]:
    """Yield every statement of a list of policies as SAM takes it."""
    for policy in policies:
        document = policy
        if "Ref" in policy:
            document = properties(policy["Ref"])["PolicyDocument"]
        yield from document["Statement"]


def grants_of(statement: Json) -> Iterator[str]:
    """Yield the grants of one statement."""
    condition = _condition(statement.get("Condition", {}))
    for action in listed(statement["Action"]):
        for resource in listed(statement["Resource"]):
            yield f"{action} on {named(resource)}{condition}"


@cache
def grants(function: str) -> frozenset[str]:
    """Return everything that a function's role may do."""
    return frozenset(grant for one in statements(function) for grant in grants_of(one))


def _condition(condition: Mapping[str, Mapping[str, Any]]) -> str:
    tests = [
        f"{key} {operator} {', '.join(named(one) for one in listed(value))}"
        for operator, pairs in condition.items()
        for key, value in pairs.items()
    ]
    return f" where {' and '.join(tests)}" if tests else ""


def routes() -> dict[str, Json]:
    """Return every route's properties by its key, for example `POST /requests`."""
    found = resources("AWS::ApiGatewayV2::Route").values()
    return {one["Properties"]["RouteKey"]: one["Properties"] for one in found}


def is_open(route: Json) -> bool:
    """Return whether nobody has to sign in for a route, as the template is by default."""
    match route["AuthorizationType"]:
        case "NONE" | {"Fn::If": ["ApproversSignIn", "JWT", "NONE"]}:
            return True
        case _:
            return False


def function_of_route(route: Json) -> str:
    """Return the folder of the function that a route calls."""
    integration = named(route["Target"]).removeprefix("integrations/")
    return folder_of(named(properties(integration)["IntegrationUri"]))
