"""Signing with real signatures: one field per text tag, one certificate per signer."""

# pyright: reportUnknownMemberType=false
# pyhanko annotates its parameters only in part.

from __future__ import annotations

import io
import tempfile
import threading
import zipfile
from datetime import UTC, datetime
from hashlib import sha256
from html import escape
from pathlib import Path

from cryptography.hazmat.primitives.serialization import NoEncryption, pkcs12
from pyhanko.pdf_utils import layout
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.sign import fields
from pyhanko.sign.signers import PdfSignatureMetadata, PdfSigner, SimpleSigner
from pyhanko.stamp import StaticStampStyle

from local.sandbox.esign import folders
from local.sandbox.esign.certificates import KeyPair, issue, root_of
from local.sandbox.esign.model import Folder, FolderRefusedError, FolderStatus, Party
from local.sandbox.esign.tags import SignatureTag, signature_tags
from local.sandbox.pdf_services.rendering import PageSetup, render_html
from local.sandbox.state import Sandbox
from local.sandbox.webhooks import EventName

_MIN_WIDTH = 150.0
_MIN_HEIGHT = 30.0  # a lower field renders invisibly at the vendor (reported)
_FILL_THE_FIELD = layout.SimpleBoxLayoutRule(
    x_align=layout.AxisAlignment.ALIGN_MIN,
    y_align=layout.AxisAlignment.ALIGN_MIN,
    margins=layout.Margins(),
)
_SIGNING_LOCK = threading.Lock()


def sign_folder(sandbox: Sandbox, folder_id: int, party_number: int) -> Folder:
    """Sign every field of one party; the last party's signature makes the folder EXECUTED.

    Raises:
        FolderRefusedError: The folder is not waiting for signatures, there is no such party, it
            has signed already, or it is not its turn.
    """
    with _SIGNING_LOCK:
        folder = folders.find_folder(sandbox, folder_id)
        party = folder.party(party_number)
        _require_turn(folder, party)
        signed = _sign_documents(sandbox, folder, party)
        return _keep_signature(sandbox, folder_id, party, signed)


def _require_turn(folder: Folder, party: Party) -> None:
    if folder.status is not FolderStatus.SHARED:
        raise FolderRefusedError(f"Folder {folder.folder_id} is not waiting for signatures.")
    if party.signed_ms is not None:
        raise FolderRefusedError(f"Party {party.number} has signed already.")
    earlier = (p for p in folder.parties if p.number < party.number and p.signed_ms is None)
    if folder.sign_in_sequence and next(earlier, None) is not None:
        raise FolderRefusedError(f"It is not the turn of party {party.number}.")


def _sign_documents(sandbox: Sandbox, folder: Folder, party: Party) -> list[bytes]:
    root = root_of(sandbox.data_dir)
    signer = _simple_signer(issue(root, party.name, party.email), root)
    at = datetime.fromtimestamp(sandbox.clock(), UTC)
    signed: list[bytes] = []
    for number in range(1, len(folder.documents) + 1):
        original = sandbox.store.get_blob(folders.original_key(folder.folder_id, number)) or b""
        tags = signature_tags(original)
        so_far = sandbox.store.get_blob(folders.signed_key(folder.folder_id, number))
        pdf = so_far if so_far is not None else _with_fields(original, tags)
        for field in _field_names(tags, party.number):
            pdf = _sign_field(pdf, field, party, signer, at)
        signed.append(pdf)
    return signed


def _keep_signature(sandbox: Sandbox, folder_id: int, party: Party, signed: list[bytes]) -> Folder:
    """Write the signed documents and the new status together."""
    with sandbox.store.transaction():
        folder = folders.find_folder(sandbox, folder_id)
        _require_turn(folder, party)  # it may have been cancelled meanwhile
        for number, pdf in enumerate(signed, start=1):
            sandbox.store.put_blob(folders.signed_key(folder_id, number), pdf)
        now = sandbox.now_ms()
        signed_party = party.model_copy(update={"signed_ms": now})
        parties = tuple(signed_party if p.number == party.number else p for p in folder.parties)
        folder = folder.model_copy(update={"parties": parties}).with_event("Signed", now, party)
        events = [EventName.SIGNED]
        if all(p.signed_ms is not None for p in parties):
            folder = folder.model_copy(update={"status": FolderStatus.EXECUTED})
            folder = folder.with_event("Executed", now)
            certificate = _completion_certificate(folder, signed)
            sandbox.store.put_blob(folders.certificate_key(folder_id), certificate)
            events += [EventName.COMPLETED, EventName.EXECUTED]
        folders.save_folder(sandbox, folder)
        folders.announce(sandbox, folder, *events, signer=party)
    return folder


def _field_names(tags: list[SignatureTag], party: int | None = None) -> list[str]:
    """Return the field names of all tags, or of one party's; stable over the whole document."""
    return [
        f"Party{tag.party}Signature{position}"
        for position, tag in enumerate(tags, start=1)
        if party in (None, tag.party)
    ]


