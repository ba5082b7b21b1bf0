"""The stand-in really removes: readers that share no code with it find nothing afterwards."""

from __future__ import annotations

import io
import time

import pikepdf
import pypdfium2
import pytest

from fixtures.redaction.traps import KEPT, PIXELS_ONLY, TAG, TRAPS, VALUE, Draft, shown
from local.sandbox.nutrient.errors import SandboxError
from local.sandbox.nutrient.matching import Target
from local.sandbox.nutrient.ocr import read_words
from local.sandbox.nutrient.presets import PRESETS
from local.sandbox.nutrient.redact import redact
from local.sandbox.nutrient.switches import Switches
from tests.contract.sandbox.nutrient.reading_back import (
    all_texts,
    fixture_json,
    invoice_pdf,
    miner_text,
    pdfium_text,
    readers_that_see,
    readers_that_see_a_part,
    squashed,
    words_with_places,
)

VIN = "[A-HJ-NPR-Z0-9]{17}"
EMAIL = Target("preset", PRESETS["email-address"])
PHONE = Target("preset", PRESETS["north-american-phone-number"])
TARGETS = [EMAIL, PHONE, Target("regex", VIN, case_sensitive=True)]
CONTACTS = fixture_json("documents/freight_invoice.json")["contacts"]
PERSONAL = [
    contact[key]
    for contact in CONTACTS
    for key in ("phone", "email", "vehicle_vin")
    if key in contact
]
LITERAL = Target("text", VALUE)


def ocr_text(pdf: bytes) -> str:
    """Return what OCR reads on the first page."""
    with pypdfium2.PdfDocument(pdf) as document:
        picture = document[0].render(scale=200 / 72).to_pil()
    return " ".join(word.text for word in read_words(picture, segmentation="sparse"))


# --- the invoice --------------------------------------------------------------------------------


@pytest.mark.parametrize("value", PERSONAL)
def test_every_personal_value_of_the_invoice_is_gone_for_every_reader(value: str) -> None:
    assert readers_that_see(invoice_pdf(), value)

    assert readers_that_see(redact(invoice_pdf(), TARGETS), value) == []


def test_every_other_word_stays_where_it_stood() -> None:
    before, after = (
        words_with_places(invoice_pdf()),
        words_with_places(redact(invoice_pdf(), TARGETS)),
    )

    removed = {word for value in PERSONAL for word in value.split()}
    assert after == {word: places for word, places in before.items() if word not in removed}


def test_a_black_box_is_drawn_where_a_value_was() -> None:
    places = words_with_places(invoice_pdf())["m.webb@acmefreight-drivers.example"]

    with pypdfium2.PdfDocument(redact(invoice_pdf(), TARGETS)) as document:
        picture = document[0].render(scale=1, grayscale=True).to_pil()
    left, bottom = places[0]
    assert picture.getpixel((int(left) + 20, 792 - int(bottom) - 3)) == 0


def test_names_nobody_targeted_stay() -> None:
    assert "Dana Ruiz" in pdfium_text(redact(invoice_pdf(), TARGETS))


def test_neighbours_in_the_same_string_do_not_move() -> None:
    pdf = TRAPS["plain_string"]()

    places = words_with_places(redact(pdf, [LITERAL]))

    assert places["on"] == words_with_places(pdf)["on"]


def test_nothing_matched_is_no_error_and_loses_no_text() -> None:
    after = redact(invoice_pdf(), [Target("text", "Quetzalcoatl")])

    assert pdfium_text(after) == pdfium_text(invoice_pdf())


def test_the_same_document_and_targets_give_the_same_bytes() -> None:
    assert redact(invoice_pdf(), TARGETS) == redact(invoice_pdf(), TARGETS)


# --- traps --------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [LITERAL, EMAIL], ids=["literal", "pattern"])
@pytest.mark.parametrize("name", [name for name in TRAPS if name not in PIXELS_ONLY])
def test_a_trap_gives_nothing_back(name: str, target: Target) -> None:
    after = redact(TRAPS[name](), [target])

    assert readers_that_see_a_part(after, VALUE) == []
    assert squashed(VALUE) not in squashed(ocr_text(after))


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_keeps_its_other_line_and_its_signature_tag(name: str) -> None:
    after = redact(TRAPS[name](), [LITERAL])

    for text in (pdfium_text(after), miner_text(after)):
        assert KEPT in text
        assert TAG in text


