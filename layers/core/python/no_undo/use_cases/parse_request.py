"""Parse Request: the sentence and what came with it, as the typed payload that the stages work on.

The same function checks a request at the door, so that what cannot be understood is refused before
anything is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from no_undo.domain.approver_policy import ApproverPolicy, choose_approvers
from no_undo.domain.errors import InvalidRequestError, RefusedError
from no_undo.domain.instruction import Contact, Instruction, parse_instruction
from no_undo.domain.redaction import RedactionTarget, TargetType
from no_undo.domain.request import Assembly, Request, Source, Stage
from no_undo.domain.sentence_wishes import Redaction
from no_undo.ports import ContactSource, PolicySource
from no_undo.use_cases.stage import Stages, commit, load

ACTOR = "parse_request"

NO_NAMES = (
    "Names and postal addresses are not detected: only those listed in the request are removed."
)
NO_EXTRACTION = "The caller asked to go without extraction: nothing was read out of the document."
MADE_AGAIN = (
    "The document was made again from the values that were read: what is signed is them, not the "
    "page that was submitted."
)
GIVEN_AS_DATA = "The document was made from structured data that the caller sent."


def parse_request(
    request_id: str, stages: Stages, policies: PolicySource, contacts: ContactSource
) -> None:
    """Understand the request and store the payload; a repeated run finds it stored.

    Raises:
        UnresolvedRecipientError: A name has no address; the message is the question to answer.
        InvalidRequestError: The request cannot be acted on.
        RefusedError: The tenant has no approver policy, or its contact list cannot be used.
    """
    request = load(request_id, stages.store)
    if request.stage is not Stage.PARSE:
        return
    policy = policies.policy(request.tenant)
    known = contacts.contacts(request.tenant)
    parsed = understood(request, policy, request.created_at, known)
    commit(
        request_id,
        stages,
        lambda now: replace(
            parsed, stage=Stage.EXTRACT, revision=now.revision, withdrawn=now.withdrawn
        ),
        ACTOR,
        "request.parsed",
        {
            "recipients": len(parsed.recipients),
            "quorum": parsed.quorum,
            "approvers": list(parsed.approvers),
            "redactionTargets": len(parsed.redaction),
        },
    )


def understood(
    request: Request,
    policy: ApproverPolicy | None,
    now: datetime,
    contacts: Sequence[Contact] = (),
) -> Request:
    """Return the request with everything the sentence and the policy say about it.

    Raises:
        UnresolvedRecipientError, InvalidRequestError, RefusedError: As `parse_request`.
    """
    if policy is None:
        raise RefusedError("There is no approver policy for this tenant; an operator adds one.")
    said = parse_instruction(
        request.prompt, now=now, recipients=request.requested_recipients, contacts=contacts
    )
    if not said.recipients:
        raise InvalidRequestError(
            "Name at least one recipient, in the prompt or in recipients.", field="recipients"
        )
    recipients = said.signers()
    choice = choose_approvers(
        policy,
        caller=request.caller,
        requested=request.requested_approvers or said.approvers,
        quorum=_quorum(request.requested_quorum, said.quorum),
        recipients=recipients,
    )
    if said.deadline is not None and said.deadline <= now:
        raise InvalidRequestError("The deadline in the prompt has passed.", field="prompt")
    return replace(
        request,
        title=said.folder_name,
        instruction=said.instructions,
        recipients=recipients,
        approvers=choice.approvers,
        quorum=choice.quorum,
        caller_email=choice.requester,
        deadline=said.deadline,
        deadline_hours=policy.deadline_hours,
        redaction=_targets(request, said),
        notes=_notes(request, said),
    )


def _quorum(requested: int, said: int | None) -> int | None:
    """Take the larger of what came with the request and what the sentence says."""
    return max(requested, said or 0) or said


def _targets(request: Request, said: Instruction) -> tuple[RedactionTarget, ...]:
    """Join what came with the request and what the sentence asks for."""
    if said.redaction is Redaction.DECLINED:
        if request.requested_redaction:
            raise InvalidRequestError(
                "The prompt declines redaction and the request asks for it; say one of the two.",
                field="redact",
            )
        return ()
    kinds = tuple(RedactionTarget(TargetType.KIND, kind, kind) for kind in said.redact)
    named = tuple(
        RedactionTarget(TargetType.LITERAL, value, "literal") for value in said.redact_values
    )
    targets = tuple(dict.fromkeys((*request.requested_redaction, *kinds, *named)))
    if said.undetectable and not any(one.type is TargetType.LITERAL for one in targets):
        raise InvalidRequestError(
            "Names and postal addresses cannot be detected; list what shall be removed in "
            "redact_values.",
            field="redact_values",
        )
    return targets


def _notes(request: Request, said: Instruction) -> tuple[str, ...]:
    notes = list(said.remarks)
    if said.redaction is Redaction.ASKED or request.requested_redaction:
        notes.append(NO_NAMES)
    if request.source is Source.INVOICE:
        notes.append(GIVEN_AS_DATA)
    elif not request.extraction:
        notes.append(NO_EXTRACTION)
    elif request.assembly is Assembly.REBUILD:
        notes.append(MADE_AGAIN)
    return tuple(notes)
