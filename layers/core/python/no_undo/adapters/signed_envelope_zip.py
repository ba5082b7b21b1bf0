"""Takes the signed document and its certificate out of the ZIP an e-sign vendor returns.

The ZIP comes from outside: the number of members and the bytes they unpack to are bounded while
they are read, and what a member is, is decided by its first bytes. Source: vendors/foxit-esign.md 7
(the ZIP holds the signed documents and a completion certificate; no member names are recorded).
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from typing import Final

from no_undo.adapters.http_client import MAX_DOCUMENT_BYTES
from no_undo.domain.envelope import SignedDocument
from no_undo.domain.errors import VendorContractError

MAX_MEMBERS: Final = 40
MAX_UNPACKED_BYTES: Final = 2 * MAX_DOCUMENT_BYTES

_PIECE_BYTES: Final = 64 * 1024


def is_pdf(content: bytes) -> bool:
    """Return whether bytes start as a PDF (ISO 32000-2 7.5.2)."""
    return content.startswith(b"%PDF")


def is_zip(content: bytes) -> bool:
    """Return whether bytes start as a ZIP with a member (APPNOTE 4.3.7)."""
    return content.startswith(b"PK\x03\x04")


def documents_of_zip(
    content: bytes,
    *,
    known_document: bytes | None = None,
    max_unpacked_bytes: int = MAX_UNPACKED_BYTES,
) -> SignedDocument:
    """Return the signed document and the completion certificate of a signed envelope.

    Rules: members that are no PDF do not count. The known document is recognised by its bytes. The
    certificate is the member whose name says so; "completion" beats a bare "certificate", because a
    certificate of origin may be what was signed. Beside the known document, a single other
    PDF is the certificate whatever its name. What remains ambiguous is refused, never guessed.

    Args:
        content: The ZIP.
        known_document: The signed document when another route delivered it already.
        max_unpacked_bytes: Bound on what all members together unpack to.

    Raises:
        VendorContractError: Broken, encrypted or over the limits; or no member can be told to be
            the signed document.
    """
    pdfs = {
        name: member
        for name, member in _members(content, max_unpacked_bytes).items()
        if is_pdf(member)
    }
    others = {name: pdf for name, pdf in pdfs.items() if pdf != known_document}
    certificate = _certificate_name(others, alone=known_document is None and len(others) == 1)
    if certificate is None and len(others) < len(pdfs) and len(others) == 1:
        certificate = next(iter(others))
    documents = [pdf for name, pdf in sorted(others.items()) if name != certificate]
    return SignedDocument(
        pdf=known_document or _only(documents),
        certificate=None if certificate is None else others[certificate],
    )


def _only(documents: list[bytes]) -> bytes:
    if len(documents) != 1:
        raise VendorContractError(
            f"the signed envelope's ZIP holds {len(documents)} PDFs that could be the document; "
            "expected one beside the certificate"
        )
    return documents[0]


def _certificate_name(pdfs: Mapping[str, bytes], *, alone: bool) -> str | None:
    """Return the member that calls itself the certificate.

    A PDF that is all there is, is the document, unless its name says completion certificate.
    """
    named = [name for name in pdfs if "certificate" in name.casefold()]
    if alone:
        named = [name for name in named if "completion" in name.casefold()]
    return min(named, key=lambda name: ("completion" not in name.casefold(), name), default=None)


def _members(content: bytes, max_unpacked_bytes: int) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            if len(infos) > MAX_MEMBERS:
                raise VendorContractError(
                    f"the signed envelope's ZIP has {len(infos)} members; at most {MAX_MEMBERS}"
                )
            if len({info.filename for info in infos}) != len(infos):
                raise VendorContractError("the signed envelope's ZIP has two members of one name")
            return _unpacked(archive, infos, max_unpacked_bytes)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
        # RuntimeError: encrypted; NotImplementedError is one: unknown compression.
        raise VendorContractError(
            f"the signed envelope's ZIP cannot be read ({type(error).__name__})"
        ) from None


def _unpacked(
    archive: zipfile.ZipFile, infos: list[zipfile.ZipInfo], max_bytes: int
) -> dict[str, bytes]:
    """Unpack members, trusting no declared size: the bound is on the bytes that come out."""
    members: dict[str, bytes] = {}
    left = max_bytes
    for info in infos:
        unpacked = bytearray()
        with archive.open(info) as member:
            while piece := member.read(_PIECE_BYTES):
                left -= len(piece)
                if left < 0:
                    raise VendorContractError(
                        f"the signed envelope's ZIP unpacks to more than {max_bytes} bytes"
                    )
                unpacked += piece
        members[info.filename] = bytes(unpacked)
    return members
