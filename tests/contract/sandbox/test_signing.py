"""Signed documents: validated with pyhanko against the sandbox's own root."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# asn1crypto, which pyhanko hands out, has no types.

from __future__ import annotations

import base64
import io

import pypdfium2
import pytest
from pyhanko.keys import load_certs_from_pemder_data
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.diff_analysis import ModificationLevel
from pyhanko.sign.validation import PdfSignatureStatus, validate_pdf_signature
from pyhanko.sign.validation.status import SignatureCoverageLevel
from pyhanko_certvalidator import ValidationContext

from local.sandbox.esign.tags import signature_tags
from local.sandbox.pdf_services.rendering import render_html
from tests.contract.sandbox.running import RunningSandbox, tagged_html, two_party_pdf


def _signed(sandbox: RunningSandbox) -> bytes:
    folder_id = sandbox.draft()
    sandbox.send(folder_id)
    sandbox.sign(folder_id)
    return sandbox.get("document/download", folderId=folder_id, docNumber=1).content


def _statuses(sandbox: RunningSandbox, pdf: bytes) -> list[PdfSignatureStatus]:
    pem = sandbox.client.get("/_sandbox/ca.pem").content
    trust = ValidationContext(
        trust_roots=list(load_certs_from_pemder_data(pem)), allow_fetching=False
    )
    reader = PdfFileReader(io.BytesIO(pdf))
    return [validate_pdf_signature(s, trust) for s in reader.embedded_signatures]


def test_both_signatures_are_intact_valid_and_trusted_under_the_sandbox_root(
    sandbox: RunningSandbox,
) -> None:
    first, second = _statuses(sandbox, _signed(sandbox))

    assert first.bottom_line
    assert second.bottom_line
    assert first.coverage is SignatureCoverageLevel.ENTIRE_REVISION
    assert first.modification_level is ModificationLevel.FORM_FILLING
    assert second.coverage is SignatureCoverageLevel.ENTIRE_FILE


def test_each_signer_has_a_certificate_of_their_own(sandbox: RunningSandbox) -> None:
    statuses = _statuses(sandbox, _signed(sandbox))

    assert [status.signing_cert.subject.native["common_name"] for status in statuses] == [
        "Alice Smith",
        "Bob Łuk",
    ]


def test_a_changed_byte_is_noticed(sandbox: RunningSandbox) -> None:
    pdf = bytearray(_signed(sandbox))
    position = pdf.index(b"/MediaBox")
    pdf[position + 12] ^= 1

    assert not all(status.bottom_line for status in _statuses(sandbox, bytes(pdf)))


def test_the_signer_s_name_is_visible_where_the_tag_stands(sandbox: RunningSandbox) -> None:
    tags = signature_tags(two_party_pdf())
    pdf = _signed(sandbox)

    reader = PdfFileReader(io.BytesIO(pdf))
    for tag, signature in zip(tags, reader.embedded_signatures, strict=True):
        left, bottom, right, top = (float(x) for x in signature.sig_field["/Rect"])
        assert left <= tag.box[0] + 1
        assert bottom <= tag.box[1] + 1
        assert right >= tag.box[2] - 1
        assert top - bottom >= 30
        assert signature.sig_field["/AP"]["/N"].data
    document = pypdfium2.PdfDocument(pdf)
    document.init_forms()
    page = document[0]
    picture = page.render(may_draw_forms=True).to_pil().convert("L")
    bare = page.render(may_draw_forms=False, draw_annots=False).to_pil().convert("L")
    for tag in tags:
        height = page.get_height()
        area = (
            int(tag.box[0]),
            int(height - tag.box[1] - 30),
            int(tag.box[2]),
            int(height - tag.box[1]),
        )
        assert picture.crop(area).getextrema()[0] < bare.crop(area).getextrema()[0]
    document.close()


def test_a_folder_with_one_signature_missing_stays_shared(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()
    sandbox.send(folder_id)

    sandbox.control("POST", f"/folders/{folder_id}/sign", {"party": 2})

    assert sandbox.status(folder_id) == "SHARED"
    assert sandbox.get("download", folderId=folder_id).status_code == 400


def test_parties_sign_in_turn_where_the_order_was_asked_for(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft(signInSequence=True)
    sandbox.send(folder_id)
    url = f"/_sandbox/folders/{folder_id}/sign"

    too_early = sandbox.client.post(url, json={"party": 2})
    first = sandbox.client.post(url, json={"party": 1})
    second = sandbox.client.post(url, json={"party": 2})
    twice = sandbox.client.post(url, json={"party": 2})

    statuses = [answer.status_code for answer in (too_early, first, second, twice)]
    assert statuses == [409, 200, 200, 409]
    assert sandbox.status(folder_id) == "EXECUTED"


def test_a_draft_cannot_be_signed(sandbox: RunningSandbox) -> None:
    folder_id = sandbox.draft()

    answer = sandbox.client.post(f"/_sandbox/folders/{folder_id}/sign")

    assert answer.status_code == 409


def test_every_document_of_a_folder_is_signed(sandbox: RunningSandbox) -> None:
    files = [two_party_pdf(), render_html(tagged_html(2))]
    folder_id = sandbox.draft(
        base64FileString=[base64.b64encode(pdf).decode() for pdf in files],
        fileNames=["a.pdf", "b.pdf"],
    )
    sandbox.send(folder_id)
    sandbox.sign(folder_id)

    second = sandbox.get("document/download", folderId=folder_id, docNumber=2).content

    (status,) = _statuses(sandbox, second)
    assert status.bottom_line


@pytest.mark.parametrize("width", ["60px", "600px"])
def test_tags_are_read_whatever_their_colour_and_line_breaks(width: str) -> None:
    style = f"color:white;width:{width};overflow-wrap:anywhere"

    (tag,) = signature_tags(render_html(f'<p style="{style}">${{signfield:3:y:____}}</p>'))

    assert (tag.party, tag.page_index) == (3, 0)


def test_a_pdf_that_cannot_be_opened_has_no_tags() -> None:
    assert signature_tags(b"%PDF-1.4 rubbish") == []


def test_the_root_says_that_it_is_a_sandbox(sandbox: RunningSandbox) -> None:
    (root,) = load_certs_from_pemder_data(sandbox.client.get("/_sandbox/ca.pem").content)

    assert "SANDBOX" in root.subject.native["common_name"]
