"""Which extracted fields may go on without a person, and why the others may not.

Rules:
1. Every field that was asked for, or answered, or cited gets exactly one route: the walk goes over
   the union of data, metadata and schema. A requested field that nobody answered goes to a
   person.
2. A field passes nine steps, first hit wins (`WALK`). The steps judge what the extraction service
   says about itself: one label and scores.
3. These scores are not several signals. In every recording the composite confidence is a fixed
   function of grounding and format, and grounding is a restatement of the label; recognition is
   the lowest word confidence of the whole source line. They can send a field to a person; they
   are never evidence that a value is right. (On 3 September 2026 the two wrong amounts of a page
   had its two highest recognition scores and added up.)
4. Evidence comes from witnesses, which look at something else than the service's opinion of
   itself. Each agrees, disagrees or cannot say.
5. Automatic means: the walk passes, at least one witness agrees and none disagrees. No witness
   means a person, whatever the floors are.
6. Floors are data with provenance (`floors`). Whether they are calibrated is worked out from
   evidence about whole documents read by the same engine; it cannot be typed in.
7. A reason is a sentence for an approver. It never contains a field's value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from no_undo.domain.floors import Floors

Scalar: TypeAlias = str | int | float | bool | None

MAX_DEPTH = 16
_LARGEST_PLACE: Final = 1e6  # further than any page reaches, in pixels or points


class FieldRoute(StrEnum):
    """Whether a field may stand without a person."""

    AUTO = "auto"
    HUMAN = "human"


class WitnessSays(StrEnum):
    """What one witness says about one value."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    CANNOT_SAY = "cannot say"


@dataclass(frozen=True, slots=True)
class WitnessResult:
    """What one witness, by name, says about one field."""

    name: str
    says: WitnessSays


@dataclass(frozen=True, slots=True)
class Place:
    """A box on a page, origin top left, in the units of whoever measured it.

    Attributes:
        page_index: From 0.
        x: Left edge.
        y: Upper edge.
        width: Of the box.
        height: Of the box.
    """

    page_index: int
    x: float
    y: float
    width: float
    height: float

    def scaled(self, factor: float) -> Place:
        """Return the same box in other units."""
        sides = (self.x * factor, self.y * factor, self.width * factor, self.height * factor)
        return Place(self.page_index, *sides)


@dataclass(frozen=True, slots=True)
class ExtractedField:
    """One field as answered: a value joined with its citation.

    Attributes:
        path: Dotted, list places in brackets: `line_items[0].quantity`.
        value: The value; None when it is null, absent or no scalar.
        answered: True when `data` has the field, null included.
        citation: Its node in `metadata`, empty when there is none.
        is_date: True when the schema asks for a date.
        asked_type: The schema's `type`, empty when the field was not asked for.
    """

    path: str
    value: Scalar
    answered: bool
    citation: Mapping[str, object]
    is_date: bool = False
    asked_type: str = ""

    @property
    def label(self) -> str | None:
        """The match label, None when it is no text."""
        label = self.citation.get("match")
        return label if isinstance(label, str) else None

    @property
    def confidence(self) -> float | None:
        """The composite confidence, 0 to 1; None when there is no number."""
        score = _number(self.citation.get("confidence"))
        return None if score is None else _in_range(score)

    @property
    def grounding(self) -> float | None:
        """How well the value is tied to a place, 0 to 1; None when absent."""
        components = self.citation.get("confidenceComponents")
        if not isinstance(components, Mapping):
            return None
        return _score(cast("Mapping[str, object]", components).get("groundingScore"))

    @property
    def recognition(self) -> float | None:
        """Lowest word confidence of the source line, 0 to 1; None when absent."""
        return _score(self.citation.get("recognitionScore"))

    @property
    def place(self) -> Place | None:
        """Where the citation says that the value stands; None without a page and a box."""
        page_index = self.citation.get("pageIndex")
        box = self.citation.get("bbox")
        if type(page_index) is not int or page_index < 0 or not isinstance(box, Mapping):
            return None
        sides = [
            _size(cast("Mapping[str, object]", box).get(key))
            for key in ("x", "y", "width", "height")
        ]
        known = [side for side in sides if side is not None]
        return Place(page_index, *known) if len(known) == len(sides) else None