@pytest.mark.parametrize("name", sorted(PIXELS_ONLY))
def test_a_value_made_of_pixels_or_outlines_is_gone(name: str) -> None:
    pdf = TRAPS[name]()
    assert squashed(VALUE) in squashed(ocr_text(pdf))

    after = redact(pdf, [LITERAL])

    assert squashed(VALUE)[4:14] not in squashed(ocr_text(after))


def test_the_pixels_under_a_box_are_black_in_the_image_itself() -> None:
    after = redact(TRAPS["raster_only"](), [LITERAL])

    with pikepdf.open(io.BytesIO(after)) as document:
        (image,) = document.pages[0].get_images().values()
        assert isinstance(image, pikepdf.Stream)
        pixels = pikepdf.PdfImage(image).as_pil_image().convert("L")
    dark = sum(pixels.histogram()[:10])
    assert dark > 0.3 * pixels.width * pixels.height


def test_the_signature_field_of_a_form_survives() -> None:
    after = redact(TRAPS["form_field"](), [LITERAL])

    with pikepdf.open(io.BytesIO(after)) as document:
        fields = [str(field.T) for field in document.Root.AcroForm.Fields]
    assert "Signer1" in fields


def test_an_upright_box_does_not_eat_the_neighbours_of_sloping_text() -> None:
    assert "Slope note" in pdfium_text(redact(TRAPS["rotated_text"](), [LITERAL]))


def test_cell_neighbours_of_a_pattern_are_not_eaten() -> None:
    pdf = Draft().finish(shown("E-mail", 72) + shown(VALUE, 130))

    assert "E-mail" in pdfium_text(redact(pdf, [EMAIL]))


def test_a_short_literal_goes_as_a_word_part_and_not_out_of_the_file_structure() -> None:
    pdf = Draft().finish(shown("Bay 7 of Bayonne"))

    after = redact(pdf, [Target("text", "Bay")])

    assert "onne" in pdfium_text(after)
    assert "Bay" not in pdfium_text(after)


@pytest.mark.parametrize("word", ["Type", "Page", "Contents", "Helvetica", "Font"])
def test_a_literal_that_is_a_word_of_the_pdf_language_breaks_nothing(word: str) -> None:
    pdf = Draft().finish(shown(f"The {word} of things"))

    after = redact(pdf, [Target("text", word)])

    assert KEPT in pdfium_text(after)
    assert f"The {word} of" not in pdfium_text(after)


# --- presets ------------------------------------------------------------------------------------

SAMPLES = {
    "email-address": "ap@lindstrom-transport.example",
    "north-american-phone-number": "(718) 555-0197",
    "international-phone-number": "+44 20 7946 0018",
    "social-security-number": "219-09-9999",
    "credit-card-number": "4111 1111 1111 1111",
    "date": "2026-08-18",
    "time": "14:35",
    "url": "https://acme.example/track?id=1",
    "us-zip-code": "07002-1234",
    "ipv4": "192.0.2.17",
    "ipv6": "2001:0db8:0000:0000:0000:0000:0000:0001",
    "mac-address": "00:00:5e:00:53:01",
}


@pytest.mark.parametrize("preset", SAMPLES)
def test_a_preset_removes_what_it_is_named_after(preset: str) -> None:
    pdf = Draft().finish(
        shown(f"See {SAMPLES[preset]} now".replace("(", r"\(").replace(")", r"\)"))
    )

    text = pdfium_text(redact(pdf, [Target("preset", PRESETS[preset])]))

    assert SAMPLES[preset] not in text
    assert "See" in text
    assert "now" in text


def test_the_vin_preset_removes_nothing() -> None:
    after = redact(invoice_pdf(), [Target("preset", PRESETS["vin"])])

    assert "1FUJGLDR8CLBP8834" in pdfium_text(after)


