"""What the template would put into each function's environment, as plain text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.infrastructure.template import functions, parameter_default, resources, template

REGION: Final = "eu-central-1"
ACCOUNT: Final = "123456789012"
MACHINE_ARN: Final = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:no-undo-signing-pipeline"

PARAMETERS: Final[Mapping[str, str]] = {
    "MailFrom": "no-undo@example.com",
    "RetryAfterRelease": "automatic",
    "VendorTimeoutSeconds": "30",
}
"""Parameters of the deployment in these tests; all others have their defaults."""


def environment(function: str) -> dict[str, str]:
    """Return the variables of a function: those of every function, then its own."""
    shared = template()["Globals"]["Function"]["Environment"]["Variables"]
    own = functions()[function].get("Environment", {}).get("Variables", {})
    return {name: _text(value) for name, value in {**shared, **own}.items()}


def physical(name: str) -> str:
    """Return the name under which a resource is made; buckets take no capital letters."""
    return name.lower() if "Bucket" in name else name


def _text(value: Any) -> str:  # noqa: ANN401, PLR0911 - an intrinsic or a scalar
    match value:
        case {"Ref": name} if name in template()["Parameters"]:
            return PARAMETERS[name] if name in PARAMETERS else str(parameter_default(name))
        case {"Ref": name} if name in resources():
            return physical(name)
        case {"Fn::GetAtt": [name, "Arn"]}:
            return physical(name)
        case {"Fn::Sub": pattern} if "stateMachine:" in pattern:
            return MACHINE_ARN
        case {"Fn::If": ["ApiServesLinks", {"Fn::Join": _}, _]}:
            return "https://no-undo.example"
        case {"Fn::If": ["ApproversSignIn", _, off]}:
            return str(off)
        case _:
            return str(value)
