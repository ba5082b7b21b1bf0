"""Validates digital signatures with pyHanko; runs in the child process only."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyhanko.keys import load_certs_from_pemder_data
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.diff_analysis import ModificationLevel
from pyhanko.sign.validation import validate_pdf_signature, validate_pdf_timestamp
from pyhanko.sign.validation.pdf_embedded import EmbeddedPdfSignature
from pyhanko.sign.validation.status import (
    DocumentTimestampStatus,
    PdfSignatureStatus,
    SignatureCoverageLevel,
)
from pyhanko_certvalidator import ValidationContext


def validate_signatures(
    arguments: Mapping[str, Any], documents: Sequence[bytes]
) -> tuple[dict[str, list[str]], Sequence[bytes]]:
    """Validate every signature of one PDF.

    Args:
        arguments: `roots`, PEM texts; empty for integrity only.
        documents: The signed PDF.

    Returns:
        `problems`, one line each; signatures are named by number, since fields may carry names.
    """
    logging.disable()  # pyHanko logs every unknown certificate
    (content,) = documents
    context = ValidationContext(trust_roots=_certificates(arguments["roots"]), allow_fetching=False)
    trust = bool(arguments["roots"])
    try:
        signatures = PdfFileReader(io.BytesIO(content), strict=False).embedded_signatures
    except Exception as error:  # noqa: BLE001 - pyHanko raises many kinds on damaged files
        return {"problems": [f"its signatures cannot be read ({type(error).__name__})"]}, ()
    if not signatures:
        return {"problems": ["it carries no digital signature"]}, ()
    problems = [
        f"signature {number} of {len(signatures)}: {problem}"
        for number, signature in enumerate(signatures, start=1)
        for problem in _problems(signature, context, trust=trust, last=number == len(signatures))
    ]
    return {"problems": problems}, ()


_Status = PdfSignatureStatus | DocumentTimestampStatus


def _certificates(pems: Sequence[str]) -> list[Any]:
    certificates: list[Any] = []
    for text in pems:
        certificates += load_certs_from_pemder_data(text.encode())
    return certificates


def _problems(
    signature: EmbeddedPdfSignature, context: ValidationContext, *, trust: bool, last: bool
) -> list[str]:
    try:
        status: _Status
        if signature.sig_object_type == "/DocTimeStamp":
            status = validate_pdf_timestamp(signature, context)
        else:
            status = validate_pdf_signature(signature, context)
    except Exception as error:  # noqa: BLE001 - a damaged stream raises instead of answering
        return [f"it cannot be validated ({type(error).__name__})"]
    return list(_judged(status, trust=trust, last=last))


def _judged(status: _Status, *, trust: bool, last: bool) -> Iterator[str]:
    if not status.intact:
        yield "the signed bytes were changed"
    if not status.valid:
        yield "its cryptographic value does not verify"
    if trust and not status.trusted:
        yield "its certificate does not lead to a trusted root"
    if status.coverage < SignatureCoverageLevel.ENTIRE_REVISION:
        yield "it does not cover the whole document"
    elif last and _changed_after(status):
        yield "the document was changed after this last signature"
    if isinstance(status, PdfSignatureStatus) and not status.docmdp_ok:
        yield "the document was changed afterwards in a way that it forbids"


def _changed_after(status: _Status) -> bool:
    """Say whether more than validation data was added behind the last signature."""
    level: ModificationLevel | None = status.modification_level
    harmless = (ModificationLevel.NONE, ModificationLevel.LTA_UPDATES)
    return status.coverage is not SignatureCoverageLevel.ENTIRE_FILE and level not in harmless
