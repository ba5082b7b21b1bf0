"""What an approver answers about single fields of a card, read before it counts.

Rules:
1. Every field that witnesses dispute, or that somebody has corrected, is confirmed one by one
   before Approve counts; an approval of the whole card does not include them.
2. Whoever corrects a value decides "correct", never "approve": what they would approve is another
   document. A correction says something else than the card.
3. Where the document cannot be made again nothing can be corrected; the card says so.
4. What is kept is the value that the card showed and the value that the approver stands for.
5. An error says what to do and never quotes a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from no_undo.domain.card import (
    FIELD_CONFIRMED,
    FIELD_CORRECTED,
    Card,
    CardField,
    Choice,
    FormInput,
    correction_input_name,
    field_input_name,
)
from no_undo.domain.corrections import corrected_value
from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.plan import FieldAnswer, Verdict

CONFIRM_FIRST = "To approve, compare this value with the page and say that it is right."
CHOOSE_CORRECT = (
    "You say that a value is wrong. Choose Correct: the document is then made again, and everybody "
    "is asked again."
)
NOTHING_CORRECTED = "To correct, say which value is wrong and write the right one."
CANNOT_CORRECT = (
    "This document is sent as it was submitted, so no value in it can be corrected here. If one is "
    "wrong, reject and say which."
)
SAME_VALUE = "This is the value that is shown. If it is right, say so instead."


@dataclass(frozen=True, slots=True)
class FieldAnswers:
    """What a form says about fields.

    Attributes:
        answers: One per field answered, in the card's order.
        errors: Input name to one sentence that says what to do.
    """

    answers: tuple[FieldAnswer, ...]
    errors: Mapping[str, str]

    @property
    def corrected(self) -> tuple[FieldAnswer, ...]:
        """The answers that say another value."""
        return tuple(one for one in self.answers if one.new != one.old)


def read_answers(card: Card, entered: Mapping[str, str], decision: str) -> FieldAnswers:
    """Read the answers to a card's fields.

    Args:
        card: As it is now; its digest is the caller's to compare.
        entered: Input name to what was entered.
        decision: What was decided, as posted.
    """
    answers: list[FieldAnswer] = []
    errors: dict[str, str] = {}
    for index, one in enumerate(card.fields):
        try:
            answer = _answer(one, index, entered, allowed=card.corrections_allowed)
        except InvalidRequestError as error:
            errors[correction_input_name(index)] = str(error)
            continue
        if answer is not None:
            answers.append(answer)
        elif one.to_answer and decision == Verdict.APPROVE:
            errors[field_input_name(index)] = CONFIRM_FIRST
    said = FieldAnswers(tuple(answers), errors)
    match decision:
        case Verdict.APPROVE | Verdict.CORRECT:
            return FieldAnswers(said.answers, {**errors, **_decision_error(card, said, decision)})
        case _:
            # Whoever rejects, asks or hands over says nothing about single fields.
            return FieldAnswers((), {})


def _decision_error(card: Card, said: FieldAnswers, decision: str) -> dict[str, str]:
    if decision == Verdict.APPROVE:
        return {FormInput.DECISION: CHOOSE_CORRECT} if said.corrected else {}
    if Choice.CORRECT not in card.choices:
        return {FormInput.DECISION: CANNOT_CORRECT}
    nothing = not said.corrected and not said.errors
    return {FormInput.DECISION: NOTHING_CORRECTED} if nothing else {}


def _answer(
    one: CardField, index: int, entered: Mapping[str, str], *, allowed: bool
) -> FieldAnswer | None:
    """Return what was answered about one field, or None when nothing was.

    Raises:
        InvalidRequestError: The corrected value cannot be taken; says why.
    """
    said = entered.get(field_input_name(index), "")
    typed = entered.get(correction_input_name(index), "")
    if one.to_answer:
        if said == FIELD_CONFIRMED:
            return FieldAnswer(one.path, one.value, one.value)
        corrects = said == FIELD_CORRECTED
    else:
        corrects = bool(typed.strip())
    if not corrects or not allowed or one.shape is None:
        return None
    value = corrected_value(typed, one.shape)
    if value == one.value:
        raise InvalidRequestError(SAME_VALUE)
    return FieldAnswer(one.path, one.value, value)
