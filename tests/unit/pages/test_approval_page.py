"""The card as rendered: what it says, how it is built, and that it is a form anybody can use."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest

from no_undo.adapters.jinja_pages import JinjaPages
from no_undo.domain.card import Card, CardPage, CardQuorum, Choice, FormInput, FormState
from no_undo.domain.confirmation import WORDS
from no_undo.domain.redaction import ChannelResult, ChannelVerdict
from tests.unit.pages.markup import Element, Page
from tests.unit.pages.samples import (
    CARD_DIGEST,
    DOCUMENT_SHA256,
    NUMBER,
    PLAN_DIGEST,
    TAX,
    TOTAL,
    a_card,
)

PAGES = JinjaPages()
EVERY_CHOICE = tuple(Choice)
TIMES = "\N{MULTIPLICATION SIGN}"
FAILED_FORM = FormState(
    entered={
        FormInput.DECISION: "reject",
        FormInput.REASON: "  <b>Too much</b>\nby far",
        "field_1": "corrected",
        "field_1_value": "86.86",
        FormInput.CONFIRMATION: "zebra zebra",
    },
    errors={
        FormInput.CONFIRMATION: "The two words did not match.",
        FormInput.REASON: "Please give a reason.",
        "field_1": "Please compare this value.",
        "field_1_value": "Please write the right value.",
        FormInput.DECISION: "Please choose.",
    },
)


def page_of(card: Card, form: FormState | None = None) -> Page:
    return Page(PAGES.approval_page(card, form).html)


def bare_card() -> Card:
    """Return a card without anything optional."""
    return a_card(
        zone=None,
        fields=(),
        redaction=None,
        findings=(),
        warnings=(),
        not_read_back=(),
        repeat=None,
        document=None,
        recipients=(),
        quorum=CardQuorum(1, 1),
    )


@pytest.mark.parametrize(
    "said",
    [
        "Send this document to Alice and Bob for signature.",
        "It cannot be taken back: the mails leave at once.",
        "Take this freight invoice, redact the PII, and send it to Alice and Bob.",
        "carol@example.com",
        "1 Alice Example alice@example.com address from the contact list",
        "2 Bob Example bob@example.com address given with the request Letters of two scripts.",
        "Freight invoice.pdf, 3 pages.",
        "Only 2 of 3 pages are shown here.",
        DOCUMENT_SHA256,
        f"2 {TIMES} e-mail address",
        f"1 {TIMES} vehicle identification number",
        "2 of 2 checks by 2 independent readers found nothing left.",
        f"page 2: 1 {TIMES} telephone number",
        "The document carries an evaluation watermark.",
        "could not be compared with this page: signing order.",
        "by plan 6B1Q-1 on Wednesday 1 July 2026, 10:00 CEST (08:00 UTC)",
        "disagree about this value. To approve, answer this first. The printed sum gives another",
        "Witnesses: text layer disagrees; second mode cannot say.",
        "Due date for a person to check not in the document",
        "2 of 3 people must approve. One rejection ends it.",
        "dave@example.com approved on Monday 13 July 2026, 11:05 CEST (09:05 UTC)",
        "Please decide by Tuesday 14 July 2026, 17:00 CEST (15:00 UTC)",
        "This page was made for erin@example.com.",
        "Yours is the last approval needed",
    ],
)
def test_the_card_says(said: str) -> None:
    assert said in page_of(a_card()).text


def test_a_card_without_anything_optional_leaves_it_out() -> None:
    text = page_of(bare_card()).text

    for heading in (
        "Please note",
        "Who receives it",
        "The document",
        "What was removed",
        "What was read from the document",
    ):
        assert heading not in text
    assert "Your approval alone is needed." in text
    assert "Nobody has decided yet." in text


def test_a_check_that_did_not_pass_is_called_by_its_name() -> None:
    redaction = a_card().redaction
    assert redaction
    rows = (
        ChannelVerdict("metadata", "pikepdf", ChannelResult.FOUND, ""),
        ChannelVerdict("pictures", "ocr", ChannelResult.NOT_PROVEN, "no time left"),
    )

    text = page_of(a_card(redaction=replace(redaction, channels=rows))).text

    assert "0 of 2 checks" in text
    assert "metadata pikepdf still there" in text
    assert "pictures ocr not proven no time left" in text


def test_the_form_carries_the_digest_of_what_was_shown() -> None:
    page = page_of(a_card())

    form = page.one("form")
    assert (form["method"], form["action"]) == ("post", "/approvals/k")
    carried = {one["name"]: one["value"] for one in page.all("input", type="hidden")}
    assert carried == {FormInput.PLAN_DIGEST: PLAN_DIGEST, FormInput.CARD_DIGEST: CARD_DIGEST}


def test_approve_and_reject_are_offered_and_none_is_chosen_beforehand() -> None:
    choices = page_of(a_card()).all("input", name=FormInput.DECISION)

    assert [one["value"] for one in choices] == ["approve", "reject"]
    assert not any("checked" in one.attributes for one in choices)


def test_question_and_hand_over_are_offered_when_the_card_says_so() -> None:
    page = page_of(a_card(choices=EVERY_CHOICE))

    values = [one["value"] for one in page.all("input", name=FormInput.DECISION)]
    assert values == ["approve", "correct", "reject", "ask", "hand_over"]
    assert page.one("input", name=FormInput.HAND_OVER_TO)["type"] == "email"


def test_only_disputed_fields_are_answered_one_by_one() -> None:
    page = page_of(a_card())

    assert [one["value"] for one in page.all("input", name="field_1")] == [
        "confirmed",
        "corrected",
    ]
    assert not page.all("input", name="field_0")
    assert not page.all("input", name="field_2")


def test_without_corrections_a_disputed_field_can_only_be_confirmed() -> None:
    page = page_of(a_card(corrections_allowed=False))

    assert [one["value"] for one in page.all("input", name="field_1")] == ["confirmed"]
    assert not page.all("input", name="field_1_value")


@pytest.mark.parametrize("form", [None, FAILED_FORM])
def test_the_confirmation_words_stand_in_the_last_sentence_and_nowhere_else(
    form: FormState | None,
) -> None:
    page = page_of(a_card(), form)

    sentence = page.by_id("last-sentence")
    assert sentence.text.rstrip().endswith("copper meadow")
    for word in ("copper", "meadow"):
        assert page.text.count(word) == 1
        assert not any(word in value for one in page.elements for value in one.attributes.values())


def test_no_word_that_could_be_asked_for_stands_in_an_attribute() -> None:
    page = page_of(bare_card())

    attribute_words = {
        word
        for one in page.elements
        for value in one.attributes.values()
        for word in re.findall(r"[a-z]+", value.lower())
    }
    assert not attribute_words & set(WORDS)


def test_what_was_typed_as_confirmation_is_not_shown_again() -> None:
    page = page_of(a_card(), FAILED_FORM)

    assert "value" not in page.one("input", name=FormInput.CONFIRMATION).attributes
    assert "zebra" not in page.text


def test_what_was_entered_is_kept_when_the_form_is_shown_again() -> None:
    page = page_of(a_card(), FAILED_FORM)

    assert page.one("textarea").text == "\n  <b>Too much</b>\nby far"
    assert page.one("input", name="field_1_value")["value"] == "86.86"
    checked = [one["value"] for one in page.all("input") if "checked" in one.attributes]
    assert checked == ["corrected", "reject"]


def test_every_error_is_tied_to_its_field_and_listed_first() -> None:
    page = page_of(a_card(), FAILED_FORM)

    assert page.one("title").text.startswith("Please correct the form.")
    summary = page.one("div", role="alert")
    assert "No decision was recorded" in summary.text
    for name, message in FAILED_FORM.errors.items():
        assert f"{name}-error" in page.by_id(name)["aria-describedby"].split()
        assert page.by_id(f"{name}-error").text == message
        assert message in summary.text


def test_a_form_without_errors_claims_none() -> None:
    page = page_of(a_card())

    assert not page.all("div", role="alert")
    assert not any("aria-invalid" in one.attributes for one in page.elements)


@pytest.mark.parametrize(
    ("card", "form"),
    [
        (a_card(choices=EVERY_CHOICE), None),
        (a_card(choices=EVERY_CHOICE), FAILED_FORM),
        (bare_card(), None),
        (bare_card(), FormState(errors={FormInput.REASON: "Please give a reason."})),
    ],
)
def test_every_reference_inside_the_page_has_its_target(card: Card, form: FormState | None) -> None:
    page = page_of(card, form)

    ids = [one["id"] for one in page.elements if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    for one in page.elements:
        for name in ("aria-describedby", "aria-labelledby", "for"):
            assert set(one.attributes.get(name, "").split()) <= set(ids)
        if one.attributes.get("href", "").startswith("#"):
            assert one["href"][1:] in ids


@pytest.mark.parametrize("card", [a_card(choices=EVERY_CHOICE), bare_card()])
def test_every_input_has_a_label(card: Card) -> None:
    page = page_of(card)

    labels = page.all("label")
    labelled = {one["for"] for one in labels if "for" in one.attributes}
    wrapped = [child for one in labels for child in one.children]
    for one in page.all("input") + page.all("textarea"):
        if one.attributes.get("type") != "hidden":
            assert one.attributes.get("id") in labelled or one in wrapped


def test_headings_go_down_one_level_at_a_time() -> None:
    page = page_of(a_card(choices=EVERY_CHOICE))

    levels = [int(one.tag[1]) for one in page.elements if re.fullmatch("h[1-6]", one.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))


def test_landmarks_and_language_are_there() -> None:
    page = page_of(a_card())

    assert page.one("html")["lang"] == "en"
    for landmark in ("header", "main", "footer", "form"):
        page.one(landmark)
    assert page.one("a", href="#your-decision").text == "Go to the decision"
    assert all(one["alt"] for one in page.all("img"))


def is_remote(element: Element) -> bool:
    return element.attributes.get("src", "/")[0] != "/"


def test_nothing_is_loaded_but_pictures_of_the_same_origin() -> None:
    page = page_of(a_card())

    assert not page.all("script")
    assert not page.all("link")
    assert not page.all("iframe")
    assert not any(name.startswith("on") for one in page.elements for name in one.attributes)
    assert not any("style" in one.attributes for one in page.elements)
    assert not any(is_remote(one) for one in page.elements)
    assert "url(" not in page.one("style").text
    assert "@import" not in page.one("style").text


def test_a_card_of_a_hundred_checks_and_fields_stays_under_100_kb() -> None:
    redaction = a_card().redaction
    assert redaction
    document = a_card().document
    assert document
    card = a_card(
        fields=(NUMBER,) * 100 + (TOTAL,) * 10,
        redaction=replace(redaction, channels=redaction.channels * 50),
        document=replace(
            document,
            page_count=40,
            pages=tuple(CardPage(n, f"/approvals/k/pages/{n}.png", 8, 8) for n in range(1, 41)),
        ),
    )

    assert len(PAGES.approval_page(card).html.encode()) < 100_000


def test_a_corrected_field_says_who_corrected_what_and_is_answered_like_a_disputed_one() -> None:
    page = page_of(a_card(fields=(TAX,)))

    assert "Tax amount: 5.87" in page.text
    assert "Corrected by dave@example.com" in page.text
    assert "Before: 5.27" in page.text
    assert [one["value"] for one in page.all("input", name="field_0")] == ["confirmed", "corrected"]


def test_where_nothing_can_be_corrected_the_page_says_so_and_offers_to_reject() -> None:
    page = page_of(a_card(corrections_allowed=False))

    assert "nothing in it can be corrected here" in page.text
    assert not page.all("input", name="field_0_value")


def test_an_undisputed_value_can_be_corrected_without_answering_it() -> None:
    page = page_of(a_card())

    assert page.one("input", name="field_0_value")["value"] == ""
    assert not page.all("input", name="field_0")
