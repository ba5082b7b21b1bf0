"""What arrives, one model per event; payloads only grow, so unknown keys of a state are ignored.

Values stay out of error texts: they may be tokens or personal data (P10).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from no_undo.domain.errors import InvalidRequestError, NoUndoError
from no_undo.domain.pii import KINDS
from no_undo.domain.recipients import Recipient
from no_undo.domain.redaction import OnResidual, RedactionTarget, TargetType
from no_undo.domain.request import Assembly
from no_undo.entrypoint.http_requests import Caller
from no_undo.use_cases.close_request import Closing
from no_undo.use_cases.reassign_approver import Reassignment
from no_undo.use_cases.submit_request import Submission

MAX_PROMPT = 10_000
MAX_LITERALS = 100

T = TypeVar("T", bound=BaseModel)


def _every(kind: type[NoUndoError]) -> Iterator[type[NoUndoError]]:
    yield kind
    for special in kind.__subclasses__():
        yield from _every(special)


_CODES: Final[Mapping[str, str]] = {kind.__name__: kind.code for kind in _every(NoUndoError)}
"""Stable code of each of our errors by the name under which a state machine sees it."""


class _State(BaseModel):
    """Input of a state; executions of an older definition may carry less, never anything else."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    request_id: str = Field(alias="requestId", min_length=1)


class StageInput(_State):
    """Input of every stage that needs the request alone."""


class WaitInput(_State):
    """Input of a wait."""

    task_token: str = Field(alias="taskToken", min_length=1, repr=False)


class _Ending(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    outcome: str
    stage: str
    code: str = ""


class _Error(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    error: str = Field(default="", alias="Error")
    cause: str = Field(default="", alias="Cause", repr=False)


class CloseInput(_State):
    """Input of Close Request: how it ends, and the error that ended it, if one did."""

    ending: _Ending
    error: _Error | None = None

    def closing(self) -> Closing:
        """Return how the request ends.

        An ending that names a code of its own was decided by a rule: an error in the input is then
        an older one, of a state that went on. An error's sentence is kept only where it is one of
        ours; others may quote what they should not (P10).
        """
        by_error = self.ending.outcome in ("failed", "not_archived") and not self.ending.code
        error = self.error if by_error and self.error is not None else _Error()
        return Closing(
            outcome=self.ending.outcome,
            stage=self.ending.stage,
            code=self.ending.code or _CODES.get(error.error, error.error),
            reason=reason_of(error.cause) if error.error in _CODES else "",
        )


class _LambdaCause(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    error_message: str = Field(default="", alias="errorMessage")


def reason_of(cause: str) -> str:
    """Return the message inside a Lambda failure's cause, empty when there is none."""
    try:
        return _LambdaCause.model_validate_json(cause).error_message[:500]
    except ValidationError:
        return ""


class ResumeInput(BaseModel):
    """Direct call of Resume Execution by the sweep and by whoever settles a plan."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    plan_ids: tuple[str, ...] = Field(alias="planIds", max_length=100)


class _RecipientIn(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    name: str
    email: str


class _DocumentIn(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    invoice: dict[str, Any] | None = None
    upload_id: str = Field(default="", max_length=64)


def _known_kind(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError(f"must be one of {', '.join(KINDS)}")
    return kind


_Line = Annotated[str, Field(min_length=1, max_length=200)]
_Kind = Annotated[str, AfterValidator(_known_kind)]


class SubmitBody(BaseModel):
    """Body of `POST /requests`."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    prompt: str = Field(min_length=1, max_length=MAX_PROMPT)
    document: _DocumentIn
    recipients: list[_RecipientIn] = Field(default_factory=list[_RecipientIn], max_length=10)
    approvers: list[_Line] = Field(default_factory=list[str], max_length=20)
    quorum: int | None = Field(default=None, ge=1, le=20, strict=True)
    redact: list[_Kind] = Field(default_factory=list[str], max_length=20)
    redact_values: list[_Line] = Field(default_factory=list[str], max_length=MAX_LITERALS)
    redact_keep: list[_Line] = Field(default_factory=list[str], max_length=MAX_LITERALS)
    on_residual: OnResidual | None = None
    extraction: Literal["auto", "none"] = "auto"
    assembly: Literal["attach", "rebuild"] = "attach"
    repeat_of: str = Field(default="", max_length=100)

    def submission(self, caller: Caller) -> Submission:
        """Return the submission of an authenticated caller."""
        kinds = [RedactionTarget(TargetType.KIND, kind, kind) for kind in self.redact]
        values = [
            RedactionTarget(TargetType.LITERAL, value, "literal") for value in self.redact_values
        ]
        return Submission(
            tenant=caller.tenant,
            caller=caller.identity,
            prompt=self.prompt,
            invoice=self.document.invoice,
            upload_id=self.document.upload_id,
            recipients=tuple(
                Recipient(one.name, one.email, order)
                for order, one in enumerate(self.recipients, start=1)
            ),
            approvers=tuple(self.approvers),
            quorum=self.quorum or 0,
            redaction=(*kinds, *values),
            redact_keep=tuple(self.redact_keep),
            on_residual=self.on_residual,
            extraction=self.extraction == "auto",
            assembly=Assembly(self.assembly),
            repeat_of=self.repeat_of,
        )


class ReassignBody(BaseModel):
    """Body of `POST /requests/{id}/reassign`."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    approver: str = Field(min_length=1, max_length=254)
    to: str = Field(min_length=1, max_length=254)
    reason: str = Field(min_length=1, max_length=2_000)

    def reassignment(self) -> Reassignment:
        """Return what the caller asks for."""
        return Reassignment(approver=self.approver, to=self.to, reason=self.reason)


class StatementBody(BaseModel):
    """Body of an operator's decision."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    reason: str = Field(min_length=1, max_length=2_000)
    evidence: str = Field(default="", max_length=2_000)
    outcome: Literal["done", "not-done"] | None = None


def read_body(model: type[T], body: dict[str, Any]) -> T:
    """Read a body into its model.

    Raises:
        InvalidRequestError: Names the first field at fault and what it must be.
    """
    try:
        return model.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = _path(first["loc"])
        raise InvalidRequestError(f"{field or 'body'}: {first['msg']}.", field=field) from None


def _path(loc: tuple[int | str, ...]) -> str:
    path = ""
    for part in loc:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path
