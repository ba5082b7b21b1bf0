"""The OpenAPI document tells the truth about routes, bodies and answers."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, cast

import pytest
import yaml
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import validate

from no_undo.adapters.json_answers import as_list, as_object
from no_undo.domain.card import Choice, FormInput, correction_input_name, field_input_name
from no_undo.domain.invoice import MINOR_DIGITS
from no_undo.domain.pii import KINDS
from no_undo.domain.plan import Delivery
from no_undo.domain.request import RequestState
from no_undo.entrypoint.inputs import ReassignBody, StatementBody, SubmitBody
from no_undo.lab.fake_esign import Behaviour
from no_undo.use_cases.close_request import Closing
from no_undo.use_cases.get_request import RequestView
from no_undo.use_cases.list_in_doubt import Doubts, DoubtView
from no_undo.use_cases.record_decision import MAX_REASON
from no_undo.use_cases.submit_request import Upload
from tests.fakes.worlds import a_world, approved, in_doubt, proposed
from tests.infrastructure.template import is_open, routes
from tests.unit.cli.deployment import Deployment

Json = dict[str, Any]

ROOT: Final = Path(__file__).resolve().parents[2]
DOCUMENT: Final[Json] = yaml.safe_load((ROOT / "docs" / "openapi.yaml").read_text("utf-8"))
METHODS: Final = ("get", "head", "options", "post")
ANNOTATIONS: Final = frozenset({"$defs", "title", "description"})

SAYS_NOTHING: Final = (("additionalProperties", True), ("default", None))


def resolved(node: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a part of the document with every reference replaced by what it names."""
    items, members = as_list(node), as_object(node)
    if items is not None:
        return [resolved(one) for one in items]
    if members is None:
        return node
    if "$ref" in members:
        target: Any = DOCUMENT
        for part in str(members["$ref"]).removeprefix("#/").split("/"):
            target = target[part]
        return resolved(target)
    return {key: resolved(one) for key, one in members.items()}


def operations() -> dict[str, Json]:
    """Return the operations by route key, references replaced."""
    return {
        f"{method.upper()} {path}": resolved(item[method])
        for path, item in DOCUMENT["paths"].items()
        for method in METHODS
        if method in item
    }


def schema(name: str) -> Json:
    """Return a schema of the document, references replaced."""
    return cast("Json", resolved(DOCUMENT["components"]["schemas"][name]))


def problems(value: object, against: Json) -> list[str]:
    """Return what is wrong with a value."""
    errors: Iterator[Any] = OAS31Validator(against).iter_errors(value)
    return [f"{one.json_path}: {one.message}" for one in errors]


def bodies() -> Iterator[tuple[str, Json]]:
    """Yield every request and answer body with a name."""
    for key, operation in operations().items():
        for kind, media in operation.get("requestBody", {}).get("content", {}).items():
            yield f"{key} {kind}", media
        for status, answer in operation["responses"].items():
            for kind, media in answer.get("content", {}).items():
                yield f"{key} {status} {kind}", media


def examples() -> Iterator[tuple[str, object, Json]]:
    """Yield every example of a body: name, value, schema."""
    for name, media in bodies():
        if "example" in media:
            yield name, media["example"], media["schema"]
        for one in media.get("examples", {}).values():
            yield name, one["value"], media["schema"]


def test_it_is_a_valid_openapi_document() -> None:
    validate(DOCUMENT)


def test_it_has_every_route_of_the_template_and_no_other() -> None:
    assert set(operations()) == set(routes())


@pytest.mark.parametrize("key", sorted(routes()))
def test_a_route_is_open_in_the_document_exactly_where_it_is_in_the_template(key: str) -> None:
    documented = operations()[key].get("security") == []

    assert documented == is_open(routes()[key])


@pytest.mark.parametrize("key", sorted(routes()))
def test_the_path_parameters_are_those_of_the_route(key: str) -> None:
    item = DOCUMENT["paths"][key.partition(" ")[2]]
    named = {one["name"] for one in resolved(item.get("parameters", [])) if one["in"] == "path"}

    assert named == {part[1:-1] for part in key.split("/") if part.startswith("{")}


