"""Archive Signed Document: fetch, check, compare with what was approved, store (P7)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from no_undo.domain.audit_chain import AuditEvent
from no_undo.domain.canonical_json import Json
from no_undo.domain.errors import PlanUnknownError, TamperedError
from no_undo.domain.plan import plan_id_of
from no_undo.domain.request import RequestState
from no_undo.ports import Change, ESignGateway, SignatureValidator
from no_undo.use_cases.stage import PDF, Stages, commit, key_of, load, with_artefact

ACTOR = "archive_signed_document"


@dataclass(frozen=True, slots=True)
class Archiving:
    """What fetches and checks a signed document."""

    esign: ESignGateway
    validator: SignatureValidator


def archive_signed_document(request_id: str, stages: Stages, archiving: Archiving) -> None:
    """Store the signed PDF and its certificate once every check passes.

    Raises:
        TransientError: The vendor has no signed document for us yet.
        VendorContractError: What it returned is no PDF.
        TamperedError: A signature is not valid, or the content is not what was approved; an alarm.
    """
    request = load(request_id, stages.store)
    if "signed" in request.artefacts:
        return
    plan = stages.store.plan(plan_id_of(request_id, request.round))
    if plan is None:
        raise PlanUnknownError("the request has no plan; nothing was sent")
    signed = archiving.esign.download_signed(plan.target)
    downloaded = hashlib.sha256(signed.pdf).hexdigest()
    _note_download(request_id, plan.target, downloaded, stages)
    problems = (
        *archiving.validator.validate(signed.pdf),
        *archiving.validator.same_content(stages.documents.get(plan.document), signed.pdf),
    )
    if problems:
        commit(
            request_id,
            stages,
            lambda now: replace(now, state=RequestState.SIGNED_NOT_ARCHIVED),
            ACTOR,
            "signed_document.refused",
            {"problems": list(problems), "sha256": downloaded},
        )
        raise TamperedError("the signed document is not acceptable: " + "; ".join(problems))
    ref = stages.documents.put(key_of(request, "signed.pdf"), signed.pdf, PDF)
    archived = with_artefact(request, "signed", ref)
    details: dict[str, Json] = {"sha256": ref.sha256, "checked": ["signatures", "content"]}
    if signed.certificate is not None:
        certificate = stages.documents.put(
            key_of(request, "certificate.pdf"), signed.certificate, PDF
        )
        archived = with_artefact(archived, "certificate", certificate)
        details["certificateSha256"] = certificate.sha256
    commit(
        request_id,
        stages,
        lambda now: replace(now, artefacts={**now.artefacts, **archived.artefacts}),
        ACTOR,
        "signed_document.archived",
        details,
    )


def _note_download(request_id: str, envelope_id: str, sha256: str, stages: Stages) -> None:
    """Record what the vendor handed out, before anybody judges it."""
    event = AuditEvent(
        kind="signed_document.downloaded",
        actor=ACTOR,
        at=stages.clock.now(),
        details={"envelope": envelope_id, "sha256": sha256},
    )
    stages.store.commit(Change(request_id, event))
