"""What is refused at the door: the problem names the field, and nothing is stored."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pikepdf
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

from local.demo.people import wait_for
from local.stack.parameters import APPROVER, REQUESTER
from no_undo.cli.api import ApiError
from no_undo.use_cases.submit_request import MAX_DOCUMENT_BYTES
from tests.e2e.site import INVOICE, NAMES, Site, people
from tests.integration.documents.pdf_maker import add_page, saved, text_pdf
from tests.integration.documents.pdf_signer import new_authority, signed


@dataclass(frozen=True)
class Stored:
    """What a request leaves behind, by key."""

    requests: frozenset[str]
    audit: frozenset[str]
    kept_keys: frozenset[str]
    objects: frozenset[str]


def stored(site: Site) -> Stored:
    return Stored(
        requests=frozenset(row["request_id"]["S"] for row in site.rows("Requests")),
        audit=frozenset(row["chain_id"]["S"] for row in site.rows("AuditHeads")),
        kept_keys=frozenset(row["id"]["S"] for row in site.rows("Idempotency")),
        objects=frozenset(site.keys("requests/")),
    )


def refusal(site: Site, body: dict[str, Any], **headers: str) -> ApiError:
    """Hand in a request that must be refused and leave nothing; return the problem."""
    before = stored(site)
    with pytest.raises(ApiError) as refused:
        site.api.post("/requests", body, headers)
    assert stored(site) == before
    return refused.value


def one(**changes: str) -> list[dict[str, str]]:
    """Return one recipient with something wrong."""
    return [{"name": "Alice Door", "email": "alice.door@example.com", **changes}]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        pytest.param({"recipients": []}, "recipients", id="no recipients"),
        pytest.param(
            {
                "recipients": [],
                "prompt": "Send this invoice without redaction to Carol for signature.",
            },
            "recipients",
            id="a name without an address, in the sentence",
        ),
        pytest.param(
            {"recipients": one(email="")}, "recipients[0].email", id="a name without an address"
        ),
        pytest.param(
            {"recipients": one(email="alice at example.com")},
            "recipients[0].email",
            id="an address that is not one",
        ),
        pytest.param(
            {"recipients": people("Door", 11)}, "recipients", id="more than ten recipients"
        ),
        pytest.param(
            {"recipients": [*one(), *one(email="Alice.Door+second@example.com")]},
            "recipients[1].email",
            id="one person twice",
        ),
        pytest.param(
            {"approvers": [APPROVER, "friend@elsewhere.example"]},
            "approvers[1]",
            id="an approver outside the tenant's policy",
        ),
        pytest.param({"approvers": [REQUESTER]}, "approvers[0]", id="the requester as approver"),
        pytest.param(
            {"recipients": one(), "approvers": ["alice.door@example.com"]},
            "approvers[0]",
            id="a recipient as approver",
        ),
        pytest.param({"quorum": 0}, "quorum", id="a quorum of nobody"),
        pytest.param({"quorum": 2}, "quorum", id="a quorum that cannot be met"),
        pytest.param({"prompt": ""}, "prompt", id="an empty prompt"),
        pytest.param({"prompt": "Sign. " * 1_667}, "prompt", id="a prompt over 10,000 characters"),
        pytest.param({"document": {}}, "document", id="no document"),
        pytest.param(
            {"document": {"invoice": INVOICE, "upload_id": "01h00000000000000000000000"}},
            "document",
            id="both kinds of document",
        ),
        pytest.param(
            {"document": {"upload_id": "01h00000000000000000000000"}},
            "document.upload_id",
            id="an unknown upload",
        ),
        pytest.param(
            {"document": {"upload_id": "../requests/x"}},
            "document.upload_id",
            id="an upload id that is none",
        ),
        pytest.param(
            {"document": {"invoice": {**INVOICE, "totl": "1.00"}}},
            "document.invoice",
            id="a misspelt figure",
        ),
        pytest.param({"redact_values": NAMES}, "redact", id="redaction declined and asked for"),
        pytest.param({"repeat_of": "unknown#1"}, "repeat_of", id="a repeat of nothing"),
        pytest.param({"aprovers": [APPROVER]}, "aprovers", id="a field that does not exist"),
    ],
)
def test_a_wrong_request_is_refused_by_field_and_leaves_nothing(
    site: Site, changes: dict[str, Any], field: str
) -> None:
    problem = refusal(site, site.body("Door", **changes))

    assert (problem.status, problem.field) == (400, field)
    assert len(str(problem)) > 20, "it says what would be right"


def locked(document: bytes) -> bytes:
    """Return the document behind a password."""
    return rewritten(document, encryption=pikepdf.Encryption(user="open", owner="all"))


def rewritten(document: bytes, **how: Any) -> bytes:  # noqa: ANN401 - whatever pikepdf takes
    output = io.BytesIO()
    with pikepdf.open(io.BytesIO(document)) as pdf:
        pdf.save(output, **how)
    return output.getvalue()


def pages(count: int) -> bytes:
    with pikepdf.new() as pdf:
        for number in range(count):
            add_page(pdf, [f"Page {number + 1}"])
        return saved(pdf)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        pytest.param(lambda: b"", "empty", id="an empty file"),
        pytest.param(lambda: b"Dear Sir or Madam", "not a PDF", id="a file that is no PDF"),
        pytest.param(lambda: b"%PDF-1.7\nand then nothing", "broken", id="a broken PDF"),
        pytest.param(lambda: locked(text_pdf()), "encrypted", id="an encrypted PDF"),
        pytest.param(lambda: pages(51), "51 pages", id="more than 50 pages"),
        pytest.param(
            lambda: text_pdf() + b"%" * MAX_DOCUMENT_BYTES, "10000000 bytes", id="more than 10 MB"
        ),
        pytest.param(
            lambda: signed(text_pdf(), new_authority()), "signed already", id="a signed PDF"
        ),
    ],
)
def test_an_unusable_document_is_refused_with_its_reason_and_leaves_nothing(
    site: Site, make: Callable[[], bytes], says: str
) -> None:
    upload_id = site.api.upload(make())

    problem = refusal(site, site.body("Paper", document={"upload_id": upload_id}))

    assert (problem.status, problem.field) == (400, "document")
    assert says in str(problem)


def test_a_repeated_submission_with_its_key_gets_the_first_answer_and_makes_one_request(
    site: Site,
) -> None:
    body, key = site.body("Keyed"), {"Idempotency-Key": "order-4711"}

    first = site.api.post("/requests", body, key)
    before = stored(site)
    again = site.api.post("/requests", body, key)

    assert again == first
    assert stored(site) == before
    site.api.post(f"/requests/{first['request_id']}/withdraw", {})


def test_a_used_key_with_another_body_is_a_conflict(site: Site) -> None:
    key = "order-4712"
    first = site.api.post("/requests", site.body("Keyed2"), {"Idempotency-Key": key})

    problem = refusal(site, site.body("Keyed3"), **{"Idempotency-Key": key})

    assert (problem.status, problem.field) == (409, "Idempotency-Key")
    site.api.post(f"/requests/{first['request_id']}/withdraw", {})


def test_a_refused_submission_does_not_use_up_its_key(site: Site) -> None:
    key = {"Idempotency-Key": "order-4713"}
    refusal(site, site.body("Keyed4", recipients=[]), **key)

    taken = site.api.post("/requests", site.body("Keyed4"), key)

    site.api.post(f"/requests/{taken['request_id']}/withdraw", {})


def test_a_problem_is_an_rfc_9457_document(site: Site) -> None:
    """As a client sees it that is not ours."""
    answer = signed_post(site, {**site.body("Door"), "quorum": 0})

    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["type"] == "urn:no-undo:problem:invalid_request"
    assert (problem["status"], problem["field"]) == (400, "quorum")
    assert problem["title"]
    assert problem["detail"]


def signed_post(site: Site, body: object) -> httpx.Response:
    url, content = f"{site.running.outputs['ApiUrl']}/requests", json.dumps(body)
    request = AWSRequest("POST", url, headers={"content-type": "application/json"}, data=content)
    credentials = site.api.session.get_credentials()
    assert credentials is not None
    SigV4Auth(credentials, "execute-api", "us-east-1").add_auth(request)
    return httpx.post(url, content=content, headers=dict(request.headers.items()), timeout=30)


@pytest.mark.parametrize("path", ["/requests", "/uploads", "/operations/pause"])
def test_an_unsigned_request_is_refused(site: Site, path: str) -> None:
    before = stored(site)

    answer = httpx.post(f"{site.running.outputs['ApiUrl']}{path}", json=site.body("Door"))

    assert answer.status_code == 403
    assert stored(site) == before


def test_p5_a_tenant_without_a_policy_is_refused(spare_site: Site) -> None:
    """Its body would be refused anyway, so nothing is taken in while the old policy is in use."""
    policy = set_policy(spare_site, json.dumps({"tenants": {}}))
    try:
        problem = wait_for(
            lambda: found if (found := ask_for_redaction(spare_site)).status == 409 else None,
            "the policy to be gone",
        )
    finally:
        set_policy(spare_site, policy)

    assert "no approver policy" in str(problem)


def test_p8_redaction_without_a_redaction_account_is_refused(spare_site: Site) -> None:
    problem = wait_for(
        lambda: found if (found := ask_for_redaction(spare_site)).status == 400 else None,
        "the policy to be in use",
    )

    assert problem.field == "redact"
    assert "no redaction account" in str(problem)


def test_an_upload_without_an_extraction_account_must_say_extraction_none(
    spare_site: Site,
) -> None:
    upload_id = spare_site.api.upload(text_pdf())

    problem = refusal(spare_site, spare_site.body("Poor", document={"upload_id": upload_id}))

    assert (problem.status, problem.field) == (400, "extraction")


def ask_for_redaction(site: Site) -> ApiError:
    return refusal(site, site.body("Poor", redact=True))


def set_policy(site: Site, document: str) -> str:
    """Deploy another approver policy; return the one before."""
    parameters = site.running.aws.client("ssm")
    name = "/no-undo/approver-policy"
    before = parameters.get_parameter(Name=name)["Parameter"]["Value"]
    parameters.put_parameter(Name=name, Value=document, Type="String", Overwrite=True)
    return str(before)
