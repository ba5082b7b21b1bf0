"""The OpenAPI document tells the truth about routes and bodies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from openapi_spec_validator import validate

from no_undo.entrypoint.inputs import StatementBody, SubmitBody
from tests.infrastructure.template import routes

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT: dict[str, Any] = yaml.safe_load((ROOT / "docs" / "openapi.yaml").read_text())
METHODS = ("get", "head", "options", "post")


def documented() -> dict[str, dict[str, Any]]:
    """Return the operations by route key."""
    return {
        f"{method.upper()} {path}": item[method]
        for path, item in DOCUMENT["paths"].items()
        for method in METHODS
        if method in item
    }


def test_it_is_a_valid_openapi_document() -> None:
    validate(DOCUMENT)


def test_it_has_every_route_of_the_template_and_no_other() -> None:
    assert set(documented()) == set(routes())


@pytest.mark.parametrize("key", sorted(routes()))
def test_a_route_is_open_in_the_document_exactly_where_it_is_in_the_template(key: str) -> None:
    is_open = documented()[key].get("security") == []

    assert is_open == (routes()[key]["AuthorizationType"] == "NONE")


@pytest.mark.parametrize(
    ("model", "name"), [(SubmitBody, "Submission"), (StatementBody, "Statement")]
)
def test_a_body_has_the_fields_of_its_model_and_asks_for_the_same(
    model: type[SubmitBody | StatementBody], name: str
) -> None:
    schema = DOCUMENT["components"]["schemas"][name]
    truth = model.model_json_schema()

    assert set(schema["properties"]) == set(truth["properties"])
    assert set(schema["required"]) == set(truth["required"])
    assert schema["additionalProperties"] is False


def test_limits_of_the_submission_are_the_models_limits() -> None:
    stated = DOCUMENT["components"]["schemas"]["Submission"]["properties"]
    truth = SubmitBody.model_json_schema()["properties"]

    for field in ("prompt", "recipients", "approvers", "redact", "redact_values", "repeat_of"):
        for limit in ("minLength", "maxLength", "maxItems"):
            assert stated[field].get(limit) == truth[field].get(limit), (field, limit)
