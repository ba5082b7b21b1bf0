"""The `instructions` part of each route as typed models, and its refusal by path."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from local.sandbox.nutrient.errors import BadRequestError

_MAX_ACTIONS = 200
_MAX_PATTERN = 4096


class _Instructions(BaseModel):
    """Keys the service does not know are ignored, as the vendor does."""

    model_config = ConfigDict(extra="ignore", frozen=True, alias_generator=to_camel)


class ParseConfig(_Instructions):
    """How the document is read before fields are looked up; `text` is refused here."""

    mode: Literal["structure", "understand", "agentic"] = "understand"


class ExtractOptions(_Instructions):
    """Options of extract; without citations `metadata` is empty."""

    include_citations: bool = True


class ExtractInstructions(_Instructions):
    """`POST /extraction/extract`. The schema is checked in `schema.py`."""

    schema_: dict[str, Any] = Field(alias="schema")
    parse_config: ParseConfig = ParseConfig()
    options: ExtractOptions = ExtractOptions()


class ParseOutput(_Instructions):
    """What parse answers: elements with places, or Markdown."""

    format: Literal["spatial", "markdown"] | None = None
    include_words: bool = False


class ParseInstructions(_Instructions):
    """`POST /extraction/parse`: at the top level; `parseConfig` belongs to the other route."""

    mode: Literal["text", "structure", "understand", "agentic"] = "understand"
    output: ParseOutput = ParseOutput()


class StrategyOptions(_Instructions):
    """What and where to redact; the key named like the strategy is the one that counts."""

    text: str | None = Field(default=None, min_length=1, max_length=_MAX_PATTERN)
    regex: str | None = Field(default=None, min_length=1, max_length=_MAX_PATTERN)
    preset: str | None = None
    case_sensitive: bool | None = None
    include_annotations: bool = True
    start: int = Field(default=0, ge=0)
    limit: int | None = Field(default=None, ge=0)


class CreateRedactions(_Instructions):
    """Marks what matches."""

    type: Literal["createRedactions"]
    strategy: Literal["text", "regex", "preset"]
    strategy_options: StrategyOptions


class ApplyRedactions(_Instructions):
    """Removes what is marked."""

    type: Literal["applyRedactions"]


class FilePart(_Instructions):
    """One input document, by the name of its multipart part."""

    file: str


class BuildInstructions(_Instructions):
    """`POST /build`, as far as redaction needs it: one document, redaction actions."""

    parts: list[FilePart] = Field(min_length=1, max_length=1)
    actions: list[CreateRedactions | ApplyRedactions] = Field(default=[], max_length=_MAX_ACTIONS)


_Model = TypeVar("_Model", bound=_Instructions)


def read(model: type[_Model], instructions: object) -> _Model:
    """Return the instructions as a model.

    Raises:
        BadRequestError: Names the first path that is wrong, never the value found there.
    """
    try:
        return model.model_validate(instructions)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        path = ".".join(str(step) for step in first["loc"])
        raise BadRequestError(first["msg"], path=path or "instructions") from error