def _with_fields(pdf: bytes, tags: list[SignatureTag]) -> bytes:
    """Add every party's signature fields before the first signature: later ones would break it."""
    writer = IncrementalPdfFileWriter(io.BytesIO(pdf))
    for name, tag in zip(_field_names(tags), tags, strict=True):
        fields.append_signature_field(
            writer, fields.SigFieldSpec(name, on_page=tag.page_index, box=_field_box(tag))
        )
    output = io.BytesIO()
    writer.write(output)  # type: ignore[no-untyped-call]  # pyhanko is partly untyped
    return output.getvalue()


def _field_box(tag: SignatureTag) -> tuple[int, int, int, int]:
    """Return the field's box: over the tag, at least the smallest visible size, on the page."""
    left, bottom, right, top = tag.box
    width = max(right - left, _MIN_WIDTH)
    left = max(0.0, min(left, tag.page_width - width))
    height = max(top - bottom, _MIN_HEIGHT)
    return round(left), round(bottom), round(left + width), round(bottom + height)


def _sign_field(pdf: bytes, field: str, party: Party, signer: SimpleSigner, at: datetime) -> bytes:
    metadata = PdfSignatureMetadata(
        field_name=field, name=party.name, reason="Sandbox signature, for tests only"
    )
    with tempfile.TemporaryDirectory() as folder:
        stamp = Path(folder) / "stamp.pdf"
        stamp.write_bytes(_stamp(party, at))
        style = StaticStampStyle.from_pdf_file(
            str(stamp), border_width=0, background_layout=_FILL_THE_FIELD
        )
        pdf_signer = PdfSigner(metadata, signer, stamp_style=style)
        output = io.BytesIO()
        pdf_signer.sign_pdf(IncrementalPdfFileWriter(io.BytesIO(pdf)), output=output)
    return output.getvalue()


def _simple_signer(pair: KeyPair, root: KeyPair) -> SimpleSigner:
    """Hand key and certificates over as PKCS #12, the one form that both libraries speak."""
    bundle = pkcs12.serialize_key_and_certificates(
        None, pair.key, pair.certificate, [root.certificate], NoEncryption()
    )
    signer: SimpleSigner = SimpleSigner.load_pkcs12_data(bundle, other_certs=[])
    return signer


def _stamp(party: Party, at: datetime) -> bytes:
    """Return a one-page PDF with the visible signature; any script the bundled font knows."""
    html = (
        "<style>body{margin:0}div{border-bottom:1px solid #223;padding:3px;overflow:hidden;"
        "font-size:8px;line-height:14px;white-space:nowrap}b{font-size:12px}</style><div>"
        f"<b>{escape(party.name or party.email)}</b><br>"
        f"Signed in the sandbox {at:%Y-%m-%d %H:%M} UTC</div>"
    )
    return render_html(html, PageSetup(width=_MIN_WIDTH, height=_MIN_HEIGHT, margin=0.0))


def _completion_certificate(folder: Folder, signed: list[bytes]) -> bytes:
    documents = zip(folder.documents, signed, strict=True)
    document_rows = "".join(
        f"<tr><td>{escape(document.file_name)}</td>"
        f'<td style="font-size:8px">{sha256(pdf).hexdigest()}</td></tr>'
        for document, pdf in documents
    )
    history_rows = "".join(
        f"<tr><td>{datetime.fromtimestamp(entry.date_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC</td>"
        f"<td>{escape(entry.action)}</td>"
        f"<td>{escape(f'{entry.first_name} {entry.last_name}')}, {escape(entry.email)}</td></tr>"
        for entry in folder.history
    )
    return render_html(
        "<style>td{padding:4px;font-size:11px}</style>"
        "<h1>Certificate of completion</h1><p>Made by the vendor sandbox; worth nothing.</p>"
        f"<p>Envelope {folder.folder_id}: {escape(folder.name)}</p>"
        f"<h2>Signed documents, SHA-256</h2><table>{document_rows}</table>"
        f"<h2>History</h2><table>{history_rows}</table>"
    )


def envelope_zip(sandbox: Sandbox, folder: Folder) -> bytes:
    """Return the envelope download: every signed document and the completion certificate."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for number, document in enumerate(folder.documents, start=1):
            pdf = sandbox.store.get_blob(folders.signed_key(folder.folder_id, number)) or b""
            _add(archive, _member_name(number, document.file_name), pdf)
        certificate = sandbox.store.get_blob(folders.certificate_key(folder.folder_id)) or b""
        _add(archive, "Completion Certificate.pdf", certificate)
    return content.getvalue()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add a file without a date of its own, so that equal content gives an equal archive."""
    archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def _member_name(number: int, file_name: str) -> str:
    """Return a flat, unique name inside the archive."""
    base = file_name.replace("\\", "/").rsplit("/", 1)[-1] or "document.pdf"
    return base if number == 1 else f"{number} {base}"
