"""What a submission must look like; every refusal names the field and never the value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.recipients import Recipient
from no_undo.domain.redaction import OnResidual, RedactionTarget, TargetType
from no_undo.domain.request import Assembly
from no_undo.entrypoint.http_requests import Caller
from no_undo.entrypoint.inputs import StatementBody, SubmitBody, read_body
from no_undo.use_cases.submit_request import submit_request
from tests.unit.entrypoint.door import a_door, stored_requests

CAROL = Caller("arn:aws:iam::123456789012:user/carol", "acme")
ALICE = {"name": "Alice Example", "email": "alice@example.com"}
FIXTURE = Path(__file__).parents[3] / "fixtures" / "documents" / "freight_invoice.json"
INVOICE: dict[str, Any] = json.loads(FIXTURE.read_text(encoding="utf-8"))
VALUE = "9f3b1c77e2"
"""Stands in every wrong value, and may stand in no refusal."""


def a_body(**changes: object) -> dict[str, Any]:
    body: dict[str, Any] = {
        "prompt": "Send this to Alice for signature, without redaction.",
        "document": {"invoice": INVOICE},
        "recipients": [ALICE],
    }
    return {key: value for key, value in {**body, **changes}.items() if value is not None}


def refusal(body: dict[str, Any]) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as raised:
        read_body(SubmitBody, body)
    return raised.value


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"prompt": None}, "prompt"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": VALUE * 1_001}, "prompt"),
        ({"prompt": [VALUE]}, "prompt"),
        ({"document": None}, "document"),
        ({"document": VALUE}, "document"),
        ({"document": {"path": VALUE}}, "document.path"),
        ({"document": {"upload_id": VALUE * 7}}, "document.upload_id"),
        ({"recipients": [{"name": VALUE}]}, "recipients[0].email"),
        ({"recipients": [ALICE, {"email": VALUE}]}, "recipients[1].name"),
        ({"recipients": [{**ALICE, "phone": VALUE}]}, "recipients[0].phone"),
        ({"recipients": [ALICE] * 11}, "recipients"),
        ({"approvers": [VALUE] * 21}, "approvers"),
        ({"approvers": [VALUE * 21]}, "approvers[0]"),
        ({"approvers": [""]}, "approvers[0]"),
        ({"quorum": 0}, "quorum"),
        ({"quorum": 21}, "quorum"),
        ({"quorum": "2"}, "quorum"),
        ({"quorum": True}, "quorum"),
        ({"redact": [VALUE]}, "redact[0]"),
        ({"redact_values": [VALUE] * 101}, "redact_values"),
        ({"redact_values": [VALUE * 21]}, "redact_values[0]"),
        ({"redact_keep": [VALUE] * 101}, "redact_keep"),
        ({"on_residual": VALUE}, "on_residual"),
        ({"extraction": VALUE}, "extraction"),
        ({"assembly": VALUE}, "assembly"),
        ({"repeat_of": VALUE * 11}, "repeat_of"),
        ({"tenant": VALUE}, "tenant"),
        ({"caller": VALUE}, "caller"),
    ],
)
def test_a_refusal_names_the_field_and_not_the_value(changes: dict[str, Any], field: str) -> None:
    refused = refusal(a_body(**changes))

    assert refused.field == field
    assert str(refused).startswith(f"{field}: ")
    assert VALUE not in str(refused)


@given(
    st.dictionaries(
        st.sampled_from(["prompt", "document", "recipients", "quorum", "redact", "repeat_of"]),
        st.recursive(
            st.text("QXZJVK", min_size=12) | st.integers() | st.none() | st.floats(allow_nan=False),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("name"), inner),
            max_leaves=6,
        ),
    )
)
def test_no_text_of_a_body_that_does_not_fit_stands_in_its_refusal(changes: dict[str, Any]) -> None:
    said = ""
    try:
        read_body(SubmitBody, {**a_body(), **changes})
    except InvalidRequestError as refused:
        said = str(refused)

    assert not [text for text in _texts(changes) if text in said]


def test_a_prompt_may_have_ten_thousand_characters() -> None:
    assert len(read_body(SubmitBody, a_body(prompt="x" * 10_000)).prompt) == 10_000


def test_an_unknown_kind_of_personal_data_is_answered_with_the_known_ones() -> None:
    refused = refusal(a_body(redact=["shoe_size"]))

    assert "email" in str(refused)
    assert "shoe_size" not in str(refused)


def test_a_body_becomes_a_submission_of_its_caller() -> None:
    body = a_body(
        recipients=[ALICE, {"name": "Bob Example", "email": "bob@example.com"}],
        approvers=["dave@example.com"],
        quorum=1,
        redact=["email"],
        redact_values=["4711"],
        redact_keep=["+1 201 555 0100"],
        on_residual="block",
        extraction="none",
        assembly="rebuild",
        repeat_of="r0#1",
    )

    submission = read_body(SubmitBody, body).submission(CAROL)

    assert (submission.tenant, submission.caller) == ("acme", CAROL.identity)
    assert submission.invoice == INVOICE
    assert submission.recipients == (
        Recipient("Alice Example", "alice@example.com", 1),
        Recipient("Bob Example", "bob@example.com", 2),
    )
    assert submission.approvers == ("dave@example.com",)
    assert submission.quorum == 1
    assert submission.redaction == (
        RedactionTarget(TargetType.KIND, "email", "email"),
        RedactionTarget(TargetType.LITERAL, "4711", "literal"),
    )
    assert submission.redact_keep == ("+1 201 555 0100",)
    assert submission.on_residual is OnResidual.BLOCK
    assert submission.extraction is False
    assert submission.assembly is Assembly.REBUILD
    assert submission.repeat_of == "r0#1"


def test_a_body_without_wishes_leaves_them_to_the_policy() -> None:
    submission = read_body(SubmitBody, a_body()).submission(CAROL)

    assert (submission.approvers, submission.quorum, submission.redaction) == ((), 0, ())
    assert (submission.redact_keep, submission.on_residual) == ((), None)
    assert submission.extraction is True
    assert submission.assembly is Assembly.ATTACH


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"prompt": "Please have this signed, without redaction.", "recipients": []}, "recipients"),
        ({"prompt": "Send this to Zed for signature.", "recipients": []}, "recipients"),
        ({"recipients": [{"name": "", "email": "alice@example.com"}]}, "recipients[0].name"),
        ({"recipients": [{"name": "Alice", "email": "alice"}]}, "recipients[0].email"),
        ({"recipients": [ALICE, {**ALICE, "name": "Bob"}]}, "recipients[1].email"),
        ({"document": {}}, "document"),
        ({"document": {"invoice": INVOICE, "upload_id": "u1"}}, "document"),
        ({"document": {"upload_id": "../secret"}}, "document.upload_id"),
        ({"repeat_of": "r0#1"}, "repeat_of"),
        (
            {
                "prompt": "Send this to Alice for signature.",
                "redact_values": ["Marcus Webb"],
                "redact_keep": ["marcus webb"],
            },
            "redact_keep",
        ),
    ],
)
def test_what_a_rule_refuses_at_the_door_names_its_field_and_leaves_nothing_behind(
    changes: dict[str, Any], field: str
) -> None:
    door = a_door()
    submission = read_body(SubmitBody, a_body(**changes)).submission(CAROL)

    with pytest.raises(InvalidRequestError) as refused:
        submit_request(submission, door)

    assert refused.value.field == field
    assert stored_requests(door) == ()


def test_a_statement_needs_a_reason() -> None:
    with pytest.raises(InvalidRequestError) as refused:
        read_body(StatementBody, {"outcome": "done", "reason": ""})

    assert refused.value.field == "reason"


def test_a_statement_knows_two_outcomes() -> None:
    with pytest.raises(InvalidRequestError) as refused:
        read_body(StatementBody, {"outcome": "probably", "reason": "I looked."})

    assert refused.value.field == "outcome"
    assert "probably" not in str(refused.value)


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner: list[object] = []
    if isinstance(value, dict):
        inner = list(cast("dict[str, object]", value).values())
    elif isinstance(value, list):
        inner = cast("list[object]", value)
    return [text for one in inner for text in _texts(one)]
