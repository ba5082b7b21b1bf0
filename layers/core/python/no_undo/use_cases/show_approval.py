"""Show Approval: the card behind a link; records that it was opened, and nothing else (P6)."""

from __future__ import annotations

from dataclasses import dataclass

from no_undo.domain.approval import ApprovalLink, LinkState, decision_of, token_sha256
from no_undo.domain.card import Card
from no_undo.domain.errors import NotFoundError
from no_undo.domain.plan import Plan, PlanState, Verdict, approvals_for
from no_undo.domain.request import Request
from no_undo.domain.results import (
    Result,
    abandoned,
    already_decided,
    approval_withdrawn,
    closed_by_others,
    corrected,
    expired,
    quorum_complete,
    superseded,
    unknown_link,
    withdrawn,
)
from no_undo.ports import Clock, DocumentStore, StateStore
from no_undo.use_cases.approval_card import card_for, card_sources, reference_of

NOBODYS = "#unknown"
"""A key that no row has."""

DOWNLOAD_SECONDS = 120
"""How long a link to the PDF itself works."""


@dataclass(frozen=True, slots=True)
class Showing:
    """The ports behind an approver's link, and who follows it.

    Attributes:
        visitor: Where approvers sign in, the verified mail address of whoever did, empty for none;
            None where the link alone is the credential.
    """

    store: StateStore
    documents: DocumentStore
    clock: Clock
    link_base: str
    visitor: str | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """What a link leads to: rows to show or decide on, or a page that says why not.

    Attributes:
        link: The link.
        plan: Its plan.
        request: Its request.
        result: Why nothing can be decided, or None when something can.
    """

    link: ApprovalLink
    plan: Plan
    request: Request
    result: Result | None


def open_link(token: str, showing: Showing) -> Opened | None:
    """Follow a link and say truthfully what can still be done with it.

    None when it is unknown, or was mailed to somebody else than who signed in: both look the same
    and cost the same reads, so that neither words nor time tell them apart.
    """
    store = showing.store
    link = store.link(token_sha256(token))
    plan = store.plan(NOBODYS if link is None else link.plan_id)
    request = store.request(NOBODYS if plan is None else plan.request_id)
    if link is None or plan is None or request is None or not _is_theirs(link, showing.visitor):
        return None
    return Opened(link, plan, request, _why_not(link, plan, showing.clock))


def _is_theirs(link: ApprovalLink, visitor: str | None) -> bool:
    """Compare the addresses as they are, case aside: another spelling is another mailbox here."""
    return visitor is None or visitor.casefold() == link.approver.casefold()


def _why_not(  # noqa: PLR0911 - one line per thing that may have become of a link
    link: ApprovalLink, plan: Plan, clock: Clock
) -> Result | None:
    reference, title = reference_of(plan.plan_id), plan.title
    own = decision_of(plan, link.approver)
    if own is not None and plan.state is PlanState.SUPERSEDED:
        # Only the one who corrected knows already that the version they decided about is gone.
        gone = corrected if own.verdict is Verdict.CORRECT else approval_withdrawn
        return gone(reference=reference, title=title)
    if own is not None:
        return already_decided(own.verdict, own.at, reference=reference, title=title)
    if plan.state is PlanState.REJECTED:
        return closed_by_others(reference=reference, title=title)
    if plan.state is PlanState.WITHDRAWN:
        return withdrawn(reference=reference, title=title)
    if plan.state is PlanState.ABANDONED:
        return abandoned(reference=reference, title=title)
    # A link that is no longer on its plan lost its place to another person (`asking` rule 3).
    current = any(one.token_sha256 == link.token_sha256 for one in plan.links)
    if link.state is not LinkState.LIVE or not current or plan.state is PlanState.SUPERSEDED:
        return superseded(reference=reference, title=title)
    if plan.state is PlanState.EXPIRED or clock.now() >= min(plan.expires_at, link.expires_at):
        return expired(plan.expires_at, reference=reference, title=title)
    if plan.state is not PlanState.AWAITING_APPROVAL or len(approvals_for(plan)) >= plan.quorum:
        return quorum_complete(reference=reference, title=title)
    return None


def show_card(token: str, showing: Showing) -> Card | Result:
    """Return the card behind a link, or what became of it; records the open."""
    opened = open_link(token, showing)
    if opened is None:
        return unknown_link()
    showing.store.record_open(opened.plan.request_id, opened.link.approver, showing.clock.now())
    if opened.result is not None:
        return opened.result
    sources = card_sources(opened.request, showing.documents)
    base = f"{showing.link_base}/approvals/{token}"
    return card_for(opened.plan, sources, opened.link.approver, base)


def page_picture(token: str, number: int, showing: Showing) -> bytes:
    """Return one page picture (PNG) of the document behind a live link.

    Raises:
        NotFoundError: The link is unknown or dead, or there is no such page.
    """
    request = _live(token, showing)
    if not 1 <= number <= len(request.pages):
        raise NotFoundError("there is no such page")
    return showing.documents.get(request.pages[number - 1])


def document_url(token: str, showing: Showing) -> str:
    """Return a short-lived address of the PDF behind a live link.

    Raises:
        NotFoundError: The link is unknown or dead.
    """
    opened = open_link(token, showing)
    if opened is None or opened.result is not None:
        raise NotFoundError("there is no such document")
    return showing.documents.download_url(
        opened.plan.document,
        filename=f"{reference_of(opened.plan.plan_id)}.pdf",
        expires_seconds=DOWNLOAD_SECONDS,
    )


def _live(token: str, showing: Showing) -> Request:
    opened = open_link(token, showing)
    if opened is None or opened.result is not None:
        raise NotFoundError("there is no such page")
    return opened.request