def test_every_preset_but_vin_has_a_sample() -> None:
    assert set(SAMPLES) == set(PRESETS) - {"vin"}


# --- ranges, staging, applying ------------------------------------------------------------------


def pages(count: int) -> bytes:
    """Return a document with the value on every page."""
    document = pikepdf.new()
    for number in range(count):
        with pikepdf.open(io.BytesIO(Draft().finish(shown(f"Page {number} {VALUE}")))) as one:
            document.pages.extend(one.pages)
    target = io.BytesIO()
    document.save(target)
    return target.getvalue()


def pages_that_show(pdf: bytes, value: str) -> list[int]:
    with pypdfium2.PdfDocument(pdf) as document:
        texts = [page.get_textpage().get_text_range() for page in document]
    return [number for number, text in enumerate(texts) if value in text]


def test_a_page_range_is_kept_to() -> None:
    after = redact(pages(4), [Target("text", VALUE, start=1, limit=2)])

    assert pages_that_show(after, VALUE) == [0, 3]


def test_staging_leaves_the_text_under_black_marks() -> None:
    staged = redact(invoice_pdf(), TARGETS, apply=False)

    assert all(squashed(value) in squashed(pdfium_text(staged)) for value in PERSONAL)
    with pikepdf.open(io.BytesIO(staged)) as document:
        kinds = [str(one.Subtype) for one in document.pages[0].Annots]
    assert kinds == ["/Redact"] * len(PERSONAL)
    assert "555" not in ocr_text(staged)


def test_applying_removes_what_staging_marked() -> None:
    staged = redact(invoice_pdf(), TARGETS, apply=False)

    after = redact(staged, [], apply=True)

    assert all(readers_that_see(after, value) == [] for value in PERSONAL)
    with pikepdf.open(io.BytesIO(after)) as document:
        assert list(document.pages[0].obj.get("/Annots", [])) == []


# --- lies ---------------------------------------------------------------------------------------


def lied(pdf: bytes, **switches: object) -> bytes:
    return redact(pdf, [LITERAL], Switches.model_validate(switches))


def test_staged_only_marks_although_it_was_told_to_apply() -> None:
    after = lied(TRAPS["plain_string"](), staged_only=True)

    assert VALUE in pdfium_text(after)
    with pikepdf.open(io.BytesIO(after)) as document:
        assert [str(one.Subtype) for one in document.pages[0].Annots] == ["/Redact"]


def test_boxes_only_leaves_the_text_without_a_trace_of_marks() -> None:
    after = lied(TRAPS["plain_string"](), boxes_only=True)

    assert VALUE in pdfium_text(after)
    assert squashed(VALUE) not in squashed(ocr_text(after))
    with pikepdf.open(io.BytesIO(after)) as document:
        assert "/Annots" not in document.pages[0].obj


def test_preset_noop_leaves_what_presets_name_and_still_removes_literals() -> None:
    pdf = Draft().finish(shown(VALUE) + shown("PO 4471-X", y=300))
    targets = [EMAIL, Target("text", "PO 4471-X")]

    text = pdfium_text(redact(pdf, targets, Switches(preset_noop=True)))

    assert VALUE in text
    assert "4471" not in text


def test_miss_page_leaves_exactly_that_page() -> None:
    assert pages_that_show(lied(pages(3), miss_page=2), VALUE) == [1]


def test_miss_split_values_leaves_only_what_one_string_does_not_hold() -> None:
    assert VALUE in pdfium_text(lied(TRAPS["split_over_strings"](), miss_split_values=True))
    assert VALUE not in pdfium_text(lied(TRAPS["plain_string"](), miss_split_values=True))


def test_miss_metadata_cleans_the_page_and_leaves_the_rest() -> None:
    pdf = TRAPS["metadata"]()

    after = lied(pdf, miss_metadata=True)

    assert squashed(VALUE) in squashed(all_texts(after)["objects"])
    assert VALUE not in pdfium_text(lied(TRAPS["plain_string"](), miss_metadata=True))


