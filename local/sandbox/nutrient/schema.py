"""Checks an extraction schema against the vendor's JSON-Schema subset and its limits.

Source: vendor documentation as of 21 September 2026 (limits) and live refusals (vocabulary).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from local.sandbox.nutrient.errors import BadRequestError

_MAX_BYTES = 128 * 1024
_MAX_FIELDS = 2000
_MAX_PROPERTIES = 200
_MAX_DESCRIPTION = 4096
_MAX_DEPTH = 20
_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array"})
_KEYS = frozenset({"type", "properties", "items", "required", "description", "format"})


def check_schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema if the service takes it.

    Raises:
        BadRequestError: Names the failing path and what is wrong there.
    """
    if schema.get("type", "object") != "object":
        raise BadRequestError("schema must be an object schema", path="schema")
    if len(json.dumps(schema)) > _MAX_BYTES:
        raise BadRequestError(f"schema is larger than {_MAX_BYTES} bytes", path="schema")
    if not schema.get("properties"):
        raise BadRequestError("schema has no properties", path="schema.properties")
    if sum(1 for _ in _walk(schema, "schema", 0)) > _MAX_FIELDS:
        raise BadRequestError(f"schema has more than {_MAX_FIELDS} fields", path="schema")
    return schema


def _walk(node: object, path: str, depth: int) -> Iterator[str]:
    spec = _object(node, path)
    if depth > _MAX_DEPTH:
        raise BadRequestError(f"nested deeper than {_MAX_DEPTH}", path=path)
    _check_keys(spec, path)
    yield path
    for name, inner in _properties(spec, path).items():
        yield from _walk(inner, f"{path}.properties.{name}", depth + 1)
    if spec.get("type") == "array":
        yield from _walk(spec.get("items"), f"{path}.items", depth + 1)


def _object(node: object, path: str) -> Mapping[str, Any]:
    if not isinstance(node, Mapping):
        raise BadRequestError("must be an object", path=path)
    return cast("Mapping[str, Any]", node)


def _properties(spec: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    properties = _object(spec.get("properties", {}), f"{path}.properties")
    if len(properties) > _MAX_PROPERTIES:
        raise BadRequestError(f"more than {_MAX_PROPERTIES} properties", path=path)
    required: object = spec.get("required", [])
    if not isinstance(required, list):
        raise BadRequestError("must be a list of names", path=f"{path}.required")
    names = cast("list[object]", required)
    if not all(isinstance(name, str) and name in properties for name in names):
        raise BadRequestError("names a property that is not there", path=f"{path}.required")
    return properties


def _check_keys(node: Mapping[str, Any], path: str) -> None:
    for key in node:
        if key not in _KEYS:
            raise BadRequestError("keyword is not supported", path=f"{path}.{key}")
    kind = node.get("type", "object" if "properties" in node else None)
    if kind not in _TYPES:
        raise BadRequestError("type is missing or not supported", path=f"{path}.type")
    if "format" in node and (kind != "string" or node["format"] != "date"):
        raise BadRequestError("only strings take a format, and only date", path=f"{path}.format")
    description = node.get("description", "")
    if not isinstance(description, str) or len(description) > _MAX_DESCRIPTION:
        raise BadRequestError(
            f"must be text of at most {_MAX_DESCRIPTION} characters", path=f"{path}.description"
        )
