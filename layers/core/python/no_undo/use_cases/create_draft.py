"""Create Draft: the draft at the e-sign vendor, exactly one that counts (design 8, Drafts).

No known vendor call deletes a draft. So before the first call the request says that a draft may
exist from now on; whoever comes after looks for it first.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from no_undo.domain.abandoned_drafts import abandon
from no_undo.domain.addresses import person_key
from no_undo.domain.envelope import EnvelopeStatus
from no_undo.domain.errors import StaleError, TransientError, VendorContractError
from no_undo.domain.fence import check_fence, fence_key_of
from no_undo.domain.plan import plan_id_of
from no_undo.domain.request import Request, Stage
from no_undo.ports import EnvelopeDraft, ESignGateway
from no_undo.use_cases.stage import Stages, commit, final_document, load

logger = logging.getLogger(__name__)

ACTOR = "create_draft"
MAX_NAME = 100
MOST_READ = 50
"""How many drafts are read to find our own: some 20 seconds at the vendor's recorded times."""


@dataclass(frozen=True, slots=True)
class Drafting:
    """What creates a draft, and which action kind it is for."""

    esign: ESignGateway
    action_kind: str


def create_draft(request_id: str, stages: Stages, drafting: Drafting) -> None:
    """Create this round's draft, or find the one that an earlier, interrupted call made.

    Raises:
        FenceHeldError: Another plan holds or has executed the same intended effect.
        InDoubtError: The draft may exist; the next call looks for it.
        StaleError: A correction began the next round meanwhile.
        VendorRefusedError: The vendor said no.
    """
    request = load(request_id, stages.store)
    if request.envelope_id:
        return
    fence = stages.store.fence(fence_key(request, drafting.action_kind))
    check_fence(fence, plan_id_of(request_id, request.round), request.repeat_of)
    document = stages.documents.get(final_document(request))
    found: tuple[str, ...] = ()
    if request.draft_begun_at is None:
        noted = _note_begun(request, stages)
        if noted.round != request.round:
            raise StaleError("a newer round began; its draft is not this one")
        request = noted
    else:
        found = _find_own(request, request.draft_begun_at, stages, drafting)
    envelope_id = found[0] if found else _create(request, document, drafting)
    _store(request, envelope_id, found[1:], stages)


def fence_key(request: Request, action_kind: str) -> str:
    """Return the fence key of what a request wants to happen."""
    return fence_key_of(
        request.tenant,
        action_kind,
        request.source_document.sha256,
        [person_key(one.email) for one in request.recipients],
    )


def envelope_name(request: Request) -> str:
    """Return the envelope's name: the title, and the plan id by which we find it again."""
    return request.title[:MAX_NAME] + _mark(request)


def _mark(request: Request) -> str:
    return f" [{plan_id_of(request.request_id, request.round)}]"


def _note_begun(request: Request, stages: Stages) -> Request:
    now = stages.clock.now()
    return commit(
        request.request_id,
        stages,
        lambda row: replace(row, draft_begun_at=now),
        ACTOR,
        "draft.begun",
        {"round": request.round},
        round_number=request.round,
    )


def _create(request: Request, document: bytes, drafting: Drafting) -> str:
    draft = EnvelopeDraft(
        name=envelope_name(request),
        file_name=f"{request.title[:MAX_NAME]}.pdf",
        recipients=request.recipients,
    )
    return drafting.esign.create_draft(draft, document)


def _find_own(
    request: Request, begun_at: datetime, stages: Stages, drafting: Drafting
) -> tuple[str, ...]:
    """List the days around the first call and return our own drafts, lowest id first.

    The newest `MOST_READ` drafts of those days are read. One that cannot be read is passed over: a
    second draft of ours contacts nobody, a stage that fails on a foreign draft helps nobody.
    """
    day = timedelta(days=1)
    first, last = (begun_at - day).date(), (stages.clock.now() + day).date()
    listed = drafting.esign.find_envelopes(first, last, EnvelopeStatus.DRAFT.value)
    newest = sorted(listed, key=_age_order)[-MOST_READ:]
    mark = _mark(request)
    return tuple(one for one in newest if _name(one, drafting).endswith(mark))


def _age_order(envelope_id: str) -> tuple[int, str]:
    return len(envelope_id), envelope_id  # ids are whole numbers (recorded) and taken to grow


def _name(envelope_id: str, drafting: Drafting) -> str:
    try:
        return drafting.esign.read_envelope(envelope_id).name
    except VendorContractError as error:
        logger.warning("a draft was passed over", extra={"code": error.code})
        return ""


def _store(request: Request, envelope_id: str, others: tuple[str, ...], stages: Stages) -> None:
    if envelope_id in request.abandoned_drafts:
        raise TransientError("the draft found was already recorded as abandoned; look again")
    commit(
        request.request_id,
        stages,
        lambda now: _with_draft(now, envelope_id, others, request.round),
        ACTOR,
        "draft.created",
        {"envelope": envelope_id, "abandoned": list(others), "round": request.round},
    )


def _with_draft(
    request: Request, envelope_id: str, others: tuple[str, ...], round_number: int
) -> Request:
    """Return the request with its draft; one that an overlapping call stored first stays.

    A draft of an earlier round came too late: it will not be sent.
    """
    if request.round != round_number:
        late = (*request.abandoned_drafts, envelope_id, *others)
        return replace(request, abandoned_drafts=tuple(dict.fromkeys(late)))
    kept = request.envelope_id or envelope_id
    spare = [one for one in (envelope_id, *others) if one != kept]
    return replace(abandon(request, spare), envelope_id=kept, stage=Stage.APPROVE)
