"""The signed envelope's ZIP: which member is what, and how much of it is read."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from no_undo.adapters.signed_envelope_zip import MAX_MEMBERS, documents_of_zip, is_pdf, is_zip
from no_undo.domain.errors import VendorContractError

DOCUMENT = b"%PDF-1.7 document"
CERTIFICATE = b"%PDF-1.4 certificate"
OTHER = b"%PDF-1.4 other"


def packed(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("document_name", "certificate_name"),
    [
        ("Freight Invoice.pdf", "Certificate.pdf"),
        ("Freight Invoice.pdf", "Completion_Certificate_35426627.PDF"),
        ("Certificate of Origin.pdf", "Completion Certificate.pdf"),
        ("z.pdf", "a certificate.pdf"),
        ("folder/Invoice.pdf", "folder/CERTIFICATE.pdf"),
    ],
)
@pytest.mark.parametrize("known", [DOCUMENT, None])
def test_the_certificate_is_told_by_its_name(
    document_name: str, certificate_name: str, known: bytes | None
) -> None:
    content = packed((certificate_name, CERTIFICATE), (document_name, DOCUMENT))

    signed = documents_of_zip(content, known_document=known)

    assert (signed.pdf, signed.certificate) == (DOCUMENT, CERTIFICATE)


def test_the_only_other_pdf_beside_the_known_document_is_the_certificate() -> None:
    content = packed(("1.pdf", DOCUMENT), ("2.pdf", OTHER))

    assert documents_of_zip(content, known_document=DOCUMENT).certificate == OTHER


def test_a_known_document_is_kept_when_the_zip_has_other_bytes_of_it() -> None:
    content = packed(("Invoice.pdf", b"%PDF-1.7 again"), ("Certificate.pdf", CERTIFICATE))

    signed = documents_of_zip(content, known_document=DOCUMENT)

    assert (signed.pdf, signed.certificate) == (DOCUMENT, CERTIFICATE)


def test_a_certificate_alone_beside_a_known_document_is_found() -> None:
    content = packed(("Certificate.pdf", CERTIFICATE))

    signed = documents_of_zip(content, known_document=DOCUMENT)

    assert (signed.pdf, signed.certificate) == (DOCUMENT, CERTIFICATE)


@pytest.mark.parametrize("name", ["Invoice.pdf", "Certificate of Origin.pdf"])
def test_a_single_pdf_is_the_document(name: str) -> None:
    signed = documents_of_zip(packed((name, DOCUMENT), ("readme.txt", b"text")))

    assert (signed.pdf, signed.certificate) == (DOCUMENT, None)


@pytest.mark.parametrize(
    "members",
    [
        (),
        (("readme.txt", b"text"),),
        (("Invoice.pdf", b"<html>no PDF</html>"),),
        (("Completion Certificate.pdf", CERTIFICATE),),
        (("1.pdf", DOCUMENT), ("2.pdf", OTHER)),
        (("1.pdf", DOCUMENT), ("2.pdf", OTHER), ("Certificate.pdf", CERTIFICATE)),
    ],
)
def test_what_cannot_be_told_apart_is_refused(members: tuple[tuple[str, bytes], ...]) -> None:
    with pytest.raises(VendorContractError):
        documents_of_zip(packed(*members))


def test_several_unnamed_pdfs_beside_a_known_document_give_no_certificate() -> None:
    content = packed(("1.pdf", DOCUMENT), ("2.pdf", OTHER), ("3.pdf", CERTIFICATE))

    signed = documents_of_zip(content, known_document=DOCUMENT)

    assert (signed.pdf, signed.certificate) == (DOCUMENT, None)


@given(st.permutations([("a.pdf", DOCUMENT), ("Certificate.pdf", CERTIFICATE), ("b.txt", b"x")]))
def test_the_order_of_the_members_does_not_matter(members: list[tuple[str, bytes]]) -> None:
    signed = documents_of_zip(packed(*members))

    assert (signed.pdf, signed.certificate) == (DOCUMENT, CERTIFICATE)


def test_a_bomb_is_not_unpacked() -> None:
    bomb = packed(("Invoice.pdf", b"%PDF" + b"\0" * 5_000_000))
    assert len(bomb) < 10_000

    with pytest.raises(VendorContractError, match="more than 1000000 bytes"):
        documents_of_zip(bomb, max_unpacked_bytes=1_000_000)


def test_the_bound_is_on_all_members_together() -> None:
    content = packed(*((f"{n}.txt", b"\0" * 400) for n in range(3)))

    with pytest.raises(VendorContractError, match="more than 1000 bytes"):
        documents_of_zip(content, max_unpacked_bytes=1000)


def test_a_declared_size_is_not_believed() -> None:
    content = bytearray(packed(("Invoice.pdf", b"%PDF" + b"\0" * 100_000)))
    central = content.rindex(b"PK\x01\x02")
    content[central + 24 : central + 28] = (10).to_bytes(4, "little")

    with pytest.raises(VendorContractError):
        documents_of_zip(bytes(content), max_unpacked_bytes=1000)


def test_too_many_members_are_refused() -> None:
    content = packed(*((f"{n}.txt", b"") for n in range(MAX_MEMBERS + 1)))

    with pytest.raises(VendorContractError, match="members"):
        documents_of_zip(content)


def test_two_members_of_one_name_are_refused() -> None:
    content = packed(("a.pdf", DOCUMENT), ("b.pdf", OTHER)).replace(b"b.pdf", b"a.pdf")

    with pytest.raises(VendorContractError, match="one name"):
        documents_of_zip(content)


def test_an_encrypted_member_is_refused() -> None:
    content = bytearray(packed(("a.pdf", DOCUMENT)))
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(header) + flags] |= 1

    with pytest.raises(VendorContractError, match="RuntimeError"):
        documents_of_zip(bytes(content))


@given(st.binary(max_size=200))
def test_a_broken_zip_is_refused_and_nothing_else(tail: bytes) -> None:
    with pytest.raises(VendorContractError):
        documents_of_zip(b"PK\x03\x04" + tail)


@given(st.integers(min_value=0, max_value=200), st.integers(min_value=0, max_value=255))
def test_a_damaged_zip_is_read_or_refused_and_nothing_else(place: int, byte: int) -> None:
    content = bytearray(packed(("a.pdf", DOCUMENT), ("Certificate.pdf", CERTIFICATE)))
    content[place % len(content)] = byte

    try:
        signed = documents_of_zip(bytes(content))
    except VendorContractError:
        return

    assert is_pdf(signed.pdf)


def test_first_bytes_decide() -> None:
    assert is_pdf(b"%PDF-1.7")
    assert not is_pdf(b" %PDF-1.7")
    assert is_zip(packed(("a", b"")))
    assert not is_zip(packed())
