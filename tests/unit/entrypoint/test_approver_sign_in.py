"""The optional sign-in: a link works for its own approver; for everybody else it is unknown."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

import pytest

from no_undo.adapters.jinja_pages import JinjaPages
from no_undo.domain.card import Card
from no_undo.domain.errors import NotFoundError
from no_undo.entrypoint.approval_routes import decide, show
from no_undo.entrypoint.http_requests import HttpRequest
from no_undo.entrypoint.http_responses import HttpAnswer
from no_undo.lab.world import APPROVERS, World
from tests.fakes.worlds import At, a_world, plan_of, proposed
from tests.unit.use_cases.test_record_decision import a_form, token

if TYPE_CHECKING:
    from no_undo.bootstrap import Dependencies

DAVE, ERIN = APPROVERS
EVENTS = Path(__file__).parents[3] / "events"
NOT_DAVE: list[dict[str, Any]] = [
    {"email": ERIN, "email_verified": "true"},
    {"email": "dave+x@example.com", "email_verified": "true"},
    {"email": "d\u0430ve@example.com", "email_verified": "true"},
    {"email": DAVE, "email_verified": "false"},
    {"email": DAVE},
    {"email": [DAVE], "email_verified": "true"},
    {"sub": DAVE, "email_verified": "true"},
    {},
]


def deployed(world: World, *, sign_in: bool = True) -> Dependencies:
    found = SimpleNamespace(
        showing=world.showing,
        gate=world.gate,
        hasher=world.asking.hasher,
        pages=JinjaPages(),
        approvers_sign_in=sign_in,
    )
    return cast("Dependencies", found)


def request(name: str, secret: str, claims: dict[str, Any] | None, **more: object) -> HttpRequest:
    event = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
    event["pathParameters"] = {**event["pathParameters"], "token": secret}
    authorizer = {} if claims is None else {"authorizer": {"jwt": {"claims": claims}}}
    event["requestContext"] = {
        key: one for key, one in event["requestContext"].items() if key != "authorizer"
    } | authorizer
    return HttpRequest.of({**event, **more})


def opened(world: World, claims: dict[str, Any] | None, *, secret: str = "") -> HttpAnswer:
    return show(request("show_approval", secret or token(world), claims), deployed(world))


def posted(world: World, claims: dict[str, Any] | None) -> HttpAnswer:
    form = a_form(world)
    body = urlencode(
        {
            "plan_digest": form.plan_digest,
            "card_digest": form.card_digest,
            "decision": "approve",
            "confirmation": form.confirmation,
        }
    )
    sent = request("record_decision", token(world), claims, body=body, isBase64Encoded=False)
    return decide(sent, deployed(world))


@pytest.mark.parametrize("email", [DAVE, "Dave@Example.com", f" {DAVE} "])
@pytest.mark.parametrize("verified", ["true", True])
def test_the_approver_who_signed_in_sees_the_card_and_decides(email: str, verified: object) -> None:
    world = a_world()
    proposed(world)
    claims = {"email": email, "email_verified": verified}

    assert opened(world, claims)["statusCode"] == 200
    assert posted(world, claims)["statusCode"] == 200
    assert [one.approver for one in plan_of(world).decisions] == [DAVE]


@pytest.mark.parametrize("claims", [*NOT_DAVE, None])
def test_p5_anybody_else_decides_nothing_with_a_forwarded_link(
    claims: dict[str, Any] | None,
) -> None:
    world = a_world()
    proposed(world)

    assert opened(world, claims)["statusCode"] == 404
    assert posted(world, claims)["statusCode"] == 404
    assert plan_of(world).decisions == ()
    assert world.store.chain("r1#opens") == ()


@pytest.mark.parametrize("path", ["pages/{page}", "document"])
def test_nothing_behind_a_foreign_link_is_served(path: str) -> None:
    world = a_world()
    proposed(world)
    sent = request(
        "show_approval",
        token(world),
        {"email": ERIN, "email_verified": "true"},
        routeKey=f"GET /approvals/{{token}}/{path}",
        pathParameters={"token": token(world), "page": "1"},
    )

    with pytest.raises(NotFoundError):
        show(sent, deployed(world))


def test_unknown_and_foreign_links_get_the_same_answer_for_the_same_reads() -> None:
    at = At()
    world = a_world(watcher=at)
    proposed(world)
    stranger = {"email": ERIN, "email_verified": "true"}
    answers: list[object] = []
    reads: list[list[str]] = []
    for secret in (token(world), "A" * 43):
        at.seen.clear()
        answers.append(opened(world, stranger, secret=secret))
        reads.append(list(at.seen))

    assert answers[0] == answers[1]
    assert reads[0] == reads[1] == ["store.link", "store.plan", "store.request"]


def test_without_the_sign_in_the_link_alone_is_the_credential() -> None:
    world = a_world()
    proposed(world)
    sent = request("show_approval", token(world), None)

    assert show(sent, deployed(world, sign_in=False))["statusCode"] == 200
    assert isinstance(world.open_card(token(world)), Card)
