"""Which feature or value a word of a query names: exactly, or forgiving case and spacing."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

from thresher.errors import QueryError
from thresher.schema import Boolean, Categorical, Feature, Schema
from thresher.wording import plain, shown

_JOINED = re.compile(r"(?<=\w)[\s_-]+(?=\w)")

MOST_COMPARED = 5_000
"""Names beyond this many are not compared with a word that is none of them: it would take long."""


def feature_named(schema: Schema, name: str) -> Feature:
    """The feature that a query names; case, blanks, hyphens and underscores are forgiven.

    Example:
        >>> from thresher.data import datasets
        >>> feature_named(datasets.adult_schema(), "Education Num").name
        'education-num'
    """
    try:
        return schema[name]
    except QueryError:
        found = _forgiven(name, schema.names)
        if found is None:
            raise
        return schema.features[found]


def code_named(feature: Feature, value: object) -> int:
    """The code of a value that a query names, or a QueryError that lists what there is."""
    code = feature.code_of(value)
    if code is None and isinstance(value, str):
        code = _forgiven(value, feature.labels)
    if code is None:
        known = ", ".join(feature.labels[:12]) + (", …" if feature.size > 12 else "")
        kind = "values" if isinstance(feature, Categorical | Boolean) else "values or bins"
        near = _suggestion(value, feature.labels) if isinstance(value, str) else ""
        raise QueryError(
            f"feature {feature.name!r} has no value {shown(value)}; its {kind}: {plain(known)}"
            f"{near}"
        )
    return code


def value_named(feature: Feature, word: str) -> str:
    """A category as its feature spells it; the word itself where it names none."""
    if not isinstance(feature, Categorical) or feature.code_of(word) is not None:
        return word
    found = _forgiven(word, feature.labels)
    return word if found is None else feature.labels[found]


def _forgiven(word: str, names: tuple[str, ...]) -> int | None:
    """The place of the one name that differs from a word in case and spacing only."""
    if len(names) > MOST_COMPARED:
        return None
    return _by_key(names).get(_key(word))


@lru_cache(64)
def _by_key(names: tuple[str, ...]) -> dict[str, int]:
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(_key(name), []).append(place)
    return {key: same[0] for key, same in places.items() if len(same) == 1}


def _key(word: str) -> str:
    return _JOINED.sub(" ", word.strip()).casefold()


def _suggestion(word: str, names: Iterable[str]) -> str:
    listed = [*names]
    if len(listed) > MOST_COMPARED or len(word) > 100:
        return ""
    keys = {_key(name): name for name in listed}
    near = get_close_matches(_key(word), keys, 1)
    return f"; did you mean {shown(keys[near[0]])}?" if near else ""
