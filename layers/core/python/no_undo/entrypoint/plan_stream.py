"""Changes of plans as Resume Execution gets them: from the table's stream, or by plan id."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from no_undo.domain.errors import NoUndoError
from no_undo.entrypoint.inputs import ResumeInput
from no_undo.entrypoint.observability import logger


class _Text(BaseModel):
    s: str = Field(alias="S")


class _Keys(BaseModel):
    plan_id: _Text


class _Change(BaseModel):
    keys: _Keys = Field(alias="Keys")
    sequence_number: str = Field(alias="SequenceNumber")


class _Record(BaseModel):
    model_config = ConfigDict(extra="ignore")

    dynamodb: _Change


@dataclass(frozen=True, slots=True)
class PlanChange:
    """One plan to look at; `position` is its place in the stream, empty for a direct call."""

    plan_id: str
    position: str


def plan_changes(event: dict[str, Any]) -> tuple[PlanChange, ...]:
    """Return the plans to look at, in order, each once."""
    if "Records" not in event:
        asked = ResumeInput.model_validate(event)
        return tuple(PlanChange(one, "") for one in asked.plan_ids)
    records = [_Record.model_validate(one).dynamodb for one in event["Records"]]
    newest = {one.keys.plan_id.s: one.sequence_number for one in records}
    return tuple(PlanChange(plan_id, position) for plan_id, position in newest.items())


def failures_answer(
    changes: tuple[PlanChange, ...], look: Callable[[str], object]
) -> dict[str, Any]:
    """Look at every plan; report the ones that failed, so that they are delivered again.

    Lambda delivers again everything from the first reported position on: a look may be repeated.

    Raises:
        NoUndoError: A directly asked plan failed; the sweep asks again.
    """
    failed: list[dict[str, str]] = []
    for change in changes:
        try:
            look(change.plan_id)
        except NoUndoError as error:
            logger.warning("a plan could not be resumed", plan=change.plan_id, code=error.code)
            if not change.position:
                raise
            failed.append({"itemIdentifier": change.position})
    return {"batchItemFailures": failed}
