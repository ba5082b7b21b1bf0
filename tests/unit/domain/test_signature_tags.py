"""The text tags that mark where each recipient signs."""

from __future__ import annotations

import pytest

from no_undo.domain.signature_tags import find_signature_tags, signature_tag, tag_spans


@pytest.mark.parametrize("order", [1, 9, 10, 99])
def test_a_tag_is_found_again(order: int) -> None:
    assert find_signature_tags(f"before {signature_tag(order)} after") == (order,)


def test_a_tag_is_as_wide_as_its_underscores() -> None:
    assert signature_tag(2, underscores=4) == "${signfield:2:y:____}"


@pytest.mark.parametrize(
    "text",
    [
        "${sign\nfield:1:y:__\r\n__}",
        "$ { signfield : 1 : y : ____ }",
        "${sign\u00adfield:1:y:____}",
        "${signfield:1:y:Emp_Sig:________}",
        "${s:1:____}",
        "${s:1:y}",
    ],
)
def test_layout_does_not_break_a_tag(text: str) -> None:
    assert find_signature_tags(text) == (1,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "${signfield:1:y:____",
        "signfield:1:y:____}",
        "${signfield:0:y:____}",
        "${signfield:x:y:____}",
        "${datefield:1:y:Date:80:18}",
        "${initialfield:1:y:Init:______}",
    ],
)
def test_other_text_is_no_signature_tag(text: str) -> None:
    assert find_signature_tags(text) == ()


def test_tags_come_sorted_with_repeats() -> None:
    text = "${signfield:2:y:__} ${signfield:1:y:__} ${signfield:2:y:__}"

    assert find_signature_tags(text) == (1, 2, 2)


def test_a_span_covers_the_tag_as_it_stands() -> None:
    chars = list("Sign: ${sign field:1:y:__}, thanks")

    ((first, last),) = tag_spans(chars)

    assert "".join(chars[first : last + 1]) == "${sign field:1:y:__}"
