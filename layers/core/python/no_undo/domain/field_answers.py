"""What an approver answers about single fields of a card, read before it counts.

Rules:
1. Every field that witnesses dispute is confirmed one by one before Approve counts; an approval of
   the whole card does not include them.
2. What is kept is the value that the card showed and the value that the approver stands for.
3. An error says what to do and never quotes a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from no_undo.domain.card import FIELD_CONFIRMED, Card, field_input_name
from no_undo.domain.plan import FieldAnswer, Verdict

CONFIRM_FIRST = "To approve, compare this value with the page and say that it is right."


@dataclass(frozen=True, slots=True)
class FieldAnswers:
    """What a form says about fields.

    Attributes:
        answers: One per field answered, in the card's order.
        errors: Input name to one sentence that says what to do.
    """

    answers: tuple[FieldAnswer, ...]
    errors: Mapping[str, str]


def read_answers(card: Card, entered: Mapping[str, str], decision: str) -> FieldAnswers:
    """Read the answers to a card's disputed fields.

    Args:
        card: As it is now; its digest is the caller's to compare.
        entered: Input name to what was entered.
        decision: What was decided, as posted.
    """
    answers: list[FieldAnswer] = []
    errors: dict[str, str] = {}
    for index, one in card.disputed_fields:
        name = field_input_name(index)
        if entered.get(name) == FIELD_CONFIRMED:
            answers.append(FieldAnswer(one.path, one.value, one.value))
        elif decision == Verdict.APPROVE:
            errors[name] = CONFIRM_FIRST
    return FieldAnswers(tuple(answers), errors)
