"""The fault switches: what a vendor call does instead of behaving.

A behaviour is a pair: what happens to the effect, and what the caller gets to see. A few more
belong to one route and are read by that route's handler.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo

from local.sandbox.store import Store

VENDOR_ROUTES = "vendor_routes"
"""Key of the validation context that lists the route names there are."""

_COLLECTION = "faults"


def _known_route(route: str, info: ValidationInfo) -> str:
    context: dict[str, frozenset[str]] = info.context or {}
    known = context.get(VENDOR_ROUTES)
    if known is not None and route not in known:
        raise ValueError(f"no such route; there are {', '.join(sorted(known))}")
    return route


RouteName = Annotated[str, AfterValidator(_known_route)]
"""Name of a vendor route, such as `sendDraftFolder` or `pdf/task`."""


class Behaviour(StrEnum):
    """Every switch by the name that `PUT /_sandbox/faults` takes."""

    ACCEPT_AND_DROP = "accept_and_drop"
    DROP_WITHOUT_EFFECT = "drop_without_effect"
    ACCEPT_AND_502 = "accept_and_502"
    NO_EFFECT_502 = "502_without_effect"
    ERROR_RESULT_WITH_EFFECT = "error_result_with_effect"
    SUCCESS_WITHOUT_EFFECT = "success_without_effect"
    LATE_EFFECT = "late_effect"
    LATE_EFFECT_SILENT = "late_effect_silent"
    HTML_200 = "html_200"
    HTML_200_WITH_EFFECT = "html_200_with_effect"
    WRONG_SHAPE = "wrong_shape"
    WRONG_SHAPE_WITH_EFFECT = "wrong_shape_with_effect"
    EDGE_REFUSAL = "edge_refusal"
    THROTTLED = "throttled"
    SLOW_ANSWER = "slow_answer"
    # eSign: read by one route's handler
    STATUS_LAGS = "status_lags"
    UNKNOWN_STATUS = "unknown_status"
    CONTRADICTING_HISTORY = "contradicting_history"
    # PDF Services: read by one route's handler
    TASK_FAILS = "task_fails"
    TASK_NEVER_ENDS = "task_never_ends"
    NO_RESULT_DOCUMENT = "no_result_document"


class Effect(Enum):
    """What happens to the work that the call asks for."""

    NOW = auto()
    NONE = auto()
    LATE = auto()


class Answer(Enum):
    """What the caller gets to see."""

    NORMAL = auto()
    DROP = auto()
    SILENCE = auto()
    HTTP_ERROR = auto()
    ERROR_RESULT = auto()
    SUCCESS = auto()
    HTML = auto()
    WRONG_SHAPE = auto()
    EDGE_REFUSAL = auto()
    THROTTLED = auto()
    SLOW = auto()


@dataclass(frozen=True, slots=True)
class Course:
    """How one call runs: its effect, then its answer."""

    effect: Effect
    answer: Answer


WELL_BEHAVED = Course(Effect.NOW, Answer.NORMAL)

_COURSES = {
    Behaviour.ACCEPT_AND_DROP: Course(Effect.NOW, Answer.DROP),
    Behaviour.DROP_WITHOUT_EFFECT: Course(Effect.NONE, Answer.DROP),
    Behaviour.ACCEPT_AND_502: Course(Effect.NOW, Answer.HTTP_ERROR),
    Behaviour.NO_EFFECT_502: Course(Effect.NONE, Answer.HTTP_ERROR),
    Behaviour.ERROR_RESULT_WITH_EFFECT: Course(Effect.NOW, Answer.ERROR_RESULT),
    Behaviour.SUCCESS_WITHOUT_EFFECT: Course(Effect.NONE, Answer.SUCCESS),
    Behaviour.LATE_EFFECT: Course(Effect.LATE, Answer.DROP),
    Behaviour.LATE_EFFECT_SILENT: Course(Effect.LATE, Answer.SILENCE),
    Behaviour.HTML_200: Course(Effect.NONE, Answer.HTML),
    Behaviour.HTML_200_WITH_EFFECT: Course(Effect.NOW, Answer.HTML),
    Behaviour.WRONG_SHAPE: Course(Effect.NONE, Answer.WRONG_SHAPE),
    Behaviour.WRONG_SHAPE_WITH_EFFECT: Course(Effect.NOW, Answer.WRONG_SHAPE),
    Behaviour.EDGE_REFUSAL: Course(Effect.NONE, Answer.EDGE_REFUSAL),
    Behaviour.THROTTLED: Course(Effect.NONE, Answer.THROTTLED),
    Behaviour.SLOW_ANSWER: Course(Effect.NOW, Answer.SLOW),
}


def _some_other_api() -> dict[str, Any]:
    return {"status": "ok", "data": []}


class Fault(BaseModel):
    """One armed switch.

    Attributes:
        route: The calls it acts on.
        behaviour: What to do.
        times: How many matching calls it acts on; None for all of them.
        skip: How many matching calls pass unharmed first.
        folder: Only calls about this folder; None for any.
        seconds: Length of the lag, delay or silence, where the behaviour has one.
        http_status: Status of the answer where the behaviour is an HTTP error.
        status_text: Folder status to show, for `unknown_status`.
        body: JSON to answer, for `wrong_shape`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    route: RouteName
    behaviour: Behaviour
    times: int | None = Field(default=1, ge=0)
    skip: int = Field(default=0, ge=0)
    folder: int | None = None
    seconds: float = Field(default=0.0, ge=0.0, le=3600.0)
    http_status: int = Field(default=502, ge=400, le=599)
    status_text: str = "IN_PROGRESS"
    body: Any = Field(default_factory=_some_other_api)

    @property
    def course(self) -> Course:
        """How the call runs; well behaved where the route's handler does the misbehaving."""
        return _COURSES.get(self.behaviour, WELL_BEHAVED)

    def used_once(self) -> Fault:
        """Return this switch as it stands after one more matching call."""
        if self.skip:
            return self.model_copy(update={"skip": self.skip - 1})
        times = None if self.times is None else self.times - 1
        return self.model_copy(update={"times": times})


class Faults:
    """The armed switches, in the order in which they were set; kept over a restart."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def replace(self, faults: list[Fault]) -> None:
        """Arm exactly these."""
        with self._store.transaction():
            self._store.clear_collection(_COLLECTION)
            for fault in faults:
                self._store.add(_COLLECTION, fault.model_dump(mode="json"))

    def armed(self) -> list[Fault]:
        """Return what is still armed, with the calls that are left."""
        return [Fault.model_validate(data) for _, data in self._store.all(_COLLECTION)]

    def take(self, route: str, folder: int | None = None) -> Fault | None:
        """Use up one call of the first switch that matches; None when the call may behave."""
        with self._store.transaction():
            for number, data in self._store.all(_COLLECTION):
                fault = Fault.model_validate(data)
                if fault.route != route or fault.folder not in (None, folder):
                    continue
                if fault.times == 0:
                    continue
                self._store.put(_COLLECTION, number, fault.used_once().model_dump(mode="json"))
                return None if fault.skip else fault
        return None