class Witness(Protocol):
    """Looks at the fields from outside the extraction service's own scores."""

    @property
    def name(self) -> str:
        """Short name for the card, for example `text layer`."""
        ...

    def testify(self, fields: Sequence[ExtractedField]) -> Mapping[str, WitnessSays]:
        """Return what it says by path; a path left out means it cannot say."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """One row of the walk: when it hits, the field goes to a person.

    Attributes:
        number: 1 to 9.
        hits: The condition.
        reason: What the approver reads.
    """

    number: int
    hits: Callable[[ExtractedField, Floors], bool]
    reason: Callable[[ExtractedField, Floors], str]


_REVIEWED_LABELS: Final = {
    "fuzzy_match": "The value is close to the text in the document, but not the same.",
    "not_found": "The value could not be found in the document.",
    "id_match_partial": "Only a part of the value could be found in the document.",
}
_EXACT_LABELS: Final = frozenset({"id_match", "id_match_multiblock"})
MISREAD: Final = "The text may be misread"

WALK: Final[tuple[Step, ...]] = (
    Step(1, lambda f, _: f.label is None, lambda f, _: _no_label(f)),
    Step(2, lambda f, _: f.label in _REVIEWED_LABELS, lambda f, _: _reviewed_label(f)),
    Step(
        3,
        lambda f, _: f.label not in _EXACT_LABELS,
        lambda _f, _: "The extraction used a match label that this system does not know.",
    ),
    Step(
        4,
        lambda f, _: not f.answered,
        lambda _f, _: "The extraction says it found the field, but gave no value.",
    ),
    Step(
        5,
        lambda f, _: f.confidence is None,
        lambda _f, _: "The extraction gave no confidence, which says neither yes nor no.",
    ),
    Step(
        6,
        lambda f, limit: _below(f.confidence, limit.confidence),
        lambda f, limit: (
            f"The extraction's confidence {f.confidence:.3f} is below {limit.confidence:.3f}."
        ),
    ),
    Step(
        7,
        lambda f, limit: _below(f.grounding, limit.grounding),
        lambda f, limit: (
            f"The value looks inferred, not read: grounding {f.grounding:.3f} is below "
            f"{limit.grounding:.3f}."
        ),
    ),
    Step(
        8,
        lambda f, limit: _below(f.recognition, limit.recognition),
        lambda f, limit: (
            f"{MISREAD}: recognition {f.recognition:.3f} is below {limit.recognition:.3f}."
        ),
    ),
    Step(
        9,
        lambda f, limit: f.recognition is None and limit.recognition_required,
        lambda _f, _: "How well the text was recognised was not measured.",
    ),
)


@dataclass(frozen=True, slots=True)
class RoutedField:
    """One field with its route.

    Attributes:
        path: As in `ExtractedField`.
        value: As in `ExtractedField`.
        route: Automatic or a person.
        step: Step of the walk that sent it to a person, None when it passed all nine.
        witnesses: What every witness says.
        reason: A sentence for an approver, without the value.
        place: Where it was read, in the answer's units; None when the answer does not say.
    """

    path: str
    value: Scalar
    route: FieldRoute
    step: int | None
    witnesses: tuple[WitnessResult, ...]
    reason: str
    place: Place | None = None

    @property
    def disputed(self) -> bool:
        """True when at least one witness disagrees: a person answers for this field by itself."""
        return any(one.says is WitnessSays.DISAGREES for one in self.witnesses)


@dataclass(frozen=True, slots=True)
class Routing:
    """Every field of one document.

    Attributes:
        fields: In schema order, then what was answered or cited without being asked for.
        calibrated: Whether the floors are calibrated for the engine that answered.
    """

    fields: tuple[RoutedField, ...]
    calibrated: bool

    @property
    def passed_walk(self) -> int:
        """How many fields passed all nine steps, whatever witnesses say."""
        return sum(field.step is None for field in self.fields)

    @property
    def caught_by_recognition(self) -> int:
        """How many fields only the recognition floor sent to a person."""
        return sum(field.reason.startswith(MISREAD) for field in self.fields)

    def as_json(self) -> dict[str, object]:
        """Return the shape that `no-undo route` prints."""
        return {
            "fields": [
                {
                    "path": field.path,
                    "value": field.value,
                    "route": field.route.value,
                    "step": field.step,
                    "witnesses": [
                        {"name": one.name, "says": one.says.value} for one in field.witnesses
                    ],
                    "reason": field.reason,
                }
                for field in self.fields
            ],
            "calibrated": self.calibrated,
        }


def route_fields(  # noqa: PLR0913 - the three trees are one answer
    data: Mapping[str, object],
    metadata: Mapping[str, object],
    schema: Mapping[str, object],
    *,
    floors: Floors,
    witnesses: Sequence[Witness] = (),
    fingerprint: str = "",
) -> Routing:
    """Route every field of one extraction answer.

    Args:
        data: `output.data`.
        metadata: `output.metadata`.
        schema: The schema that was asked with (`extraction_schema`).
        floors: Limits of the walk.
        witnesses: Who may testify; without any, every field goes to a person.
        fingerprint: Of the answer, for `calibrated`.
    """
    fields = extracted_fields(data, metadata, schema)
    said = heard(fields, witnesses)
    return Routing(
        tuple(route_field(field, floors, said[field.path]) for field in fields),
        floors.calibrated(fingerprint),
    )


def heard(
    fields: Sequence[ExtractedField], witnesses: Sequence[Witness]
) -> Mapping[str, tuple[WitnessResult, ...]]:
    """Return what every witness says about every field, by path."""
    said = [(witness.name, witness.testify(fields)) for witness in witnesses]
    return {field.path: _results(said, field.path) for field in fields}


def route_field(
    field: ExtractedField, floors: Floors, witnesses: Sequence[WitnessResult] = ()
) -> RoutedField:
    """Route one field by the walk and the witnesses (rule 5)."""
    step = next((row for row in WALK if row.hits(field, floors)), None)
    agreeing = [one.name for one in witnesses if one.says is WitnessSays.AGREES]
    disagreeing = [one.name for one in witnesses if one.says is WitnessSays.DISAGREES]
    automatic = step is None and bool(agreeing) and not disagreeing
    return RoutedField(
        path=field.path,
        value=field.value,
        route=FieldRoute.AUTO if automatic else FieldRoute.HUMAN,
        step=step.number if step else None,
        witnesses=tuple(witnesses),
        reason=_reason(step.reason(field, floors) if step else "", agreeing, disagreeing),
        place=field.place,
    )


def withdraw_auto(routing: Routing, why: str) -> Routing:
    """Send every automatic field to a person: drift, no calibration, or policy.

    Args:
        routing: A finished routing.
        why: A sentence for the approver.
    """
    fields = tuple(
        replace(field, route=FieldRoute.HUMAN, reason=why)
        if field.route is FieldRoute.AUTO
        else field
        for field in routing.fields
    )
    return replace(routing, fields=fields)


def leaves_open(fields: Sequence[ExtractedField], witnesses: Sequence[Witness]) -> bool:
    """Say whether some value has no witness that speaks for or against it."""
    spoken = {
        path
        for witness in witnesses
        for path, says in witness.testify(fields).items()
        if says is not WitnessSays.CANNOT_SAY
    }
    return any(field.value is not None and field.path not in spoken for field in fields)


def extracted_fields(
    data: Mapping[str, object], metadata: Mapping[str, object], schema: Mapping[str, object]
) -> tuple[ExtractedField, ...]:
    """Return every field of the union of data, metadata and schema, each path once (rule 1)."""
    return tuple(_visit("", _Node(data, metadata, schema), 0))


# --- The walk's words ------------------------------------------------------------------------


def _no_label(field: ExtractedField) -> str:
    if not field.citation and not field.answered:
        return "The extraction did not answer this field."
    return "The extraction did not say where it found the value."


def _reviewed_label(field: ExtractedField) -> str:
    reason = _REVIEWED_LABELS[field.label or ""]
    return reason if field.answered else f"{reason} The extraction gave none."


def _reason(step: str, agreeing: Sequence[str], disagreeing: Sequence[str]) -> str:
    if disagreeing:
        against = f"Independent evidence disagrees with it: {', '.join(disagreeing)}."
        return f"{step} {against}" if step else against
    if step:
        return step
    if agreeing:
        return (
            f"Found in the document and confirmed by independent evidence: {', '.join(agreeing)}."
        )
    return "Found in the document, but no independent evidence confirms the value."


def _results(
    said: Sequence[tuple[str, Mapping[str, WitnessSays]]], path: str
) -> tuple[WitnessResult, ...]:
    return tuple(WitnessResult(name, says.get(path, WitnessSays.CANNOT_SAY)) for name, says in said)


# --- Scores ----------------------------------------------------------------------------------


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= 1 else math.inf


def _size(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= _LARGEST_PLACE else None


def _in_range(score: float) -> float:
    # A score outside 0 to 1 (a percentage, infinity, not a number) has another meaning than the
    # floors: it counts as the worst.
    return score if 0 <= score <= 1 else 0.0


def _score(value: object) -> float | None:
    """An absent score is None; one that cannot be read counts as the worst."""
    if value is None:
        return None
    number = _number(value)
    return 0.0 if number is None else _in_range(number)


def _below(score: float | None, limit: float) -> bool:
    return score is not None and score < limit


# --- The union -------------------------------------------------------------------------------


class _Absent:
    """Marks a node that one of the three trees does not have."""


_ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True)
class _Node:
    """One place in the three trees."""

    data: object
    metadata: object
    schema: object

    def member(self, key: str) -> _Node:
        return _Node(
            _member(self.data, key),
            _member(self.metadata, key),
            _member(_properties(self.schema), key),
        )

    def item(self, index: int) -> _Node:
        return _Node(
            _item(self.data, index), _item(self.metadata, index), _member(self.schema, "items")
        )

    def names(self) -> tuple[str, ...]:
        """Every member in schema order, then data, then metadata."""
        cited = () if _is_citation(self.metadata) else _keys(self.metadata)
        requested = _keys(_properties(self.schema))
        return tuple(dict.fromkeys((*requested, *_keys(self.data), *cited)))

    def length(self) -> int:
        return max(_length(self.data), _length(self.metadata))

    def asks_for(self, *types: str) -> bool:
        return _member(self.schema, "type") in types


def _visit(path: str, node: _Node, depth: int) -> Iterator[ExtractedField]:
    if depth > MAX_DEPTH:
        yield _leaf(path, _Node(_ABSENT, _ABSENT, _ABSENT))
    elif _is_leaf(node):
        yield _leaf(path, node)
    else:
        yield from _visit_below(path, node, depth)


def _visit_below(path: str, node: _Node, depth: int) -> Iterator[ExtractedField]:
    """Visit items and members; an object that was asked for keeps its members beside a list."""
    items = node.length()
    members = node.names() if items == 0 or node.asks_for("object") else ()
    for index in range(items):
        yield from _visit(f"{path}[{index}]", node.item(index), depth + 1)
    for name in members:
        yield from _visit(_joined(path, name), node.member(name), depth + 1)
    if path and not items and not members:
        yield _leaf(path, node)


def _is_leaf(node: _Node) -> bool:
    """Return True where one route is due for the whole node."""
    # What was asked for as one value is one field, whatever was answered in its place.
    if node.asks_for("string", "number", "integer", "boolean"):
        return True
    if node.asks_for("array"):
        return node.length() == 0
    return _is_citation(node.metadata) and not isinstance(node.data, Mapping | list)


def _joined(path: str, name: str) -> str:
    if not name or set(name) & set('.[]"'):
        # Quoted, so that no two places of the trees share a path.
        return f"{path}[{json.dumps(name)}]"
    return f"{path}.{name}" if path else name


def _leaf(path: str, node: _Node) -> ExtractedField:
    scalar = isinstance(node.data, str | int | float | bool)
    return ExtractedField(
        path=path,
        value=cast("Scalar", node.data) if scalar else None,
        answered=node.data is not _ABSENT,
        citation=cast("Mapping[str, object]", node.metadata) if _is_citation(node.metadata) else {},
        is_date=_member(node.schema, "format") == "date",
        asked_type=asked if isinstance(asked := _member(node.schema, "type"), str) else "",
    )


def _is_citation(node: object) -> bool:
    """Return True for a node with any citation key of the citation's own type.

    The type tells a citation from an object whose fields are called `match` or `confidence`.
    """
    if not isinstance(node, Mapping):
        return False
    members = cast("Mapping[str, object]", node)
    return (
        isinstance(members.get("match"), str)
        or _number(members.get("confidence")) is not None
        or isinstance(members.get("source_bboxes"), list)
        or any(
            isinstance(members.get(key), Mapping) and not _is_citation(members.get(key))
            for key in ("bbox", "confidenceComponents")
        )
    )


def _member(tree: object, key: str) -> object:
    return (
        cast("Mapping[str, object]", tree).get(key, _ABSENT)
        if isinstance(tree, Mapping)
        else _ABSENT
    )


def _item(tree: object, index: int) -> object:
    if isinstance(tree, list) and index < len(cast("list[object]", tree)):
        return cast("list[object]", tree)[index]
    return _ABSENT


def _properties(schema: object) -> object:
    return _member(schema, "properties")


def _keys(tree: object) -> Sequence[str]:
    return tuple(cast("Mapping[str, object]", tree)) if isinstance(tree, Mapping) else ()


def _length(tree: object) -> int:
    return len(cast("list[object]", tree)) if isinstance(tree, list) else 0
