"""Assemble Document: the PDF that will be signed, with one signature tag per recipient."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from no_undo.domain.corrections import standing
from no_undo.domain.errors import VendorContractError
from no_undo.domain.invoice import parse_invoice
from no_undo.domain.rebuilt_document import PrintedField, RebuiltDocument, rebuilt
from no_undo.domain.request import Assembly as Rebuild
from no_undo.domain.request import Request, Source, Stage
from no_undo.ports import DocumentAssembler, DocumentInspector, Pages, PdfService
from no_undo.use_cases.stage import (
    PDF,
    Stages,
    artefact,
    commit,
    get_json,
    key_of,
    load,
    with_artefact,
)

ACTOR = "assemble_document"


@dataclass(frozen=True, slots=True)
class Assembly:
    """What makes a document ready for signing."""

    inspector: DocumentInspector
    assembler: DocumentAssembler
    pdf_service: PdfService
    pages: Pages


def assemble_document(request_id: str, stages: Stages, assembly: Assembly) -> None:
    """Make the document that will be signed, and check its signature tags.

    Structured data is rendered. An upload gets a signature page, or, where the request says
    `rebuild`, its fields are printed into a template, with the corrections of earlier rounds.

    Raises:
        VendorContractError: The rendered document lacks a signature tag.
        InvalidRequestError: The source cannot be made ready for signing.
        TransientError: The PDF service gave no usable answer this time.
    """
    request = load(request_id, stages.store)
    if "assembled" in request.artefacts:
        return
    document = _make(request, stages, assembly)
    expected = tuple(one.order for one in request.recipients)
    if assembly.inspector.signature_tags(document) != expected:
        raise VendorContractError(
            "the assembled document does not carry exactly one signature tag per recipient"
        )
    facts = assembly.inspector.inspect(document)
    ref = stages.documents.put(key_of(request, "assembled.pdf"), document, PDF)
    commit(
        request_id,
        stages,
        lambda now: replace(with_artefact(now, "assembled", ref), stage=Stage.REDACT),
        ACTOR,
        "document.assembled",
        {"sha256": ref.sha256, "pages": facts.page_count, "source": request.source.value},
        expected=Stage.ASSEMBLE,
        round_number=request.round,
    )


def _make(request: Request, stages: Stages, assembly: Assembly) -> bytes:
    source = stages.documents.get(request.source_document)
    match request.source:
        case Source.INVOICE:
            invoice = parse_invoice(json.loads(source))
            html = assembly.pages.invoice_html(invoice, request.recipients)
            return assembly.pdf_service.render_html(html, name=f"{request.request_id}.html")
        case Source.UPLOAD if request.assembly is Rebuild.REBUILD:
            html = assembly.pages.rebuilt_html(_rebuilt(request, stages), request.recipients)
            return assembly.pdf_service.render_html(html, name=f"{request.request_id}.html")
        case Source.UPLOAD:
            return assembly.assembler.append_signature_page(
                source, request.recipients, title=request.title
            )


def _rebuilt(request: Request, stages: Stages) -> RebuiltDocument:
    stored = get_json(stages.documents, artefact(request, "fields"))
    fields = [PrintedField(one["path"], one["label"], one["value"]) for one in stored["fields"]]
    return rebuilt(request.title, fields, standing(request.corrections))
