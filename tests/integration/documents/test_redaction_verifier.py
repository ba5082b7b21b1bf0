"""The redaction verifier against documents that look redacted and are not (P8)."""

from __future__ import annotations

import io
from collections.abc import Callable

import pikepdf
import pytest

from no_undo.adapters.pdf_sandboxed import Limits, PdfSandbox
from no_undo.adapters.redaction_verifier import IndependentReadersVerifier
from no_undo.domain.redaction import ChannelResult, ChannelVerdict, RedactionVerdict
from no_undo.ports import RedactionVerifier
from tests.integration.documents.in_process import VERIFIER
from tests.integration.documents.pdf_maker import (
    TAG,
    TRAPS,
    VALUE,
    add_page,
    edited,
    picture,
    saved,
    text_pdf,
    with_attachment,
    with_operators,
    with_picture,
)

ORIGINAL = text_pdf([f"Contact: {VALUE}"])
REDACTED = text_pdf(["Contact:"])
PORT: RedactionVerifier = VERIFIER


def verify(
    before: bytes, after: bytes, values: dict[str, str] | None = None, *, signature_fields: int = 1
) -> tuple[ChannelVerdict, ...]:
    looked_for = {VALUE: "email"} if values is None else values
    return PORT.verify(before, after, looked_for, signature_fields=signature_fields)


def results(rows: tuple[ChannelVerdict, ...], channel: str) -> set[ChannelResult]:
    return {row.result for row in rows if row.channel == channel}


def blocking(rows: tuple[ChannelVerdict, ...]) -> set[str]:
    return {row.channel for row in rows if row.result is not ChannelResult.GONE}


def test_a_document_without_the_value_is_proven() -> None:
    rows = verify(ORIGINAL, REDACTED)

    assert RedactionVerdict(rows).proven, blocking(rows)


def test_readers_in_child_processes_say_the_same() -> None:
    rows = IndependentReadersVerifier().verify(
        ORIGINAL, REDACTED, {VALUE: "email"}, signature_fields=1
    )

    assert rows == verify(ORIGINAL, REDACTED)


def test_an_unredacted_document_is_found_by_every_text_reader() -> None:
    rows = verify(ORIGINAL, ORIGINAL)

    found = {row.reader.split()[0] for row in rows if row.result is ChannelResult.FOUND}
    assert found >= {"pdfium", "pdfminer", "pikepdf"}


@pytest.mark.parametrize("name", TRAPS)
def test_a_value_left_behind_is_found(name: str) -> None:
    spring, channel = TRAPS[name]

    rows = verify(ORIGINAL, spring(REDACTED))

    assert ChannelResult.FOUND in results(rows, channel), blocking(rows)
    assert not any(VALUE in row.detail for row in rows)


def test_no_values_prove_nothing() -> None:
    rows = verify(ORIGINAL, REDACTED, {})

    assert blocking(rows) == {"positive_control"}


def test_a_value_that_was_never_there_proves_nothing() -> None:
    rows = verify(ORIGINAL, REDACTED, {VALUE: "email", "GB33BUKB20201555555555": "iban"})

    (control,) = [row for row in rows if row.channel == "positive_control"]
    assert control.result is ChannelResult.NOT_PROVEN
    assert "iban: 1" in control.detail


def test_a_value_of_punctuation_cannot_be_measured() -> None:
    assert "values" in blocking(verify(ORIGINAL, REDACTED, {VALUE: "email", "--": "literal"}))


def test_a_short_value_must_match_as_a_word() -> None:
    before = text_pdf(["Contact: Bob"])
    after = text_pdf(["Bobbin: one"])

    assert RedactionVerdict(verify(before, after, {"Bob": "literal"})).proven


def test_a_short_value_left_as_a_word_is_found() -> None:
    before = text_pdf(["Contact: Bob"])

    assert "page_text" in blocking(verify(before, before, {"Bob": "literal"}))


def test_a_box_over_live_text_is_reported_as_covered_even_for_values_nobody_listed() -> None:
    covered = with_operators(b"0 0 0 rg 60 655 300 16 re f")

    rows = verify(ORIGINAL, covered(REDACTED))

    assert results(rows, "covered_text") == {ChannelResult.FOUND}


def test_staged_redaction_marks_are_found() -> None:
    def stage(pdf: pikepdf.Pdf) -> None:
        box = pikepdf.Array([10, 10, 60, 30])
        mark = pikepdf.Dictionary(Subtype=pikepdf.Name.Redact, Rect=box)
        pdf.pages[0].obj.Annots = pikepdf.Array([mark])

    assert "redaction_marks" in blocking(verify(ORIGINAL, edited(REDACTED, stage)))


def test_an_attachment_that_no_reader_understands_is_not_proven() -> None:
    rows = verify(ORIGINAL, with_attachment(bytes(range(256)) * 20, "photo.bin")(REDACTED))

    assert results(rows, "attachments") == {ChannelResult.NOT_PROVEN}


def test_a_lost_signature_tag_is_not_proven() -> None:
    rows = verify(ORIGINAL, text_pdf(["Contact:"], tag="${signfield:1:y:____"))

    assert blocking(rows) == {"signature_tags"}


def test_a_missing_signature_tag_is_not_proven() -> None:
    rows = verify(ORIGINAL, REDACTED, signature_fields=2)

    (row,) = [row for row in rows if row.channel == "signature_tags"]
    assert row.detail == "no signature tag for party 2"