@pytest.mark.parametrize("key", sorted(routes()))
def test_a_signed_route_says_how_it_refuses_and_an_open_one_does_not(key: str) -> None:
    refusals = {"401", "403"} & set(operations()[key]["responses"])

    assert refusals == (set() if is_open(routes()[key]) else {"401", "403"})


@pytest.mark.parametrize(
    ("value", "against"), [pytest.param(*one, id=name) for name, *one in examples()]
)
def test_an_example_fits_its_schema(value: object, against: Json) -> None:
    assert problems(value, against) == []


def test_every_json_body_has_an_example_or_is_a_problem() -> None:
    bare = [
        name
        for name, media in bodies()
        if name.endswith("application/json") and not {"example", "examples"} & set(media)
    ]

    assert bare == []


def constraints(node: Any, definitions: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON schema
    """Return what a schema demands, in one spelling; what only explains is left out.

    "Or null" is spelt `type: [X, null]` in the document and `anyOf` by pydantic.
    """
    items, members = as_list(node), as_object(node)
    if items is not None:
        return [constraints(one, definitions) for one in items]
    if members is None:
        return node
    if "$ref" in members:
        return constraints(definitions[str(members["$ref"]).rpartition("/")[2]], definitions)
    kept: Json = {
        key: one
        for key, one in members.items()
        if key not in ANNOTATIONS and (key, one) not in SAYS_NOTHING
    }
    if "properties" in kept:
        properties = {
            name: constraints(one, definitions) for name, one in kept.pop("properties").items()
        }
        rest = {key: constraints(one, definitions) for key, one in kept.items()}
        return {**rest, "properties": properties, "required": sorted(kept.get("required", []))}
    choices = [constraints(one, definitions) for one in kept.pop("anyOf", [])]
    if {"type": "null"} in choices:
        [one] = [choice for choice in choices if choice != {"type": "null"}]
        values = {"enum": [*one["enum"], None]} if "enum" in one else {}
        kept = {**kept, **one, "type": [one["type"], "null"], **values}
    return {key: constraints(one, definitions) for key, one in kept.items()}


@pytest.mark.parametrize(
    ("model", "name"),
    [(SubmitBody, "Submission"), (StatementBody, "Statement"), (ReassignBody, "Reassignment")],
)
def test_a_body_demands_exactly_what_its_model_demands(
    model: type[SubmitBody | StatementBody | ReassignBody], name: str
) -> None:
    stated = schema(name)
    truth = model.model_json_schema()
    if name == "Submission":
        # Two things the model leaves to a validator and to the domain; they have tests below.
        del stated["properties"]["redact"]["items"]["enum"]
        stated["properties"]["document"]["properties"]["invoice"] = {"type": ["object", "null"]}

    assert constraints(stated, {}) == constraints(truth, truth.get("$defs", {}))


def test_the_kinds_to_redact_are_those_that_a_detector_finds() -> None:
    assert schema("Submission")["properties"]["redact"]["items"]["enum"] == list(KINDS)


def test_the_currencies_are_those_that_an_invoice_may_have() -> None:
    assert schema("Invoice")["properties"]["currency"]["enum"] == [*sorted(MINOR_DIGITS), None]


def test_the_example_invoice_fits_the_schema_of_an_invoice() -> None:
    path = ROOT / "fixtures" / "documents" / "freight_invoice.json"

    assert problems(json.loads(path.read_text("utf-8")), schema("Invoice")) == []


def test_the_decision_has_the_inputs_of_the_form() -> None:
    form = schema("Decision")["properties"]

    inputs = {
        FormInput.PLAN_DIGEST,
        FormInput.CARD_DIGEST,
        FormInput.DECISION,
        FormInput.REASON,
        FormInput.CONFIRMATION,
        FormInput.HAND_OVER_TO,
    }
    assert set(form) == inputs
    [pattern] = schema("Decision")["patternProperties"]
    assert re.search(pattern, field_input_name(0))
    assert re.search(pattern, correction_input_name(12))
    assert form["decision"]["enum"] == values(Choice)
    assert form["reason"]["maxLength"] == MAX_REASON


@pytest.mark.parametrize(
    ("view", "name"),
    [(RequestView, "Request"), (Doubts, "Doubts"), (DoubtView, "Doubt"), (Upload, "Upload")],
)
def test_an_answer_has_the_fields_of_its_view(view: Any, name: str) -> None:  # noqa: ANN401
    fields = {one.name for one in dataclasses.fields(view)}

    assert set(schema(name)["properties"]) == set(schema(name)["required"]) == fields


def test_the_states_are_the_states_of_a_request() -> None:
    assert schema("Request")["properties"]["state"]["enum"] == values(RequestState)


def test_what_is_known_about_a_mail_is_one_of_its_words() -> None:
    properties = schema("Request")["properties"]

    for people in ("approvers", "signers"):
        mail = properties[people]["items"]["properties"]["mail"]
        assert mail["enum"] == values(Delivery)


def values(kind: type[StrEnum]) -> list[str]:
    """Return the words of an enumeration, in order."""
    return [one.value for one in kind]


WORDS: Final = {"reason": "called the vendor", "evidence": "ticket 77"}
DONE: Final = {**WORDS, "outcome": "done"}
REASSIGN: Final = {"approver": "dave@example.com", "to": "frank@example.com", "reason": "Away."}
CALLS: Final[list[tuple[str, str, Json | None, int]]] = [
    ("GET /requests", "", None, 200),
    ("GET /requests/{id}", "r1", None, 200),
    ("GET /requests/{id}", "r2", None, 200),
    ("GET /requests/{id}", "r9", None, 404),
    ("GET /requests/{id}/document", "r3", None, 409),
    ("GET /requests/{id}/receipt", "r1", None, 409),
    ("GET /requests/{id}/receipt", "r9", None, 404),
    ("POST /requests/{id}/withdraw", "r2", None, 200),
    ("POST /requests/{id}/withdraw", "r1", None, 409),
    ("POST /requests/{id}/reassign", "r2", REASSIGN, 200),
    ("POST /requests/{id}/reassign", "r2", {**REASSIGN, "to": "carol@example.com"}, 400),
    ("POST /requests/{id}/reassign", "r3", REASSIGN, 409),
    ("POST /requests/{id}/reassign", "r9", REASSIGN, 404),
    ("GET /operations/in-doubt", "", None, 200),
    ("GET /operations/drafts", "", None, 200),
    ("POST /operations/requests/{id}/resume", "r3", WORDS, 200),
    ("POST /operations/requests/{id}/resume", "r3", {}, 400),
    ("POST /operations/requests/{id}/resume", "r9", WORDS, 404),
    ("POST /operations/requests/{id}/resume", "r4", WORDS, 409),
    ("POST /operations/plans/{id}/settle", "r1%231", DONE, 200),
    ("POST /operations/plans/{id}/settle", "r1%231", WORDS, 400),
    ("POST /operations/plans/{id}/settle", "r2%231", DONE, 409),
    ("POST /operations/plans/{id}/retry", "r1%231", WORDS, 409),
    ("POST /operations/plans/{id}/retry", "r9%231", WORDS, 404),
    ("POST /operations/plans/{id}/void", "r2%231", WORDS, 409),
    ("POST /operations/pause", "", WORDS, 200),
    ("POST /operations/unpause", "", WORDS, 200),
    ("POST /operations/pause", "", {}, 400),
]


@pytest.mark.parametrize(("key", "identity", "body", "status"), CALLS)
def test_an_answer_of_the_real_route_fits_the_document(
    key: str, identity: str, body: Json | None, status: int
) -> None:
    """Requests: in doubt, waiting for approval, just come in, ended with an abandoned draft."""
    world = a_world(Behaviour.UNKNOWN_STATUS)
    proposed(world, "r2")
    in_doubt(world)
    world.submit("r3", start=False)
    proposed(world, "r4", source=b"%PDF-1.7 of r4")
    world.close("r4", Closing("withdrawn", "Request Approval"))
    method, _, path = key.partition(" ")

    answer = Deployment(world).ask(method, path.replace("{id}", identity), body)

    documented = operations()[key]["responses"][str(status)]["content"]
    media = documented[answer.headers["content-type"]]
    assert answer.status_code == status
    assert problems(answer.json(), media["schema"]) == []


def test_what_is_paused_fits_the_document() -> None:
    world = a_world()
    approved(world)
    deployment = Deployment(world)
    deployment.ask("POST", "/operations/pause", WORDS)

    answer = deployment.ask("GET", "/operations/in-doubt").json()

    assert answer["pause"] is not None
    assert problems(answer, schema("Doubts")) == []