def test_keep_old_revision_shows_the_new_one_and_keeps_the_old_bytes() -> None:
    pdf = TRAPS["plain_string"]()

    after = lied(pdf, keep_old_revision=True)

    assert VALUE not in pdfium_text(after)
    assert KEPT in pdfium_text(after)
    assert after.startswith(pdf.rstrip())
    assert VALUE in pdfium_text(after[: after.index(b"%%EOF") + 5])


def test_ocr_layer_left_paints_the_picture_and_leaves_the_invisible_text() -> None:
    after = lied(TRAPS["invisible_layer_over_picture"](), ocr_layer_left=True)

    assert VALUE in pdfium_text(after)
    assert squashed(VALUE) not in squashed(ocr_text(after))


def test_the_watermark_is_on_every_page() -> None:
    after = lied(pages(2), watermark=True)

    assert pages_that_show(after, "Evaluation") == [0, 1]


# --- hostile and large input --------------------------------------------------------------------


def hostile() -> dict[str, bytes]:
    """Return files that are broken, cyclic or explosive."""
    whole = invoice_pdf()
    cyclic = Draft()
    form = cyclic.pdf.make_indirect(cyclic.form("/Me Do"))
    form.Resources.XObject = pikepdf.Dictionary(Me=form)
    cyclic.page.Resources.XObject = pikepdf.Dictionary(Me=form)
    bomb = Draft()
    inner = bomb.form(shown("x") * 50)
    for _ in range(8):
        outer = bomb.form("/In Do " * 20)
        outer.Resources.XObject = pikepdf.Dictionary(In=inner)
        inner = outer
    bomb.page.Resources.XObject = pikepdf.Dictionary(In=inner)
    odd = Draft()
    odd.page.Resources = pikepdf.Array([1, 2])
    wrong_tree = Draft()
    wrong_tree.pdf.Root.Names = pikepdf.Array([])
    wrong_tree.page.Annots = pikepdf.Dictionary(A=1)
    return {
        "truncated": whole[:700],
        "not a pdf": b"PK\x03\x04 zip",
        "header only": b"%PDF-1.7\n",
        "user password": Draft().finish(
            shown(VALUE), encryption=pikepdf.Encryption(owner="a", user="b", R=6)
        ),
        "cyclic form": cyclic.finish("/Me Do"),
        "form bomb": bomb.finish("/In Do"),
        "odd resources": odd.finish(shown(VALUE)),
        "wrong tree": wrong_tree.finish(shown(VALUE)),
        "operators without operands": Draft().finish("BT Tf Tj TJ ' \" Td cm Do gs scn ET Q Q Q"),
        "unclosed states": Draft().finish("q " * 2000 + shown(VALUE)),
    }


@pytest.mark.parametrize("name", hostile())
def test_a_hostile_file_is_redacted_or_refused_and_never_crashes(name: str) -> None:
    started = time.monotonic()

    answer = answer_to(hostile()[name])

    assert answer in (400, 413, 422) or VALUE not in str(answer)
    assert time.monotonic() - started < 60


def answer_to(pdf: bytes) -> int | str:
    """Return the status of a refusal, or what pdfium reads in the result."""
    try:
        return pdfium_text(redact(pdf, [LITERAL]))
    except SandboxError as refused:
        return refused.status


def test_a_long_document_is_done_in_bounded_time() -> None:
    started = time.monotonic()

    after = redact(pages(200), [LITERAL])

    assert pages_that_show(after, VALUE) == []
    assert time.monotonic() - started < 60


def test_a_box_does_not_cover_a_word_between_two_values() -> None:
    pdf = Draft().finish(shown("4711 I 4712"))

    after = redact(pdf, [Target("text", "4711"), Target("text", "4712")])

    left, bottom = words_with_places(after)["I"][0]
    with pypdfium2.PdfDocument(after) as document:
        picture = document[0].render(scale=4, grayscale=True).to_pil()
    assert picture.getpixel((int(4 * (left - 1.5)), int(4 * (792 - bottom - 4)))) == 255