def test_a_lost_page_is_not_proven() -> None:
    def add(pdf: pikepdf.Pdf) -> None:
        add_page(pdf, ["Second page"])

    assert "page_count" in blocking(verify(edited(ORIGINAL, add), REDACTED))


def test_another_document_is_not_proven() -> None:
    with pikepdf.new() as pdf:
        add_page(pdf, [TAG])
        other = saved(pdf)

    assert "same_document" in blocking(verify(ORIGINAL, other))


def test_a_value_left_in_a_picture_is_found_and_a_clean_picture_is_proven() -> None:
    pytest.importorskip("tesserocr")
    shown = with_picture(picture(VALUE), width=400, height=48)
    blank = with_picture(picture("paid in full"), width=400, height=48)

    left = verify(shown(ORIGINAL), shown(REDACTED))
    gone = verify(shown(ORIGINAL), blank(REDACTED))

    assert results(left, "pictures") == {ChannelResult.FOUND}
    assert RedactionVerdict(gone).proven, blocking(gone)


def test_a_scan_without_text_is_proven_by_two_passes_of_ocr() -> None:
    pytest.importorskip("tesserocr")
    scan = with_picture(picture(VALUE), width=400, height=48)
    covered = with_picture(picture("          "), width=400, height=48)
    with pikepdf.new() as pdf:
        add_page(pdf, [])
        blank = saved(pdf)

    rows = verify(scan(blank), covered(blank), signature_fields=0)

    assert RedactionVerdict(rows).proven, blocking(rows)


@pytest.mark.parametrize(
    "after", [b"", b"not a pdf", REDACTED[:200], b"%PDF-1.7 " + bytes(1000)], ids=len
)
def test_an_output_that_no_reader_can_open_is_not_proven(after: bytes) -> None:
    rows = verify(ORIGINAL, after)

    assert not RedactionVerdict(rows).proven
    assert not any(row.result is ChannelResult.FOUND for row in rows)


def test_an_encrypted_output_is_not_proven() -> None:
    def encrypted(pdf: pikepdf.Pdf) -> bytes:
        output = io.BytesIO()
        pdf.save(output, encryption=pikepdf.Encryption(owner="owner", user=""))
        return output.getvalue()

    with pikepdf.open(io.BytesIO(REDACTED)) as pdf:
        rows = verify(ORIGINAL, encrypted(pdf))

    assert {row.reader for row in rows if "encrypted" in row.detail} >= {"pdfium", "pikepdf"}
    assert not RedactionVerdict(rows).proven


def test_a_reader_that_runs_out_of_time_is_not_proven() -> None:
    hasty = IndependentReadersVerifier(seconds_per_reader=0.01)

    rows = hasty.verify(ORIGINAL, REDACTED, {VALUE: "email"}, signature_fields=1)

    assert {row.reader for row in rows if "did not finish" in row.detail} >= {"pdfium", "pikepdf"}
    assert not RedactionVerdict(rows).proven


def test_a_reader_that_runs_out_of_memory_is_not_proven() -> None:
    tight = IndependentReadersVerifier(PdfSandbox(Limits(memory_bytes=40 * 1024 * 1024)))

    rows = tight.verify(ORIGINAL, REDACTED, {VALUE: "email"}, signature_fields=1)

    assert not RedactionVerdict(rows).proven


def test_two_verifications_of_the_same_files_agree() -> None:
    assert verify(ORIGINAL, REDACTED) == verify(ORIGINAL, REDACTED)


def test_an_evaluation_notice_that_the_original_did_not_carry_is_found() -> None:
    rows = verify(ORIGINAL, text_pdf(["Contact:", "Evaluation version - created with a trial key"]))

    assert results(rows, "evaluation_notice") == {ChannelResult.FOUND}


def test_a_document_about_an_evaluation_carries_no_notice() -> None:
    said = "Evaluation of offers"

    rows = verify(text_pdf([f"Contact: {VALUE}", said]), text_pdf(["Contact:", said]))

    assert RedactionVerdict(rows).proven, blocking(rows)


def test_a_font_that_lists_the_letters_of_a_value_in_its_order_is_a_warning() -> None:
    def hint(pdf: pikepdf.Pdf) -> None:
        pairs = "".join(
            f"<{code:02x}> <{ord(letter):04x}>\n"
            for code, letter in enumerate(dict.fromkeys(VALUE), start=1)
        )
        cmap = pdf.make_stream(f"begincmap 9 beginbfchar\n{pairs}endbfchar".encode())
        pdf.pages[0].obj.Resources.Font.F1.ToUnicode = cmap

    rows = verify(ORIGINAL, edited(REDACTED, hint), signature_fields=0)

    (row,) = [one for one in rows if one.channel == "font_maps"]
    assert row.warning
    assert "font_maps" not in blocking(rows)


def test_a_signature_field_with_another_name_is_a_lost_one() -> None:
    def sign_here(name: str) -> Callable[[pikepdf.Pdf], None]:
        def add(pdf: pikepdf.Pdf) -> None:
            field = pikepdf.Dictionary(FT=pikepdf.Name.Sig, T=pikepdf.String(name))
            pdf.Root.AcroForm = pikepdf.Dictionary(Fields=pikepdf.Array([pdf.make_indirect(field)]))

        return add

    rows = verify(edited(ORIGINAL, sign_here("Alice")), edited(REDACTED, sign_here("Bob")))

    assert blocking(rows) == {"signature_form_fields"}
