"""Checks a JSON value against the part of JSON Schema that release.schema.json uses.

A release is checked whenever it is loaded, so this must not need a library that only the tests
have. The tests compare it with the library `jsonschema`.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

_TYPES: Mapping[str, Any] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: _is_number(value),
    "integer": lambda value: _is_number(value) and value == math.floor(value),
}


def fault_of(value: object, schema: Mapping[str, Any]) -> str | None:
    """What is wrong with a value, in words; None if it obeys the schema.

    Example:
        >>> numbers = {"type": "array", "items": {"type": "number", "minimum": 0}}
        >>> fault_of([1, 2.5], numbers), fault_of([1, -2], numbers)
        (None, 'entry 1: must be at least 0')
    """
    return next(_faults(value, schema, schema), None)


def _faults(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        yield from _faults(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root)
    allowed = schema.get("type")
    if allowed is not None:
        allowed = [allowed] if isinstance(allowed, str) else allowed
        if not any(_TYPES[name](value) for name in allowed):
            yield f"must be of type {' or '.join(allowed)}"
            return
    if "const" in schema and not _same(value, schema["const"]):
        yield f"must be {schema['const']!r}"
    if "enum" in schema and not any(_same(value, one) for one in schema["enum"]):
        yield f"must be one of {', '.join(map(repr, schema['enum']))}"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"must match {schema['pattern']}"
    if _is_number(value):
        yield from _outside(value, schema)
    if isinstance(value, dict):
        yield from _faulty_entries(value, schema, root)
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"must have {schema['minItems']} or more entries"
        for i, entry in enumerate(value):
            yield from _at(f"entry {i}", _faults(entry, schema.get("items", {}), root))
    faults = [next(_faults(value, way, root), None) for way in schema.get("anyOf", ())]
    if faults and None not in faults:
        yield f"{faults[-1]}"


def _faulty_entries(
    value: dict[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any]
) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"lacks {name!r}"
    for name, entry in value.items():
        described = properties.get(name, schema.get("additionalProperties", True))
        if described is False:
            yield f"has an unknown entry {name[:80]!r}"
        elif described is not True:
            yield from _at(f"{name[:80]!r}", _faults(entry, described, root))


def _outside(value: float, schema: Mapping[str, Any]) -> Iterator[str]:
    if value < schema.get("minimum", value):
        yield f"must be at least {schema['minimum']}"
    if value > schema.get("maximum", value):
        yield f"must be at most {schema['maximum']}"
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        yield f"must be above {schema['exclusiveMinimum']}"


def _at(place: str, faults: Iterator[str]) -> Iterator[str]:
    return (f"{place}: {fault}" for fault in faults)


def _is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def _same(value: object, other: object) -> bool:
    return value == other and isinstance(value, bool) == isinstance(other, bool)
