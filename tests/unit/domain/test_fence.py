"""The fence's whole life; the numbers are those of the module's docstring."""

from __future__ import annotations

from dataclasses import replace

import pytest

from no_undo.domain.errors import FenceHeldError
from no_undo.domain.fence import Fence, check_fence, fence_key_of, free, mark_executed, take

FRESH = Fence("f" * 64)


def key(**changes: object) -> str:
    facts: dict[str, object] = {
        "tenant": "acme",
        "action_kind": "esign.send",
        "source_sha256": "d" * 64,
        "addresses": ["alice@example.com", "bob@example.com"],
    }
    return fence_key_of(**(facts | changes))  # type: ignore[arg-type]  # by name


def test_rule_1_the_key_does_not_depend_on_the_order_of_recipients() -> None:
    assert key() == key(addresses=["bob@example.com", "alice@example.com"])


@pytest.mark.parametrize(
    "changes",
    [
        {"tenant": "other"},
        {"action_kind": "esign.void"},
        {"source_sha256": "e" * 64},
        {"addresses": ["alice@example.com"]},
    ],
    ids=lambda one: next(iter(one)),
)
def test_rule_1_the_key_depends_on_each_of_its_parts(changes: dict[str, object]) -> None:
    assert key(**changes) != key()


def test_a_fence_that_nobody_took_lets_anybody_begin() -> None:
    check_fence(FRESH, "r1#1", "")


def test_p2_a_held_fence_refuses_another_plan_and_says_which_one_holds_it() -> None:
    with pytest.raises(FenceHeldError, match="r1#1") as caught:
        check_fence(take(FRESH, "r1#1"), "r2#1", "")

    assert caught.value.holder_plan_id == "r1#1"


def test_a_held_fence_lets_its_own_plan_begin_again() -> None:
    check_fence(take(FRESH, "r1#1"), "r1#1", "")


def test_p2_an_executed_fence_refuses_another_plan_for_good() -> None:
    executed = mark_executed(take(FRESH, "r1#1"), "r1#1")

    with pytest.raises(FenceHeldError) as caught:
        check_fence(executed, "r2#1", "")

    assert caught.value.holder_plan_id == "r1#1"


def test_rule_3_a_plan_that_declares_to_repeat_the_last_one_may_begin() -> None:
    check_fence(mark_executed(FRESH, "r1#1"), "r2#1", "r1#1")


def test_rule_3_two_repeats_of_one_plan_cannot_both_begin() -> None:
    first_repeat = mark_executed(take(mark_executed(FRESH, "r1#1"), "r2#1"), "r2#1")

    with pytest.raises(FenceHeldError):
        check_fence(first_repeat, "r3#1", "r1#1")


def test_rule_3_a_repeat_waits_while_another_repeat_is_in_doubt() -> None:
    held = take(mark_executed(FRESH, "r1#1"), "r2#1")

    with pytest.raises(FenceHeldError) as caught:
        check_fence(held, "r3#1", "r1#1")

    assert caught.value.holder_plan_id == "r2#1"


def test_freeing_lets_the_next_plan_begin() -> None:
    check_fence(free(take(FRESH, "r1#1"), "r1#1"), "r2#1", "")


def test_nobody_frees_a_fence_that_another_plan_holds() -> None:
    held = take(FRESH, "r1#1")

    assert free(held, "r2#1") == held


def test_marking_keeps_the_hold_of_another_plan() -> None:
    held = replace(FRESH, holder="r2#1")

    assert mark_executed(held, "r1#1") == Fence("f" * 64, "r2#1", "r1#1")
