"""Coarser views of a feature: its values in public groups.

A view is a feature that is computed from another one: `age` in groups of ten years, `country` as US
or not. A table over a view adds up cells of the table over its base, so one record moves it as
little. But a count of a group has the noise of one cell, not of all values in the group.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from thresher.errors import SchemaError
from thresher.schema.amounts import amount_of
from thresher.schema.categorical import Categorical
from thresher.schema.dates import Dates
from thresher.schema.feature import Feature
from thresher.schema.numeric import Bins
from thresher.wording import plain, shown

FIELDS = {"name", "of", "cuts", "groups"}


@dataclass(frozen=True, kw_only=True)
class View(Categorical):
    """A feature in groups: `View.at_cuts` and `View.of_groups` make one.

    Attributes:
        of: The name of the feature that it is a view of, its *base*.
        codes: For each code of the base, the code of its group.
        cuts: The values at which groups begin, if it was declared by them.
        groups: The values of the base in each group, if it was declared by them.

    Example:
        >>> from thresher.schema import IntegerRange
        >>> age = IntegerRange(name="age", low=0, high=99, nulls=0)
        >>> View.at_cuts(age, "age-group", [20, 40, 65]).labels
        ('..19', '20..39', '40..64', '65..')
    """

    kind: ClassVar[str] = "view"

    of: str
    codes: tuple[int, ...]
    cuts: tuple[Any, ...] = field(default=(), compare=False)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)

    @classmethod
    def at_cuts(cls, base: Feature, name: str, cuts: Iterable[object]) -> "View":
        """Groups of values that follow each other; each cut is the first value of a group.

        The labels in `extra` of the base stay as they are.

        Args:
            base: A feature of numbers, dates or ordered categories.
            name: The name of the view.
            cuts: Where groups begin. For bins, each must be the lower edge of one.
        """
        given, last = tuple(cuts), base.size - len(base.extra)
        if not base.has_order:
            raise SchemaError(f"view {name!r}: {base.name!r} has no order, so give 'groups'")
        starts = {0}
        for cut in given:
            code = base.code_of(cut)
            if code is None or code >= last or not _begins(base, cut, code):
                raise SchemaError(
                    f"view {name!r}: {shown(cut)} is not a value of {base.name!r} that a group can "
                    "begin at"
                )
            starts.add(code)
        ends = [*sorted(starts), last]
        groups = [range(first, end) for first, end in pairwise(ends)]
        labels = [_range_label(base, group, last) for group in groups]
        groups += [range(code, code + 1) for code in range(last, base.size)]
        return cls._made(base, name, labels, groups, ordered=True, extra=base.extra, cuts=given)

    @classmethod
    def of_groups(cls, base: Feature, name: str, groups: Mapping[str, Iterable[object]]) -> "View":
        """Groups of any values, each with a label. An empty group gets all values that are left.

        Example:
            >>> from thresher.schema import Categorical
            >>> land = Categorical(name="land", categories=("US", "CA", "FR"), outside="FR",
            ...                    nulls="FR")
            >>> View.of_groups(land, "from-us", {"US": ["US"], "elsewhere": []}).codes
            (0, 1, 1)
        """
        listed: dict[str, list[int]] = {}
        for label, values in groups.items():
            listed[label] = []
            for value in values:
                code = base.code_of(value)
                if code is None:
                    raise SchemaError(f"view {name!r}: {base.name!r} has no value {shown(value)}")
                listed[label].append(code)
        named = {code for codes in listed.values() for code in codes}
        rest = [code for code in range(base.size) if code not in named]
        takers = [label for label, codes in listed.items() if not codes]
        if len(takers) > 1 or (rest and not takers) or (takers and not rest):
            raise SchemaError(
                f"view {name!r}: its groups must hold every value of {base.name!r} once; one "
                "group may be empty and gets all that are left"
            )
        for label in takers:
            listed[label] = rest
        said = {label: tuple(base.labels[c] for c in codes) for label, codes in listed.items()}
        return cls._made(base, name, [*listed], [*listed.values()], groups=said)

    @classmethod
    def _made(
        cls, base: Feature, name: str, labels: Sequence[str], members: Sequence[Iterable[int]],
        **settings: Any,
    ) -> "View":  # fmt: skip
        codes = [-1] * base.size
        for number, group in enumerate(members):
            for code in group:
                if codes[code] >= 0:
                    raise SchemaError(f"view {name!r}: {shown(base.labels[code])} is in two groups")
                codes[code] = number
        if len(labels) < 2 or len(members) >= base.size:
            raise SchemaError(
                f"view {name!r}: it must have 2 or more groups, and fewer than {base.name!r} has "
                "values"
            )
        return cls(
            name=name, categories=tuple(labels), outside=labels[0], nulls=labels[0],
            of=base.name, codes=tuple(codes), **settings,
        )  # fmt: skip

    @cached_property
    def map(self) -> npt.NDArray[np.int64]:
        """The codes, as an array."""
        return np.array(self.codes, dtype=np.int64)

    def base_codes(self, codes: Iterable[int]) -> tuple[int, ...]:
        """The codes of the base that some codes of the view stand for.

        Example:
            >>> from thresher.schema import IntegerRange
            >>> age = IntegerRange(name="age", low=0, high=99, nulls=0)
            >>> View.at_cuts(age, "old", [98]).base_codes([1])
            (98, 99)
        """
        wanted = set(codes)
        return tuple(code for code, group in enumerate(self.codes) if group in wanted)

    def codes_for(self, base_codes: Sequence[int]) -> tuple[int, ...] | None:
        """The groups that together hold these codes of the base and no others; None if none do."""
        groups = {self.codes[code] for code in base_codes}
        whole = sum(group in groups for group in self.codes)
        return tuple(sorted(groups)) if whole == len(set(base_codes)) else None

    def as_json(self) -> dict[str, Any]:
        """The view as plain JSON values, as it was declared."""
        declared: dict[str, Any] = {"cuts": list(self.cuts)}
        if not self.cuts:
            declared = {"groups": {label: list(some) for label, some in self.groups.items()}}
        return {"name": self.name, "of": self.of, **declared}


def view_from_json(value: object, base_of: Mapping[str, Feature]) -> View:
    """Read a view from plain JSON values.

    Args:
        value: `{"name", "of", "cuts": […]}` or `{"name", "of", "groups": {label: […]}}`.
        base_of: The features by their names.
    """
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise SchemaError('a view looks like {"name": "age-group", "of": "age", "cuts": [30, 60]}')
    name, base = value["name"], base_of.get(str(value.get("of")))
    if base is None:
        raise SchemaError(
            f"view {shown(name)}: 'of' must name a feature, not {shown(value.get('of'))}"
        )
    unknown = set(map(str, value)) - FIELDS
    if unknown or ("cuts" in value) == ("groups" in value):
        raise SchemaError(
            f"view {shown(name)} needs 'of' and either 'cuts' or 'groups', and nothing else"
            + (f": {plain(', '.join(sorted(unknown)))}" if unknown else "")
        )
    if "cuts" in value:
        if not isinstance(value["cuts"], list) or not value["cuts"]:
            raise SchemaError(f"view {shown(name)}: 'cuts' must be a list of one or more values")
        return View.at_cuts(base, name, value["cuts"])
    groups = value["groups"]
    if not isinstance(groups, dict) or not all(isinstance(some, list) for some in groups.values()):
        raise SchemaError(f"view {shown(name)}: 'groups' must have a list of values for each label")
    return View.of_groups(base, name, {str(label): some for label, some in groups.items()})


def _begins(base: Feature, cut: object, code: int) -> bool:
    """Whether a value is the first of its code: the lower edge of a bin, or the first day."""
    if isinstance(base, Bins):
        return amount_of(str(cut), base.written) == base.edges[code]
    return not isinstance(base, Dates) or str(cut) == base.labels[code]


def _range_label(base: Feature, group: range, last: int) -> str:
    """The group as the query language writes a range: numbers in bins are below its end."""
    labels, first, end = base.labels, group[0], group[-1]
    if first == end:
        return labels[first]
    low = "" if first == 0 else labels[first]
    high = "" if end == last - 1 else labels[end + isinstance(base, Bins)]
    return f"{low}..{high}"
