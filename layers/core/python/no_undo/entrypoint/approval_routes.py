"""The approvers' routes: looking changes nothing, only POST decides (P6)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from no_undo.domain.card import Card, FormInput, FormState, is_field_input
from no_undo.domain.errors import NotFoundError
from no_undo.domain.results import Result, page_error
from no_undo.entrypoint.http_requests import HttpRequest
from no_undo.entrypoint.http_responses import (
    HttpAnswer,
    head_answer,
    page_answer,
    picture_answer,
    redirect_answer,
)
from no_undo.entrypoint.pages import result_status
from no_undo.use_cases.record_decision import DecisionForm, record_decision
from no_undo.use_cases.show_approval import Showing, document_url, page_picture, show_card

if TYPE_CHECKING:
    from no_undo.bootstrap import Dependencies
    from no_undo.ports import Pages

CARD_AGAIN = 422
MAX_DECISION_FIELDS = 2_000
"""Two answers for each field of the longest invoice, and the rest of the form."""
MAX_DECISION_BYTES = 256 * 1024


def show(request: HttpRequest, deps: Dependencies) -> HttpAnswer:
    """Answer every GET and HEAD behind a link."""
    token = request.path_parameters.get("token", "")
    answer = _shown(request, token, deps)
    return head_answer(answer) if request.method == "HEAD" else answer


def _shown(request: HttpRequest, token: str, deps: Dependencies) -> HttpAnswer:
    match request.route_key:
        case "GET /approvals/{token}/pages/{page}":
            number = request.path_parameters.get("page", "")
            if not (number.isascii() and number.isdigit()):
                raise NotFoundError("there is no such page")
            return picture_answer(page_picture(token, int(number[:6]), _showing(request, deps)))
        case "GET /approvals/{token}/document":
            return redirect_answer(document_url(token, _showing(request, deps)))
        case _:
            return _page(show_card(token, _showing(request, deps)), deps.pages)


def _showing(request: HttpRequest, deps: Dependencies) -> Showing:
    """Return what lies behind links for who sends this request."""
    if not deps.approvers_sign_in:
        return deps.showing
    return replace(deps.showing, visitor=request.signed_in_address())


def decide(request: HttpRequest, deps: Dependencies) -> HttpAnswer:
    """Answer the form's POST."""
    token = request.path_parameters.get("token", "")
    fields = request.form(max_bytes=MAX_DECISION_BYTES, max_fields=MAX_DECISION_FIELDS)
    form = DecisionForm(
        plan_digest=fields.get(FormInput.PLAN_DIGEST, ""),
        card_digest=fields.get(FormInput.CARD_DIGEST, ""),
        decision=fields.get(FormInput.DECISION, ""),
        reason=fields.get(FormInput.REASON, ""),
        confirmation=fields.get(FormInput.CONFIRMATION, ""),
        answers={name: value for name, value in fields.items() if is_field_input(name)},
        hand_over_to=fields.get(FormInput.HAND_OVER_TO, ""),
    )
    reply = record_decision(token, form, deps.gate, _showing(request, deps), deps.hasher)
    return _page(reply.page, deps.pages, reply.form)


def _page(page: Card | Result, pages: Pages, form: FormState | None = None) -> HttpAnswer:
    if isinstance(page, Result):
        rendered = pages.result_page(page)
        return page_answer(result_status(page), rendered.html, rendered.style_source)
    rendered = pages.approval_page(page, form)
    shown_again = form is not None and bool(form.errors)
    return page_answer(CARD_AGAIN if shown_again else 200, rendered.html, rendered.style_source)


def error_page(pages: Pages, status: int) -> HttpAnswer:
    """Tell an approver that something went wrong, and how to learn what was recorded."""
    rendered = pages.result_page(page_error())
    return page_answer(status, rendered.html, rendered.style_source)
