"""How removal is judged: the rules of `domain/redaction.py`."""

from __future__ import annotations

import pytest

from no_undo.domain.redaction import (
    ChannelResult,
    ChannelVerdict,
    Passage,
    RedactionVerdict,
    Sighting,
    ValueSearch,
    judge,
    judge_control,
    squash,
)

EMAIL = "alice@example.com"


def page(text: str, index: int = 0) -> Passage:
    return Passage("page_text", text, index)


def seen(value: str, *texts: str) -> bool:
    passages = [page(text, index) for index, text in enumerate(texts)]
    return bool(ValueSearch([value]).whole(passages))


def remains(value: str, before: str, after: str) -> bool:
    return bool(ValueSearch([value]).remains([page(before)], [page(after)]))


def verdict(*results: ChannelResult) -> RedactionVerdict:
    return RedactionVerdict(
        tuple(ChannelVerdict("page_text", "reader", result, "") for result in results)
    )


def test_a_verdict_is_proven_only_when_every_row_says_gone() -> None:
    assert verdict(ChannelResult.GONE, ChannelResult.GONE).proven
    assert not verdict(ChannelResult.GONE, ChannelResult.FOUND).proven
    assert not verdict(ChannelResult.GONE, ChannelResult.NOT_PROVEN).proven


def test_nothing_checked_is_not_proven() -> None:
    assert not verdict().proven


@pytest.mark.parametrize(
    "text",
    [
        "mail alice@example.com today",
        "ALICE@EXAMPLE.COM",
        "alice @ example . com",
        "alice@exam\r\nple.com",
        "a l i c e @ e x a m p l e . c o m",
        "alice\u00ad@exam\u200bple.com",
        "ａｌｉｃｅ@ｅｘａｍｐｌｅ．ｃｏｍ",  # noqa: RUF001 - full-width letters are the point
        "mailto:alice%40example.com",
        "alice&#64;example.com",
        "moc.elpmaxe@ecila",
    ],
)
def test_a_value_is_seen_in_every_disguise(text: str) -> None:
    assert seen(EMAIL, text)


def test_a_value_is_seen_across_two_pages() -> None:
    assert seen(EMAIL, "write to alice@", "example.com soon")


def test_ligatures_are_letters() -> None:
    assert seen("office@example.com", "o\ufb03ce@example.com")


@pytest.mark.parametrize("value", ["أحمد محمد الفلاني", "山田太郎東京都千代田区", "Ελένη Παππά"])
def test_values_of_other_scripts_are_not_squashed_to_nothing(value: str) -> None:
    assert squash(value)
    assert seen(value, f"name {value} end")
    assert not seen(value, "name end")


def test_right_to_left_text_drawn_with_ligatures_is_read() -> None:
    assert seen("\u0627\u0644\u062e\u0637\u0648\u0637", "\u0637\ufeee\ufec4\ufccb\u0627")


def test_a_short_value_must_stand_as_a_word() -> None:
    assert seen("Bob", "signed by BOB.")
    assert not seen("Bob", "Bobbin lace")
    assert seen("A-7", "bay A 7, dock")
    assert not seen("A-7", "bay A 77, dock")


def test_a_value_without_letters_or_digits_is_unmeasurable_and_never_seen() -> None:
    search = ValueSearch(["--", EMAIL])

    assert search.unmeasurable == (0,)
    assert not search.whole([page("-- and --")])


def test_a_single_word_is_not_looked_for_among_the_words_of_the_file_format() -> None:
    names = Passage("names", "Filter FlateDecode", syntax=True)

    assert not ValueSearch(["Filter"]).whole([names])
    assert ValueSearch(["Filter"]).whole([page("the oil Filter")])


def test_an_address_is_looked_for_among_the_words_of_the_file_format() -> None:
    names = Passage("names", f"Type {EMAIL}", syntax=True)

    assert ValueSearch([EMAIL]).whole([names])


def test_look_alikes_count_only_in_text_that_ocr_read() -> None:
    misread = page("IBAN GB33 8UKB 2O2O l555 S555 55")

    assert ValueSearch(["GB33 BUKB 2020 1555 5555 55"], look_alikes=True).whole([misread])
    assert not ValueSearch(["GB33 BUKB 2020 1555 5555 55"]).whole([misread])


def test_half_a_value_remains() -> None:
    assert remains(EMAIL, f"mail {EMAIL}", "mail alice@e")
    assert remains(EMAIL, f"mail {EMAIL}", "mail xample.com")


def test_four_letters_do_not_remain() -> None:
    assert not remains(EMAIL, f"mail {EMAIL}", "mail alic")


def test_a_run_that_the_original_showed_elsewhere_is_no_remain() -> None:
    before = f"Example Freight, mail {EMAIL}"

    assert not remains(EMAIL, before, "Example Freight, mail")
    assert remains(EMAIL, before, "Example Freight, mail example")


def test_a_value_kept_whole_beside_others_is_a_remain_of_none_but_a_sighting() -> None:
    (sighting,) = ValueSearch(["bob@example.org", EMAIL]).whole([page(f"{EMAIL} {EMAIL}", 4)])

    assert sighting == Sighting(1, "page_text", 4, 2, whole=True)


def test_rows_name_kind_count_and_page_and_never_the_value() -> None:
    sightings = [
        Sighting(0, "page_text", 0, 2, whole=True),
        Sighting(0, "page_text", 2, 1, whole=True),
        Sighting(1, "page_text", 1, 1, whole=False),
        Sighting(1, "metadata", None, 1, whole=True),
    ]

    rows = judge(("page_text", "metadata", "names"), "reader", ["email", "iban"], sightings)

    assert [(row.channel, row.result, row.detail) for row in rows] == [
        (
            "page_text",
            ChannelResult.FOUND,
            "email: 3 times on pages 1, 3; iban: a part of a value on page 2",
        ),
        ("metadata", ChannelResult.FOUND, "iban: once"),
        ("names", ChannelResult.GONE, "no value was seen"),
    ]


def test_removal_is_proven_only_for_values_that_two_readers_saw_before() -> None:
    values = {EMAIL: "email", "GB33BUKB20201555555555": "iban"}

    enough = judge_control(values, {"one": (0, 1), "two": (0, 1)})
    too_few = judge_control(values, {"one": (0, 1), "two": (0,)})

    assert enough.result is ChannelResult.GONE
    assert too_few.result is ChannelResult.NOT_PROVEN
    assert "iban: 1" in too_few.detail
    assert "email" not in too_few.detail


def test_one_reader_that_saw_a_value_twice_is_one_reader() -> None:
    assert judge_control({EMAIL: "email"}, {"one": (0, 0)}).result is ChannelResult.NOT_PROVEN


def test_no_values_are_not_proven() -> None:
    assert judge_control({}, {"one": (), "two": ()}).result is ChannelResult.NOT_PROVEN


def test_short_values_are_left_in_place_when_the_original_is_read_for_runs_elsewhere() -> None:
    search = ValueSearch(["Bob", EMAIL])

    assert not search.remains([page(f"Bob {EMAIL}")], [page("Bob")])
