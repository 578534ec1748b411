"""The kinds of features, and how one is read from JSON."""

import dataclasses
from collections.abc import Mapping

from thresher.errors import SchemaError
from thresher.schema.boolean import Boolean
from thresher.schema.categorical import Categorical
from thresher.schema.dates import Dates
from thresher.schema.feature import Codes, Feature
from thresher.schema.numeric import Bins, IntegerRange
from thresher.wording import plain, shown

__all__ = [
    "KINDS", "Bins", "Boolean", "Categorical", "Codes", "Dates", "Feature", "IntegerRange",
    "feature_from_json",
]  # fmt: skip

KINDS: Mapping[str, type[Feature]] = {
    kind.kind: kind for kind in (Categorical, Boolean, IntegerRange, Bins, Dates)
}
"""The class of each kind that a schema file can name."""


def feature_from_json(value: object) -> Feature:
    """Read one feature back from plain JSON values.

    Example:
        >>> feature_from_json(
        ...     {"name": "age", "kind": "integer", "low": 0, "high": 9, "nulls": 0}
        ... ) == IntegerRange(name="age", low=0, high=9, nulls=0)
        True
    """
    if not isinstance(value, dict):
        raise SchemaError(f"a feature must be a JSON object, not {type(value).__name__}")
    fields = {str(entry): content for entry, content in value.items()}
    name, kind = fields.get("name", "?"), fields.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise SchemaError(
            f"feature {shown(name)}: 'kind' must be one of {', '.join(KINDS)}, not {shown(kind)}"
        )
    declared = dataclasses.fields(KINDS[kind])
    _refuse(name, "has unknown entries", set(fields) - {field.name for field in declared})
    required = {
        f.name for f in declared
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    }  # fmt: skip
    _refuse(name, "lacks", required - set(fields))
    return KINDS[kind](**fields)


def _refuse(name: object, fault: str, entries: set[str]) -> None:
    if entries:
        raise SchemaError(f"feature {shown(name)} {fault}: {plain(', '.join(sorted(entries)))}")
